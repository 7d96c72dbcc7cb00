//! Faults on purpose: a server is killed, its disk filled, slowed and damaged, its clock moved, while clients post,
//! request digests and upload keys. Every promise is checked afterwards.

mod clock;
mod damage;
mod digests;
mod disk_full;
mod kills;
mod ledger;
mod memory;
pub(crate) mod people;
mod posters;
mod recipients;
mod slow_disk;
mod uploads;
pub(crate) mod work;

use crate::trials::place::{Place, status_kb};
use crate::trials::{ServerProcess, Site, TrialError, clients, count};
use clap::{Args, ValueEnum};
use people::People;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use work::{Crew, Running, Work};

/// The fault that killing a process cannot reveal.
const NOT_BY_KILLS: &str = "missing syncs: the system keeps what a killed process wrote; `cargo xtask test power` replays \
    power failures";

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `kill -9` at random moments: of processes, not of power (the system keeps what no sync wrote)
    Kills,
    /// No room on the disk; needs root
    DiskFull,
    /// A busy disk, and a server that is stopped now and then
    SlowDisk,
    /// A clock that jumps by years; needs libfaketime
    Clock,
    /// Segments that are flipped, cut short or gone
    Damage,
    /// A limit of memory just above what the server uses without digests; Linux alone
    Memory,
}

/// Trials with faults.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("params", |arg| arg.default_value("insecure-tiny-hybrid-v4")))]
pub struct Chaos {
    /// Times that the server is killed
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = count())]
    pub kills: u32,
    /// Only this fault; all, one after another, unless given
    #[arg(long, value_enum, value_name = "FAULT")]
    pub only: Option<Kind>,
    /// Clients that post
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clients())]
    pub clients: u16,
    /// Seconds of the trials of a slow disk and of a clock that jumps
    #[arg(long, value_name = "S", default_value_t = 60)]
    pub seconds: u64,
    /// Seed of the trial's own randomness
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub site: Site,
}

/// The result of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The fault.
    pub trial: Kind,
    /// The reason if the trial was skipped.
    pub skipped: Option<String>,
    /// The faults that the trial cannot reveal.
    pub blind_to: Option<&'static str>,
    /// The counts.
    pub figures: Figures,
    /// The promises that did not hold; empty if all did.
    pub faults: Vec<String>,
}

/// The counts of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// The number of times that the server was killed.
    pub kills: u64,
    /// The number of messages on the board at the end.
    pub messages: u64,
    /// The number of posts that the server acknowledged.
    pub posts_acknowledged: u64,
    /// The number of posts without acknowledgement.
    pub posts_unacknowledged: u64,
    /// The number of these that are on the board nevertheless.
    pub landed_unacknowledged: u64,
    /// The number of attempts that the server refused for lack of space.
    pub refused: u64,
    /// The number of jobs' digests that were decoded and compared.
    pub job_digests: u64,
    /// The number of sessions' digests that were decoded and compared.
    pub session_digests: u64,
    /// The number of pertinent messages that all digests contained.
    pub found: u64,
    /// The number of pertinent messages that digests should have contained.
    pub missed: u64,
    /// The number of strangers' messages that passed by chance, with their right payloads.
    pub accidental: u64,
    /// The number of payloads that differ from the board's.
    pub wrong_payloads: u64,
    /// The number of messages that one digest contained twice.
    pub doubled_in_digests: u64,
    /// The number of acknowledged posts that are not at their position.
    pub lost: u64,
    /// The number of posts that are on the board twice.
    pub doubled: u64,
    /// The number of posts that are on the board in part.
    pub torn: u64,
    /// The number of messages that no client posted.
    pub foreign: u64,
    /// The number of completed uploads.
    pub uploads: u64,
    /// The number of uploads that were resumed.
    pub resumed_uploads: u64,
    /// The median time of a start, in seconds.
    pub recovery_p50_s: f64,
    /// The longest time of a start, in seconds.
    pub recovery_max_s: f64,
    /// The peak memory of the last server, in kB.
    pub peak_kb: u64,
}

impl Chaos {
    /// Runs a trial.
    ///
    /// Errors: `Io`, `Start`, `Remote` if it could not be completed.
    pub fn run(&self, kind: Kind) -> Result<Outcome, TrialError> {
        match kind {
            Kind::Kills => kills::run(self),
            Kind::DiskFull => disk_full::run(self),
            Kind::SlowDisk => slow_disk::run(self),
            Kind::Clock => clock::run(self),
            Kind::Damage => damage::run(self),
            Kind::Memory => memory::run(self),
        }
    }

    fn place(&self) -> Result<Place, TrialError> {
        Place::small(self.site.dir.as_deref(), &self.site.params, "")
    }

    fn people(&self, place: &Place) -> Result<Arc<People>, TrialError> {
        Ok(Arc::new(People::new(
            &self.site.params,
            self.seed,
            place.path(),
        )?))
    }

    fn work(&self, place: &Place) -> Result<Work, TrialError> {
        Ok(Work::new(place.url(), self.people(place)?, self.seed))
    }

    /// Returns a crew of all kinds of clients.
    fn all(&self) -> Crew {
        Crew {
            posters: self.clients.into(),
            digests: true,
            uploads: true,
        }
    }
}

impl Outcome {
    fn skipped(trial: Kind, why: impl Into<String>) -> Self {
        Self {
            skipped: Some(why.into()),
            ..Self::new(trial)
        }
    }

    fn new(trial: Kind) -> Self {
        Self {
            trial,
            skipped: None,
            blind_to: match trial {
                Kind::Kills => Some(NOT_BY_KILLS),
                _ => None,
            },
            figures: Figures::default(),
            faults: Vec::new(),
        }
    }

    /// Returns whether every promise held.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.faults.is_empty()
    }

    /// Lets the clients finish and compares the answers that they received with the board.
    fn audit(&mut self, mut running: Running) -> Result<(), TrialError> {
        let (copy, hashes) = running.finish()?;
        let work = &running.work;
        let (audit, faults) = work.ledger.audit(&copy, &hashes);
        let (verdict, more) = work.digests.judge(&copy);
        self.faults.extend(faults.into_iter().chain(more));
        self.figures = Figures {
            messages: copy.payloads.len() as u64,
            posts_acknowledged: audit.acknowledged,
            posts_unacknowledged: audit.unacknowledged,
            landed_unacknowledged: audit.landed,
            refused: work.refused.load(Ordering::Relaxed),
            job_digests: verdict.checked - verdict.cuts,
            session_digests: verdict.cuts,
            found: verdict.found,
            missed: verdict.missed,
            accidental: verdict.accidental,
            wrong_payloads: verdict.wrong,
            doubled_in_digests: verdict.doubled,
            lost: audit.lost,
            doubled: audit.doubled,
            torn: audit.torn,
            foreign: audit.foreign,
            uploads: work.uploads.load(Ordering::Relaxed),
            resumed_uploads: work.resumed.load(Ordering::Relaxed),
            ..self.figures
        };
        let jobs = work.jobs.load(Ordering::Relaxed);
        if jobs != self.figures.job_digests {
            self.fault(format!("{jobs} jobs ended, some in no right digest"));
        }
        if audit.acknowledged == 0 {
            self.fault("no post was acknowledged: the trial tried nothing");
        }
        Ok(())
    }

    /// Stops the server and checks its data.
    fn end(mut self, server: ServerProcess, place: &Place) -> Result<Self, TrialError> {
        self.figures.peak_kb = status_kb(server.pid(), "VmHWM").unwrap_or(0);
        server.stop()?;
        self.faults.extend(place.verify()?);
        self.faults.extend(place.alarms());
        Ok(self)
    }

    fn fault(&mut self, text: impl Into<String>) {
        self.faults.push(text.into());
    }

    /// Records the times that the server took to listen at each start.
    fn recoveries(&mut self, mut seconds: Vec<f64>) {
        seconds.sort_by(f64::total_cmp);
        self.figures.recovery_p50_s = seconds.get(seconds.len() / 2).copied().unwrap_or(0.0);
        self.figures.recovery_max_s = seconds.last().copied().unwrap_or(0.0);
    }
}
