//! Several operators of one ledger's board: the choice of the one that a fetch calls, and comparisons of the histories
//! that they show.

use crate::send::{board_mark, board_place};
use crate::{Identity, Inbox, MailError};
use omr_inbox::Mark;
use omr_remote::Client;
use omr_remote::v1::Board;
use std::fmt::{self, Display, Formatter};

/// The number of blocks by which an operator may be behind another one and is still used.
const BEHIND: u64 = 2;

/// A finding about an operator that is not used as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The operator does not answer.
    Silent(String),
    /// The operator has another board than the identity was made for.
    OtherBoard(String),
    /// The operator is this number of blocks behind another one.
    Behind(u64),
    /// The operator shows another history than the operator that is used: the same messages before this length, and
    /// others behind it.
    Fork(u64),
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(error) => write!(f, "no answer: {error}"),
            Self::OtherBoard(error) => write!(f, "another board: {error}"),
            Self::Behind(blocks) => write!(f, "{blocks} blocks behind another operator"),
            Self::Fork(common) => write!(
                f,
                "other messages from {common} on than the operator that is used: the ledger takes another branch at the \
                 moment, or one of them shows a wrong board"
            ),
        }
    }
}

/// The operator of a fetch, and what was found of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The position of the operator.
    pub at: usize,
    /// Findings, each with the position of its operator.
    pub findings: Vec<(usize, Finding)>,
}

/// The state of an operator's board, beside what an inbox has seen of the board.
#[derive(Clone, Debug, PartialEq, Eq)]
struct View {
    /// The height after the last block.
    next_height: u64,
    /// The greatest length up to which the messages are those that the inbox has seen, as far as the board shows it.
    common: u64,
    /// Whether the board has other messages behind that length.
    differs: bool,
}

impl View {
    /// Compares a board with the marks of an inbox, which are in the order of their lengths.
    fn new(board: &Board, marks: &[Mark], hashes: &[Option<[u8; 32]>]) -> Self {
        let (mut common, mut differs) = (0, false);
        let shown = |mark: &Mark| (board.first_index..=board.messages).contains(&mark.length);
        for (mark, now) in marks.iter().zip(hashes).filter(|(mark, _)| shown(mark)) {
            if *now == Some(mark.hash) {
                common = mark.length;
            } else {
                differs = true;
                break;
            }
        }
        Self {
            next_height: board.next_height,
            common,
            differs,
        }
    }
}

/// Chooses the operator that a fetch calls: the first one that is not behind, has the board of the identity, and shows
/// the history that the inbox has seen; the first one that is not behind if none shows it. With a single operator no call
/// is made. Every operator gets the same call, whatever was found before.
///
/// Errors: `Remote`, if no operator answers; the error of its board, if none has the identity's.
pub async fn choose(
    clients: &[Client],
    identity: &Identity,
    inbox: &Inbox,
) -> Result<Choice, MailError> {
    if clients.len() < 2 {
        let findings = Vec::new();
        return Ok(Choice { at: 0, findings });
    }
    let marks = inbox.marks()?;
    let lengths: Vec<u64> = marks.iter().map(|mark| mark.length).collect();
    let asked = clients
        .iter()
        .map(|client| client.board_and_hashes(&lengths));
    let mut views = Vec::new();
    let mut findings = Vec::new();
    let mut failed = None;
    for (at, answer) in futures::future::join_all(asked)
        .await
        .into_iter()
        .enumerate()
    {
        let view = match answer {
            Ok((board, hashes)) => seen(&board, &hashes, identity, &marks),
            Err(error) => Err(error.into()),
        };
        match view {
            Ok(view) => views.push((at, view)),
            Err(error) => {
                let text = error.to_string();
                findings.push((
                    at,
                    match error {
                        MailError::Remote(_) => Finding::Silent(text),
                        _ => Finding::OtherBoard(text),
                    },
                ));
                failed.get_or_insert(error);
            }
        }
    }
    match pick(&views) {
        Some((at, more)) => {
            findings.extend(more);
            findings.sort_by_key(|(at, _)| *at);
            Ok(Choice { at, findings })
        }
        None => Err(failed.unwrap_or(MailError::NoServer)),
    }
}

/// Checks an operator's answer, and compares it with what the inbox has seen.
///
/// Errors: `Board`, and those of [`Identity::check`].
fn seen(
    board: &Board,
    hashes: &[Option<[u8; 32]>],
    identity: &Identity,
    marks: &[Mark],
) -> Result<View, MailError> {
    identity.check(&board_place(board)?)?;
    board_mark(board)?;
    Ok(View::new(board, marks, hashes))
}

/// Chooses one of the operators, if there are any, and returns what is wrong with the others.
fn pick(views: &[(usize, View)]) -> Option<(usize, Vec<(usize, Finding)>)> {
    let highest = views.iter().map(|(_, view)| view.next_height).max()?;
    let is_fresh = |view: &View| view.next_height.saturating_add(BEHIND) >= highest;
    let mut fresh = views.iter().filter(|(_, view)| is_fresh(view));
    let (at, chosen) = fresh
        .clone()
        .find(|(_, view)| !view.differs)
        .or_else(|| fresh.next())?;
    let mut findings = Vec::new();
    for (other, view) in views {
        if !is_fresh(view) {
            findings.push((*other, Finding::Behind(highest - view.next_height)));
        }
        if view.differs && !chosen.differs {
            findings.push((*other, Finding::Fork(view.common)));
        }
    }
    Some((*at, findings))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(next_height: u64, common: u64, differs: bool) -> View {
        View {
            next_height,
            common,
            differs,
        }
    }

    fn picked(views: &[View]) -> (usize, Vec<(usize, Finding)>) {
        let numbered: Vec<(usize, View)> = views.iter().cloned().enumerate().collect();
        pick(&numbered).unwrap()
    }

    #[test]
    fn the_first_operator_that_is_up_to_date_is_used() {
        let good = view(100, 50, false);
        assert_eq!(picked(&[good.clone(), good.clone()]), (0, vec![]));
        // Two blocks are a matter of seconds.
        assert_eq!(picked(&[view(98, 50, false), good.clone()]), (0, vec![]));
        let behind = vec![(0, Finding::Behind(3))];
        assert_eq!(picked(&[view(97, 50, false), good.clone()]), (1, behind));
        let fork = vec![(0, Finding::Fork(30))];
        assert_eq!(picked(&[view(101, 30, true), good.clone()]), (1, fork));
        // An operator that stopped on an old branch does not hold a fetch up.
        let both = [view(90, 50, false), view(101, 30, true)];
        assert_eq!(picked(&both), (1, vec![(0, Finding::Behind(11))]));
        assert!(pick(&[]).is_none());
    }

    #[test]
    fn a_board_is_compared_at_the_marks_that_it_can_show() {
        let mark = |length: u64| Mark {
            length,
            hash: [length as u8; 32],
        };
        let marks = [mark(2), mark(5), mark(9), mark(20)];
        let board = |first_index, messages| Board {
            first_index,
            messages,
            next_height: 7,
            ..Board::default()
        };
        let hash = |length: u8| Some([length; 32]);
        // It is shorter than what was seen, and the rest agrees.
        let hashes = [hash(2), hash(5), hash(9), None];
        assert_eq!(View::new(&board(0, 12), &marks, &hashes), view(7, 9, false));
        let hashes = [hash(2), hash(5), hash(8), hash(21)];
        assert_eq!(View::new(&board(0, 22), &marks, &hashes), view(7, 5, true));
        // The first messages have expired.
        let hashes = [None, hash(5), hash(9), hash(20)];
        assert_eq!(
            View::new(&board(3, 20), &marks, &hashes),
            view(7, 20, false)
        );
        let hashes = [hash(2), hash(5), None, hash(20)];
        assert_eq!(View::new(&board(0, 20), &marks, &hashes), view(7, 5, true));
    }
}
