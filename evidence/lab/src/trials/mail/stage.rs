//! The scenario's steps.

use super::letters::{Delivered, Letter, most_messages};
use super::people::{People, Report, report};
use super::traffic::{Passed, Traffic};
use super::{Mail, Round};
use crate::trials::TrialError;
use crate::trials::load::pool::Pool;
use crate::trials::load::scene::Scene;
use omr_protocol::request::MAX_BOUND;
use omr_remote::Client;
use std::process::Child;
use std::time::{Duration, Instant};

/// The least bound that recipients request.
const BOUND: usize = 50;
/// The number of messages posted before the next attempt to kill a fetch.
const MORE: u64 = 8;
/// The number of attempts to kill a fetch that ended too early.
const TRIES: u32 = 10;
/// The interval at which a fetch is checked.
const LOOK: Duration = Duration::from_millis(1);

/// The state of the scenario.
pub(super) struct Stage<'a> {
    pub(super) scene: Scene,
    /// The client that posts strangers' messages.
    pub(super) client: Client,
    pub(super) people: People,
    /// The recipients' tokens.
    pub(super) tokens: Vec<String>,
    pub(super) pool: Pool,
    pub(super) letters: Vec<Letter>,
    /// The number of strangers' messages posted.
    pub(super) strangers: u64,
    pub(super) mail: &'a Mail,
}

impl Stage<'_> {
    fn payload_bytes(&self) -> Result<usize, TrialError> {
        let board = self.scene.runtime.block_on(self.client.board())?;
        Ok(board.payload_bytes as usize)
    }

    /// Returns a bound that is large enough for all letters of a recipient.
    ///
    /// Errors: `Broken` if there is none; `Remote`.
    fn bound(&self) -> Result<usize, TrialError> {
        let bound = most_messages(&self.letters, self.payload_bytes()?).max(BOUND);
        if bound <= MAX_BOUND {
            Ok(bound)
        } else {
            Err(TrialError::Broken(format!(
                "expected letters of at most {MAX_BOUND} messages for each recipient, found {bound}"
            )))
        }
    }

    /// Lets all recipients generate and register their keys at once; returns the bound of their digests and the
    /// seconds.
    ///
    /// Errors: `Io`, `Command`; those of [`Self::bound`].
    pub(super) fn join(&self) -> Result<(usize, f64), TrialError> {
        let bound = self.bound()?;
        let start = Instant::now();
        std::thread::scope(|scope| {
            let join = |(recipient, token): (usize, &String)| {
                let (people, url, token) = (&self.people, self.scene.url(), token.clone());
                scope.spawn(move || people.join(recipient, &url, &token, bound))
            };
            let joining: Vec<_> = self.tokens.iter().enumerate().map(join).collect();
            joining
                .into_iter()
                .try_for_each(|joining| joining.join().expect("no panic"))
        })?;
        Ok((bound, start.elapsed().as_secs_f64()))
    }

    /// Posts half of the letters among half of the strangers' messages.
    ///
    /// Errors: those of [`Traffic::run`].
    pub(super) fn half(&mut self, half: usize, kill: bool) -> Result<Passed, TrialError> {
        let middle = self.letters.len() / 2;
        let letters = match half {
            0 => &self.letters[..middle],
            _ => &self.letters[middle..],
        };
        let payload_bytes = self.payload_bytes()?;
        let parts: usize = (0..usize::from(self.mail.recipients))
            .map(|recipient| {
                let own = letters
                    .iter()
                    .filter(|letter| letter.recipient == recipient);
                most_messages(&own.cloned().collect::<Vec<_>>(), payload_bytes)
            })
            .sum();
        let strangers = (self.mail.messages / 2).saturating_sub(parts as u64);
        let mut traffic = Traffic::new(&self.people, letters, self.mail.senders.into(), &self.pool);
        (traffic.first, traffic.strangers) = (self.strangers, strangers);
        let passed = traffic.run(&mut self.scene, &self.client, kill)?;
        self.strangers += strangers;
        Ok(passed)
    }

    /// Lets all recipients fetch at once.
    ///
    /// Errors: `Io`, `Command`, `Broken`.
    pub(super) fn fetch(&self) -> Result<(Round, Vec<Report>), TrialError> {
        let sent = || self.scene.metric("omr_sent_bytes_total");
        let before = sent();
        let fetch = |recipient| {
            let start = Instant::now();
            let out = self.people.fetch(recipient)?.wait_with_output();
            let report = report(out.map_err(TrialError::io("waiting for a fetch"))?)?;
            Ok((start.elapsed().as_secs_f64(), report))
        };
        let count = self.tokens.len();
        let fetched: Result<Vec<(f64, Report)>, TrialError> = std::thread::scope(|scope| {
            let fetch = &fetch;
            let fetching: Vec<_> = (0..count)
                .map(|recipient| scope.spawn(move || fetch(recipient)))
                .collect();
            fetching
                .into_iter()
                .map(|fetching| fetching.join().expect("no panic"))
                .collect()
        });
        let (seconds, reports) = fetched?.into_iter().unzip();
        let received_bytes = ((sent() - before) / count as f64) as u64;
        let round = Round {
            seconds,
            received_bytes,
        };
        Ok((round, reports))
    }

    /// Kills the first recipient's fetch while the server has its request; returns the number of kills. A fetch that
    /// was too fast is repeated with a few messages more.
    ///
    /// Errors: `Io`, `Remote`.
    pub(super) fn kill_fetch(&mut self) -> Result<u32, TrialError> {
        for _ in 0..TRIES {
            let child = self.people.fetch(0)?;
            if self.killed(child)? {
                return Ok(1);
            }
            let more =
                (self.strangers..self.strangers + MORE).map(|number| self.pool.message(number));
            let posted = self.client.post(more.collect());
            self.scene.runtime.block_on(posted)?;
            self.strangers += MORE;
        }
        Ok(0)
    }

    /// Returns whether a fetch could be killed between its request and its end.
    fn killed(&self, mut child: Child) -> Result<bool, TrialError> {
        let waiting = TrialError::io("waiting for a fetch");
        loop {
            match child.try_wait() {
                Err(error) => return Err(waiting(error)),
                Ok(Some(_)) => return Ok(false),
                Ok(None) if self.scene.metric("omr_jobs") > 0.0 => break,
                Ok(None) => std::thread::sleep(LOOK),
            }
        }
        child.kill().map_err(TrialError::io("killing a fetch"))?;
        let status = child.wait().map_err(waiting)?;
        // A fetch that ended just before the kill has a code.
        Ok(status.code().is_none())
    }

    /// Reads all inboxes and compares them with the letters.
    ///
    /// Errors: `Io`, `Command`.
    pub(super) fn delivered(&self, reports: &[Report]) -> Result<Delivered, TrialError> {
        let inboxes: Result<Vec<_>, TrialError> = reports
            .iter()
            .enumerate()
            .map(|(recipient, report)| self.people.read(recipient, report))
            .collect();
        Ok(Delivered::new(&self.letters, &inboxes?))
    }
}
