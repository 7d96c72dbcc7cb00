//! An honest client among hostile ones, which is always served.

use super::tally::Tally;
use crate::trials::TrialError;
use crate::trials::chaos::people::People;
use crate::trials::chaos::work::client;
use chacha20::ChaCha20Rng;
use futures::StreamExt;
use omr_remote::Client;
use omr_remote::v1::{Message, Part};
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time of a call, including repetitions.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two posts.
const PAUSE: Duration = Duration::from_millis(50);

/// The observations of the client.
#[derive(Default)]
pub(super) struct Canary {
    pub(super) calls: u64,
    pub(super) worst: Duration,
    posted: Vec<(Range<u64>, Vec<Message>)>,
}

/// Posts and reads until the trial ends, then reads all of its posts again.
///
/// Errors: those of the client.
pub(super) async fn run(
    tally: Arc<Tally>,
    url: String,
    people: Arc<People>,
    mut rng: ChaCha20Rng,
) -> Result<Canary, TrialError> {
    let client = client(&url, PATIENCE)?;
    let senders = people.senders(&client.board().await?)?;
    let mut canary = Canary::default();
    while !tally.is_over() {
        let id = omr_remote::random_id();
        let messages = people.messages(&senders, &id, 2, &mut rng);
        let start = Instant::now();
        match client.post_as(id, messages.clone()).await {
            Ok(range) => {
                canary.timed(start);
                let start = Instant::now();
                if let Err(text) = check(&client, range.clone(), &messages).await {
                    tally.fault(text);
                }
                canary.timed(start);
                canary.posted.push((range, messages));
            }
            Err(error) => tally.fault(format!("the canary's post: {error}")),
        }
        tokio::time::sleep(PAUSE).await;
    }
    for (range, messages) in std::mem::take(&mut canary.posted) {
        if let Err(text) = check(&client, range, &messages).await {
            tally.fault(format!("after the trial, {text}"));
        }
    }
    Ok(canary)
}

impl Canary {
    fn timed(&mut self, start: Instant) {
        self.calls += 1;
        self.worst = self.worst.max(start.elapsed());
    }
}

/// Compares the messages of a range with the expected ones.
///
/// Errors: the difference.
async fn check(client: &Client, range: Range<u64>, expected: &[Message]) -> Result<(), String> {
    let mut found = Vec::new();
    let mut pieces = pin!(client.read(range.clone(), Part::Unspecified));
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| format!("the canary's reading: {error}"))?;
        found.extend(piece.messages);
    }
    if found == expected {
        Ok(())
    } else {
        Err(format!(
            "the canary's post at {range:?} reads as something else"
        ))
    }
}
