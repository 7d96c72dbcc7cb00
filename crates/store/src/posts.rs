//! Ids of posts, remembered so that a repeated post is not made again.
//!
//! The clock is the time that the store has been open in its life, counted by the monotonic clock
//! and stored with every transaction. The wall clock has no part in it, so none of its jumps can
//! make an id forgotten early; time during which the store is closed does not count.

use std::ops::Range;

use redb::ReadableTable;

use crate::error::{Evidence, Redb, StoreError};
use crate::format::{ORDER, POSTS, bad_row, index_key, numbers, open_row, pack, seal_row};
use crate::tables::{Open, Writing};

/// Key in the order, id and time of a post.
type Known = (Vec<u8>, [u8; 16], u64);

/// The two tables of ids in a transaction.
pub(crate) struct Ids<'t> {
    /// Id to first index, count and time.
    posts: Open<'t>,
    /// First index to id.
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

    /// The messages of a post that is remembered.
    pub(crate) fn find(&self, id: &[u8; 16]) -> Result<Option<Range<u64>>, StoreError> {
        let found = self.posts.get(id.as_slice()).map_err(Redb)?;
        let Some(row) = found else {
            return Ok(None);
        };
        let value = open_row(self.seed, "posts", id, row.value())?;
        let [first, count, _] = numbers("posts", id, value)?;
        Ok(Some(first..first.saturating_add(count)))
    }

    pub(crate) fn remember(
        &mut self,
        id: &[u8; 16],
        range: &Range<u64>,
        time: u64,
    ) -> Result<(), StoreError> {
        let post = pack([range.start, range.end - range.start, time]);
        let post = seal_row(self.seed, "posts", id, &post);
        let (posts, order) = (&mut self.posts, &mut self.order);
        posts.insert(id.as_slice(), post.as_slice()).map_err(Redb)?;
        let key = index_key(range.start);
        let id = seal_row(self.seed, "order", &key, id);
        order.insert(key.as_slice(), id.as_slice()).map_err(Redb)?;
        Ok(())
    }

    /// Forgets at most `most` ids from before `time`, the oldest first.
    pub(crate) fn forget(&mut self, time: u64, most: usize) -> Result<(), StoreError> {
        for _ in 0..most {
            let Some((key, id, posted)) = self.oldest()? else {
                break;
            };
            if posted >= time {
                break;
            }
            self.order.remove(key.as_slice()).map_err(Redb)?;
            self.posts.remove(id.as_slice()).map_err(Redb)?;
        }
        Ok(())
    }

    /// Key, id and time of the oldest post.
    fn oldest(&self) -> Result<Option<Known>, StoreError> {
        let Some((key, row)) = self.order.first().map_err(Redb)? else {
            return Ok(None);
        };
        let key = key.value().to_vec();
        let value = open_row(self.seed, "order", &key, row.value())?;
        let id: [u8; 16] = value
            .try_into()
            .map_err(|_| bad_row("order", &key, Evidence::Bytes(16), value.len()))?;
        let post = self.posts.get(id.as_slice()).map_err(Redb)?;
        let Some(post) = post else {
            return Err(bad_row("posts", &id, Evidence::Present, 0));
        };
        let value = open_row(self.seed, "posts", &id, post.value())?;
        let [_, _, time] = numbers("posts", &id, value)?;
        Ok(Some((key, id, time)))
    }
}
