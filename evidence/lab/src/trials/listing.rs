//! The time of listing letters of a large inbox.

use super::command::checked;
use super::load::Progress;
use super::{Site, TrialError, count, program};
use crate::help;
use crate::measure::median_of_runs;
use clap::Args;
use omr_mail::{Home, Inbox};
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

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
    /// Milliseconds of the newest letters by the command, with its start.
    pub command_ms: f64,
    /// Milliseconds of all letters by the library.
    pub all_ms: f64,
}

impl Listing {
    /// Makes an inbox in a folder of its own, and lists letters.
    ///
    /// Errors: `Io`, `Command`, `Own`.
    pub fn run(&self, progress: &Progress<'_>) -> Result<ListingFigures, TrialError> {
        let parent = self.site.dir.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix("omr-trial-")
            .tempdir_in(parent)
            .map_err(TrialError::io("creating the trial's folder"))?;
        let home = folder.path().join("home");
        let mut new = Command::new(program()?);
        new.args(["id", "new", "--json", "--params", &self.site.params]);
        checked("omr id new", new.arg("--home").arg(&home))?;
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
        let command_ms = self.median(|| self.list(&home))?;
        let file = std::fs::metadata(home.join("inbox.redb"));
        Ok(ListingFigures {
            letters: self.letters,
            page: self.page,
            file_bytes: file.map_err(TrialError::io("measuring the inbox"))?.len(),
            library_ms,
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
        let expected = self.page.min(self.letters) as usize + 2;
        if found != expected {
            let text = format!("expected {expected} lines of a list, found {found}");
            return Err(TrialError::Broken(text));
        }
        Ok(())
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
