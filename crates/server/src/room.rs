//! The memory that this server has and needs: what it prints at the start, what it lowers so that digests fit, and whether a
//! run fits now.

use crate::config::Config;
use crate::jobs::Kinds;
use omr_memory::Memory;
use omr_protocol::{ClueKind, EngineKind, ParamSet};
use omr_work::{Needs, in_words, room};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of requests that are not whole, of all clients.
const REQUESTS: u64 = 128 << 20;

/// What this server's memory has room for.
pub(crate) struct Room {
    needs: Needs,
    /// What the server takes without digests and sessions.
    beside: u64,
    /// Bytes of a session's key.
    session_key: u64,
    /// Sessions whose keys are in memory.
    sessions: AtomicU64,
    /// The engines whose runs fit.
    able: Kinds,
    /// Whether runs take this machine's memory.
    counts: bool,
    /// What is short, if anything is.
    shortage: Option<String>,
    /// The memory of a moment.
    look: fn() -> Memory,
}

/// What the configuration asks for is as large as this.
struct Demand<'a> {
    config: &'a Config,
    needs: &'a Needs,
    beside: u64,
    /// The engines that digests are made with.
    able: &'a [EngineKind],
}

impl Demand<'_> {
    fn batches(&self) -> u64 {
        let slots = self.needs.set.sophomr().map_or(1, |params| params.slots());
        self.config.limits.digest_messages.div_ceil(slots as u64)
    }

    fn run(&self) -> u64 {
        let together = self.config.detector.together;
        self.needs.run(self.able, together, self.batches())
    }

    fn sessions(&self) -> u64 {
        let keys = self.config.detector.session_keys_in_memory as u64;
        keys * self.needs.key(EngineKind::Instantomr)
    }

    fn total(&self) -> u64 {
        self.beside + self.sessions() + self.run()
    }
}

impl Room {
    /// Compares what a configuration asks for with what there is, and lowers in it what is too large: recipients
    /// together, keys of sessions, keys between runs, the cache, then the messages of one digest. Logs the figures.
    pub(crate) fn new(
        config: &mut Config,
        set: &Arc<ParamSet>,
        clues: ClueKind,
        counts: bool,
        look: fn() -> Memory,
    ) -> Self {
        let memory = look();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let detector = &config.detector;
        let mut needs = Needs {
            set: set.clone(),
            clues,
            threads: match detector.threads {
                0 => cores,
                threads => threads,
            },
            cache_bytes: detector.cache_bytes,
            keys: detector.keys_in_memory,
        };
        let beside = memory.used.unwrap_or(0) + config.limits.posting_bytes as u64 + REQUESTS;
        let mut able = match config.detector.local_worker {
            true => set.spec().engines(),
            false => Vec::new(),
        };
        let before = config.clone();
        let limit = match counts {
            true => memory.limit.unwrap_or(u64::MAX),
            false => u64::MAX,
        };
        let mut shortage = None;
        loop {
            let demand = Demand {
                config,
                needs: &needs,
                beside,
                able: &able,
            };
            let (total, run, several) = (demand.total(), demand.run(), demand.batches() > 1);
            if total <= limit {
                break;
            }
            let slots = set.sophomr().map_or(1, |params| params.slots() as u64);
            let detector = &mut config.detector;
            if !able.is_empty() && detector.together > 1 {
                detector.together -= 1;
            } else if set.spec().instantomr.is_some() && detector.session_keys_in_memory > 1 {
                detector.session_keys_in_memory -= 1;
            } else if !able.is_empty() && detector.keys_in_memory > 1 {
                detector.keys_in_memory -= 1;
                needs.keys = detector.keys_in_memory;
            } else if !able.is_empty() && detector.cache_bytes > 0 && !set.spec().opens_clues() {
                (detector.cache_bytes, needs.cache_bytes) = (0, 0);
            } else if able.contains(&EngineKind::Sophomr) && several {
                config.limits.digest_messages = slots;
            } else if !able.is_empty() {
                let (what, needed) = (engines(&able), in_words(run));
                let has = in_words(limit.saturating_sub(beside));
                shortage = Some(format!(
                    "digests by {what} are not made here: one takes {needed} of memory, there is {has}"
                ));
                able = match able.len() {
                    2 => vec![EngineKind::Instantomr],
                    _ => Vec::new(),
                };
                // What is lowered is counted anew for what is left; workers elsewhere need none of it.
                detector.together = before.detector.together;
                detector.keys_in_memory = before.detector.keys_in_memory;
                detector.cache_bytes = before.detector.cache_bytes;
                config.limits.digest_messages = before.limits.digest_messages;
                needs.keys = config.detector.keys_in_memory;
                needs.cache_bytes = config.detector.cache_bytes;
            } else {
                break;
            }
        }
        let room = Self {
            session_key: needs.key(EngineKind::Instantomr),
            sessions: AtomicU64::new(0),
            able: Kinds::of(able.iter().copied()),
            counts,
            shortage,
            look,
            beside: memory.used.unwrap_or(0),
            needs,
        };
        room.log(config, &before, &able, limit);
        room
    }

    fn log(&self, config: &Config, before: &Config, able: &[EngineKind], limit: u64) {
        let demand = Demand {
            config,
            needs: &self.needs,
            beside: self.beside,
            able,
        };
        if self.counts && limit < u64::MAX {
            tracing::info!(
                limit = in_words(limit),
                server = in_words(self.beside),
                run = in_words(demand.run()),
                together = config.detector.together,
                session_keys = in_words(demand.sessions()),
                "memory"
            );
        }
        for ((key, from), (_, to)) in lowerable(before).into_iter().zip(lowerable(config)) {
            if from != to {
                let limit = in_words(limit);
                tracing::warn!(
                    "{key} is lowered from {from} to {to}, to fit into {limit} of memory"
                );
            }
        }
        if let Some(shortage) = &self.shortage {
            tracing::error!(
                "{shortage}; posting and reading go on. A larger machine, `omr worker` elsewhere or another set makes digests"
            );
        }
    }

    /// The engines whose digests this process can make.
    pub(crate) fn able(&self) -> Kinds {
        self.able
    }

    /// What is short of memory, if anything is.
    pub(crate) fn shortage(&self) -> Option<&str> {
        self.shortage.as_deref()
    }

    /// Notes how many sessions have their keys in memory.
    pub(crate) fn set_sessions(&self, sessions: usize) {
        self.sessions.store(sessions as u64, Ordering::Relaxed);
    }

    /// For how many recipients, of `most` at most, a run fits into what is left now; 0 where not one does.
    pub(crate) fn recipients(&self, engines: &[EngineKind], most: usize, batches: u64) -> usize {
        if !self.counts {
            return most;
        }
        let sessions = self.sessions.load(Ordering::Relaxed) * self.session_key;
        let fitting = || {
            let bytes = room((self.look)(), self.beside + sessions);
            self.needs.recipients(engines, most, batches, bytes)
        };
        match fitting() {
            0 => {
                // What runs left behind may be in pieces of other lengths.
                omr_detector::release_memory();
                fitting()
            }
            recipients => recipients,
        }
    }

    /// Bytes that a run for one recipient takes.
    pub(crate) fn run(&self, engines: &[EngineKind], batches: u64) -> u64 {
        self.needs.run(engines, 1, batches)
    }

    /// A server without bounds of memory, for tests.
    #[cfg(test)]
    pub(crate) fn boundless(set: &Arc<ParamSet>) -> Self {
        let (mut config, look) = (Config::default(), Memory::default);
        Self::new(&mut config, set, ClueKind::Bound, false, look)
    }
}

/// Settings that are lowered where memory is short.
fn lowerable(config: &Config) -> [(&'static str, u64); 5] {
    let (detector, limits) = (&config.detector, &config.limits);
    [
        ("detector.together", detector.together as u64),
        (
            "detector.session_keys_in_memory",
            detector.session_keys_in_memory as u64,
        ),
        ("detector.keys_in_memory", detector.keys_in_memory as u64),
        ("detector.cache_bytes", detector.cache_bytes as u64),
        ("limits.digest_messages", limits.digest_messages),
    ]
}

fn engines(able: &[EngineKind]) -> String {
    let titles: Vec<&str> = able.iter().map(|engine| engine.title()).collect();
    titles.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn has(limit: u64) -> Memory {
        let used = 50 * MB;
        Memory {
            used: Some(used),
            limit: Some(limit),
            available: Some(limit - used),
        }
    }

    fn of(set: &str, look: fn() -> Memory) -> (Config, Room) {
        let mut config = Config::default();
        let set = Arc::new(ParamSet::named(set).unwrap());
        let room = Room::new(&mut config, &set, ClueKind::Bound, true, look);
        (config, room)
    }

    #[test]
    fn a_large_machine_has_what_is_configured() {
        for set in ["sophomr-v5", "hybrid-v4"] {
            let (config, room) = of(set, || has(64_000 * MB));
            assert_eq!(config, Config::default(), "{set}");
            assert_eq!(room.shortage(), None);
            assert_eq!(room.able(), Kinds::of(room.needs.set.spec().engines()));
        }
        // So has one that reports no figures.
        let (config, room) = of("hybrid-v4", Memory::default);
        assert_eq!(config, Config::default());
        assert_eq!(room.recipients(&[EngineKind::Sophomr], 4, 1), 4);
    }

    #[test]
    fn a_smaller_machine_serves_fewer_recipients_together() {
        let (config, room) = of("sophomr-v5", || has(6_000 * MB));
        let together = config.detector.together;
        assert!((1..4).contains(&together), "{together}");
        let sophomr = [EngineKind::Sophomr];
        let run = room.needs.run(&sophomr, together, 16);
        assert!(run + 50 * MB < 6_000 * MB);
        assert!(room.needs.run(&sophomr, together + 1, 16) + 300 * MB > 6_000 * MB);
        assert_eq!(room.shortage(), None);
    }

    #[test]
    fn digests_become_shorter_before_there_are_none() {
        let (config, room) = of("sophomr-v5", || has(2_600 * MB));
        assert_eq!(config.detector.together, 1);
        assert_eq!(config.limits.digest_messages, 65_536);
        assert_eq!(room.shortage(), None);
    }

    #[test]
    fn where_no_digest_fits_none_is_made_and_the_figures_are_told() {
        let (config, room) = of("sophomr-v5", || has(700 * MB));
        assert!(room.able().is_empty());
        assert_eq!(config, Config::default(), "for workers elsewhere");
        let told = room.shortage().unwrap();
        assert!(
            told.contains("SophOMR") && told.contains(" GB of memory"),
            "{told}"
        );
        // InstantOMR alone fits where both do not.
        let (config, room) = of("hybrid-v4", || has(1_500 * MB));
        assert_eq!(room.able(), Kinds::of([EngineKind::Instantomr]));
        assert_eq!(config.detector.session_keys_in_memory, 1);
        assert!(room.shortage().is_some());
    }

    #[test]
    fn a_run_is_as_large_as_what_is_left_now() {
        fn left() -> Memory {
            Memory {
                available: Some(75 * MB),
                ..has(64_000 * MB)
            }
        }
        let (config, room) = of("insecure-tiny-v3", left);
        assert_eq!(config, Config::default());
        let sophomr = [EngineKind::Sophomr];
        let fits = room.recipients(&sophomr, 4, 1);
        assert!((1..4).contains(&fits), "{fits}");
        let full = Room {
            look: || Memory {
                available: Some(0),
                ..left()
            },
            ..room
        };
        assert_eq!(full.recipients(&sophomr, 4, 1), 0);
    }
}
