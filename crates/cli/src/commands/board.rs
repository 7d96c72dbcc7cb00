use crate::args::{BoardCommand, BoardInit};
use crate::error::{CliError, InputError, chain};
use crate::io;
use crate::progress::Ui;
use omr_board::{Board, BoardConfig, BoardError, Clues, Stat, Structure};
use omr_detector::Progress;
use omr_protocol::plan::MAX_PAYLOAD_BYTES;
use omr_protocol::{ClueKind, ClueParams, ParamSet, PlanError, Sealing};
use rand_core::Rng;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Serialize)]
struct Report {
    board_id: String,
    params: String,
    sealing: String,
    clues: &'static str,
    messages: u64,
    clue_bytes: u32,
    payload_bytes: u32,
    message_bytes: u64,
    bytes_on_disk: u64,
    chunk_messages: u64,
}

pub(super) fn run(command: &BoardCommand, ui: &Ui) -> Result<(), CliError> {
    match command {
        BoardCommand::Init(args) => init(args),
        BoardCommand::Stat { dir, json } => stat(dir, *json, ui),
        BoardCommand::Verify { dir } => verify(dir, ui),
    }
}

fn init(args: &BoardInit) -> Result<(), CliError> {
    let set = ParamSet::for_new(&args.params, args.allow_old)?;
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
    if !(1..=MAX_PAYLOAD_BYTES).contains(&payload_bytes) {
        let found = payload_bytes;
        return Err(PlanError::Payload { found }.into());
    }
    let least = sealing.overhead() + 1;
    if payload_bytes < least {
        return Err(CliError::PayloadBytes {
            sealing,
            least,
            found: payload_bytes,
        });
    }
    const { assert!(MAX_PAYLOAD_BYTES <= u32::MAX as usize) };
    let mut board_id = [0; 16];
    omr_client::os_rng().fill_bytes(&mut board_id);
    let config = BoardConfig {
        board_id,
        params_id: params.name().to_owned(),
        sealing: sealing.name().to_owned(),
        clue_bytes: clues.bytes(params) as u32,
        payload_bytes: payload_bytes as u32,
        clues: match clues {
            ClueKind::Plain => Clues::Plain,
            ClueKind::Bound => Clues::Bound,
        },
    };
    Board::create(dir, &config)
        .map_err(InputError::from)
        .map_err(CliError::input(dir))
}

/// The kind of a board's clues.
pub(super) fn clues(of: Clues) -> ClueKind {
    match of {
        Clues::Plain => ClueKind::Plain,
        Clues::Bound => ClueKind::Bound,
    }
}

/// How long a board in use is waited for: posts and reads hold it for milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tries again while somebody else has the board open.
///
/// Errors: those of `open`.
pub(super) fn patiently(open: impl Fn() -> Result<Board, BoardError>) -> Result<Board, BoardError> {
    let start = Instant::now();
    loop {
        match open() {
            Err(BoardError::Locked { .. }) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(3));
            }
            opened => return opened,
        }
    }
}

/// Opens a board for reading; where a writer crashed, recovers it first.
///
/// Errors: `Input`.
pub(super) fn open(dir: &Path, ui: &Ui) -> Result<Board, CliError> {
    let opened = match patiently(|| Board::open_read_only(dir)) {
        Err(BoardError::NeedsRecovery { .. }) => patiently(|| Board::open(dir)).and_then(|board| {
            drop(board);
            ui.warn(&format!(
                "{}: recovered from a post that did not end",
                dir.display()
            ));
            Board::open_read_only(dir)
        }),
        other => other,
    };
    opened
        .map_err(InputError::from)
        .map_err(CliError::input(dir))
}

fn stat(dir: &Path, json: bool, ui: &Ui) -> Result<(), CliError> {
    let board = open(dir, ui)?;
    let stat = board
        .stat()
        .map_err(InputError::from)
        .map_err(CliError::input(dir))?;
    let report = Report::new(stat);
    match json {
        true => io::print_json(&report),
        false => io::print(&report.text()),
    }
}

impl Report {
    fn new(stat: Stat) -> Self {
        Self {
            board_id: io::hex(&stat.config.board_id),
            params: stat.config.params_id,
            sealing: stat.config.sealing,
            clues: clues(stat.config.clues).name(),
            messages: stat.messages,
            clue_bytes: stat.config.clue_bytes,
            payload_bytes: stat.config.payload_bytes,
            message_bytes: stat.message_bytes,
            bytes_on_disk: stat.bytes_on_disk,
            chunk_messages: stat.chunk_messages,
        }
    }

    fn text(&self) -> String {
        format!(
            "board          {}\nparameters     {}\nsealing        {}\nclues          {}\nmessages       {}\n\
             clue bytes     {}\npayload bytes  {}\nbytes in all   {}\nbytes on disk  {}\n",
            self.board_id,
            self.params,
            self.sealing,
            self.clues,
            super::thousands(self.messages),
            self.clue_bytes,
            self.payload_bytes,
            super::thousands(self.message_bytes),
            super::thousands(self.bytes_on_disk),
        )
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
    let report = board.verify(&mut progress);
    drop(bar);
    let report = report
        .map_err(InputError::from)
        .map_err(CliError::input(dir))?;
    let clues = super::clues::sweep(board.config(), board.len(), |range| {
        let mut out = Vec::new();
        let _ = board.read(range, &mut super::clues::keep(&mut out));
        out
    })?;
    if report.is_sound() && clues.count == 0 {
        let messages = super::thousands(report.messages);
        return io::print(&format!("sound: {messages} messages\n"));
    }
    for fault in &report.faults {
        ui.line(&format!("omr: {}", chain(fault)));
    }
    clues
        .told
        .iter()
        .for_each(|line| ui.line(&format!("omr: {line}")));
    match &report.structure {
        Structure::Damaged(error) => ui.line(&format!("omr: {}", chain(error))),
        Structure::Inconsistent => ui.line("omr: the database under the board contradicts itself"),
        _ => {}
    }
    if report.is_sound() {
        let (bad, messages) = (clues.count, report.messages);
        return Err(CliError::input(dir)(InputError::Unsigned { bad, messages }));
    }
    let unsound = InputError::Unsound {
        bad: report.bad_messages,
        messages: report.messages,
    };
    Err(CliError::input(dir)(unsound))
}
