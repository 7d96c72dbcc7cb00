//! Writing letters.

use crate::periods::check_clock;
use crate::{Address, MailError, check_sealing, sealing, unix_now};
use omr_client::fragment::most_bytes;
use omr_client::header::{Header, Signer};
use omr_client::letter::{Place, Writer, Written};
use omr_client::os_rng;
use omr_inbox::Mark;
use omr_protocol::Mismatch;
use omr_protocol::frame::{FrameReader, Kind};
use omr_protocol::periods::period_at;
use omr_protocol::{ClueKey, ClueKind, ClueParams, ParamSet, Sealing};
use omr_remote::{Client, Posted, v1};
use rayon::prelude::*;
use std::ops::Range;

/// A posted letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The ranges of its messages' indices: one, unless it was posted in several parts.
    pub ranges: Vec<Range<u64>>,
    /// The positions, counted from 0, of those of its messages that were on the board already: somebody copied them
    /// during the post and posted them first. The recipient reads them like the others.
    pub copied: Vec<u64>,
}

/// Returns the place to which letters are bound, from a server's description of its board.
///
/// Errors: `Board`.
pub fn board_place(board: &v1::Board) -> Result<Place, MailError> {
    let bad = |expected, found: String| MailError::Board(Mismatch::new(expected, found));
    let id = board.board_id.as_ref().try_into();
    let sealing = board.sealing.parse();
    Ok(Place {
        board_id: id.map_err(|_| bad("an id of 16 bytes", board.board_id.len().to_string()))?,
        params: board.params_id.clone(),
        sealing: sealing.map_err(|_| bad("a known sealing", board.sealing.clone()))?,
        payload_bytes: board.payload_bytes as usize,
    })
}

/// Returns the length of a server's board and the running hash of its log there.
///
/// Errors: `Board`.
pub fn board_mark(board: &v1::Board) -> Result<Mark, MailError> {
    let hash = board.log_hash.as_ref().try_into();
    let found = || board.log_hash.len().to_string();
    let bad = |_| MailError::Board(Mismatch::new("a running hash of 32 bytes", found()));
    Ok(Mark {
        length: board.messages,
        hash: hash.map_err(bad)?,
    })
}

/// Returns the id of the history of a server's board.
///
/// Errors: `Board`.
pub(crate) fn board_history(board: &v1::Board) -> Result<[u8; 16], MailError> {
    let id = board.history_id.as_ref().try_into();
    let found = || board.history_id.len().to_string();
    id.map_err(|_| MailError::Board(Mismatch::new("a history's id of 16 bytes", found())))
}

/// A letter to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// The name that its recipient sees.
    pub name: Option<String>,
    /// The content.
    pub content: Vec<u8>,
    /// The statements of the letter about itself.
    pub header: Header,
}

/// A letter with its content alone.
impl From<Vec<u8>> for Letter {
    fn from(content: Vec<u8>) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }
}

/// The sender's choices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules<'a> {
    /// The sealing of letters, where the address does not fix it; required for letters that are not sealed.
    pub sealing: Option<Sealing>,
    /// Whether letters of more messages than the address allows are sent.
    pub large: bool,
    /// The sender whom letters name and who signs them; `None` for letters that name nobody.
    pub signer: Option<&'a Signer>,
}

/// Letters for one recipient, split but not posted.
pub struct Draft {
    writer: Writer,
    letters: Vec<Vec<Vec<u8>>>,
}

impl Draft {
    /// Requests the server's board and makes all checks, without posting.
    ///
    /// Errors: `Clock`, `AddressParams`, `OtherSealing`, `Unsealed`, `OtherClues`, `LongLetter`, `Clue`, `Letter`, `Remote`.
    pub async fn new(
        client: &Client,
        to: &Address,
        letters: &[Letter],
        rules: &Rules<'_>,
    ) -> Result<Self, MailError> {
        let agreed = sealing::agreed(to.terms.map(|terms| terms.sealing), rules.sealing)?;
        let board = client.board().await?;
        let place = board_place(&board)?;
        let sealing = place.sealing;
        let writer = writer(to, &board, place)?;
        check_sealing(agreed, sealing)?;
        let parts = |letter: &Letter| {
            let (name, content) = (letter.name.as_deref(), &letter.content[..]);
            writer.letter_parts(name, &letter.header, rules.signer, content, &mut os_rng())
        };
        let split: Result<Vec<_>, _> = letters.iter().map(parts).collect();
        let draft = Self {
            letters: split?,
            writer,
        };
        match to.terms {
            Some(terms) if !rules.large => draft.check_length(terms.parts)?,
            _ => {}
        }
        Ok(draft)
    }

    /// Checks the number of messages of each letter.
    ///
    /// Errors: `LongLetter`.
    fn check_length(&self, most: u32) -> Result<(), MailError> {
        let mut counts = self.messages().enumerate();
        match counts.find(|(_, found)| *found > u64::from(most)) {
            Some((number, found)) => Err(MailError::LongLetter {
                number,
                found,
                most,
                bytes: most_bytes(most, self.writer.capacity()),
            }),
            None => Ok(()),
        }
    }

    /// Returns the number of messages of each letter.
    pub fn messages(&self) -> impl Iterator<Item = u64> {
        self.letters.iter().map(|parts| parts.len() as u64)
    }

    /// Seals all letters, for a ledger that carries them to its boards. Returns the messages in the order of the letters
    /// and their parts.
    ///
    /// Errors: `Letter`.
    pub fn seal(self) -> Result<Vec<v1::Message>, MailError> {
        let written = seal(&self.writer, &self.letters.concat())?;
        Ok(written.into_iter().map(to_wire).collect())
    }

    /// Seals and posts all letters in one call. Parts that somebody copied during the post and posted first are on the
    /// board already; the other parts are posted beside them.
    ///
    /// Errors: `Letter`, `Remote`. Posts before the one that failed stay.
    pub async fn post(self, client: &Client) -> Result<Vec<Sent>, MailError> {
        let lengths: Vec<u64> = self.messages().collect();
        let posted = client.post(self.seal()?).await?;
        Ok(divide(&posted, &lengths))
    }
}

/// Splits, seals and posts letters for one recipient.
///
/// Errors: those of [`Draft::new`] and [`Draft::post`].
pub async fn send(
    client: &Client,
    to: &Address,
    letters: &[Letter],
    rules: &Rules<'_>,
) -> Result<Vec<Sent>, MailError> {
    Draft::new(client, to, letters, rules)
        .await?
        .post(client)
        .await
}

/// Returns the messages of one file for a board.
pub(crate) fn write(
    to: &Address,
    board: &v1::Board,
    place: &Place,
    file: &[u8],
) -> Result<Vec<Written>, MailError> {
    let writer = writer(to, board, place.clone())?;
    seal(&writer, &writer.parts(file, &mut os_rng())?)
}

fn seal(writer: &Writer, parts: &[Vec<u8>]) -> Result<Vec<Written>, MailError> {
    Ok(parts
        .par_iter()
        .map_init(os_rng, |rng, part| writer.message(rng, part))
        .collect::<Result<_, _>>()?)
}

/// Returns the writer of letters to an address, which are sealed to the key of the present period, if the address has
/// one. Checks that the address suits the board.
fn writer(to: &Address, board: &v1::Board, place: Place) -> Result<Writer, MailError> {
    check_clock(board)?;
    let header = FrameReader::read_header(&to.clue_key[..], Kind::ClueKey, u64::MAX)?;
    let expected = header.header().params_id.clone();
    if expected != place.params {
        let found = place.params.clone();
        return Err(MailError::AddressParams(Mismatch::new(expected, found)));
    }
    let set = ParamSet::named(&place.params)?;
    let key = ClueKey::from_bytes(set.clue(), &to.clue_key)?;
    check_clues(board, set.clue(), key.kind)?;
    let writer = Writer::new(set.clue(), &key, place)?;
    match &to.period_keys {
        Some(keys) => Ok(writer.in_period(keys, period_at(unix_now()))?),
        None => Ok(writer),
    }
}

/// Returns the kind of a board's clues, after a check of their size for the parameter set.
///
/// Errors: `Board`.
pub fn clue_kind(board: &v1::Board, params: &ClueParams) -> Result<ClueKind, MailError> {
    let kind = match board.clues() {
        v1::ClueKind::Bound => ClueKind::Bound,
        v1::ClueKind::Plain | v1::ClueKind::Unspecified => ClueKind::Plain,
    };
    let (expected, found) = (kind.bytes(params), board.clue_bytes as usize);
    if found == expected {
        Ok(kind)
    } else {
        Err(MailError::Board(Mismatch::new(
            "clues of the parameter set",
            format!("{kind} clues of {found} bytes"),
        )))
    }
}

/// Checks that the clue key of an address is of the kind of a board's clues.
///
/// Errors: `Board`, `OtherClues`.
pub fn check_clues(
    board: &v1::Board,
    params: &ClueParams,
    expected: ClueKind,
) -> Result<(), MailError> {
    let found = clue_kind(board, params)?;
    if found == expected {
        Ok(())
    } else {
        Err(MailError::OtherClues(Mismatch::new(expected, found)))
    }
}

pub(crate) fn to_wire(written: Written) -> v1::Message {
    v1::Message {
        clue: written.clue.into(),
        payload: written.payload.into(),
    }
}

/// Splits the result of a post into that of each letter; `lengths` are their numbers of messages.
fn divide(posted: &Posted, lengths: &[u64]) -> Vec<Sent> {
    let mut rest = posted
        .ranges
        .iter()
        .cloned()
        .collect::<std::collections::VecDeque<_>>();
    let mut first = 0;
    let file = |&length: &u64| {
        let (mut left, mut ranges) = (length, Vec::new());
        while let Some(range) = rest.front_mut().filter(|_| left > 0) {
            let taken = left.min(range.end - range.start);
            ranges.push(range.start..range.start + taken);
            left -= taken;
            range.start += taken;
            if range.start == range.end {
                rest.pop_front();
            }
        }
        let copied = posted
            .known
            .iter()
            .map(|at| *at as u64)
            .filter(|at| (first..first + length).contains(at))
            .map(|at| at - first)
            .collect();
        first += length;
        Sent { ranges, copied }
    };
    lengths.iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "ranges of indices")]
    fn files_get_the_indices_of_their_messages() {
        let posted = Posted {
            ranges: vec![5..8, 20..23],
            known: vec![1, 3, 4],
        };
        let found = divide(&posted, &[2, 3, 1]);
        let copied: Vec<_> = found.iter().map(|sent| sent.copied.clone()).collect();
        assert_eq!(copied, [vec![1], vec![1, 2], vec![]]);
        let ranges: Vec<_> = found.into_iter().map(|sent| sent.ranges).collect();
        assert_eq!(ranges, [vec![5..7], vec![7..8, 20..22], vec![22..23]]);
    }
}
