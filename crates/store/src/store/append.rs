//! Appending posts: all of a call in one transaction, each under its id.

use std::ops::Range;
use std::time::Duration;

use super::Store;
use super::posts::{Ids, contents};
use crate::config::Message;
use crate::error::{StoreError, UsedKey};
use crate::format::Layout;
use crate::hashes::{Keeper, MessageHashes};
use crate::meta::Outcome;
use crate::once::Once;
use crate::tail::{Tail, check_sizes};

/// Ids forgotten by one append, beside two for each of its posts.
const FORGET: usize = 64;
/// The default of [`crate::StoreConfig::post_id_memory`].
pub(crate) const POST_ID_MEMORY: Duration = Duration::from_secs(7 * 24 * 3600);

/// Messages that are posted together, under an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Drawn at random by the sender; the same again, with the same contents, means the same post.
    pub id: [u8; 16],
    /// Who posts: an id is hers, not anybody's who saw it.
    pub account: String,
    /// At least one.
    pub messages: Vec<Message>,
    /// A hash of each, for the store to keep.
    pub hashes: Option<MessageHashes>,
}

impl Post {
    /// Messages that an account posts together.
    pub const fn new(id: [u8; 16], account: String, messages: Vec<Message>) -> Self {
        Self {
            id,
            account,
            messages,
            hashes: None,
        }
    }

    /// The same with a hash of each message, which the store keeps for readers. The caller has taken them from the
    /// messages: a wrong one makes digests wrong.
    #[must_use]
    pub fn with_hashes(self, hashes: MessageHashes) -> Self {
        let hashes = Some(hashes);
        Self { hashes, ..self }
    }
}

/// Where a post is on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Indices of its messages.
    pub range: Range<u64>,
    /// The post was known: the range is that of the first time.
    pub repeated: bool,
}

/// Why nothing of a post was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Its id is that of a post of other contents or of another account.
    #[error("expected a new post id, found that of another post: post again under a new one")]
    OtherPost,
    /// One-time keys of bound clues that were used before, all of them, by the messages' places in
    /// the post; at least one.
    #[error("{}", used_keys(.0))]
    UsedKeys(Vec<UsedKey>),
}

fn used_keys(keys: &[UsedKey]) -> String {
    let first = keys.first().map(ToString::to_string).unwrap_or_default();
    match keys.len() {
        0 | 1 => first,
        all => format!("{first}, and {} more messages with used keys", all - 1),
    }
}

impl Store {
    /// Appends `posts` in one durable transaction, all or none, but for those that are remembered
    /// by their id, also from the same call, and those that are refused, of which nothing is
    /// appended: under the id of a post of other contents or of another account, or with one-time
    /// keys that were used before.
    ///
    /// The caller has tested that the keys of bound clues signed: without that, whoever sees a
    /// message could have its key refused by posting first.
    ///
    /// They are on the disk when this returns. After an error of the disk the next call opens the
    /// meta file anew; a post that reached the disk without an answer is found by its id. Damaged ids of old posts are
    /// forgotten, and a list of one-time keys that damage made too long or too short is made anew.
    ///
    /// Errors: [`StoreError::Size`], [`StoreError::PostLength`], [`StoreError::HashCount`],
    /// [`StoreError::DiskFull`] and those of the database.
    pub fn append(&self, posts: &[Post]) -> Result<Vec<Result<Appended, Refusal>>, StoreError> {
        match self.try_append(posts) {
            Err(StoreError::KeyCount(count)) => {
                tracing::warn!(?count, "listing the one-time keys anew");
                self.list_all(&mut |_, _| {})?;
                self.try_append(posts)
            }
            other => other,
        }
    }

    fn try_append(&self, posts: &[Post]) -> Result<Vec<Result<Appended, Refusal>>, StoreError> {
        let inner = self.inner();
        check_posts(&inner.meta.layout, posts)?;
        let now = inner.meta.clock();
        let memory = u64::try_from(inner.post_id_memory.as_millis()).unwrap_or(u64::MAX);
        let hashes: Vec<[u8; 32]> = posts.iter().map(contents).collect();
        inner.meta.transact(|writing, state| {
            let mut ids = Ids::open(writing)?;
            ids.forget(now.saturating_sub(memory), FORGET + 2 * posts.len())?;
            let mut once = Once::open(writing, &inner.meta.layout, state)?;
            let mut tail = Tail::open(writing, &inner.meta.layout, state)?;
            let mut keeper = Keeper::new(writing, &inner.meta.layout);
            let mut out = Vec::with_capacity(posts.len());
            for (post, hash) in posts.iter().zip(&hashes) {
                if let Some(known) = ids.find(&post.id)? {
                    let repeated = true;
                    out.push(if known.is_of(hash) {
                        Ok(Appended {
                            range: known.range,
                            repeated,
                        })
                    } else {
                        Err(Refusal::OtherPost)
                    });
                    continue;
                }
                let used = once.take(&post.messages, tail.end)?;
                if !used.is_empty() {
                    out.push(Err(Refusal::UsedKeys(used)));
                    continue;
                }
                let range = tail.push_all(&post.messages)?;
                if let Some(MessageHashes { tag, hashes }) = &post.hashes {
                    keeper.push(range.start, *tag, hashes)?;
                }
                ids.remember(&post.id, &range, now, hash)?;
                let repeated = false;
                out.push(Ok(Appended { range, repeated }));
            }
            if tail.end == state.len {
                return Ok(Outcome::Nothing(out));
            }
            tail.finish(writing, state)?;
            keeper.finish()?;
            Ok(Outcome::Commit(out))
        })
    }
}

/// Errors: [`StoreError::Size`], [`StoreError::PostLength`], [`StoreError::HashCount`].
fn check_posts(layout: &Layout, posts: &[Post]) -> Result<(), StoreError> {
    for (at, post) in posts.iter().enumerate() {
        if post.messages.is_empty() || u32::try_from(post.messages.len()).is_err() {
            let found = post.messages.len();
            return Err(StoreError::PostLength { post: at, found });
        }
        check_sizes(layout, at, &post.messages)?;
        if let Some(hashes) = &post.hashes {
            hashes.check(post.messages.len())?;
        }
    }
    Ok(())
}
