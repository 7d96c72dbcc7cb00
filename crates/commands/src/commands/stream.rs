//! Sessions: a recipient's messages are processed as they reach the board.

mod state;

use super::digest::warn_of_lost;
use super::engines;
use super::source::{Folder, sealing};
use crate::args::headings::{OUTPUT, WORK};
use crate::error::{CliError, InputError};
use crate::io::{self, Output};
use omr_board::BoardSource;
use omr_console::Ui;
use omr_console::args::{bound, threads};
use omr_detector::instantomr::{InstantDetector, Session};
use omr_detector::{DetectorError, Messages};
use omr_protocol::instantomr::InstantPlan;
use omr_protocol::{DigestHeader, ParamSet, Request, Scheme, hex};
use omr_store::Board;
use serde::Serialize;
use state::{Lock, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(clap::Subcommand)]
pub(crate) enum Stream {
    /// Process a board's messages for one recipient, from where the session stopped
    #[command(after_help = STREAM)]
    Run(StreamRun),
    /// Make a digest of all messages processed since the last one
    #[command(after_help = STREAM)]
    Cut(StreamCut),
}

#[derive(clap::Args)]
pub(crate) struct StreamRun {
    /// The board's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) board: PathBuf,
    /// The recipient's instant.key
    #[arg(long, value_name = "KEY")]
    pub(crate) detection_key: PathBuf,
    /// File of the session, created where absent
    #[arg(long, value_name = "FILE")]
    pub(crate) state: PathBuf,
    /// Pertinent messages that a digest may carry, for each group of messages
    #[arg(long, value_name = "K", value_parser = bound())]
    pub(crate) bound: u32,
    /// First message of a new session
    #[arg(long, value_name = "I")]
    pub(crate) from: Option<u64>,
    /// Highest number of messages of a digest in a new session: it then waits for `omr stream cut`. Up to about 1,000
    /// messages cost less time each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) room: Option<u64>,
    /// Make digests of indices without payloads
    #[arg(long)]
    pub(crate) indices_only: bool,
    /// instantomr, or instantomd for indices alone
    #[arg(long, value_name = "SCHEME", default_value_t = Scheme::Instantomr)]
    pub(crate) scheme: Scheme,
    /// Continue with messages as they reach the board, until killed
    #[arg(long, help_heading = WORK)]
    pub(crate) follow: bool,
    /// Milliseconds between two looks at the board
    #[arg(long, help_heading = WORK, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) poll_ms: u32,
    /// Highest number of messages between two writes of the file [default: 64, or 1,024 with a card]
    #[arg(long, help_heading = WORK, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) lot: Option<u64>,
    /// Hardware that processes messages: an NVIDIA card (cuda), the processor (cpu), or a card if there is one (auto)
    #[arg(long, help_heading = WORK, value_name = "ENGINE", default_value_t = omr_cuda::Choice::Auto)]
    pub(crate) engine: omr_cuda::Choice,
    /// Threads to work on; all cores unless given
    #[arg(long, help_heading = WORK, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Print one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct StreamCut {
    /// The recipient's instant.key
    #[arg(long, value_name = "KEY")]
    pub(crate) detection_key: PathBuf,
    /// File of the session; another process may be using it
    #[arg(long, value_name = "FILE")]
    pub(crate) state: PathBuf,
    /// Number of the digest, counted from 0: the next one, or the last one again [default: the next one]
    #[arg(long, value_name = "N")]
    pub(crate) number: Option<u64>,
    /// Leave the messages in the session: the next digest contains them too
    #[arg(long, conflicts_with = "number")]
    pub(crate) peek: bool,
    /// File for the digest; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Report as one JSON object (on standard error if the digest goes to standard output)
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const STREAM: &str = "\
Examples:
  omr keygen --scheme instantomr --out alice
  omr board init board
  omr stream run --board board --detection-key alice/instant.key \\
    --state alice.session --bound 50
  omr stream run --board board --detection-key alice/instant.key \\
    --state alice.session --bound 50 --follow
  omr stream cut --detection-key alice/instant.key \\
    --state alice.session --number 0 --out digest
  omr decode --secret-key alice/secret.key --digest digest --out letters

The session's file is replaced after each chunk of messages, so that a killed run continues from there. A \
digest is kept until the next one: requested again by its number, it is the same, and no message is lost or \
comes twice. Make digests on a fixed schedule, whatever the last one contained. If at most a certain number of messages \
comes between two digests, --room with that number makes each cost less time.";

#[derive(Serialize)]
struct Report {
    params: &'static str,
    scheme: &'static str,
    start: u64,
    next: u64,
    /// The running hash of the board's log at `next`, if it is known.
    log_hash: Option<String>,
    cuts: u64,
    /// The highest number of messages of a digest.
    room: Option<u64>,
    unusable_clues: usize,
    /// Messages that this run processed and that the board has lost by damage.
    lost: Vec<u64>,
}

#[derive(Serialize)]
struct CutReport {
    params: &'static str,
    cut: u64,
    digest_bytes: usize,
}

pub(super) fn run(command: &Stream, ui: &Ui) -> Result<(), CliError> {
    match command {
        Stream::Run(args) => advance(args, ui),
        Stream::Cut(args) => cut(args, ui),
    }
}

/// Reads the one key of a session.
fn detector(
    key: &Path,
    make: &engines::MakeSession<'_>,
    ui: &Ui,
) -> Result<(ParamSet, Arc<InstantDetector>), CliError> {
    let paths = [PathBuf::from(key)];
    let keys = engines::open(&paths)?;
    keys.load_session(make, &ui.bar())
}

fn advance(args: &StreamRun, ui: &Ui) -> Result<(), CliError> {
    omr_console::start_threads(args.threads)?;
    let cards = engines::cards(args.engine, ui)?;
    let make = |set: &ParamSet, key| Ok(cards.instant(set, key)?);
    check_scheme(args)?;
    let (set, detector) = detector(&args.detection_key, &make, ui)?;
    let state = State::new(&args.state, set.instantomr()?, &detector);
    {
        let board = super::board::open(&args.board, ui)?;
        engines::check_board(&args.board, &board, &args.detection_key, &set)?;
        let lock = state.lock()?;
        let session = match state.read(&lock)? {
            Some(session) => session,
            None => open(args, &board, &detector)?,
        };
        check(args, &board, &session)?;
        check_history(args, &board, &session)?;
        state.write(&lock, &session)?;
    }
    let (mut kept, mut lost) = (None, Vec::new());
    loop {
        let taken = catch_up(args, ui, &state, &mut kept, &mut lost)?;
        if !args.follow {
            return print_report(args, &set, &state, lost);
        }
        if taken == 0 {
            std::thread::sleep(Duration::from_millis(args.poll_ms.into()));
        }
    }
}

/// Returns a new session from the requested message on.
fn open(
    args: &StreamRun,
    board: &Board,
    detector: &Arc<InstantDetector>,
) -> Result<Session, CliError> {
    detector.check_board(board.config().clue_bytes as usize)?;
    let messages = board.len();
    let start = args.from.unwrap_or(board.first());
    if start > messages {
        return Err(CliError::input(&args.board)(InputError::Range {
            messages,
            start,
            end: start,
        }));
    }
    let expired = super::digest::expect_there(board, &(start..board.first()));
    expired.map_err(|error| CliError::input(&args.board)(InputError::from(error)))?;
    let payload = board.config().payload_bytes as usize;
    let request = Request::new(
        start..start,
        args.bound as usize,
        (!indices(args)).then_some(payload),
    );
    let header = DigestHeader {
        key_id: detector.key_id(),
        board_id: board.config().board_id,
        sealing: sealing(board).map_err(CliError::input(&args.board))?,
        plan: InstantPlan::new(detector.params(), request)?,
        seed: omr_detector::placement_seed(),
    };
    let detector = detector.clone();
    let mut session = match args.room {
        Some(room) => Session::with_room(detector, header, room),
        None => Session::new(detector, header),
    };
    session.note_log_hash(log_hash(args, board, start)?);
    Ok(session)
}

/// Returns the running hash of the board's log at a length.
///
/// Errors: `Input`.
fn log_hash(args: &StreamRun, board: &Board, length: u64) -> Result<Option<[u8; 32]>, CliError> {
    let hash = board.hash_at(length).map_err(InputError::from);
    hash.map_err(CliError::input(&args.board))
}

/// Checks that a board still has the messages that a session has processed. Returns whether the hashes were known.
///
/// Errors: `Input`.
fn check_history(args: &StreamRun, board: &Board, session: &Session) -> Result<bool, CliError> {
    let hash_at = |length| board.hash_at(length).map_err(InputError::from);
    let known = session.seen().check(board.len(), hash_at);
    known.map_err(CliError::input(&args.state))
}

/// Checks that the requested scheme is one of InstantOMR.
///
/// Errors: `StreamScheme`.
fn check_scheme(args: &StreamRun) -> Result<(), CliError> {
    match args.scheme {
        Scheme::Instantomr | Scheme::Instantomd => Ok(()),
        found => Err(CliError::StreamScheme(found)),
    }
}

fn indices(args: &StreamRun) -> bool {
    args.indices_only || args.scheme.is_for_indices()
}

/// Checks that a session has the requested board, bound and room.
///
/// Errors: `Input`.
fn check(args: &StreamRun, board: &Board, session: &Session) -> Result<(), CliError> {
    let header = session.header();
    let request = header.plan.request();
    let same = header.board_id == board.config().board_id
        && request.bound == args.bound as usize
        && request.payload_bytes.is_none() == indices(args)
        && (args.room.is_none() || args.room == session.room());
    if same {
        Ok(())
    } else {
        Err(CliError::input(&args.state)(InputError::OtherSession {
            bound: request.bound,
            indices: request.payload_bytes.is_none(),
            room: session.room(),
        }))
    }
}

/// The number of messages that are read at once: the board is closed before they are processed, so that other processes
/// can post meanwhile.
const READ_TOGETHER: u64 = 1024;

/// Processes all messages that are on the board now, as far as there is room. After each chunk the state is on the
/// disk, and other processes can make a digest.
///
/// `kept` is the session between two calls. Lost messages are added to `lost`, and a warning is printed for them.
fn catch_up(
    args: &StreamRun,
    ui: &Ui,
    state: &State,
    kept: &mut Option<Session>,
    lost: &mut Vec<u64>,
) -> Result<u64, CliError> {
    let bar = ui.bar();
    let mut taken = 0;
    loop {
        let session = state.newest(&state.lock()?, kept.take())?;
        let read = read(args, ui, state, &session)?;
        *kept = Some(session);
        let Some(Read {
            folder,
            mut messages,
            lost: missing,
        }) = read
        else {
            return Ok(taken);
        };
        warn_of_lost(ui, &missing);
        lost.extend(missing);
        let end = messages.range().end;
        loop {
            let lock = state.lock()?;
            let mut session = state.newest(&lock, kept.take())?;
            if session.next() >= end {
                *kept = Some(session);
                break;
            }
            let lot = args.lot.unwrap_or(session.turn());
            let lot = end.min(session.next() + lot);
            taken += lot - session.next();
            let hash = {
                // Another process may have continued the session on a board of another history.
                let board = folder.again()?;
                check_history(args, &board, &session)?;
                log_hash(args, &board, lot)?
            };
            let report =
                |error: &DetectorError| ui.warn(&format!("{error}; the processor goes on"));
            session.advance_or_here(&mut messages, lot, &bar, insists(args), report)?;
            session.note_log_hash(hash);
            state.write(&lock, &session)?;
            *kept = Some(session);
        }
    }
}

/// Returns whether a card is required.
fn insists(args: &StreamRun) -> bool {
    args.engine == omr_cuda::Choice::Cuda
}

/// Messages of a board, and their position.
struct Read {
    folder: Folder,
    messages: Messages,
    /// The messages that the board has lost by damage.
    lost: Vec<u64>,
}

/// Returns the next messages of a session that are on the board, at most [`READ_TOGETHER`], or `None` if there are
/// none.
///
/// Errors: `Input` where the board is not the one that the session has processed, or cannot be read.
fn read(
    args: &StreamRun,
    ui: &Ui,
    state: &State,
    session: &Session,
) -> Result<Option<Read>, CliError> {
    let next = session.next();
    if next == session.end() {
        return Ok(None);
    }
    let board = super::board::open(&args.board, ui)?;
    let is_known = check_history(args, &board, session)?;
    let end = session
        .end()
        .min(board.len())
        .min(next.saturating_add(READ_TOGETHER));
    if next >= end {
        return Ok(None);
    }
    // Expired messages are refused by name below.
    if !is_known && next >= board.first() {
        ui.warn(&format!(
            "{}: the running hash at message {next} is lost: whether the board still is the one that the session has seen \
             cannot be checked",
            args.board.display()
        ));
    }
    let opened = || -> Result<_, InputError> {
        let folder = Folder::new(&args.board, &board, ui)?;
        let source = BoardSource::new(folder.clone(), &board, &state.params().clue)?;
        Ok((folder, source))
    };
    let (folder, mut source) = opened().map_err(CliError::input(&args.board))?;
    drop(board);
    let messages = source.read(next..end).map_err(DetectorError::Source)?;
    Ok(Some(Read {
        folder,
        messages,
        lost: source.lost(next..end),
    }))
}

fn print_report(
    args: &StreamRun,
    set: &ParamSet,
    state: &State,
    lost: Vec<u64>,
) -> Result<(), CliError> {
    let lock = state.lock()?;
    let session = state.newest(&lock, None)?;
    let request = session.header().plan.request().clone();
    let report = Report {
        params: set.name(),
        scheme: session.header().plan.scheme().name(),
        start: request.range.start,
        next: session.next(),
        log_hash: session.seen().next.hash.map(|hash| hex(&hash)),
        cuts: session.cuts(),
        room: session.room(),
        unusable_clues: session.unusable_clues.saturating_sub(lost.len()),
        lost,
    };
    if args.json {
        Ok(io::print_json(&report)?)
    } else {
        let full = if session.next() == session.end() {
            ", full: omr stream cut makes room"
        } else {
            ""
        };
        Ok(io::print(&format!(
            "{}..{}{full}\n",
            report.start, report.next
        ))?)
    }
}

/// The highest time to wait for a session that another process is starting.
const BEGIN: Duration = Duration::from_secs(3);

/// Returns the locked session in the file; waits a little for another process to create it.
fn begun(state: &State, path: &Path) -> Result<(Lock, Session), CliError> {
    let asked = Instant::now();
    loop {
        let lock = state.lock()?;
        match state.read(&lock)? {
            Some(session) => return Ok((lock, session)),
            None if asked.elapsed() < BEGIN => drop(lock),
            None => return Err(CliError::input(path)(InputError::NoSession)),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn cut(args: &StreamCut, ui: &Ui) -> Result<(), CliError> {
    let out =
        Output::file(&args.out, args.force)?.apart_from([&args.detection_key, &args.state])?;
    let (set, detector) = detector(&args.detection_key, &engines::session_on_cpu, ui)?;
    let state = State::new(&args.state, set.instantomr()?, &detector);
    let (lock, mut session) = begun(&state, &args.state)?;
    let number = args.number.unwrap_or(session.cuts());
    let bytes = if args.peek {
        session
            .digest()
            .to_bytes(set.instantomr()?)
            .map_err(|error| CliError::write(&args.out, error))?
    } else {
        let bytes = session
            .cut(number, omr_detector::placement_seed())
            .map_err(InputError::from)
            .map_err(CliError::input(&args.state))?;
        // The digest is kept before it is written out, so that a repeated call returns the same one.
        state.write(&lock, &session)?;
        bytes
    };
    drop(lock);
    out.write(&bytes)?;
    let report = CutReport {
        params: set.name(),
        cut: number,
        digest_bytes: bytes.len(),
    };
    let size = omr_console::thousands(bytes.len() as u64);
    let note = format!("digest {number} of {size} bytes");
    super::report_beside(ui, &args.out, args.json, &report, &note)
}
