//! The thread that brings sessions up to the end of the board, the closest ones first.

use super::{Sessions, Slot, lock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The greatest distance from the board's end at which a session runs before digests and before other sessions.
const TAIL: u64 = 1024;
/// The time for which the thread sleeps when there is no work.
const SLEEP: Duration = Duration::from_secs(1);
/// The time for which a failed session rests.
const REST: Duration = Duration::from_secs(10);

impl Sessions {
    /// Runs the sessions until they are stopped, and saves them.
    pub(crate) fn run(&self) {
        let mut resting = HashMap::new();
        let mut turn = 0;
        while !self.stopping.load(Ordering::Relaxed) {
            resting.retain(|_, since: &mut Instant| since.elapsed() < REST);
            let mut behind = self.behind();
            behind.retain(|(_, slot)| !resting.contains_key(&slot.id));
            if behind.is_empty() {
                self.save_due();
                let waiting = lock(&self.waiting);
                if self
                    .behind()
                    .iter()
                    .all(|(_, slot)| resting.contains_key(&slot.id))
                {
                    let slept = self.changed.wait_timeout(waiting, SLEEP);
                    drop(slept);
                }
                continue;
            }
            behind.sort_by_key(|(lag, slot)| (*lag, slot.id));
            let close = behind.partition_point(|(lag, _)| *lag <= TAIL);
            let (tail, rest) = behind.split_at(close);
            // Each round serves all sessions at the tail, and one of those that catch up.
            turn += 1;
            let catching_up = (!rest.is_empty()).then(|| &rest[turn % rest.len()]);
            for (lag, slot) in tail.iter().chain(catching_up) {
                if !self.take_turn(slot, *lag <= TAIL) {
                    resting.insert(slot.id, Instant::now());
                }
            }
        }
        self.save_all();
    }

    fn behind(&self) -> Vec<(u64, Arc<Slot>)> {
        let len = self.tools.store.len();
        let slots = lock(&self.slots);
        slots
            .values()
            .filter(|slot| !slot.is_exhausted())
            .map(|slot| (slot.behind(len), slot.clone()))
            .filter(|(lag, _)| *lag > 0)
            .collect()
    }

    /// Runs one turn of a session. Returns `false` after a failure.
    fn take_turn(&self, slot: &Arc<Slot>, urgent: bool) -> bool {
        let _urgent = urgent.then(|| self.tools.priority.urgent());
        let mut live = lock(&slot.live);
        if slot.closed.load(Ordering::Relaxed) {
            return true;
        }
        let begun = slot.begin(&self.tools.store);
        let ready = begun.and_then(|()| self.ensure_live(slot, &mut live));
        let result = ready.and_then(|()| {
            let Some(session) = live.as_mut() else {
                return Ok(());
            };
            let take = session.turn().min(slot.behind(self.tools.store.len()));
            let end = slot.place().seen.next.length + take;
            self.tools
                .pool
                .install(|| session.advance(&self.tools, slot, end))
        });
        if let Err(error) = &result {
            slot.fail(error);
            *live = None;
            slot.has_failed(&self.tools.store);
        }
        result.is_ok()
    }

    fn save_due(&self) {
        self.for_live(|sessions, slot, live| live.save_if_due(&sessions.tools, slot));
    }

    fn save_all(&self) {
        self.for_live(|sessions, slot, live| live.save_if_changed(&sessions.tools, slot));
    }

    fn for_live(&self, each: impl Fn(&Self, &Slot, &mut super::Live) -> Result<(), String>) {
        let slots: Vec<Arc<Slot>> = lock(&self.slots).values().cloned().collect();
        for slot in slots {
            if let Some(live) = lock(&slot.live).as_mut()
                && let Err(error) = each(self, &slot, live)
            {
                slot.fail(&error);
            }
        }
    }
}
