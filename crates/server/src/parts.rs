//! The parts of a server, in the order in which they depend on each other.

use crate::caller::Callers;
use crate::config::Config;
use crate::damage::Damage;
use crate::error::ServerError;
use crate::file_modes;
use crate::jobs::{Asking, Bounds, Jobs, Keep, Local, Together};
use crate::orders::Orders;
use crate::pages::PageSecret;
use crate::priority::Priority;
use crate::registrations::Registrations;
use crate::room::Room;
use crate::sessions::{Sessions, Tools};
use crate::tokens::Tokens;
use omr_cuda::{Cards, Choice};
use omr_detector::engines::Costs;
use omr_memory::Memory;
use omr_ops::Metrics;
use omr_protocol::Mismatch;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Sealing, ledger_board_id};
use omr_runner::{IDLE, Pages, Worker, works_here};
use omr_store::{BoardConfig, Clues, Objects, Store, StoreConfig};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Returns the place and the limits of a configuration's store.
pub fn store_config(config: &Config) -> StoreConfig {
    let mut store = StoreConfig::new(&config.data);
    if let Some(url) = &config.objects.url {
        store.objects = Objects::Bucket {
            url: url.clone(),
            options: config.objects.options.clone(),
        };
    }
    if let Some(messages) = config.objects.segment_messages {
        store.segment_messages = messages;
    }
    store.fork_blocks = config.board.fork_blocks;
    store.post_id_memory = Duration::from_secs(config.limits.post_id_hours * 3600);
    store.upload_bytes = config.limits.upload_bytes;
    store
}

/// Opens the store, or creates it at the first start.
fn open_store(config: &Config, set: &ParamSet, sealing: Sealing) -> Result<Store, ServerError> {
    let wanted: Option<ClueKind> = config.board.clues.as_deref().map(str::parse).transpose()?;
    let at = store_config(config);
    if !Store::exists(&config.data) {
        let clues = wanted.unwrap_or(ClueKind::Bound);
        check_payload(config.board.payload_bytes, sealing, clues)?;
        let board_id = match &config.board.ledger {
            Some(ledger) => ledger_id(config, ledger, set, sealing, clues),
            None => {
                let mut drawn = [0; 16];
                getrandom::fill(&mut drawn).map_err(|_| ServerError::NoRandomness)?;
                drawn
            }
        };
        let board = BoardConfig {
            board_id,
            params_id: set.name().into(),
            sealing: sealing.name().into(),
            clue_bytes: clues.bytes(set.clue()) as u32,
            payload_bytes: config.board.payload_bytes,
            clues: rule(clues),
        };
        Store::create(&at, &board).map_err(ServerError::data(&config.data))?;
    }
    let store = Store::open(&at).map_err(ServerError::data(&config.data))?;
    if store.index_keys(&mut |_, _| {})? {
        tracing::warn!("the list of one-time keys was made again");
    }
    let board = store.board();
    let describe = |params: &str, sealing: &str, bytes: u32, clues: ClueKind| {
        format!("set {params}, sealing {sealing}, payloads of {bytes} bytes, {clues} clues")
    };
    let clues = clue_kind(board);
    if let Some(ledger) = &config.board.ledger {
        let expected = ledger_id(config, ledger, set, sealing, clues);
        if board.board_id != expected {
            return Err(ServerError::OtherLedger(
                config.data.clone(),
                Mismatch::new(expected, board.board_id),
            ));
        }
    }
    let expected = describe(
        set.name(),
        sealing.name(),
        config.board.payload_bytes,
        wanted.unwrap_or(clues),
    );
    let found = describe(&board.params_id, &board.sealing, board.payload_bytes, clues);
    if expected == found {
        Ok(store)
    } else {
        Err(ServerError::OtherBoard(
            config.data.clone(),
            Mismatch::new(expected, found),
        ))
    }
}

fn ledger_id(
    config: &Config,
    ledger: &str,
    set: &ParamSet,
    sealing: Sealing,
    clues: ClueKind,
) -> [u8; 16] {
    let bytes = config.board.payload_bytes;
    ledger_board_id(ledger, set.name(), sealing, bytes, clues)
}

/// The bytes of a file's smallest part in a letter without its content, as `omr_client::letter` writes it, and the
/// bytes of a bound clue's seed. A sealed payload contains both.
const PART_BYTES: usize = 7;
const SEED_BYTES: usize = 32;

/// Checks that a letter fits into the payloads of a new board. Payloads without sealing may have any length.
///
/// Errors: `Setting`.
fn check_payload(found: u32, sealing: Sealing, clues: ClueKind) -> Result<(), ServerError> {
    let seed = match clues {
        ClueKind::Bound => SEED_BYTES,
        ClueKind::Plain => 0,
    };
    let least = sealing.overhead() + seed + PART_BYTES;
    if sealing == Sealing::None || found as usize >= least {
        Ok(())
    } else {
        Err(ServerError::setting(
            "board.payload_bytes",
            format!("at least {least}, so that letters sealed with {sealing} fit"),
            found,
        ))
    }
}

/// Returns the condition that a board sets for clues of a kind.
fn rule(clues: ClueKind) -> Clues {
    match clues {
        ClueKind::Plain => Clues::Plain,
        ClueKind::Bound => Clues::Bound,
    }
}

/// Returns the kind of a board's clues.
pub(crate) fn clue_kind(board: &BoardConfig) -> ClueKind {
    match board.clues {
        Clues::Plain => ClueKind::Plain,
        Clues::Bound => ClueKind::Bound,
    }
}

fn pool(threads: usize, name: &'static str) -> Result<rayon::ThreadPool, ServerError> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    Ok(builder
        .thread_name(move |i| format!("{name}-{i}"))
        .build()?)
}

/// Returns the memory of digests to the system, after a while without a job.
fn release() {
    let bytes = omr_detector::release_memory();
    tracing::debug!(bytes, "idle: memory is released");
}

/// The parts from which the other parts are made.
pub(crate) struct Parts {
    pub(crate) config: Arc<Config>,
    pub(crate) set: Arc<ParamSet>,
    pub(crate) store: Store,
    pub(crate) registrations: Arc<Registrations>,
    pub(crate) sealing: Sealing,
    /// The secret from which the seeds of pages are derived.
    pub(crate) pages: PageSecret,
    pub(crate) metrics: Metrics,
    pub(crate) damage: Arc<Damage>,
    pub(crate) priority: Arc<Priority>,
    pub(crate) costs: Costs,
    /// The devices that make digests and sessions.
    cards: Arc<Cards>,
    pub(crate) room: Arc<Room>,
}

/// Opens the devices that make digests and sessions, and logs them and sets a metric if this server makes any.
fn cards(config: &Config, set: &ParamSet, metrics: &Metrics) -> Result<Arc<Cards>, ServerError> {
    let detector = &config.detector;
    if !detector.local_worker && set.spec().instantomr.is_none() {
        return Ok(Arc::new(Cards::none()));
    }
    let cards = Cards::new(detector.engine)?;
    tracing::info!("{}", cards.summary());
    let card = cards.card();
    let engine = card.as_ref().map_or(Choice::Cpu, |_| Choice::Cuda);
    metrics.engine(engine.name(), card.as_deref());
    Ok(Arc::new(cards))
}

impl Parts {
    pub(crate) fn open(mut config: Config) -> Result<Self, ServerError> {
        config.check()?;
        let set = Arc::new(ParamSet::named(&config.board.params)?);
        let sealing: Sealing = config.board.sealing.parse()?;
        let store = open_store(&config, &set, sealing)?;
        file_modes::close(&config.data)?;
        let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), set.name());
        let cards = cards(&config, &set, &metrics)?;
        let (kind, here) = (clue_kind(store.board()), works_here(&cards));
        let room = Room::new(&mut config, &set, kind, here, Memory::now)?;
        Ok(Self {
            cards,
            room: Arc::new(room),
            costs: Costs {
                batch_s: config.detector.batch_seconds,
                message_s: config.detector.message_seconds,
            },
            registrations: Arc::new(Registrations::open(
                store.clone(),
                config.limits.all_keys as usize,
            )?),
            config: Arc::new(config),
            pages: PageSecret::open(&store)?,
            set,
            store,
            sealing,
            damage: Arc::new(Damage::new(metrics.clone())),
            metrics,
            priority: Arc::default(),
        })
    }

    pub(crate) fn jobs(&self) -> Result<Jobs, ServerError> {
        let limits = &self.config.limits;
        let bounds = Bounds {
            unfinished: limits.all_jobs as usize,
            keep: Keep {
                asked: Duration::from_secs(limits.digest_hours * 3600),
                ordered: limits.order_time(),
            },
            costs: self.costs,
            together: Together {
                most: self.config.detector.together,
                wait: Duration::from_secs_f64(self.config.detector.together_seconds),
            },
            sealing: self.sealing,
            pages: self.pages.clone(),
            lease: Duration::from_secs(self.config.detector.lease_seconds),
            room: self.room.clone(),
        };
        let (store, set) = (self.store.clone(), self.set.clone());
        let keys = self.registrations.clone();
        Jobs::open(store, set, keys, bounds, self.metrics.clone())
    }

    /// Opens the orders. No order is accepted if the set has no batches.
    pub(crate) fn orders(&self) -> Result<Orders, ServerError> {
        let batch = self
            .set
            .sophomr()
            .map_or(u64::MAX, |params| params.slots() as u64);
        Orders::open(
            self.store.clone(),
            self.config.limits.all_orders as usize,
            batch,
        )
    }

    /// Starts the thread that makes digests in this process, unless only other workers make them.
    pub(crate) fn worker(&self, jobs: &Arc<Jobs>) -> Result<Option<JoinHandle<()>>, ServerError> {
        let detector = &self.config.detector;
        let engines = self.room.engines();
        if engines.is_empty() {
            return Ok(None);
        }
        let pool = pool(detector.threads, "digest")?;
        let local = Local {
            store: self.store.clone(),
            set: self.set.clone(),
            jobs: jobs.clone(),
            priority: self.priority.clone(),
            metrics: self.metrics.clone(),
            damage: self.damage.clone(),
            asking: Asking::local(engines),
        };
        let keys = detector.keys_in_memory;
        let cards = self.cards.clone();
        let pages = Pages::new(detector.prepared_bytes, self.room.pages_stay());
        let work = move || {
            let worker = Worker {
                leases: &local,
                supplies: &local,
                set: &local.set,
                cards: &cards,
                keys,
                pages: &pages,
            };
            worker.run(&pool, IDLE, release);
        };
        Ok(Some(std::thread::spawn(work)))
    }

    pub(crate) fn sessions(&self) -> Result<Option<Arc<Sessions>>, ServerError> {
        if self.set.spec().instantomr.is_none() {
            return Ok(None);
        }
        let detector = &self.config.detector;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = match detector.session_threads {
            0 => cores.div_ceil(2),
            threads => threads,
        };
        let tools = Tools {
            store: self.store.clone(),
            set: self.set.clone(),
            cards: self.cards.clone(),
            sealing: self.sealing,
            priority: self.priority.clone(),
            metrics: self.metrics.clone(),
            damage: self.damage.clone(),
            in_memory: detector.session_keys_in_memory,
            room: self.room.clone(),
            limit: self.config.limits.all_sessions as usize,
            pool: pool(threads, "session")?,
        };
        Ok(Some(Arc::new(Sessions::open(tools)?)))
    }

    /// Returns the bytes of the longest key file that recipients of the board may have.
    pub(crate) fn longest_key(&self) -> u64 {
        let clues = clue_kind(self.store.board());
        let bytes = |engine| self.set.key_file_bytes(engine, clues).ok();
        EngineKind::ALL
            .into_iter()
            .filter_map(bytes)
            .max()
            .unwrap_or(0)
    }

    pub(crate) fn callers(&self) -> Result<Callers, ServerError> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(|_| ServerError::NoRandomness)?;
        let tokens = Tokens::open(self.config.tokens())?;
        Ok(Callers::new(self.config.clone(), tokens, salt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_where_no_letter_fits_is_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::tiny(&dir.path().join("data"));
        config.board.payload_bytes = 86;
        let error = Parts::open(config.clone()).err().unwrap().to_string();
        assert!(
            error.contains("board.payload_bytes") && error.contains("at least 87"),
            "{error}"
        );
        config.board.payload_bytes = 87;
        drop(Parts::open(config).unwrap());
    }

    #[test]
    fn errors_of_the_data_folder_name_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let error = Parts::open(Config::tiny(&file.join("data")))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("file/data"), "{error}");
    }

    #[test]
    fn files_that_others_may_read_are_closed() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let config = Config::tiny(&dir.path().join("data"));
        let meta = config.data.join(omr_store::META_FILE);
        let mode =
            |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        drop(Parts::open(config.clone()).unwrap());
        std::fs::set_permissions(&meta, std::fs::Permissions::from_mode(0o644)).unwrap();
        let uploads = config.data.join(omr_store::UPLOADS_DIR);
        drop(Parts::open(config).unwrap());
        assert_eq!((mode(&meta), mode(&uploads)), (0o600, 0o700));
    }
}
