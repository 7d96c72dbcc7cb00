//! The memory that this server has and needs: the figures at the start, the settings that are lowered so that digests
//! fit, and the test whether a run fits now.

use crate::config::Config;
use crate::error::ServerError;
use crate::jobs::Kinds;
use crate::refuse;
use crate::requests;
use omr_detector::memory::{key_bytes, table_bytes};
use omr_detector::rounds::PreparedPage;
use omr_memory::Memory;
use omr_protocol::{ClueKind, EngineKind, ParamSet};
use omr_runner::{Needs, in_words, room};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tonic::Status;

/// The working memory in bytes besides requests, posts and tables: for responses, the store's cache and connections.
const WORKING: u64 = 32 << 20;
/// The bytes of the stacks of threads that a server has for each core.
const STACKS: u64 = 4 * (2 << 20);
/// The least number of bytes for waiting posts, which a long post fits into.
const LEAST_POSTING: u64 = omr_api::MESSAGE_BYTES as u64;
/// The least number of bytes for requests in progress.
const LEAST_REQUESTS: u64 = requests::LEAST_ROOM as u64;
/// The time after which a client should request again what needs memory.
const AGAIN: Duration = Duration::from_secs(10);

/// Checks that this process has the memory for a server of a configuration without any digest. Commands call this
/// before they use memory.
///
/// Errors: `Memory` with the figures; `Params`.
pub fn check_memory(config: &Config) -> Result<(), ServerError> {
    let set = ParamSet::named(&config.board.params)?;
    Least::of(&set, Memory::now())?.left().map(drop)
}

/// The memory without which no server starts.
struct Least {
    set: &'static str,
    /// The bytes that the process has in use, those of tables, and the working memory of every server.
    taken: u64,
    /// The bytes that a detection key needs while it is checked.
    checked: u64,
    limit: u64,
}

impl Least {
    fn of(set: &ParamSet, memory: Memory) -> Result<Self, ServerError> {
        let stacks = if memory.addresses {
            cores() as u64 * STACKS
        } else {
            0
        };
        let tables = table_bytes(set.spec())?;
        Ok(Self {
            set: set.name(),
            taken: memory.used.unwrap_or(0) + tables + WORKING + stacks,
            checked: checked(set),
            limit: memory.limit.unwrap_or(u64::MAX),
        })
    }

    /// Returns the bytes for posts and requests, which suffice at least for the longest ones.
    ///
    /// Errors: `Memory`.
    fn left(&self) -> Result<u64, ServerError> {
        let needed = self.taken + self.checked + LEAST_POSTING + LEAST_REQUESTS;
        if self.limit < needed {
            return Err(ServerError::Memory {
                set: self.set,
                needed: in_words(needed),
                has: in_words(self.limit),
            });
        }
        Ok(self.limit - self.taken - self.checked)
    }
}

/// Returns the bytes that a detection key needs while it is checked. Keys of InstantOMR are read whole, their bodies
/// first.
fn checked(set: &ParamSet) -> u64 {
    let engine = EngineKind::Instantomr;
    let file = set.key_file_bytes(engine, ClueKind::Bound);
    // A key that is ready for use also has a copy in double precision, as long as bodies and masks.
    file.map_or(0, |bytes| key_bytes(engine, bytes) * 3 / 4)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The memory of this server.
pub(crate) struct Room {
    needs: Needs,
    /// The bytes that the server uses without digests and sessions.
    beside: u64,
    /// The bytes for requests in progress.
    requests: usize,
    /// The bytes of a session's key.
    session_key: u64,
    /// The bytes of a key that is checked.
    checked: u64,
    /// The number of sessions whose keys are in memory.
    sessions: AtomicU64,
    /// The engines whose runs fit.
    engines: Kinds,
    /// The number of messages of the longest range of a fetch; 0 if no payloads are prepared.
    fetch_messages: u64,
    /// Whether prepared payloads stay in memory while digests are made.
    pages_stay: bool,
    /// Whether runs use this machine's memory.
    counts: bool,
    /// A description of what does not fit, if anything.
    shortage: Option<String>,
    /// Returns the present memory of the process.
    look: fn() -> Memory,
}

/// The memory that a configuration needs.
struct Demand<'a> {
    config: &'a Config,
    needs: &'a Needs,
    beside: u64,
    /// The engines with which digests are made.
    engines: &'a [EngineKind],
}

impl Demand<'_> {
    fn batches(&self) -> u64 {
        self.config
            .limits
            .digest_messages
            .div_ceil(slots(&self.needs.set))
    }

    /// Returns the bytes of a run by all engines that make digests, and of one for two rounds with prepared payloads.
    fn runs(&self) -> [u64; 2] {
        let together = self.config.detector.together;
        let (rounds, digests): (Vec<EngineKind>, Vec<EngineKind>) = self
            .engines
            .iter()
            .partition(|&&engine| engine == EngineKind::Rounds);
        let run = |engines: &[EngineKind]| self.needs.run(engines, together, self.batches());
        [run(&digests), run(&rounds) + self.prepared()]
    }

    /// Returns the bytes of the larger run. Prepared payloads give way to a digest where there is no memory for both.
    fn run(&self) -> u64 {
        let [digests, rounds] = self.runs();
        digests.max(rounds)
    }

    /// Returns whether there is memory for a digest beside prepared payloads.
    fn has_both(&self, limit: u64) -> bool {
        let [digests, _] = self.runs();
        self.beside + self.sessions() + digests + self.prepared() <= limit
    }

    /// Returns the bytes of prepared payloads.
    fn prepared(&self) -> u64 {
        if self.engines.contains(&EngineKind::Rounds) {
            self.config.detector.prepared_bytes
        } else {
            0
        }
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
    /// Compares the needs of a configuration with the memory of the process, and lowers settings that are too large:
    /// waiting posts, recipients in a run, prepared payloads, keys of sessions, keys between runs, and finally the
    /// messages of a digest.
    /// Logs the figures.
    ///
    /// Errors: `Memory` where not even posting and reading fit.
    pub(crate) fn new(
        config: &mut Config,
        set: &Arc<ParamSet>,
        clues: ClueKind,
        counts: bool,
        look: fn() -> Memory,
    ) -> Result<Self, ServerError> {
        let memory = look();
        let before = config.clone();
        let least = Least::of(set, memory)?;
        let left = least.left()?;
        // The rest is for digests.
        let requests = (left / 4).clamp(LEAST_REQUESTS, requests::ROOM as u64);
        let posting = &mut config.limits.posting_bytes;
        *posting = (*posting).min((left / 8).max(LEAST_POSTING) as usize);
        let beside = least.taken + *posting as u64 + requests;
        let detector = &config.detector;
        let mut needs = Needs {
            set: set.clone(),
            clues,
            threads: match detector.threads {
                0 => cores(),
                threads => threads,
            },
            keys: detector.keys_in_memory,
        };
        let mut engines = if config.detector.local_worker {
            set.spec().engines()
        } else {
            Vec::new()
        };
        let limit = if counts {
            memory.limit.unwrap_or(u64::MAX)
        } else {
            u64::MAX
        };
        let mut shortage = None;
        let page = page_bytes(set, config.board.payload_bytes, clues);
        loop {
            let demand = Demand {
                config,
                needs: &needs,
                beside,
                engines: &engines,
            };
            let (total, run, several) = (demand.total(), demand.run(), demand.batches() > 1);
            let prepared = demand.prepared();
            if total <= limit {
                break;
            }
            let detector = &mut config.detector;
            if !engines.is_empty() && detector.together > 1 {
                detector.together -= 1;
            } else if prepared > least_pages(set, &engines) * page {
                detector.prepared_bytes -= page;
            } else if set.spec().instantomr.is_some() && detector.session_keys_in_memory > 1 {
                detector.session_keys_in_memory -= 1;
            } else if !engines.is_empty() && detector.keys_in_memory > 1 {
                detector.keys_in_memory -= 1;
                needs.keys = detector.keys_in_memory;
            } else if engines.contains(&EngineKind::Sophomr) && several {
                config.limits.digest_messages = slots(set);
            } else if !engines.is_empty() {
                let (what, needed) = (titles(&engines), in_words(run));
                let has = in_words(limit.saturating_sub(beside));
                shortage = Some(format!(
                    "digests by {what} are not made here: one takes {needed} of memory, there is {has}"
                ));
                // The first engine needs the most.
                engines.remove(0);
                // The settings are lowered again from their original values for the remaining engine. Workers elsewhere
                // do not depend on them.
                detector.together = before.detector.together;
                detector.prepared_bytes = before.detector.prepared_bytes;
                detector.keys_in_memory = before.detector.keys_in_memory;
                config.limits.digest_messages = before.limits.digest_messages;
                needs.keys = config.detector.keys_in_memory;
            } else {
                break;
            }
        }
        let demand = Demand {
            config,
            needs: &needs,
            beside,
            engines: &engines,
        };
        let pages_stay = demand.has_both(limit);
        let prepared = if pages_stay { demand.prepared() } else { 0 };
        let room = Self {
            pages_stay,
            session_key: needs.key(EngineKind::Instantomr),
            sessions: AtomicU64::new(0),
            engines: Kinds::of(engines.iter().copied()),
            fetch_messages: fetch_messages(set, page, config.detector.prepared_bytes),
            counts,
            shortage,
            look,
            checked: least.checked,
            beside: beside + prepared,
            requests: requests as usize,
            needs,
        };
        room.log(config, &before, &engines, limit);
        Ok(room)
    }

    fn log(&self, config: &Config, before: &Config, engines: &[EngineKind], limit: u64) {
        let demand = Demand {
            config,
            needs: &self.needs,
            beside: self.beside,
            engines,
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
                tracing::warn!(
                    "{key} is lowered from {from} to {to}, to fit into {} of memory",
                    in_words(limit)
                );
            }
        }
        if let Some(shortage) = &self.shortage {
            tracing::error!(
                "{shortage}; posting and reading go on. A larger machine, `omr worker` elsewhere or another set makes digests"
            );
        }
    }

    /// Returns the engines whose digests this process can make.
    pub(crate) fn engines(&self) -> Kinds {
        self.engines
    }

    /// Returns whether prepared payloads stay in memory while digests are made.
    pub(crate) fn pages_stay(&self) -> bool {
        self.pages_stay
    }

    /// Returns the number of messages of the longest range of a fetch; 0 if no payloads are prepared.
    pub(crate) fn fetch_messages(&self) -> u64 {
        self.fetch_messages
    }

    /// Returns a description of what does not fit, if anything.
    pub(crate) fn shortage(&self) -> Option<&str> {
        self.shortage.as_deref()
    }

    /// Returns the bytes that requests in progress of all clients may use together.
    pub(crate) fn requests(&self) -> usize {
        self.requests
    }

    /// Checks that there is memory to check a detection key, which digests and sessions may use at the moment.
    ///
    /// Errors: RESOURCE_EXHAUSTED.
    pub(crate) fn check_key(&self) -> Result<(), Status> {
        self.check(self.checked, "checking a key")
            .map_err(|shortage| refuse::busy(shortage, AGAIN))
    }

    /// Checks that there is memory for the key of one more session.
    ///
    /// Errors: a description of what does not fit.
    pub(crate) fn check_session(&self) -> Result<(), String> {
        if self.counts {
            self.check(self.session_key, "a session's key")
        } else {
            Ok(())
        }
    }

    /// Checks that there is memory besides that for posts and requests.
    fn check(&self, needed: u64, what: &str) -> Result<(), String> {
        let has = || {
            let available = (self.look)().available.unwrap_or(u64::MAX);
            available.saturating_sub(LEAST_POSTING + LEAST_REQUESTS)
        };
        if needed > has() {
            omr_detector::release_memory();
        }
        let left = has();
        if needed > left {
            return Err(format!(
                "{what} takes {} of memory, there is {} now",
                in_words(needed),
                in_words(left)
            ));
        }
        Ok(())
    }

    /// Notes the number of sessions whose keys are in memory.
    pub(crate) fn set_sessions(&self, sessions: usize) {
        self.sessions.store(sessions as u64, Ordering::Relaxed);
    }

    /// Returns the number of recipients, at most `most`, whose run fits into the present memory; 0 if not even one
    /// fits.
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
                // Memory freed by earlier runs may be in pieces of other lengths.
                omr_detector::release_memory();
                fitting()
            }
            recipients => recipients,
        }
    }

    /// Returns the bytes that a run for one recipient needs.
    pub(crate) fn run(&self, engines: &[EngineKind], batches: u64) -> u64 {
        self.needs.run(engines, 1, batches)
    }

    /// Returns the memory of a server without limits, for tests.
    #[cfg(test)]
    pub(crate) fn boundless(set: &Arc<ParamSet>) -> Self {
        let (mut config, look) = (Config::default(), Memory::default);
        Self::new(&mut config, set, ClueKind::Bound, false, look).unwrap()
    }
}

/// Returns the settings that are lowered where memory is short.
fn lowerable(config: &Config) -> [(&'static str, u64); 6] {
    let (detector, limits) = (&config.detector, &config.limits);
    [
        ("limits.posting_bytes", limits.posting_bytes as u64),
        ("detector.together", detector.together as u64),
        ("detector.prepared_bytes", detector.prepared_bytes),
        (
            "detector.session_keys_in_memory",
            detector.session_keys_in_memory as u64,
        ),
        ("detector.keys_in_memory", detector.keys_in_memory as u64),
        ("limits.digest_messages", limits.digest_messages),
    ]
}

/// Returns the number of messages in a batch, or 1 if a set has no batches. It is taken from the specification, since
/// tables would need memory.
fn slots(set: &ParamSet) -> u64 {
    set.spec().sophomr.as_ref().map_or(1, |spec| spec.n as u64)
}

/// Returns the bytes of a prepared page; 0 if the set does not serve two rounds.
fn page_bytes(set: &ParamSet, payload_bytes: u32, clues: ClueKind) -> u64 {
    let bytes = |params| PreparedPage::bytes_of(params, payload_bytes as usize, clues).ok();
    let found = set.rounds().ok().and_then(|params| bytes(params));
    found.map_or(0, |bytes| bytes as u64)
}

/// The number of messages of a fetch for which payloads stay prepared where memory is short but suffices for digests.
const PREPARED_MESSAGES: u64 = 1 << 16;

/// Returns the least number of pages for which there is memory where these engines are served. Two serve ranges of a
/// page.
fn least_pages(set: &ParamSet, engines: &[EngineKind]) -> u64 {
    match engines {
        [EngineKind::Rounds] => 2,
        _ => PREPARED_MESSAGES / of_page(set).max(1) + 2,
    }
}

/// Returns the number of messages of a page; 0 if the set does not serve two rounds.
fn of_page(set: &ParamSet) -> u64 {
    set.rounds()
        .map_or(0, |params| params.fetch.spec().page as u64)
}

/// Returns the number of messages of the longest range whose pages always fit into `prepared` bytes, wherever it begins.
fn fetch_messages(set: &ParamSet, page: u64, prepared: u64) -> u64 {
    let pages = prepared.checked_div(page).unwrap_or(0);
    pages
        .checked_sub(1)
        .map_or(0, |whole| whole * of_page(set) + 1)
}

fn titles(engines: &[EngineKind]) -> String {
    let all: Vec<&str> = engines.iter().map(|engine| engine.title()).collect();
    all.join(" and ")
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
            addresses: false,
            available: Some(limit - used),
        }
    }

    fn of(set: &str, look: fn() -> Memory) -> (Config, Room) {
        let mut config = Config::default();
        let set = Arc::new(ParamSet::named(set).unwrap());
        let room = Room::new(&mut config, &set, ClueKind::Bound, true, look).unwrap();
        (config, room)
    }

    #[test]
    fn a_large_machine_has_what_is_configured() {
        for set in ["sophomr-v5", "hybrid-v4"] {
            let (config, room) = of(set, || has(64_000 * MB));
            assert_eq!(config, Config::default(), "{set}");
            assert_eq!(room.shortage(), None);
            assert_eq!(room.engines(), Kinds::of(room.needs.set.spec().engines()));
        }
        // A machine that reports no figures keeps its configuration as well.
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
        assert!(!room.pages_stay(), "they give way to digests");
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
    fn where_no_digest_fits_none_is_made_and_the_figures_are_reported() {
        let (config, room) = of("sophomr-v5", || has(400 * MB));
        assert!(room.engines().is_empty());
        let whole = Config::default();
        assert_eq!(config.detector, whole.detector, "for workers elsewhere");
        assert_eq!(config.limits.digest_messages, whole.limits.digest_messages);
        let text = room.shortage().unwrap();
        assert!(
            text.contains("two rounds") && text.contains(" MB of memory"),
            "{text}"
        );
        // Two rounds alone fit where digests do not, if fetches have short ranges.
        let (config, room) = of("sophomr-v5", || has(700 * MB));
        assert_eq!(room.engines(), Kinds::of([EngineKind::Rounds]));
        assert!((5_000..20_000).contains(&room.fetch_messages()));
        assert_eq!(config.limits.digest_messages, whole.limits.digest_messages);
        assert!(room.shortage().unwrap().contains("two rounds"));
        // InstantOMR and two rounds fit where SophOMR does not.
        let (config, room) = of("hybrid-v4", || has(2_200 * MB));
        let both = [EngineKind::Instantomr, EngineKind::Rounds];
        assert_eq!(room.engines(), Kinds::of(both));
        assert!(room.fetch_messages() > 65_536);
        assert_eq!(config.detector.session_keys_in_memory, 1);
        assert!(room.shortage().is_some());
    }

    #[test]
    fn a_run_is_as_large_as_what_is_left_now() {
        static LEFT: AtomicU64 = AtomicU64::new(0);
        fn left() -> Memory {
            Memory {
                available: Some(LEFT.load(Ordering::Relaxed)),
                ..has(64_000 * MB)
            }
        }
        let (config, room) = of("insecure-tiny-v4", left);
        assert_eq!(config, Config::default());
        let sophomr = [EngineKind::Sophomr];
        // The memory for posts and requests stays free.
        LEFT.store(room.beside, Ordering::Relaxed);
        let fits = room.recipients(&sophomr, 4, 1);
        assert!((1..4).contains(&fits), "{fits}");
        LEFT.store(room.beside - 50 * MB, Ordering::Relaxed);
        assert_eq!(room.recipients(&sophomr, 4, 1), 0);
    }

    #[test]
    fn posts_and_requests_have_less_before_there_is_no_server() {
        let refused = |limit| {
            let set = Arc::new(ParamSet::named("insecure-tiny-v4").unwrap());
            let (mut config, look) = (Config::default(), limit);
            Room::new(&mut config, &set, ClueKind::Bound, true, look).err()
        };
        let (config, room) = of("insecure-tiny-v4", || has(200 * MB));
        let (posting, requests) = (config.limits.posting_bytes, room.requests());
        assert!((8 << 20..30 << 20).contains(&posting), "{posting}");
        assert!((25_000_000..30_000_000).contains(&requests), "{requests}");
        assert!(refused(|| has(120 * MB)).is_none());
        let text = refused(|| has(100 * MB)).unwrap().to_string();
        assert!(
            text.contains("insecure-tiny-v4 takes at least 113 MB") && text.contains("is 100 MB"),
            "{text}"
        );
        // Keys of InstantOMR are read whole. Tables are counted before they are made.
        let full = Arc::new(ParamSet::named("hybrid-v4").unwrap());
        let of_full_set = |limit| {
            let mut config = Config::default();
            Room::new(&mut config, &full, ClueKind::Bound, true, limit)
        };
        assert!(of_full_set(|| has(400 * MB)).is_err());
        assert!(of_full_set(|| has(500 * MB)).unwrap().engines().is_empty());
    }

    #[test]
    fn keys_wait_for_memory() {
        fn left() -> Memory {
            Memory {
                available: Some(150 * MB),
                ..has(64_000 * MB)
            }
        }
        let (_, room) = of("hybrid-v4", left);
        let refused = room.check_key().unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        assert!(
            refused.message().contains("checking a key takes 2"),
            "{refused}"
        );
        let refused = room.check_session().unwrap_err();
        assert!(refused.contains("there is 125 MB now"), "{refused}");
        let (_, room) = of("sophomr-v5", left);
        assert!(room.check_key().is_ok(), "they are read in pieces");
    }
}
