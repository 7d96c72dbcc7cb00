//! Appending posts: all posts of a call in one transaction, each under its id.

use std::ops::Range;
use std::time::Duration;

use super::Store;
use super::posts::{Ids, contents};
use crate::config::Message;
use crate::error::{StoreError, UsedKey};
use crate::format::{BLOCKS, Layout};
use crate::hashes::{Keeper, MessageHashes};
use crate::meta::Outcome;
use crate::once::Once;
use crate::tail::{Tail, check_sizes};

/// The number of ids that one append forgets, in addition to two for each of its posts.
const FORGET: usize = 64;
/// The default of [`crate::StoreConfig::post_id_memory`].
pub(crate) const POST_ID_MEMORY: Duration = Duration::from_secs(7 * 24 * 3600);

/// Messages that are posted together, under one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The id, drawn at random by the sender. Another call with the same id and the same contents means the same post.
    pub id: [u8; 16],
    /// The account of the sender. An id belongs to its account, so that nobody else can use an id that they saw.
    pub account: String,
    /// The messages; at least one.
    pub messages: Vec<Message>,
    /// The hash of each message, if the store is to keep them.
    pub hashes: Option<MessageHashes>,
}

impl Post {
    /// Returns messages that an account posts together, without hashes.
    pub const fn new(id: [u8; 16], account: String, messages: Vec<Message>) -> Self {
        Self {
            id,
            account,
            messages,
            hashes: None,
        }
    }

    /// Adds a hash of each message, which the store keeps for readers. The caller must have computed the hashes from
    /// these messages: a wrong hash makes digests wrong.
    #[must_use]
    pub fn with_hashes(self, hashes: MessageHashes) -> Self {
        Self {
            hashes: Some(hashes),
            ..self
        }
    }
}

/// The place of a post on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The indices of the post's messages.
    pub range: Range<u64>,
    /// Whether the post was known already. The range is then that of the first time.
    pub repeated: bool,
}

/// The reason for which nothing of a post was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The id belongs to a post with other contents or of another account.
    #[error("expected a new post id, found that of another post: post again under a new one")]
    OtherPost,
    /// The one-time keys of these messages were used before. All of them are listed, in their order;
    /// there is at least one.
    #[error("{}", used_keys(.0))]
    UsedKeys(Vec<UsedKey>),
    /// The board takes its messages from blocks.
    #[error(
        "expected a board for posts, found one that takes its messages from the blocks of a ledger"
    )]
    Blocks,
}

fn used_keys(keys: &[UsedKey]) -> String {
    let first = keys.first().map(ToString::to_string).unwrap_or_default();
    match keys.len() {
        0 | 1 => first,
        all => format!("{first}, and {} more messages with used keys", all - 1),
    }
}

impl Store {
    /// Appends `posts` in one durable transaction, all or none, with two exceptions. A post whose id is remembered,
    /// also from the same call, is not appended again. A post is refused and left out if its id belongs to a post with
    /// other contents or of another account, if one-time keys in it were used before, or if the board has blocks.
    ///
    /// The caller must have tested the signatures of one-time keys in bound clues: otherwise anybody who sees a message
    /// could post its key first, and have the message refused.
    ///
    /// The messages are on the disk when this returns. After an error of the disk the next call opens the meta file
    /// again; a post that was written although its call failed is then found by its id. Damaged ids of old posts are
    /// forgotten. A list of one-time keys that is too long or too short because of damage is made again.
    ///
    /// Errors: [`StoreError::Size`], [`StoreError::PostLength`], [`StoreError::HashCount`], [`StoreError::DiskFull`],
    /// and those of the database.
    pub fn append(&self, posts: &[Post]) -> Result<Vec<Result<Appended, Refusal>>, StoreError> {
        match self.try_append(posts) {
            Err(StoreError::KeyCount(count)) => {
                tracing::warn!(?count, "listing the one-time keys again");
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
            if writing.last(BLOCKS)?.is_some() {
                let refused = posts.iter().map(|_| Err(Refusal::Blocks));
                return Ok(Outcome::Nothing(refused.collect()));
            }
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

/// Tests the sizes of posts.
///
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
