//! Half of the letters among strangers' messages. The server may be killed in the middle.

use super::letters::Letter;
use super::people::People;
use crate::trials::TrialError;
use crate::trials::load::pool::Pool;
use crate::trials::load::scene::Scene;
use omr_remote::Client;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The number of strangers' messages posted at a time.
const TOGETHER: u64 = 256;
/// The interval at which progress is checked.
const LOOK: Duration = Duration::from_millis(2);
/// The time that the server stays away.
const AWAY: Duration = Duration::from_secs(1);

/// A part of the scenario.
pub(crate) struct Traffic<'a> {
    pub(crate) people: &'a People,
    pub(crate) letters: &'a [Letter],
    pub(crate) senders: usize,
    pub(crate) pool: &'a Pool,
    /// The number of the first of the strangers' messages.
    pub(crate) first: u64,
    pub(crate) strangers: u64,
    posted: AtomicU64,
    /// True while the server is away: senders do not wait for their turn.
    away: AtomicBool,
    /// True once all strangers' messages are posted.
    ended: AtomicBool,
}

/// The results of a part of the scenario.
pub(crate) struct Passed {
    pub(crate) seconds: f64,
    /// The number of messages of the letters.
    pub(crate) messages: u64,
    /// Seconds from the server's end until it listened again.
    pub(crate) away_s: Option<f64>,
}

impl<'a> Traffic<'a> {
    pub(crate) fn new(
        people: &'a People,
        letters: &'a [Letter],
        senders: usize,
        pool: &'a Pool,
    ) -> Self {
        Self {
            people,
            letters,
            senders,
            pool,
            first: 0,
            strangers: 0,
            posted: AtomicU64::new(0),
            away: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    /// Posts all messages. If `kill`, the server is killed and started again when half of the strangers' messages are
    /// posted.
    ///
    /// Errors: `Remote`, `Command`, `Io`, `Start`.
    pub(crate) fn run(
        &self,
        scene: &mut Scene,
        client: &Client,
        kill: bool,
    ) -> Result<Passed, TrialError> {
        let start = Instant::now();
        let runtime = scene.runtime.handle().clone();
        std::thread::scope(|scope| {
            let filling = scope.spawn(|| {
                let filled = runtime.block_on(self.fill(client));
                // Also after an error, so that nobody waits for more.
                self.ended.store(true, Ordering::Relaxed);
                filled
            });
            let senders: Vec<_> = (0..self.senders)
                .map(|sender| scope.spawn(move || self.send(sender)))
                .collect();
            let away_s = kill.then(|| self.kill(scene)).transpose();
            filling.join().expect("no panic")?;
            let mut messages = 0;
            for sender in senders {
                messages += sender.join().expect("no panic")?;
            }
            Ok(Passed {
                seconds: start.elapsed().as_secs_f64(),
                messages,
                away_s: away_s?,
            })
        })
    }

    async fn fill(&self, client: &Client) -> Result<(), TrialError> {
        // Enough posts that there is a middle.
        let together = TOGETHER.min(self.strangers / 16 + 1);
        let mut at = 0;
        while at < self.strangers {
            let end = self.strangers.min(at + together);
            client
                .post(
                    (at..end)
                        .map(|number| self.pool.message(self.first + number))
                        .collect(),
                )
                .await?;
            at = end;
            self.posted.store(at, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends a sender's letters, spread over the strangers' messages; returns the number of their messages.
    fn send(&self, sender: usize) -> Result<u64, TrialError> {
        let count = self.letters.len() as u64;
        let mut messages = 0;
        for (number, letter) in (0..).zip(self.letters) {
            if letter.sender != sender {
                continue;
            }
            let turn = self.strangers * (2 * number + 1) / (2 * count);
            self.wait(turn);
            messages += self.people.send(sender, letter.recipient, &letter.text)?;
        }
        Ok(messages)
    }

    /// Waits until `turn` strangers' messages are posted.
    fn wait(&self, turn: u64) {
        let due = || self.posted.load(Ordering::Relaxed) >= turn;
        let at_once = || [&self.away, &self.ended].map(|flag| flag.load(Ordering::Relaxed));
        while !due() && at_once() == [false; 2] {
            std::thread::sleep(LOOK);
        }
    }

    /// Kills the server in the middle and starts it again; returns the time that it was away. Meanwhile every sender
    /// sends, so that letters meet an absent server.
    fn kill(&self, scene: &mut Scene) -> Result<f64, TrialError> {
        self.wait(self.strangers / 2);
        let start = Instant::now();
        scene.kill()?;
        self.away.store(true, Ordering::Relaxed);
        std::thread::sleep(AWAY);
        self.away.store(false, Ordering::Relaxed);
        scene.start()?;
        Ok(start.elapsed().as_secs_f64())
    }
}
