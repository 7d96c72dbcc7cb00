//! Valid messages in a wrong order, with wrong numbers, about things that do not exist.

mod script;

use super::seeds::{BOARD, Known};
use super::tally::Tally;
use super::wire::{Answer, Call, Ending, Wire};
use chacha20::ChaCha20Rng;
use omr_remote::v1;
use prost::Message;
use std::sync::Arc;
use std::time::Duration;

/// The number of posts that are kept open at a time; the next constant is their duration.
const HELD: usize = 12;
const HOLD: Duration = Duration::from_secs(2);

/// Plays scripts until the trial ends.
pub(super) async fn run(tally: Arc<Tally>, known: Arc<Known>, mut rng: ChaCha20Rng) {
    while !tally.is_over() {
        let Some(mut wire) = Wire::open(tally.address).await else {
            continue;
        };
        for line in script::all(&known, &mut rng) {
            if tally.is_over() {
                return;
            }
            let (what, path) = (line.what, &line.path);
            tally.count(&format!("order: {what}"));
            let answer = wire.call(Call::polite(path, &line.messages)).await;
            let expected = match &answer {
                Answer::Grpc(code, _) => line.expected.takes(*code),
                _ => true,
            };
            if !expected {
                tally.fault(format!("{what} at {path}: {answer:?}"));
            }
            if tally.answer(&format!("{what} to {path}"), answer) {
                break;
            }
        }
    }
}

/// Keeps posts of millions of empty messages open that never end, as many as the server accepts at a time.
pub(super) async fn hold(tally: Arc<Tally>, known: Arc<Known>) {
    let empty = |count: usize| {
        let mut post = known.post.clone();
        post.messages = vec![v1::Message::default(); count];
        super::wire::frame(&post.encode_to_vec())
    };
    // More than the server accepts, and fewer.
    let messages = [empty(4_000_000), empty(50_000)];
    while !tally.is_over() {
        let Some(mut wire) = Wire::open(tally.address).await else {
            continue;
        };
        for message in messages.iter().cycle().take(HELD) {
            tally.count("order: a post that never ends");
            let mut call = Call::polite(&format!("{BOARD}PostMessages"), &[]);
            call.parts = vec![message.clone()];
            call.ending = Ending::Open;
            wire.call(call).await;
        }
        tokio::time::sleep(HOLD).await;
    }
}
