//! Posts, by single attempts and by a client that tries again with the same id.

use super::ledger::PostId;
use super::work::{Work, pause};
use crate::trials::TrialError;
use chacha20::ChaCha20Rng;
use omr_remote::v1::Message;
use omr_remote::{Client, RemoteError};
use rand_core::Rng;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// One of this many posts is long.
const LONG: u64 = 16;
/// The number of messages in a long post: more than half a segment.
const LONG_POST: u64 = 40;

/// The client's error for a call without an answer.
const LATE: &str = "no answer in time";

/// The clients of a poster.
struct Poster {
    work: Arc<Work>,
    /// A client that gives up at the first failure.
    once: Client,
    patient: Client,
    rng: ChaCha20Rng,
}

/// Posts until the trial ends.
///
/// Errors: a refusal that should not occur.
pub(crate) async fn run(work: Arc<Work>, number: usize) -> Result<(), TrialError> {
    let people = work.people.clone();
    let board = work.patient()?.board().await?;
    let senders = people.senders(&board)?;
    let mut poster = Poster {
        once: work.client(Duration::ZERO)?,
        patient: work.patient()?,
        rng: work.rng(number as u64),
        work,
    };
    while !poster.work.is_ending() {
        pause(&mut poster.rng, 1..30).await;
        if poster.work.is_ahead() {
            continue;
        }
        let most = match poster.rng.next_u64() % LONG {
            0 => LONG_POST,
            _ => 4,
        };
        let count = 1 + poster.rng.next_u64() % most;
        let mut id = PostId::default();
        poster.rng.fill_bytes(&mut id);
        let messages = people.messages(&senders, &id, count as usize, &mut poster.rng);
        poster.work.ledger.intend(id, &messages);
        poster.post(id, messages).await?;
    }
    Ok(())
}

impl Poster {
    /// Makes one post in one of four ways: one attempt; attempts until it succeeds; one attempt and another if it
    /// failed; two attempts.
    async fn post(&mut self, id: PostId, messages: Vec<Message>) -> Result<(), TrialError> {
        match self.rng.next_u64() % 4 {
            0 => self.attempt(id, messages).await.map(drop),
            1 => self.insist(id, messages).await,
            2 => {
                if self.attempt(id, messages.clone()).await? {
                    return Ok(());
                }
                pause(&mut self.rng, 1..120).await;
                self.insist(id, messages).await
            }
            _ => {
                self.insist(id, messages.clone()).await?;
                pause(&mut self.rng, 1..120).await;
                self.insist(id, messages).await
            }
        }
    }

    /// Makes one attempt; returns whether it was acknowledged.
    async fn attempt(&self, id: PostId, messages: Vec<Message>) -> Result<bool, TrialError> {
        self.settle(id, self.once.post_as(id, messages).await)
    }

    async fn insist(&self, id: PostId, messages: Vec<Message>) -> Result<(), TrialError> {
        // A full server may stay full; the trial ends nevertheless.
        loop {
            let posted = self.patient.post_as(id, messages.clone()).await;
            if self.settle(id, posted)? || self.work.is_ending() {
                return Ok(());
            }
        }
    }

    fn settle(
        &self,
        id: PostId,
        posted: Result<std::ops::Range<u64>, RemoteError>,
    ) -> Result<bool, TrialError> {
        match posted {
            Ok(range) => {
                self.work.posted.fetch_max(range.end, Ordering::Relaxed);
                self.work.ledger.acknowledge(&id, range);
                Ok(true)
            }
            Err(RemoteError::Exhausted(..)) => {
                self.work.refused.fetch_add(1, Ordering::Relaxed);
                Ok(false)
            }
            Err(RemoteError::Unreachable { last, .. }) => {
                if self.work.steady && last != LATE {
                    self.work.digests.fault(format!("a post failed: {last}"));
                }
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
