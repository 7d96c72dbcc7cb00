//! `omr post`: files become messages on a board.

use super::board::{self, patiently};
use super::source::{clues, sealing};
use crate::args::Post;
use crate::error::{CliError, InputError};
use crate::io::{self, Framed};
use omr_client::fragment::Shape;
use omr_client::letter::Writer;
use omr_client::os_rng;
use omr_console::{Bar, Ui};
use omr_detector::Progress;
use omr_local::{MAX_PARTS, TRANSACTION, post_hashes};
use omr_protocol::Mismatch;
use omr_protocol::frame::Kind;
use omr_protocol::request::MAX_BOUND;
use omr_protocol::{ClueParams, Sealing};
use omr_store::{Board, BoardConfig, Message, MessageHashes};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// More messages for one recipient than most digests are asked for: an identity's, unless she says otherwise.
const USUAL_BOUND: u64 = 50;

#[derive(Serialize)]
struct Posted<'a> {
    #[serde(serialize_with = "io::as_text")]
    file: &'a Path,
    start: u64,
    end: u64,
}

/// A file to post, and what it costs.
struct Letter<'a> {
    path: &'a PathBuf,
    /// What its recipient calls it.
    name: Option<String>,
    /// Present where it cannot be read a second time.
    content: Option<Vec<u8>>,
    shape: Shape,
}

/// Messages on their way to the board, and the files they are of.
struct Queue<'a> {
    args: &'a Post,
    ui: &'a Ui,
    params: &'a ClueParams,
    config: BoardConfig,
    messages: Vec<Message>,
    /// Files not yet told of, with the messages of each.
    files: VecDeque<(&'a PathBuf, u64)>,
}

pub(super) fn run(args: &Post, ui: &Ui) -> Result<(), CliError> {
    let on_board = || CliError::input(&args.board);
    let board = board::open(&args.board, ui)?;
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
        return Err(on_board()(InputError::RawSealed(sealing)));
    }
    let set = key.set()?;
    let params = set.clue();
    let key = io::read_clue_key(key, params)?;
    let expected = clues(&board, params).map_err(on_board())?;
    if key.kind != expected {
        let found = key.kind;
        return Err(CliError::input(&args.to)(InputError::ClueKind(
            Mismatch::new(expected, found),
        )));
    }
    let config = board.config().clone();
    // Others may read and post while files are read and sealed.
    drop(board);
    let place = omr_local::place(&config).map_err(InputError::from);
    let place = place.map_err(on_board())?;
    let writer = Writer::new(params, &key, place).map_err(InputError::from);
    let writer = writer.map_err(CliError::input(&args.to))?;
    let letters = letters(args, &writer, &config)?;
    letters.iter().for_each(|letter| letter.note_cost(ui));
    let queue = Queue {
        args,
        ui,
        params,
        config,
        messages: Vec::new(),
        files: VecDeque::new(),
    };
    queue.post(&writer, letters)
}

/// Looks at all files before any is posted.
///
/// Errors: `Input`: a file that cannot be read, or takes too many messages.
fn letters<'a>(
    args: &'a Post,
    writer: &Writer,
    config: &BoardConfig,
) -> Result<Vec<Letter<'a>>, CliError> {
    let most = u64::from(MAX_PARTS) * u64::from(config.payload_bytes);
    let letter = |path: &'a PathBuf| {
        let regular = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        let (bytes, content) = match regular {
            Some(found) if !io::is_standard(path) => (found.len(), None),
            _ => {
                let content = io::read_file(path, most)?;
                (content.len() as u64, Some(content))
            }
        };
        let name = match args.raw || args.no_names {
            true => None,
            false => io::name(path),
        };
        let shape = match args.raw {
            true => raw_shape(bytes, config),
            false => shape(writer, name.as_deref(), bytes),
        };
        let shape = shape.map_err(CliError::input(path))?;
        Ok(Letter {
            path,
            name,
            content,
            shape,
        })
    };
    args.files.iter().map(letter).collect()
}

/// One message for a file that is a payload already.
fn raw_shape(bytes: u64, config: &BoardConfig) -> Result<Shape, InputError> {
    let expected = config.payload_bytes as usize;
    match usize::try_from(bytes).unwrap_or(usize::MAX) {
        found if found == expected => Ok(Shape {
            parts: 1,
            bytes: found,
        }),
        found => Err(InputError::RawSize(Mismatch::new(expected, found))),
    }
}

fn shape(writer: &Writer, name: Option<&str>, bytes: u64) -> Result<Shape, InputError> {
    let shape = writer.shape(name, bytes)?;
    match shape.parts > MAX_PARTS {
        false => Ok(shape),
        true => Err(InputError::TooManyParts {
            limit: MAX_PARTS.into(),
            found: shape.parts.into(),
            bytes,
            each: shape.bytes as u64,
        }),
    }
}

impl Letter<'_> {
    /// The payloads before sealing.
    fn parts(&mut self, writer: &Writer, raw: bool) -> Result<Vec<Vec<u8>>, CliError> {
        let bytes = match self.content.take() {
            Some(content) => content,
            None => {
                let most = u64::from(self.shape.parts) * self.shape.bytes as u64;
                io::read_file(self.path, most)?
            }
        };
        let parts = match raw {
            true => Ok(vec![bytes]),
            false => writer
                .named_parts(self.name.as_deref(), &bytes, &mut os_rng())
                .map_err(InputError::from),
        };
        parts.map_err(CliError::input(self.path))
    }

    /// What it costs, before anything is posted.
    fn note_cost(&self, ui: &Ui) {
        let Shape { parts, bytes } = self.shape;
        let parts = u64::from(parts);
        let text = format!(
            "{}: {} messages of up to {bytes} bytes of the file",
            io::shown(self.path),
            omr_console::thousands(parts)
        );
        match parts {
            1 => {}
            ..=USUAL_BOUND => ui.note(&text),
            _ => ui.announce(&text),
        }
    }
}

/// Seals payloads and adds clues.
fn messages(writer: &Writer, parts: &[Vec<u8>], bar: &Bar) -> Result<Vec<Message>, InputError> {
    let message = |rng: &mut _, part: &Vec<u8>| {
        let written = writer.message(rng, part)?;
        bar.advance(1);
        Ok(Message {
            clue: written.clue,
            payload: written.payload,
        })
    };
    parts.par_iter().map_init(os_rng, message).collect()
}

impl<'a> Queue<'a> {
    fn post(mut self, writer: &Writer, letters: Vec<Letter<'a>>) -> Result<(), CliError> {
        let bar = self.ui.bar();
        let all = letters.iter().map(|letter| u64::from(letter.shape.parts));
        bar.stage("messages", all.sum());
        for mut letter in letters {
            let parts = letter.parts(writer, self.args.raw)?;
            if self.messages.len() + parts.len() > TRANSACTION {
                self.flush()?;
            }
            let messages = messages(writer, &parts, &bar);
            self.messages
                .extend(messages.map_err(CliError::input(letter.path))?);
            self.files.push_back((letter.path, parts.len() as u64));
        }
        self.flush()
    }

    /// Appends what is queued in one transaction and tells of its files.
    fn flush(&mut self) -> Result<(), CliError> {
        if self.messages.is_empty() {
            return Ok(());
        }
        let on_board = || CliError::input(&self.args.board);
        let checked = post_hashes(&self.config, self.params, &self.messages);
        let hashes = checked.map_err(InputError::from).map_err(on_board())?;
        let mut start = self.append(hashes.as_ref()).map_err(on_board())?;
        self.messages.clear();
        while let Some((file, count)) = self.files.pop_front() {
            let end = start + count;
            self.print_report(&Posted { file, start, end })?;
            start = end;
        }
        Ok(())
    }

    /// The board is open for as long as this takes.
    fn append(&self, hashes: Option<&MessageHashes>) -> Result<u64, InputError> {
        let board = patiently(self.ui, || Board::open(&self.args.board))?;
        if board.config() != &self.config {
            return Err(InputError::OtherBoard);
        }
        let appended = match hashes {
            Some(hashes) => board.append_hashed(&self.messages, hashes),
            None => board.append(&self.messages),
        };
        Ok(appended?.start)
    }

    fn print_report(&self, posted: &Posted) -> Result<(), CliError> {
        let (start, file) = (posted.start, io::shown(posted.file));
        match posted.end - start {
            _ if self.args.json => io::print_json(posted)?,
            1 => io::print(&format!("{start} {file}\n"))?,
            _ => io::print(&format!("{start}..{} {file}\n", posted.end))?,
        }
        if posted.end - start > USUAL_BOUND {
            self.ui.announce(&how_to_fetch(posted));
        }
        Ok(())
    }
}

/// Ranges that digests can carry.
fn how_to_fetch(posted: &Posted) -> String {
    let (start, count) = (posted.start, posted.end - posted.start);
    let most = MAX_BOUND as u64;
    let ranges = match count.div_ceil(most) {
        1 => format!("--range {start}..{} --bound {count}", posted.end),
        digests => {
            let (first, second) = (start + most, posted.end.min(start + 2 * most));
            let more = if digests > 2 { ", .." } else { "" };
            format!(
                "--bound {most}, {digests} digests: --range {start}..{first}, --range {first}..{second}{more}; \
                 `omr decode` puts them together"
            )
        }
    };
    format!(
        "{}: to fetch it, `omr digest` with {ranges}",
        io::shown(posted.file)
    )
}
