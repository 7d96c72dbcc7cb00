//! The time of listing letters of a large inbox.

use super::command::checked;
use super::load::Progress;
use super::load::scene::{Room, Scene};
use super::mail::people::People;
use super::{Site, TrialError, count, program};
use crate::help;
use crate::measure::median_of_runs;
use clap::Args;
use omr_mail::{Home, Inbox};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The number of letters in a transaction.
const TRANSACTION: u32 = 1000;

/// A large inbox.
#[derive(Clone, Debug, Args)]
#[command(after_help = help::TRIALS)]
pub struct Listing {
    /// Letters in the inbox
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = count())]
    pub letters: u32,
    /// Letters in a list
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = count())]
    pub page: u32,
    /// Lists of each kind
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = count())]
    pub runs: u32,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub site: Site,
}

/// The results of listing letters. Times are medians.
#[derive(Clone, Debug, Serialize)]
pub struct ListingFigures {
    /// The letters in the inbox.
    pub letters: u32,
    /// The letters in a list.
    pub page: u32,
    /// Bytes of the inbox's file.
    pub file_bytes: u64,
    /// Milliseconds of the newest letters by the library, in an inbox that is open.
    pub library_ms: f64,
    /// Milliseconds of the newest letters at the socket of `omr watch`.
    pub socket_ms: f64,
    /// Milliseconds of the newest letters by the command, with its start and the check of the whole file.
    pub command_ms: f64,
    /// Milliseconds of all letters by the library.
    pub all_ms: f64,
}

impl Listing {
    /// Makes an inbox in a folder of its own, and lists letters.
    ///
    /// Errors: `Start`, `Io`, `Command`, `Own`; `Broken` for a list of another length.
    pub fn run(&self, progress: &Progress<'_>) -> Result<ListingFigures, TrialError> {
        let room = Room {
            params: self.site.params.clone(),
            board: String::new(),
            keys: 2,
            digest_messages: 1 << 20,
        };
        let mut scene = Scene::new(self.site.dir.as_deref(), &room)?;
        let token = scene.token("recipient")?;
        scene.start()?;
        let people = People {
            program: program()?,
            dir: scene.dir().to_owned(),
        };
        people.join(0, &scene.url(), &token, 50)?;
        let home = people.home(0);
        let inbox = Inbox::beside(&Home::new(&home)).map_err(TrialError::own)?;
        let mut filled = 0;
        while filled < self.letters {
            progress("writing letters", filled.into(), self.letters.into());
            let end = self.letters.min(filled + TRANSACTION);
            let letter = |number: u32| format!("Letter {number}\n{}", "x".repeat(400)).into_bytes();
            let letters: Vec<Vec<u8>> = (filled..end).map(letter).collect();
            inbox.fill(&letters).map_err(TrialError::own)?;
            filled = end;
        }
        let page = || {
            inbox
                .page(u64::MAX, self.page.into())
                .map(|page| page.len())
        };
        let library_ms = self.median(|| page().map(drop).map_err(TrialError::own))?;
        let all_ms = self.median(|| inbox.list(true).map(drop).map_err(TrialError::own))?;
        drop(inbox);
        let command_ms = self.median(|| self.list(&home))?;
        let watch = people.watch(0)?;
        let mut socket = Socket::open(&home)?;
        let socket_ms = self.median(|| socket.list(self.page, self.page.min(self.letters)))?;
        drop((socket, watch));
        scene.stop()?;
        let file = std::fs::metadata(home.join("inbox.redb"));
        Ok(ListingFigures {
            letters: self.letters,
            page: self.page,
            file_bytes: file.map_err(TrialError::io("measuring the inbox"))?.len(),
            library_ms,
            socket_ms,
            command_ms,
            all_ms,
        })
    }

    fn list(&self, home: &Path) -> Result<(), TrialError> {
        let mut list = Command::new(program()?);
        list.args(["inbox", "--offline", "--last", &self.page.to_string()]);
        let lines = checked("omr inbox", list.arg("--home").arg(home))?;
        let found = lines.split(|byte| *byte == b'\n').count();
        // With the heading, and the end after the last line.
        check(self.page.min(self.letters) as usize + 2, found)
    }

    /// Returns the median of the milliseconds of some runs.
    fn median(&self, mut act: impl FnMut() -> Result<(), TrialError>) -> Result<f64, TrialError> {
        median_of_runs(self.runs as usize, || {
            let start = Instant::now();
            act()?;
            Ok(start.elapsed().as_secs_f64() * 1e3)
        })
    }
}

/// Checks the length of a list.
///
/// Errors: `Broken`.
fn check(expected: usize, found: usize) -> Result<(), TrialError> {
    if found == expected {
        return Ok(());
    }
    let text = format!("expected {expected} lines of a list, found {found}");
    Err(TrialError::Broken(text))
}

/// The number of attempts to connect to a socket, with a pause after each.
const TRIES: u32 = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// A connection to the socket of a watch.
struct Socket(BufReader<UnixStream>);

impl Socket {
    /// Connects as soon as the watch is ready.
    ///
    /// Errors: `Io`.
    fn open(home: &Path) -> Result<Self, TrialError> {
        let path = home.join("omr.sock");
        for _ in 1..TRIES {
            if let Ok(stream) = UnixStream::connect(&path) {
                return Ok(Self(BufReader::new(stream)));
            }
            sleep(PAUSE);
        }
        let last = UnixStream::connect(&path).map(BufReader::new);
        last.map(Self)
            .map_err(TrialError::io("connecting to the socket of a watch"))
    }

    fn list(&mut self, page: u32, expected: u32) -> Result<(), TrialError> {
        let io = || TrialError::io("asking at the socket of a watch");
        let call =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "list", "params": { "last": page } });
        let line = format!("{call}\n");
        self.0.get_mut().write_all(line.as_bytes()).map_err(io())?;
        let mut answer = String::new();
        self.0.read_line(&mut answer).map_err(io())?;
        let parsed: Value = serde_json::from_str(&answer).map_err(TrialError::own)?;
        let letters = parsed["result"].as_array().map_or(0, Vec::len);
        check(expected as usize, letters)
    }
}
