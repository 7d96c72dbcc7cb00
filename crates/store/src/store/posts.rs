//! The ids of posts, remembered so that a repeated post is not appended again.
//!
//! The clock counts the time for which the store has been open, by the monotonic clock, and is stored with every
//! transaction. It does not depend on the wall clock, whose jumps could make the store forget an id too early. Time
//! during which the store is closed does not count.

use std::ops::Range;

use redb::ReadableTable;

use super::append::Post;
use crate::error::{Evidence, Redb, StoreError};
use crate::format::{ORDER, POSTS, bad_row, index_key, numbers, open_row, pack, seal_row};
use crate::tables::{Open, Writing};

/// The length of a row's numbers (first index, count, time) in bytes. The hash follows them.
const NUMBERS: u64 = 24;

/// A remembered post.
pub(crate) struct Known {
    pub(crate) range: Range<u64>,
    time: u64,
    /// The hash of the post's account and contents.
    hash: [u8; 32],
}

impl Known {
    fn decode(id: &[u8; 16], value: &[u8]) -> Result<Self, StoreError> {
        let whole = Evidence::Bytes(NUMBERS + 32);
        let (head, hash) = value
            .split_last_chunk()
            .ok_or_else(|| bad_row("posts", id, whole, value.len()))?;
        let [first, count, time] = numbers("posts", id, head)?;
        Ok(Self {
            range: first..first.saturating_add(count),
            time,
            hash: *hash,
        })
    }

    /// Returns whether a post with this hash is the remembered one.
    pub(crate) fn is_of(&self, hash: &[u8; 32]) -> bool {
        self.hash == *hash
    }
}

/// Returns the hash of a post's account and contents. Lengths of messages are not hashed, as they are the same for all
/// messages of a board.
pub(crate) fn contents(post: &Post) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("omr store v1 post");
    hasher.update(&(post.account.len() as u64).to_le_bytes());
    hasher.update(post.account.as_bytes());
    for message in &post.messages {
        hasher.update(&message.clue);
        hasher.update(&message.payload);
    }
    *hasher.finalize().as_bytes()
}

/// The two tables of ids in a transaction.
pub(crate) struct Ids<'t> {
    /// The table from an id to first index, count, time and hash.
    posts: Open<'t>,
    /// The table from a first index to an id.
    order: Open<'t>,
    seed: u32,
}

impl<'t> Ids<'t> {
    pub(crate) fn open(writing: &Writing<'t>) -> Result<Self, StoreError> {
        Ok(Self {
            posts: writing.table(POSTS)?,
            order: writing.table(ORDER)?,
            seed: writing.seed(),
        })
    }

    /// Returns the remembered post with an id. A damaged row counts as forgotten.
    pub(crate) fn find(&self, id: &[u8; 16]) -> Result<Option<Known>, StoreError> {
        let found = self.posts.get(id.as_slice()).map_err(Redb)?;
        let Some(row) = found else {
            return Ok(None);
        };
        match open_row(self.seed, "posts", id, row.value())
            .and_then(|value| Known::decode(id, value))
        {
            Ok(known) => Ok(Some(known)),
            Err(fault) => {
                tracing::warn!(%fault, "a post id is forgotten");
                Ok(None)
            }
        }
    }

    pub(crate) fn remember(
        &mut self,
        id: &[u8; 16],
        range: &Range<u64>,
        time: u64,
        hash: &[u8; 32],
    ) -> Result<(), StoreError> {
        let mut value = pack([range.start, range.end - range.start, time]);
        value.extend_from_slice(hash);
        let post = seal_row(self.seed, "posts", id, &value);
        self.posts
            .insert(id.as_slice(), post.as_slice())
            .map_err(Redb)?;
        let first = index_key(range.start);
        let order = seal_row(self.seed, "order", &first, id);
        self.order
            .insert(first.as_slice(), order.as_slice())
            .map_err(Redb)?;
        Ok(())
    }

    /// Removes at most `most` ids from before `time`, the oldest first, including damaged rows.
    pub(crate) fn forget(&mut self, time: u64, most: usize) -> Result<(), StoreError> {
        for _ in 0..most {
            let Some(oldest) = self.oldest()? else {
                break;
            };
            match &oldest.time {
                Ok(posted) if *posted >= time => break,
                Ok(_) => {}
                Err(fault) => tracing::warn!(%fault, "a post id is forgotten"),
            }
            self.order.remove(oldest.key.as_slice()).map_err(Redb)?;
            if let Some(id) = oldest.id {
                self.posts.remove(id.as_slice()).map_err(Redb)?;
            }
        }
        Ok(())
    }

    fn oldest(&self) -> Result<Option<Oldest>, StoreError> {
        let Some((first, row)) = self.order.first().map_err(Redb)? else {
            return Ok(None);
        };
        let key = first.value().to_vec();
        let named = open_row(self.seed, "order", &key, row.value()).and_then(|value| {
            <[u8; 16]>::try_from(value)
                .map_err(|_| bad_row("order", &key, Evidence::Bytes(16), value.len()))
        });
        let id = match named {
            Ok(id) => id,
            Err(fault) => {
                return Ok(Some(Oldest {
                    key,
                    id: None,
                    time: Err(fault),
                }));
            }
        };
        let time = match self.posts.get(id.as_slice()).map_err(Redb)? {
            None => Err(bad_row("posts", &id, Evidence::Present, 0)),
            Some(post) => open_row(self.seed, "posts", &id, post.value())
                .and_then(|value| Ok(Known::decode(&id, value)?.time)),
        };
        Ok(Some(Oldest {
            key,
            id: Some(id),
            time,
        }))
    }
}

/// The oldest remembered post.
struct Oldest {
    /// The post's key in the table of the order.
    key: Vec<u8>,
    /// The id; `None` where the row of the order is damaged.
    id: Option<[u8; 16]>,
    /// The time of the post, or the damage that hides it.
    time: Result<u64, StoreError>,
}
