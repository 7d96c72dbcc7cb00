use super::source::{clues, sealing};
use crate::args::Post;
use crate::error::{CliError, InputError};
use crate::io::{self, Framed};
use crate::progress::Ui;
use omr_board::{Board, Message};
use omr_client::letter::{Place, Writer};
use omr_client::os_rng;
use omr_detector::Progress;
use omr_protocol::frame::Kind;
use omr_protocol::{ClueParams, Sealing};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Most messages of one transaction.
const TRANSACTION: usize = 1000;

/// Largest file taken: it is held in memory.
const MAX_FILE_BYTES: u64 = 1 << 32;

#[derive(Serialize)]
struct Posted<'a> {
    file: &'a Path,
    start: u64,
    end: u64,
}

/// Messages on their way to the board, and the files they are of.
struct Queue<'a> {
    board: Board,
    args: &'a Post,
    /// Bytes of a payload posted as it is.
    raw: Option<usize>,
    messages: Vec<Message>,
    /// Files not yet told of, with the messages of each.
    files: VecDeque<(&'a PathBuf, u64)>,
    /// The first message not yet told of.
    told: u64,
}

pub(super) fn run(args: &Post, ui: &Ui) -> Result<(), CliError> {
    let on_board = || CliError::input(&args.board);
    let board = super::board::patiently(|| Board::open(&args.board))
        .map_err(InputError::from)
        .map_err(on_board())?;
    let key = Framed::open(&args.to, Kind::ClueKey)?;
    if board.config().params_id != key.header.params_id {
        return Err(CliError::OtherParams {
            first: args.board.clone(),
            expected: board.config().params_id.clone(),
            second: args.to.clone(),
            found: key.header.params_id,
        });
    }
    let sealing = sealing(&board).map_err(on_board())?;
    if args.raw && sealing != Sealing::None {
        return Err(on_board()(InputError::RawSealed { found: sealing }));
    }
    let set = key.set()?;
    let params = set.clue();
    let key = io::read_clue_key(key, params)?;
    let expected = clues(&board, params).map_err(on_board())?;
    if key.kind != expected {
        let found = key.kind;
        return Err(CliError::input(&args.to)(InputError::ClueKind {
            expected,
            found,
        }));
    }
    let config = board.config();
    let place = Place {
        board_id: config.board_id,
        params: params.name().to_owned(),
        sealing,
        payload_bytes: config.payload_bytes as usize,
    };
    let raw = args.raw.then_some(place.payload_bytes);
    let writer = Writer::new(params, &key, place).map_err(InputError::from);
    let writer = writer.map_err(CliError::input(&args.to))?;
    let told = board.len();
    let mut queue = Queue {
        board,
        args,
        raw,
        messages: Vec::new(),
        files: VecDeque::new(),
        told,
    };
    queue.post(&writer, params, ui)
}

/// The payloads of a file before sealing; `raw`: the file as it is.
fn parts(writer: &Writer, raw: Option<usize>, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, InputError> {
    match (raw, bytes.len()) {
        (Some(expected), found) if expected == found => Ok(vec![bytes]),
        (Some(expected), found) => Err(InputError::RawSize { expected, found }),
        (None, _) => Ok(writer.parts(&bytes, &mut os_rng())?),
    }
}

/// Seals payloads and adds clues.
fn messages(writer: &Writer, parts: &[Vec<u8>]) -> Result<Vec<Message>, InputError> {
    let message = |rng: &mut _, part: &Vec<u8>| {
        let written = writer.message(rng, part)?;
        Ok(Message {
            clue: written.clue,
            payload: written.payload,
        })
    };
    parts.par_iter().map_init(os_rng, message).collect()
}

impl<'a> Queue<'a> {
    fn post(&mut self, writer: &Writer, params: &ClueParams, ui: &Ui) -> Result<(), CliError> {
        let bar = ui.bar();
        bar.stage("files", self.args.files.len() as u64);
        for path in &self.args.files {
            self.add(writer, params, path)?;
            bar.advance(1);
        }
        self.flush(params)
    }

    fn add(
        &mut self,
        writer: &Writer,
        params: &ClueParams,
        path: &'a PathBuf,
    ) -> Result<(), CliError> {
        let bytes = io::read_file(path, MAX_FILE_BYTES)?;
        let parts = parts(writer, self.raw, bytes).map_err(CliError::input(path))?;
        self.files.push_back((path, parts.len() as u64));
        let mut rest = &parts[..];
        while !rest.is_empty() {
            if self.messages.len() == TRANSACTION {
                self.flush(params)?;
            }
            let (now, later) = rest.split_at(rest.len().min(TRANSACTION - self.messages.len()));
            self.messages
                .extend(messages(writer, now).map_err(CliError::input(path))?);
            rest = later;
        }
        Ok(())
    }

    /// Appends what is queued in one transaction and tells of the files that are now complete.
    fn flush(&mut self, params: &ClueParams) -> Result<(), CliError> {
        let checked = super::clues::check(self.board.config(), params, &self.messages);
        checked.map_err(CliError::input(&self.args.board))?;
        let appended = self.board.append(&self.messages).map_err(InputError::from);
        let end = appended.map_err(CliError::input(&self.args.board))?.end;
        self.messages.clear();
        while let Some(&(file, count)) = self.files.front() {
            if self.told + count > end {
                break;
            }
            self.files.pop_front();
            let posted = Posted {
                file,
                start: self.told,
                end: self.told + count,
            };
            self.told = posted.end;
            self.tell(&posted)?;
        }
        Ok(())
    }

    fn tell(&self, posted: &Posted) -> Result<(), CliError> {
        let (start, file) = (posted.start, posted.file.display());
        match posted.end - start {
            _ if self.args.json => io::print_json(posted),
            1 => io::print(&format!("{start} {file}\n")),
            _ => io::print(&format!("{start}..{} {file}\n", posted.end)),
        }
    }
}
