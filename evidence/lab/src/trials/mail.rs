//! Letters from end to end: a server, senders and recipients in separate processes. Some of these are killed on the
//! way. At the end every letter is in its recipient's inbox, once.

mod letters;
pub(crate) mod people;
mod stage;
mod traffic;

pub use letters::Delivered;

use crate::help;
use crate::trials::load::Progress;
use crate::trials::load::pool::Pool;
use crate::trials::load::scene::{Room, Scene};
use crate::trials::{Site, TrialError, clients, count, program};
use clap::Args;
use letters::letters;
use omr_protocol::ParamSet;
use people::{People, Report};
use serde::Serialize;
use stage::Stage;

/// The number of strangers' messages made in advance.
const POOL: usize = 2048;

/// The scenario.
#[derive(Clone, Debug, Args)]
#[command(after_help = help::TRIALS)]
pub struct Mail {
    /// Messages on the board at the end, about
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub messages: u64,
    /// Senders, each in processes of its own
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clients())]
    pub senders: u16,
    /// Recipients, likewise
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clients())]
    pub recipients: u16,
    /// Letters, to all recipients together
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = count())]
    pub letters: u32,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub site: Site,
}

/// The results of the scenario.
#[derive(Clone, Debug, Serialize)]
pub struct MailFigures {
    /// The parameter set of the board.
    pub params: String,
    /// The number of messages on the board at the end.
    pub messages: u64,
    /// The number of senders.
    pub senders: u16,
    /// The number of recipients.
    pub recipients: u16,
    /// The number of letters.
    pub letters: u32,
    /// The number of messages of the letters.
    pub letter_messages: u64,
    /// The bound of every digest.
    pub bound: usize,
    /// Seconds of generating and registering all recipients' keys.
    pub join_s: f64,
    /// Seconds of posting each half.
    pub posting_s: [f64; 2],
    /// The number of times that the server was killed and started again.
    pub restarts: u32,
    /// Seconds from its end until it listened again.
    pub away_s: f64,
    /// The number of fetches that were killed and repeated.
    pub killed_fetches: u32,
    /// Fetches of all recipients at once: in the middle and at the end.
    pub fetches: Vec<Round>,
    /// The content of the inboxes.
    pub delivered: Delivered,
    /// The number of files with missing parts.
    pub incomplete_files: u64,
    /// The number of messages that recipients found pertinent and could not open.
    pub unopened: u64,
    /// The number of messages that should be on the board.
    pub expected_messages: u64,
}

/// One fetch of every recipient, all at once.
#[derive(Clone, Debug, Serialize)]
pub struct Round {
    /// Seconds of each fetch.
    pub seconds: Vec<f64>,
    /// Mean bytes that the server sent for each: the digest, and little else.
    pub received_bytes: u64,
}

impl Mail {
    /// Runs the scenario.
    ///
    /// Errors: those of any process: `Command`, `Start`; `Remote`, `Io`, `Own`; `Broken` if there are more letters
    /// than a bound allows.
    pub fn run(&self, progress: &Progress<'_>) -> Result<MailFigures, TrialError> {
        let set = ParamSet::named(&self.site.params).map_err(TrialError::own)?;
        let mut stage = self.stage(&set)?;
        let progress = |what, done| progress(what, done, 6);
        progress("joining", 0);
        let (bound, join_s) = stage.join()?;
        progress("posting", 1);
        let first = stage.half(0, false)?;
        progress("fetching", 2);
        let middle = stage.fetch()?.0;
        progress("posting", 3);
        let second = stage.half(1, true)?;
        progress("killing", 4);
        let killed_fetches = stage.kill_fetch()?;
        progress("fetching", 5);
        let (last, reports) = stage.fetch()?;
        let letter_messages = first.messages + second.messages;
        let board = stage.scene.runtime.block_on(stage.client.board())?;
        let figures = MailFigures {
            params: self.site.params.clone(),
            messages: board.messages,
            senders: self.senders,
            recipients: self.recipients,
            letters: self.letters,
            letter_messages,
            bound,
            join_s,
            posting_s: [first.seconds, second.seconds],
            restarts: u32::from(second.away_s.is_some()),
            away_s: second.away_s.unwrap_or_default(),
            killed_fetches,
            fetches: vec![middle, last],
            delivered: stage.delivered(&reports)?,
            incomplete_files: sum(&reports, |report| report.incomplete_files),
            unopened: sum(&reports, |report| report.unopened),
            expected_messages: stage.strangers + letter_messages,
        };
        stage.scene.stop()?;
        Ok(figures)
    }

    fn stage(&self, set: &ParamSet) -> Result<Stage<'_>, TrialError> {
        let room = Room {
            params: self.site.params.clone(),
            board: String::new(),
            keys: 2 * u32::from(self.recipients),
            digest_messages: self.messages.max(1 << 20),
        };
        let mut scene = Scene::new(self.site.dir.as_deref(), &room)?;
        let token = scene.token("strangers")?;
        let tokens: Result<Vec<String>, TrialError> = (0..self.recipients)
            .map(|number| scene.token(&format!("recipient-{number}")))
            .collect();
        scene.start()?;
        let client = scene.client(&token)?;
        let board = scene.runtime.block_on(client.board())?;
        let people = People {
            program: program()?,
            dir: scene.dir().to_owned(),
        };
        Ok(Stage {
            pool: Pool::new(set, &board, POOL.min(self.messages as usize))?,
            letters: letters(
                self.letters as usize,
                self.senders.into(),
                self.recipients.into(),
                board.payload_bytes as usize,
            ),
            scene,
            client,
            people,
            tokens: tokens?,
            strangers: 0,
            mail: self,
        })
    }
}

fn sum(reports: &[Report], of: fn(&Report) -> u64) -> u64 {
    reports.iter().map(of).sum()
}

impl MailFigures {
    /// Checks that every letter arrived, once, and nothing else.
    ///
    /// Errors: `Broken` with everything that did not.
    pub fn verdict(&self) -> Result<(), TrialError> {
        let mut faults = self.delivered.faults();
        if self.incomplete_files > 0 {
            let files = self.incomplete_files;
            faults.push(format!("{files} files wait for more of their parts"));
        }
        if self.messages != self.expected_messages {
            faults.push(format!(
                "expected {} messages on the board, found {}",
                self.expected_messages, self.messages
            ));
        }
        if self.killed_fetches == 0 {
            faults.push("no fetch could be killed on its way".into());
        }
        TrialError::unless_none(&faults)
    }
}
