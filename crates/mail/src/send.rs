//! Writing letters.

use crate::{Address, MailError};
use omr_client::letter::{Place, Writer, Written};
use omr_client::os_rng;
use omr_protocol::frame::{FrameReader, Kind};
use omr_protocol::{ClueKey, ClueKind, ClueParams, ParamSet};
use omr_remote::{Client, v1};
use rayon::prelude::*;
use std::ops::Range;

/// A file that is on the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The ranges of its messages' indices: one, unless it was posted in several parts.
    pub ranges: Vec<Range<u64>>,
}

/// What letters are bound to, of a server's description of its board.
///
/// Errors: `Board`.
pub fn board_place(board: &v1::Board) -> Result<Place, MailError> {
    let bad = |expected, found: String| MailError::Board { expected, found };
    let id = board.board_id.as_ref().try_into();
    let sealing = board.sealing.parse();
    Ok(Place {
        board_id: id.map_err(|_| bad("an id of 16 bytes", board.board_id.len().to_string()))?,
        params: board.params_id.clone(),
        sealing: sealing.map_err(|_| bad("a known sealing", board.sealing.clone()))?,
        payload_bytes: board.payload_bytes as usize,
    })
}

/// Splits, seals and posts files for one recipient, all in one go.
///
/// Errors: `OtherParams`, `OtherClues`, `Clue`, `Letter`, `Remote`. Posts before the one that failed stand.
pub async fn send(
    client: &Client,
    to: &Address,
    files: &[Vec<u8>],
) -> Result<Vec<Sent>, MailError> {
    let board = client.board().await?;
    let place = board_place(&board)?;
    let mut messages = Vec::new();
    let mut lengths = Vec::new();
    for file in files {
        let written = write(to, (&board, &place), file)?;
        lengths.push(written.len() as u64);
        messages.extend(written.into_iter().map(message));
    }
    let ranges = client.post(messages).await?;
    Ok(divide(&ranges, &lengths))
}

/// The messages of a file.
pub(crate) fn write(
    to: &Address,
    (board, place): (&v1::Board, &Place),
    file: &[u8],
) -> Result<Vec<Written>, MailError> {
    let header = FrameReader::read_header(&to.clue_key[..], Kind::ClueKey, u64::MAX)?;
    let found = header.header().params_id.clone();
    if found != place.params {
        let expected = found;
        let found = place.params.clone();
        return Err(MailError::OtherParams { expected, found });
    }
    let set = ParamSet::named(&place.params)?;
    let key = ClueKey::from_bytes(set.clue(), &to.clue_key)?;
    check_clues(board, set.clue(), key.kind)?;
    let writer = Writer::new(set.clue(), &key, place.clone())?;
    let parts = writer.parts(file, &mut os_rng())?;
    let seal = |rng: &mut _, part: &Vec<u8>| writer.message(rng, part);
    let written: Result<Vec<_>, _> = parts.par_iter().map_init(os_rng, seal).collect();
    Ok(written?)
}

/// Checks that an address takes the clues of a board, whose length tells their kind.
///
/// Errors: `OtherClues`.
pub fn check_clues(
    board: &v1::Board,
    params: &ClueParams,
    expected: ClueKind,
) -> Result<(), MailError> {
    let mut kinds = ClueKind::ALL.into_iter();
    let found = kinds.find(|kind| kind.bytes(params) == board.clue_bytes as usize);
    match found {
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(MailError::OtherClues { expected, found }),
        None => Err(MailError::Board {
            expected: "clues of the parameter set",
            found: format!("clues of {} bytes", board.clue_bytes),
        }),
    }
}

pub(crate) fn message(written: Written) -> v1::Message {
    v1::Message {
        clue: written.clue.into(),
        payload: written.payload.into(),
    }
}

/// The indices of files of so many messages, of the ranges of all.
fn divide(ranges: &[Range<u64>], lengths: &[u64]) -> Vec<Sent> {
    let mut rest = ranges
        .iter()
        .cloned()
        .collect::<std::collections::VecDeque<_>>();
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
        Sent { ranges }
    };
    lengths.iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "ranges of indices")]
    fn files_get_the_indices_of_their_messages() {
        let found = divide(&[5..8, 20..23], &[2, 3, 1]);
        let ranges: Vec<_> = found.into_iter().map(|sent| sent.ranges).collect();
        assert_eq!(ranges, [vec![5..7], vec![7..8, 20..22], vec![22..23]]);
    }
}
