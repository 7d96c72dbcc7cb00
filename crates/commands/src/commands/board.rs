//! `omr board`: creates, examines and shortens boards in folders.

use super::summary;
use crate::error::{CliError, InputError};
use crate::io;
use omr_board::clues_of;
use omr_client::fragment::{most_bytes, most_in_part};
use omr_console::args::payload_bytes;
use omr_console::{Ui, chain};
use omr_detector::Progress;
use omr_protocol::params::DEFAULT;
use omr_protocol::{ClueKind, ClueParams, ParamSet, Sealing};
use omr_store::{Board, Stat, StoreError, Structure};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) const BOARD: &str = "\
Examples:
  omr board init board
  omr board init zcash --sealing none --payload-bytes 612
  omr board init quantum --sealing x-wing --payload-bytes 2048
  omr board stat board --json
  omr board verify board
  omr board expire board --keep 100000

All payloads of a board have one size: shorter files are padded, longer ones split.

Messages that stay when others expire keep their indices, one-time keys stay used, and what asks for a message that \
expired is refused. A board keeps no times: to expire by age, note from time to time how many messages there are.";

#[derive(clap::Subcommand)]
pub(crate) enum BoardCommand {
    /// Create an empty board
    #[command(after_help = BOARD)]
    Init(BoardInit),
    /// Show size and configuration
    #[command(after_help = BOARD)]
    Stat {
        /// The board's folder
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check every record, and the database of a server
    #[command(after_help = BOARD)]
    Verify {
        /// The board's folder
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Remove the oldest messages for good
    #[command(after_help = BOARD)]
    Expire(BoardExpire),
}

#[derive(clap::Args)]
pub(crate) struct BoardExpire {
    /// The board's folder
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Remove the messages before this index
    #[arg(
        long,
        value_name = "INDEX",
        required_unless_present = "keep",
        conflicts_with = "keep"
    )]
    pub(crate) before: Option<u64>,
    /// Remove all but the last N messages
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct BoardInit {
    /// The board's folder, created where absent
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Size of every payload in bytes
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Encryption of payloads: none, hpke-x25519 or x-wing
    #[arg(long, value_name = "SEALING", default_value_t = Sealing::HpkeX25519)]
    pub(crate) sealing: Sealing,
    /// Parameter set of the board's clues
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    /// Kind of the board's clues: bound, or plain, which anybody can make so that they reach every recipient
    #[arg(long, value_name = "KIND", default_value_t = ClueKind::Bound)]
    pub(crate) clues: ClueKind,
}

#[derive(Serialize)]
struct Report {
    board_id: String,
    params: String,
    sealing: String,
    clues: &'static str,
    /// The number of messages, including expired ones.
    messages: u64,
    /// The running hash of the log at that length: two boards with equal hashes have the same messages.
    log_hash: Option<String>,
    first_index: u64,
    clue_bytes: u32,
    payload_bytes: u32,
    message_bytes: u64,
    /// The number of bytes of a file in one message, where the file has only one.
    single_file_bytes: u64,
    /// The number of bytes of a file in one message, where the file has several.
    part_bytes: usize,
    bytes_on_disk: u64,
    /// The length of the file; parts of it that were never written take no disk space.
    file_bytes: u64,
}

pub(super) fn run(command: &BoardCommand, ui: &Ui) -> Result<(), CliError> {
    match command {
        BoardCommand::Init(args) => init(args, ui),
        BoardCommand::Stat { dir, json } => stat(dir, *json, ui),
        BoardCommand::Verify { dir } => verify(dir, ui),
        BoardCommand::Expire(args) => expire(args, ui),
    }
}

fn init(args: &BoardInit, ui: &Ui) -> Result<(), CliError> {
    let set = ParamSet::named(&args.params)?;
    super::warn_if_insecure(set.spec(), ui);
    create(
        &args.dir,
        set.clue(),
        args.sealing,
        args.payload_bytes as usize,
        args.clues,
    )?;
    Ok(())
}

/// Creates a board after checking that its payloads can be sealed and digested.
///
/// Errors: `PayloadBytes`, `Plan`, `Input`.
pub(super) fn create(
    dir: &Path,
    params: &ClueParams,
    sealing: Sealing,
    payload_bytes: usize,
    clues: ClueKind,
) -> Result<Board, CliError> {
    let config = omr_board::new_config(params, sealing, payload_bytes, clues)?;
    Board::create(dir, &config)
        .map_err(InputError::from)
        .map_err(CliError::input(dir))
}

/// The highest time to wait for a board in use: posts and digests hold it for milliseconds, `omr board verify` for
/// seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time after which a note about the waiting is printed.
const NOTED_AFTER: Duration = Duration::from_secs(2);

/// Tries again while another process has the board open.
///
/// Errors: `BoardBusy`; those of `open`.
pub(super) fn patiently(
    ui: &Ui,
    open: impl Fn() -> Result<Board, StoreError>,
) -> Result<Board, InputError> {
    let start = Instant::now();
    let mut noted = false;
    loop {
        match open() {
            Err(StoreError::Locked { .. }) if start.elapsed() < PATIENCE => {
                if !noted && start.elapsed() > NOTED_AFTER {
                    ui.note("waiting for another command that has the board open");
                    noted = true;
                }
                std::thread::sleep(Duration::from_millis(3));
            }
            Err(StoreError::Locked { .. }) => {
                let seconds = PATIENCE.as_secs();
                return Err(InputError::BoardBusy(seconds));
            }
            opened => return Ok(opened?),
        }
    }
}

/// Opens a board for reading. Recovers it first if a writer crashed.
///
/// Errors: `Input`.
pub(super) fn open(dir: &Path, ui: &Ui) -> Result<Board, CliError> {
    let opened = match patiently(ui, || Board::open_read_only(dir)) {
        Err(InputError::Board(StoreError::NeedsRecovery(_))) => {
            let recovered = patiently(ui, || Board::open(dir));
            recovered.map(drop).and_then(|()| {
                ui.warn(&format!(
                    "{}: recovered from a post that did not end",
                    dir.display()
                ));
                patiently(ui, || Board::open_read_only(dir))
            })
        }
        other => other,
    };
    opened.map_err(CliError::input(dir))
}

fn stat(dir: &Path, json: bool, ui: &Ui) -> Result<(), CliError> {
    let board = open(dir, ui)?;
    let stat = board
        .stat()
        .map_err(InputError::from)
        .map_err(CliError::input(dir))?;
    let log_hash = board
        .hash_at(stat.messages)
        .map_err(InputError::from)
        .map_err(CliError::input(dir))?;
    let report = Report::new(stat, log_hash).map_err(CliError::input(dir))?;
    if json {
        Ok(io::print_json(&report)?)
    } else {
        Ok(io::print(&report.text())?)
    }
}

impl Report {
    fn new(stat: Stat, log_hash: Option<[u8; 32]>) -> Result<Self, InputError> {
        let place = omr_board::place(&stat.config)?;
        let capacity = place.capacity(clues_of(stat.config.clues));
        Ok(Self {
            board_id: omr_protocol::hex(&stat.config.board_id),
            params: stat.config.params_id,
            sealing: stat.config.sealing,
            clues: clues_of(stat.config.clues).name(),
            messages: stat.messages,
            log_hash: log_hash.map(|hash| omr_protocol::hex(&hash)),
            first_index: stat.first,
            clue_bytes: stat.config.clue_bytes,
            payload_bytes: stat.config.payload_bytes,
            message_bytes: stat.message_bytes,
            single_file_bytes: most_bytes(1, capacity),
            part_bytes: most_in_part(capacity),
            bytes_on_disk: stat.bytes_on_disk,
            file_bytes: stat.file_bytes,
        })
    }

    fn text(&self) -> String {
        format!(
            "board          {}\nparameters     {}\nsealing        {}\nclues          {}\nmessages       {}\n\
             running hash   {}\nclue bytes     {}\npayload bytes  {}\n  of a file    {} at most, {} of one in several messages\n\
             bytes in all   {}\nbytes on disk  {}{}\n",
            self.board_id,
            self.params,
            self.sealing,
            self.clues,
            self.counted(),
            self.log_hash.as_deref().unwrap_or("lost"),
            self.clue_bytes,
            self.payload_bytes,
            self.single_file_bytes,
            self.part_bytes,
            omr_console::thousands(self.message_bytes),
            omr_console::thousands(self.bytes_on_disk),
            self.holes(),
        )
    }

    fn counted(&self) -> String {
        let messages = omr_console::thousands(self.messages);
        match self.first_index {
            0 => messages,
            first => format!("{messages}, those before {first} expired"),
        }
    }

    /// Returns the size of the file, where it exceeds the space that it takes on the disk.
    fn holes(&self) -> String {
        if self.file_bytes > self.bytes_on_disk {
            format!(
                " (a file of {}, with holes)",
                omr_console::thousands(self.file_bytes)
            )
        } else {
            String::new()
        }
    }
}

fn verify(dir: &Path, ui: &Ui) -> Result<(), CliError> {
    let board = open(dir, ui)?;
    let bar = ui.bar();
    bar.stage("verify", board.len());
    let mut seen = 0;
    let mut progress = |done, _| {
        bar.advance(done - seen);
        seen = done;
    };
    let verified = board.verify(&mut progress);
    drop(bar);
    let report = verified
        .map_err(InputError::from)
        .map_err(CliError::input(dir))?;
    let (config, on_board) = (board.config().clone(), board.first()..board.len());
    drop(board);
    // Testing signatures takes long: other processes can post meanwhile.
    let clues = super::clues::sweep(&config, on_board, |range, tag| {
        let Ok(board) = open(dir, ui) else {
            return Vec::new();
        };
        let kept = board.kept_hashes(range.clone(), tag).unwrap_or_default();
        super::clues::keep(range.start, &kept, |visit| {
            let _ = board.read(range, visit);
        })
    })?;
    let there = report.messages - report.first;
    if report.is_sound() && clues.count == 0 {
        let messages = omr_console::thousands(there);
        return Ok(io::print(&format!("sound: {messages} messages\n"))?);
    }
    for fault in &report.faults {
        ui.line(&format!("omr: {}", chain(fault)));
    }
    clues
        .described
        .iter()
        .for_each(|line| ui.line(&format!("omr: {line}")));
    match &report.structure {
        Some(Structure::Damaged(error)) => ui.line(&format!("omr: {}", chain(error))),
        Some(Structure::Inconsistent) => {
            ui.line("omr: the database under the board contradicts itself")
        }
        _ => {}
    }
    if report.is_sound() {
        let (bad, messages) = (clues.count, there);
        return Err(CliError::input(dir)(InputError::Unsigned { bad, messages }));
    }
    let unsound = InputError::Unsound {
        bad: report.bad_messages,
        messages: there,
    };
    Err(CliError::input(dir)(unsound))
}

#[derive(Serialize)]
struct Gone {
    expired: u64,
    first_index: u64,
    messages: u64,
    bytes_on_disk: u64,
}

/// Removes the oldest messages.
///
/// Errors: `Input`.
fn expire(args: &BoardExpire, ui: &Ui) -> Result<(), CliError> {
    let gone = || -> Result<Gone, InputError> {
        let board = patiently(ui, || Board::open(&args.dir))?;
        let kept = board.len().saturating_sub(args.keep.unwrap_or(u64::MAX));
        let expired = board.expire(args.before.unwrap_or(kept))?;
        let stat = board.stat()?;
        Ok(Gone {
            expired: expired.end - expired.start,
            first_index: stat.first,
            messages: stat.messages,
            bytes_on_disk: stat.bytes_on_disk,
        })
    };
    let gone = gone().map_err(CliError::input(&args.dir))?;
    let line = format!(
        "{} messages expired; the board begins at {}, has {} left and takes {} bytes",
        omr_console::thousands(gone.expired),
        gone.first_index,
        omr_console::thousands(gone.messages - gone.first_index),
        omr_console::thousands(gone.bytes_on_disk),
    );
    summary(&gone, &line, args.json, ui)
}
