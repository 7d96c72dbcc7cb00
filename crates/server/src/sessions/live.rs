//! A session in memory.

use super::{Cut, SessionRecord, Sessions, Slot, Tools, lock, record};
use crate::jobs::Id;
use crate::refuse;
use crate::source::StoreSource;
use omr_detector::instantomr::{InstantDetector, Session};
use omr_detector::{DetectorError, Quiet, placement_seed};
use omr_protocol::instantomr::{InstantKey, InstantPlan, OtherHistory, Seen, SessionFile};
use omr_protocol::{DigestHeader, Request};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tonic::Status;

/// The number of messages after which a session is saved at the latest. At most these are processed again after a
/// crash.
const SAVE_MESSAGES: u64 = 1024;
/// The time after which a session is saved at the latest.
const SAVE_AFTER: Duration = Duration::from_secs(10);

pub(super) struct Live {
    session: Session,
    saved: u64,
    saved_at: Instant,
    /// Whether a digest was cut off that is not on the disk.
    ahead: bool,
}

/// The position of a session.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The part of the log that the session covers.
    pub(super) seen: Seen,
    /// The index after the last message before the next cut; `u64::MAX` without a limit.
    pub(super) end: u64,
    /// The number of digests cut off so far.
    pub(super) cuts: u64,
}

impl Place {
    /// Returns the position of a session without a file.
    pub(super) fn start(record: &SessionRecord) -> Self {
        let at = record.start..record.start;
        Self {
            seen: Seen::new(&at, record.start_hash, record.start_hash),
            end: end(record.start, record.room()),
            cuts: 0,
        }
    }

    /// Returns the position in the session's file, or its start if there is no file.
    pub(super) fn on_disk(tools: &Tools, id: &Id, record: &SessionRecord) -> Self {
        position(tools, id).unwrap_or_else(|| Self::start(record))
    }

    fn of(session: &Session) -> Self {
        Self {
            seen: session.seen(),
            end: session.end(),
            cuts: session.cuts(),
        }
    }
}

fn end(start: u64, room: Option<u64>) -> u64 {
    room.map_or(u64::MAX, |room| start.saturating_add(room))
}

/// Returns the position in a session's file.
fn position(tools: &Tools, id: &Id) -> Option<Place> {
    let params = tools.set.instantomr().ok()?;
    let bytes = record::file(&tools.store, id).ok()??;
    let file = SessionFile::from_bytes(params, &bytes).ok()?;
    let seen = file.seen();
    Some(Place {
        seen,
        end: end(seen.start.length, file.room),
        cuts: file.cuts,
    })
}

impl Tools {
    /// Returns the running hash of the log at a length. Returns `None` if the board is shorter, if that message has
    /// expired, or if the hash cannot be read, which stops no session.
    fn log_hash(&self, length: u64) -> Option<[u8; 32]> {
        match self.store.hash_at(length) {
            Ok(hash) => hash,
            Err(error) => {
                self.damage.note(&error);
                None
            }
        }
    }

    /// Checks that the board still contains the messages that a session has seen.
    ///
    /// Errors: `OtherHistory`.
    pub(super) fn check_history(&self, seen: &Seen) -> Result<(), OtherHistory> {
        let known = seen.check(self.store.len(), |length| {
            Ok::<_, OtherHistory>(self.log_hash(length))
        })?;
        if !known {
            let message = seen.next.length;
            tracing::warn!(
                message,
                "the running hash of the log is lost at a session's next message; the session continues"
            );
        }
        Ok(())
    }
}

impl Live {
    /// Opens a session and its key.
    ///
    /// Errors: a description of what prevents it.
    fn open(tools: &Tools, slot: &Slot) -> Result<Self, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let params = tools.set.instantomr().map_err(|e| text(&e))?;
        let file = match record::file(&tools.store, &slot.id).map_err(|e| text(&e))? {
            None => None,
            Some(bytes) => Some(SessionFile::from_bytes(params, &bytes).map_err(|e| text(&e))?),
        };
        let seen = file
            .as_ref()
            .map(SessionFile::seen)
            .unwrap_or(Place::start(&slot.record).seen);
        tools.check_history(&seen).map_err(|e| text(&e))?;
        let key_file = tools
            .store
            .open_key(slot.record.key)
            .map_err(|e| text(&e))?;
        let key = InstantKey::read(params, key_file).map_err(|e| text(&e))?;
        let detector = tools
            .cards
            .instant(&tools.set, key)
            .map(Arc::new)
            .map_err(|e| text(&e))?;
        let session = match file {
            None => new(tools, slot, detector).map_err(|e| text(&e))?,
            Some(file) => Session::resume(detector, file).map_err(|e| text(&e))?,
        };
        let saved = session.next();
        Ok(Self {
            session,
            saved,
            saved_at: Instant::now(),
            ahead: false,
        })
    }

    /// Returns the number of messages that the session processes in one turn.
    pub(super) fn turn(&self) -> u64 {
        self.session.turn()
    }

    /// Processes messages up to `end`. If a card fails and the configuration does not insist on it, the processor
    /// continues with the same result.
    ///
    /// Errors: a description of what prevents it.
    pub(super) fn advance(&mut self, tools: &Tools, slot: &Slot, end: u64) -> Result<(), String> {
        let mut source = StoreSource {
            store: &tools.store,
            damage: &tools.damage,
            params: tools.set.clue(),
        };
        let before = self.session.next();
        let log =
            |error: &DetectorError| tracing::warn!(%error, "a session continues on the processor");
        let (session, insists) = (&mut self.session, tools.cards.insists());
        let advanced = session.advance_or_here(&mut source, end, &Quiet, insists, log);
        let count = self.session.next() - before;
        if count > 0 {
            let hash = tools.log_hash(self.session.next());
            self.session.note_log_hash(hash);
        }
        slot.stands(Place::of(&self.session));
        tools.metrics.session_messages(count);
        for &(stage, seconds) in std::mem::take(&mut self.session.stages).seconds() {
            tools.metrics.stage(stage, seconds);
        }
        advanced.map_err(|error| error.to_string())?;
        if slot.is_doubted() || self.session.next() - self.saved >= SAVE_MESSAGES {
            self.save(tools, slot)?;
        }
        Ok(())
    }

    /// Returns whether the state in memory must not be used again.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Saves the session if it changed a while ago.
    pub(super) fn save_if_due(&mut self, tools: &Tools, slot: &Slot) -> Result<(), String> {
        if self.session.next() > self.saved && self.saved_at.elapsed() >= SAVE_AFTER {
            self.save(tools, slot)
        } else {
            Ok(())
        }
    }

    /// Saves the session if it has changed.
    pub(super) fn save_if_changed(&mut self, tools: &Tools, slot: &Slot) -> Result<(), String> {
        if self.session.next() > self.saved {
            self.save(tools, slot)
        } else {
            Ok(())
        }
    }

    fn save(&mut self, tools: &Tools, slot: &Slot) -> Result<(), String> {
        let params = tools.set.instantomr().map_err(|error| error.to_string())?;
        let bytes = self
            .session
            .to_file()
            .to_bytes(params)
            .map_err(|error| error.to_string())?;
        slot.gets_on(&tools.store, vec![record::save(&slot.id, bytes)])
            .map_err(|error| error.to_string())?;
        self.saved = self.session.next();
        self.saved_at = Instant::now();
        Ok(())
    }

    /// Cuts off a digest, and saves the rest of the session before anybody gets the digest.
    pub(super) fn cut(&mut self, tools: &Tools, slot: &Slot, number: u64) -> Result<Cut, Status> {
        let before = self.session.cuts();
        let digest = self
            .session
            .cut(number, placement_seed())
            .map_err(|error| Status::failed_precondition(error.to_string()))?;
        if self.session.cuts() > before {
            self.ahead = true;
            self.save(tools, slot).map_err(|error| {
                tracing::warn!(error, "a cut digest could not be stored");
                refuse::busy(
                    "the digest could not be stored: try again later",
                    SAVE_AFTER,
                )
            })?;
            self.ahead = false;
            slot.stands(Place::of(&self.session));
        }
        Ok(Cut {
            digest,
            // The digest ends where the session begins now, even if it is the previous digest again.
            log_hash: self.session.seen().start.hash,
        })
    }
}

fn new(
    tools: &Tools,
    slot: &Slot,
    detector: Arc<InstantDetector>,
) -> Result<Session, omr_protocol::PlanError> {
    let (record, board) = (&slot.record, tools.store.board());
    let request = Request::new(
        record.start..record.start,
        record.bound as usize,
        (!record.indices_only).then_some(board.payload_bytes as usize),
    );
    let header = DigestHeader {
        key_id: detector.key_id(),
        board_id: board.board_id,
        sealing: tools.sealing,
        plan: InstantPlan::new(detector.params(), request)?,
        seed: placement_seed(),
    };
    let mut session = match record.room() {
        Some(room) => Session::with_room(detector, header, room),
        None => Session::new(detector, header),
    };
    session.note_log_hash(record.start_hash);
    Ok(session)
}

impl Sessions {
    /// Reads a session and its key into memory, unless they are there. Other sessions may leave memory.
    pub(super) fn ensure_live(
        &self,
        slot: &Arc<Slot>,
        live: &mut Option<Live>,
    ) -> Result<(), String> {
        {
            let mut order = lock(&self.order);
            order.retain(|id| *id != slot.id);
            order.push_back(slot.id);
            self.tools.room.set_sessions(order.len());
        }
        if live.is_some() {
            return Ok(());
        }
        slot.begin(&self.tools.store)?;
        self.make_room(&slot.id);
        self.tools.room.check_session()?;
        let opened = Live::open(&self.tools, slot)?;
        slot.stands(Place::of(&opened.session));
        *live = Some(opened);
        lock(&slot.error).clear();
        Ok(())
    }

    fn make_room(&self, keep: &Id) {
        let old: Vec<Id> = {
            let order = lock(&self.order);
            let excess = order.len().saturating_sub(self.tools.in_memory);
            order
                .iter()
                .filter(|id| *id != keep)
                .take(excess)
                .copied()
                .collect()
        };
        for id in old {
            let slot = lock(&self.slots).get(&id).cloned();
            // A session that is being used stays for now.
            if let Some(slot) = &slot
                && let Ok(mut live) = slot.live.try_lock()
            {
                let saved = live
                    .as_mut()
                    .map_or(Ok(()), |l| l.save_if_changed(&self.tools, slot));
                if let Err(error) = saved {
                    slot.fail(&error);
                }
                *live = None;
                slot.stands(Place::on_disk(&self.tools, &slot.id, &slot.record));
            }
            let mut order = lock(&self.order);
            order.retain(|known| *known != id);
            self.tools.room.set_sessions(order.len());
        }
    }
}
