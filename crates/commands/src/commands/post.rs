//! `omr post`: posts files to a board.

use super::board::{self, patiently};
use super::source::{clues, sealing};
use crate::error::{CliError, InputError};
use crate::io;
use omr_board::{MAX_PARTS, TRANSACTION, post_hashes};
use omr_client::fragment::{Shape, most_bytes};
use omr_client::letter::Writer;
use omr_client::os_rng;
use omr_console::{Bar, Ui};
use omr_detector::Progress;
use omr_protocol::Mismatch;
use omr_protocol::request::MAX_BOUND;
use omr_protocol::{ClueParams, Sealing};
use omr_store::{Board, BoardConfig, Message, MessageHashes};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Post {
    /// The board's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) board: PathBuf,
    /// The recipient's address: a clue.key, or any form that `omr send --to` accepts
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: PathBuf,
    /// Post each file unchanged as one payload (boards with sealing none)
    #[arg(long)]
    pub(crate) raw: bool,
    /// Post no file names; they are never posted on a board with sealing none
    #[arg(long)]
    pub(crate) no_names: bool,
    /// Print one JSON object for each file
    #[arg(long)]
    pub(crate) json: bool,
    /// Files to post; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

pub(crate) const POST: &str = "\
Examples:
  omr post --board board --to alice/clue.key letter.txt photo.jpg
  echo hello | omr post --board board --to alice/clue.key -
  omr post --board zcash --to alice/clue.key --raw output.bin

A file is posted with the content that it has when its turn comes, also if it grew meanwhile or if the system does not \
know its size. Prints the place of each file once it is safely on the disk: `INDEX FILE`, or `FIRST..END FILE` for a file in \
several messages. A file is posted whole or not at all; small ones are posted together, up to 1,000 messages at a time. If a \
later one fails, the printed lines show which are posted. The name of a file is sealed with it, without folders, \
unless the name would need one message more.

`omr board stat` shows how many bytes of a file fit in a message. A file may take 131,072 messages; one of more than \
a digest's bound is fetched by several digests, whose ranges are printed after posting.";

/// The default bound of identities: letters with more messages may overflow a digest.
const USUAL_BOUND: u64 = 50;

#[derive(Serialize)]
struct Posted<'a> {
    #[serde(serialize_with = "io::as_text")]
    file: &'a Path,
    start: u64,
    end: u64,
}

/// A file to post, and its cost.
struct Letter<'a> {
    path: &'a PathBuf,
    /// The name of the letter for its recipient.
    name: Option<String>,
    /// The content of a file that cannot be read twice.
    content: Option<Vec<u8>>,
    shape: Shape,
}

/// Messages to be posted, and their files.
struct Queue<'a> {
    args: &'a Post,
    ui: &'a Ui,
    params: &'a ClueParams,
    config: BoardConfig,
    messages: Vec<Message>,
    /// The files that are not reported yet, with the number of messages of each.
    files: VecDeque<(&'a PathBuf, u64)>,
}

pub(super) fn run(args: &Post, ui: &Ui) -> Result<(), CliError> {
    let on_board = || CliError::input(&args.board);
    let board = board::open(&args.board, ui)?;
    #[cfg(feature = "full")]
    let key = super::full::clue_key(&args.to, ui)?;
    #[cfg(not(feature = "full"))]
    let key = io::Framed::open(&args.to, omr_protocol::frame::Kind::ClueKey)?;
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
    // Other processes can read and post while files are read and sealed.
    drop(board);
    let place = omr_board::place(&config)
        .map_err(InputError::from)
        .map_err(on_board())?;
    let most = if args.raw {
        u64::from(MAX_PARTS) * u64::from(config.payload_bytes)
    } else {
        most_bytes(MAX_PARTS, place.capacity(key.kind))
    };
    let writer = Writer::new(params, &key, place)
        .map_err(InputError::from)
        .map_err(CliError::input(&args.to))?;
    let shaping = Shaping {
        args,
        writer: &writer,
        payload_bytes: config.payload_bytes,
        most,
    };
    let letters = shaping.letters()?;
    letters.iter().for_each(|letter| letter.note_cost(ui));
    let queue = Queue {
        args,
        ui,
        params,
        config,
        messages: Vec::new(),
        files: VecDeque::new(),
    };
    queue.post(&shaping, letters)
}

/// The form of the messages of a file.
struct Shaping<'a> {
    args: &'a Post,
    writer: &'a Writer,
    payload_bytes: u32,
    /// The highest number of bytes of a file.
    most: u64,
}

impl<'a> Shaping<'a> {
    /// Checks all files before any is posted.
    ///
    /// Errors: `Input` if a file cannot be read, or takes too many messages.
    fn letters(&self) -> Result<Vec<Letter<'a>>, CliError> {
        let letter = |path: &'a PathBuf| {
            let stated = fs::metadata(path)
                .ok()
                .filter(fs::Metadata::is_file)
                .map(|found| found.len());
            let (bytes, content) = match stated {
                // The system also states 0 for files whose content it makes while they are read.
                Some(bytes) if bytes > 0 && !io::is_standard(path) => (bytes, None),
                _ => {
                    let content = self.read(path)?;
                    (content.len() as u64, Some(content))
                }
            };
            let name = if self.args.raw || self.args.no_names {
                None
            } else {
                io::name(path)
            };
            Ok(Letter {
                path,
                shape: self.shape(path, name.as_deref(), bytes)?,
                name,
                content,
            })
        };
        self.args.files.iter().map(letter).collect()
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, CliError> {
        Ok(io::read_file(path, self.most)?)
    }

    /// Returns the number and size of a file's messages.
    ///
    /// Errors: `Input` if the file takes too many messages, or is no payload.
    fn shape(&self, path: &Path, name: Option<&str>, bytes: u64) -> Result<Shape, CliError> {
        let shape = if self.args.raw {
            raw_shape(bytes, self.payload_bytes)
        } else {
            shape(self.writer, name, bytes)
        };
        shape.map_err(CliError::input(path))
    }

    /// Returns the payloads before sealing, of the present content of a file.
    fn parts(&self, letter: &mut Letter<'_>) -> Result<Vec<Vec<u8>>, CliError> {
        let bytes = match letter.content.take() {
            Some(content) => content,
            None => self.read(letter.path)?,
        };
        // The file may have changed its length since it was checked.
        let name = letter.name.as_deref();
        letter.shape = self.shape(letter.path, name, bytes.len() as u64)?;
        let parts = if self.args.raw {
            Ok(vec![bytes])
        } else {
            self.writer.named_parts(name, &bytes, &mut os_rng())
        };
        parts
            .map_err(InputError::from)
            .map_err(CliError::input(letter.path))
    }
}

/// Returns the form of a file that is a payload already.
fn raw_shape(bytes: u64, payload_bytes: u32) -> Result<Shape, InputError> {
    let expected = payload_bytes as usize;
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
    if shape.parts > MAX_PARTS {
        Err(InputError::TooManyParts {
            limit: MAX_PARTS.into(),
            found: shape.parts.into(),
            bytes,
            each: shape.bytes as u64,
        })
    } else {
        Ok(shape)
    }
}

impl Letter<'_> {
    /// Prints the cost before anything is posted.
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
    fn post(mut self, shaping: &Shaping<'_>, letters: Vec<Letter<'a>>) -> Result<(), CliError> {
        let bar = self.ui.bar();
        let all = letters.iter().map(|letter| u64::from(letter.shape.parts));
        bar.stage("messages", all.sum());
        for mut letter in letters {
            let parts = shaping.parts(&mut letter)?;
            if self.messages.len() + parts.len() > TRANSACTION {
                self.flush()?;
            }
            let messages = messages(shaping.writer, &parts, &bar);
            self.messages
                .extend(messages.map_err(CliError::input(letter.path))?);
            self.files.push_back((letter.path, parts.len() as u64));
        }
        self.flush()
    }

    /// Appends the queued messages in one transaction and reports their files.
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

    /// Opens the board, and appends messages.
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

/// Returns the ranges of digests that can carry a letter.
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
