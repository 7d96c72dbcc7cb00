//! Streaming sessions: the server processes messages as they come, and makes a digest at every tick.

use crate::call::{Answer, Board, Call, Failed, Failure, Limits};
use crate::close::closed;
use crate::exchange::{Collected, Exchange, Step, unexpected};
use crate::job::{Form, Session};
use crate::jobs::Jobs;
use crate::storage::Storage;
use crate::{InboxError, Recipient, Requests};
use omr_protocol::{ParamSet, Request, Response};
use std::fmt::Display;
use std::ops::Range;

/// The highest number of messages between two ticks in everybody's first session: a small number is cheap to process.
const FIRST_ROOM: u32 = 1 << 10;
/// A larger limit gains nothing.
const LAST_ROOM: u32 = 1 << 16;

/// Requests the next digest of the open session and keeps it undecoded, then requests the spare digest whose turn it
/// is; opens a session from the cursor on where none is open. It must run on a fixed schedule: the server sees nothing
/// else. Repeated after an interruption, it receives the same digest.
pub struct Cut<E> {
    recipient: Recipient,
    /// Parses the request in the header of a digest of a parameter set.
    answered: fn(&str, &[u8]) -> Result<Request, InboxError>,
    missed: Vec<Range<u64>>,
    stage: Stage<E>,
}

/// A digest of a session.
struct CutOff {
    digest: Vec<u8>,
    /// The running hash of the log at the digest's end, if the server knows it.
    log_hash: Option<[u8; 32]>,
}

/// The answer that is awaited.
enum Stage<E> {
    Board,
    /// The end of a session that cannot continue: it fell behind the board's beginning, or the server has gone back to
    /// an older state since.
    Behind(Board),
    Opened(Session),
    Digest(Session),
    Length(Session, CutOff),
    Limits(Session, Range<u64>, CutOff),
    /// The end of a session that was full: this one follows.
    Full(Session, Collected),
    Jobs(Jobs<E>),
    Over,
}

impl<E: Display> Cut<E> {
    /// Returns the exchange for one tick of a recipient's session.
    #[must_use]
    pub fn new(recipient: Recipient) -> Self {
        Self::reading(recipient, answered)
    }

    /// Returns an exchange that parses digests by `answered`.
    pub(crate) fn reading(
        recipient: Recipient,
        answered: fn(&str, &[u8]) -> Result<Request, InboxError>,
    ) -> Self {
        Self {
            recipient,
            answered,
            missed: Vec::new(),
            stage: Stage::Board,
        }
    }

    fn seen<S: Storage>(
        &mut self,
        requests: Requests<'_, S>,
        board: Board,
    ) -> Result<Step<Collected>, S::Error> {
        let first = board.messages.start;
        self.missed = requests.meet(&board, self.recipient.bound)?;
        let ended = requests
            .session()?
            .filter(|session| session.next < first || session.history != Some(board.log.history));
        let Some(ended) = ended else {
            return self.go_on(requests, &board);
        };
        if let Some(id) = ended.session_id {
            self.stage = Stage::Behind(board);
            return Ok(Step::Call(Call::CloseSession(id)));
        }
        requests.set_session(None)?;
        self.go_on(requests, &board)
    }

    /// Continues the open session. A new session is recorded before the server sees it.
    fn go_on<S: Storage>(
        &mut self,
        requests: Requests<'_, S>,
        board: &Board,
    ) -> Result<Step<Collected>, S::Error> {
        let session = match requests.session()? {
            Some(session) => session,
            None => {
                self.recipient.instant.ok_or(InboxError::NoInstant)?;
                self.recipient.agreed.check(&board.place)?;
                let session = Session::new(requests.cursor()?, FIRST_ROOM, Some(board.log.history));
                requests.set_session(Some(&session))?;
                session
            }
        };
        match session.session_id {
            Some(id) => Ok(self.cut(id, session)),
            None => {
                let request = self.recipient.session(&session)?;
                self.stage = Stage::Opened(session);
                Ok(Step::Call(Call::OpenSession(request)))
            }
        }
    }

    fn cut(&mut self, session_id: [u8; 16], session: Session) -> Step<Collected> {
        let number = session.cuts;
        self.stage = Stage::Digest(session);
        Step::Call(Call::CutSession { session_id, number })
    }

    /// Returns the range of a digest that follows the last one. The cursor moves by the server's statement, so the
    /// range must not leave messages out or announce more than there are.
    fn covered(&self, next: u64, messages: u64, digest: &[u8]) -> Result<Range<u64>, InboxError> {
        let bound = self.recipient.bound;
        let request = (self.answered)(&self.recipient.agreed.params, digest)?;
        let range = request.range;
        let follows = range.start == next && next <= range.end && range.end <= messages;
        if follows && request.bound == bound as usize {
            Ok(range)
        } else {
            Err(InboxError::answer(
                "CutSession",
                format!("a digest from {next} on, within {messages}, of bound {bound}"),
                format!("one of {range:?}, bound {}", request.bound),
            ))
        }
    }

    /// Keeps the digest, and ends a session that is full.
    fn keep<S>(
        &mut self,
        requests: Requests<'_, S>,
        mut session: Session,
        range: Range<u64>,
        cut: &CutOff,
        limits: &Limits,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        let bound = self.recipient.bound;
        let (served, spares) = self.recipient.form(limits, None);
        let form = Form { bound, ..served };
        let taken = range.end - range.start;
        (session.cuts, session.next) = (session.cuts + 1, range.end);
        let log_hash = cut.log_hash.as_ref();
        requests.keep_cut(&session, range, &form, &cut.digest, log_hash)?;
        let collected = Collected {
            refused: Vec::new(),
            spares,
            bound,
            missed: std::mem::take(&mut self.missed),
            ordered: Ok(()),
        };
        let larger = larger(session.room, taken).zip(session.session_id);
        let Some((room, id)) = larger else {
            return self.collect(requests, collected);
        };
        let next = Session::new(session.next, room, session.history);
        self.stage = Stage::Full(next, collected);
        Ok(Step::Call(Call::CloseSession(id)))
    }

    fn collect<S>(
        &mut self,
        requests: Requests<'_, S>,
        collected: Collected,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        let mut jobs = Jobs::new(requests, collected, None)?;
        let step = jobs.next(&self.recipient, requests)?;
        self.stage = Stage::Jobs(jobs);
        Ok(step)
    }
}

fn session_id(id: &[u8]) -> Result<[u8; 16], InboxError> {
    id.try_into().map_err(|_| {
        let found = format!("one of {}", id.len());
        InboxError::answer("OpenSession", "an id of 16 bytes", found)
    })
}

fn answered(params: &str, digest: &[u8]) -> Result<Request, InboxError> {
    let set = ParamSet::named(params)?;
    Ok(Response::from_bytes(&set, digest)?.request())
}

/// Returns the room of the session that follows one whose digest was full; `None` if it was not full. A full session
/// accepts no messages before the next tick. The room depends on the number of posted messages, not on their recipients.
fn larger(room: u32, taken: u64) -> Option<u32> {
    let full = room > 0 && taken >= room.into();
    let next = room.saturating_mul(4);
    full.then_some(if next < LAST_ROOM { next } else { 0 })
}

impl<E: Display> Exchange<E> for Cut<E> {
    type Done = Collected;

    fn begin<S: Storage>(
        &mut self,
        requests: Requests<'_, S>,
    ) -> Result<Step<Collected>, S::Error> {
        if self.recipient.has_two_rounds() {
            return Err(InboxError::NoInstant.into());
        }
        self.stage = Stage::Board;
        Ok(Step::Call(Call::Board(requests.lengths()?)))
    }

    fn answer<S>(
        &mut self,
        requests: Requests<'_, S>,
        answer: Result<Answer, Failed<E>>,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        match (std::mem::replace(&mut self.stage, Stage::Over), answer) {
            (Stage::Jobs(mut jobs), answer) => {
                let step = jobs.answer(&self.recipient, requests, answer)?;
                self.stage = Stage::Jobs(jobs);
                Ok(step)
            }
            (Stage::Behind(board), answer) => {
                closed::<E, S::Error>(answer)?;
                requests.set_session(None)?;
                self.go_on(requests, &board)
            }
            (Stage::Full(next, collected), answer) => {
                closed::<E, S::Error>(answer)?;
                requests.set_session(Some(&next))?;
                self.collect(requests, collected)
            }
            (Stage::Digest(session), Err(failed)) => {
                match failed.kind {
                    // The server closed the session: the next tick opens another, from the cursor on.
                    Failure::NotFound => requests.set_session(None)?,
                    // The session cannot continue, or another copy of this inbox uses it: the next tick closes it.
                    Failure::Final | Failure::Refused => {
                        requests.set_session(Some(&session.ended()))?;
                    }
                    _ => {}
                }
                Err(failed.error.into())
            }
            (_, Err(failed)) => Err(failed.error.into()),
            (Stage::Board, Ok(Answer::Board(board))) => self.seen(requests, board),
            (Stage::Opened(mut session), Ok(Answer::Session(id))) => {
                let session_id = session_id(&id)?;
                session.session_id = Some(session_id);
                requests.set_session(Some(&session))?;
                Ok(self.cut(session_id, session))
            }
            (Stage::Digest(session), Ok(Answer::Cut { digest, log_hash })) => {
                self.stage = Stage::Length(session, CutOff { digest, log_hash });
                Ok(Step::Call(Call::Board(Vec::new())))
            }
            (Stage::Length(session, cut), Ok(Answer::Board(board))) => {
                let range = self.covered(session.next, board.messages.end, &cut.digest)?;
                self.stage = Stage::Limits(session, range, cut);
                Ok(Step::Call(Call::Limits))
            }
            (Stage::Limits(session, range, cut), Ok(Answer::Limits(limits))) => {
                self.keep(requests, session, range, &cut, &limits)
            }
            (Stage::Opened(_), Ok(_)) => Err(unexpected("OpenSession").into()),
            (Stage::Digest(_), Ok(_)) => Err(unexpected("CutSession").into()),
            (Stage::Limits(..), Ok(_)) => Err(unexpected("GetCapabilities").into()),
            (_, Ok(_)) => Err(unexpected("GetBoard").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_until_there_is_no_end() {
        assert_eq!(larger(FIRST_ROOM, 1023), None);
        let mut rooms = vec![FIRST_ROOM];
        while let Some(next) = larger(rooms[rooms.len() - 1], u64::from(rooms[rooms.len() - 1])) {
            rooms.push(next);
        }
        assert_eq!(rooms, [1024, 4096, 16_384, 0]);
        assert_eq!(larger(0, u64::MAX), None);
    }
}
