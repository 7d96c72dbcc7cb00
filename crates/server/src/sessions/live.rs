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

/// Messages after which a session is saved at the latest: that many are looked at again after a crash.
const SAVE_MESSAGES: u64 = 1024;
/// Time after which it is saved at the latest.
const SAVE_AFTER: Duration = Duration::from_secs(10);

pub(super) struct Live {
    session: Session,
    saved: u64,
    saved_at: Instant,
    /// A digest was cut off that the disk does not know of.
    ahead: bool,
}

/// Where a session stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The part of the log that it covers.
    pub(super) seen: Seen,
    /// Behind the last one that it takes before a digest is cut off.
    pub(super) end: u64,
    /// Digests cut off.
    pub(super) cuts: u64,
}

impl Place {
    /// That of one without a file.
    pub(super) fn start(record: &SessionRecord) -> Self {
        let at = record.start..record.start;
        Self {
            seen: Seen::new(&at, record.start_hash, record.start_hash),
            end: end(record.start, record.room()),
            cuts: 0,
        }
    }

    /// Where its file stands, or it begins without one.
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

/// Where a session's file stands.
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
    /// The running hash of the log at a length. None where the board is shorter or has no message from there on any more, and
    /// where the hash cannot be read: no session stops for that.
    fn log_hash(&self, length: u64) -> Option<[u8; 32]> {
        match self.store.hash_at(length) {
            Ok(hash) => hash,
            Err(error) => {
                self.damage.note(&error);
                None
            }
        }
    }

    /// Checks that the board still has the messages that a session has seen.
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
                "the running hash of the log is lost at a session's next message: it goes on"
            );
        }
        Ok(())
    }
}

impl Live {
    /// Errors: what keeps the session from going on.
    fn open(tools: &Tools, slot: &Slot) -> Result<Self, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let file = record::file(&tools.store, &slot.id).map_err(|e| text(&e))?;
        let file = match file {
            None => None,
            Some(bytes) => {
                let params = tools.set.instantomr().map_err(|e| text(&e))?;
                Some(SessionFile::from_bytes(params, &bytes).map_err(|e| text(&e))?)
            }
        };
        let seen = file.as_ref().map(SessionFile::seen);
        let seen = seen.unwrap_or(Place::start(&slot.record).seen);
        tools.check_history(&seen).map_err(|e| text(&e))?;
        let params = tools.set.instantomr().map_err(|e| text(&e))?;
        let key = tools
            .store
            .open_key(slot.record.key)
            .map_err(|e| text(&e))?;
        let key = InstantKey::read(params, key).map_err(|e| text(&e))?;
        let detector = tools.cards.instant(&tools.set, key);
        let detector = Arc::new(detector.map_err(|e| text(&e))?);
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

    /// Messages that it takes in one turn.
    pub(super) fn turn(&self) -> u64 {
        self.session.turn()
    }

    /// Takes messages up to `end`. Where a card fails that nobody insists on, it goes on here, with the same bytes.
    ///
    /// Errors: what keeps it from going on.
    pub(super) fn advance(&mut self, tools: &Tools, slot: &Slot, end: u64) -> Result<(), String> {
        let mut source = StoreSource {
            store: &tools.store,
            damage: &tools.damage,
            params: tools.set.clue(),
        };
        let before = self.session.next();
        let told =
            |error: &DetectorError| tracing::warn!(%error, "a session goes on on the processor");
        let (session, insists) = (&mut self.session, tools.cards.insists());
        let advanced = session.advance_or_here(&mut source, end, &Quiet, insists, told);
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

    /// Whether what is in memory must not be used again.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Saves it if it has changed a while ago.
    pub(super) fn save_if_due(&mut self, tools: &Tools, slot: &Slot) -> Result<(), String> {
        if self.session.next() > self.saved && self.saved_at.elapsed() >= SAVE_AFTER {
            self.save(tools, slot)
        } else {
            Ok(())
        }
    }

    /// Saves it if it has changed.
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
        let written = slot.gets_on(&tools.store, vec![record::save(&slot.id, bytes)]);
        written.map_err(|error| error.to_string())?;
        self.saved = self.session.next();
        self.saved_at = Instant::now();
        Ok(())
    }

    /// Cuts a digest off and saves what is left before anybody has it.
    pub(super) fn cut(&mut self, tools: &Tools, slot: &Slot, number: u64) -> Result<Cut, Status> {
        let before = self.session.cuts();
        let digest = self.session.cut(number, placement_seed());
        let digest = digest.map_err(|error| Status::failed_precondition(error.to_string()))?;
        if self.session.cuts() > before {
            self.ahead = true;
            self.save(tools, slot).map_err(|error| {
                tracing::warn!(error, "a cut digest could not be kept");
                refuse::busy("the digest could not be kept: try again later", SAVE_AFTER)
            })?;
            self.ahead = false;
            slot.stands(Place::of(&self.session));
        }
        Ok(Cut {
            digest,
            // It ends where the session begins now, also if it is the last one again.
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
    /// Reads a session and its key into memory unless they are there; others leave it.
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
            // One that is at work stays for now.
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
