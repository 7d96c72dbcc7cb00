//! Posts on their way to the disk. Many share one transaction.

use crate::refuse;
use omr_api::v1;
use omr_ops::Metrics;
use omr_store::{Appended, Post, Refusal, Store};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tonic::Status;

/// The number of bytes in one transaction.
const TRANSACTION_BYTES: usize = 8 << 20;
/// The time for which a post waits for room.
const PATIENCE: Duration = Duration::from_secs(5);
/// The bytes of one permit.
const UNIT: usize = 1024;
/// The number of used keys that one refusal names. Its metadata must fit into the 16 KiB of headers that clients
/// accept.
const NAMED: usize = 512;

struct Pending {
    post: Post,
    bytes: usize,
    _room: OwnedSemaphorePermit,
    answer: oneshot::Sender<Result<Appended, Status>>,
}

/// The queue of posts, which one thread writes.
pub(crate) struct Posting {
    queue: mpsc::UnboundedSender<Pending>,
    room: Arc<Semaphore>,
}

impl Posting {
    /// Starts the thread, which ends when this is dropped and everything is written.
    pub(crate) fn start(
        store: Store,
        bytes: usize,
        metrics: Metrics,
    ) -> (Self, std::thread::JoinHandle<()>) {
        // The room bounds the channel.
        let (queue, pending) = mpsc::unbounded_channel();
        let thread = std::thread::spawn(move || write_all(&store, pending, &metrics));
        let room = Arc::new(Semaphore::new((bytes / UNIT).max(1)));
        (Self { queue, room }, thread)
    }

    /// Posts, and returns when the post is on the disk.
    ///
    /// Errors: ALREADY_EXISTS where its id or a one-time key was used before, RESOURCE_EXHAUSTED where other posts fill
    /// the queue, and those of the store.
    pub(crate) async fn post(&self, post: Post) -> Result<Appended, Status> {
        let bytes: usize = post
            .messages
            .iter()
            .map(|m| m.clue.len() + m.payload.len())
            .sum();
        let units = bytes.div_ceil(UNIT).max(1) as u32;
        let acquired =
            tokio::time::timeout(PATIENCE, self.room.clone().acquire_many_owned(units)).await;
        let Ok(Ok(room)) = acquired else {
            return Err(refuse::busy(
                "the disk takes no more posts: try again later",
                PATIENCE,
            ));
        };
        let (answer, answered) = oneshot::channel();
        let pending = Pending {
            post,
            bytes,
            _room: room,
            answer,
        };
        let stopping = || Status::unavailable("the server stops");
        self.queue.send(pending).map_err(|_| stopping())?;
        answered.await.map_err(|_| stopping())?
    }
}

/// Returns the status of a refused post, with the details that its client needs to post the rest.
fn refused(refusal: &Refusal) -> Status {
    let details = match refusal {
        Refusal::UsedKeys(keys) => {
            let key = |used: &omr_store::UsedKey| v1::UsedKey {
                position: used.position as u32,
                index: used.index,
            };
            v1::PostRefusal {
                known_id: false,
                used_keys: keys.iter().take(NAMED).map(key).collect(),
            }
        }
        Refusal::Blocks => return Status::failed_precondition(refusal.to_string()),
        _ => v1::PostRefusal {
            known_id: true,
            used_keys: Vec::new(),
        },
    };
    omr_api::with_post_refusal(Status::already_exists(refusal.to_string()), &details)
}

fn write_all(store: &Store, mut pending: mpsc::UnboundedReceiver<Pending>, metrics: &Metrics) {
    while let Some(first) = pending.blocking_recv() {
        let mut bytes = first.bytes;
        let mut group = vec![first];
        while bytes < TRANSACTION_BYTES
            && let Ok(next) = pending.try_recv()
        {
            bytes += next.bytes;
            group.push(next);
        }
        write(store, group, metrics);
    }
}

fn write(store: &Store, group: Vec<Pending>, metrics: &Metrics) {
    let start = Instant::now();
    let mut posts = Vec::with_capacity(group.len());
    let mut answers = Vec::with_capacity(group.len());
    for pending in group {
        posts.push(pending.post);
        answers.push((pending.answer, pending._room));
    }
    match store.append(&posts) {
        Ok(results) => {
            let written = posts
                .iter()
                .zip(&results)
                .filter(|(_, result)| result.is_ok());
            let messages = written.map(|(post, _)| post.messages.len() as u64).sum();
            metrics.commit(messages, start.elapsed().as_secs_f64());
            for ((answer, _), result) in answers.into_iter().zip(results) {
                // A client that has left finds its post by its id.
                let _ = answer.send(result.map_err(|refusal| refused(&refusal)));
            }
        }
        Err(error) => {
            let status = refuse::store(&error);
            for (answer, _) in answers {
                let _ = answer.send(Err(status.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::parts::{Parts, store_config};
    use omr_disk::{Loss, Recording};
    use omr_store::Message;
    use std::path::Path;

    fn config(root: &Path) -> Config {
        let mut config = Config::tiny(&root.join("data"));
        config.board.clues = Some("plain".into());
        config
    }

    #[tokio::test]
    async fn an_answered_post_survives_a_power_failure_at_that_moment() {
        let dir = tempfile::tempdir().unwrap();
        let parts = Parts::open(config(dir.path())).unwrap();
        let board = parts.store.board().clone();
        let message = Message {
            clue: vec![1; board.clue_bytes as usize],
            payload: vec![2; board.payload_bytes as usize],
        };
        let recording = Recording::start(dir.path()).unwrap();
        let (posting, writer) = Posting::start(parts.store.clone(), 1 << 20, parts.metrics.clone());
        let mut answered = Vec::new();
        for number in 0..8 {
            let post = Post::new([number; 16], "ann".into(), vec![message.clone()]);
            let appended = posting.post(post).await.unwrap();
            answered.push((recording.now(), appended.range.end));
        }
        drop(posting);
        writer.join().unwrap();
        let history = recording.finish().unwrap();
        drop(parts);
        assert_eq!(answered.last().unwrap().1, 8);
        for (moment, messages) in answered {
            let after = tempfile::tempdir().unwrap();
            history
                .rebuild(moment, Loss::All, None, after.path())
                .unwrap();
            let store = Store::open(&store_config(&config(after.path()))).unwrap();
            assert!(store.len() >= messages, "{messages} were answered for");
        }
    }
}
