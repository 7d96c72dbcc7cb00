//! Blocks: the messages of a ledger that several operators serve. They are appended block by block, and withdrawn where
//! the ledger takes another branch.

use std::ops::{ControlFlow, Range};

use omr_errors::{Mismatch, hex};

use super::Store;
use crate::chain;
use crate::config::Message;
use crate::error::{Evidence, Redb, StoreError};
use crate::format::{BLOCKS, History, TAIL, bad_row, index_key, index_of, numbers, pack};
use crate::hashes::{self, Keeper, MessageHashes};
use crate::meta::{Outcome, lock};
use crate::once::{Listed, Once, keys_read, list_all};
use crate::tables::View;
use crate::tail::{self, Tail, check_sizes};

/// The bytes of a row before the ids: two hashes and two numbers.
const HEAD_BYTES: usize = 80;
/// The greatest number of messages of a block, whose ids are one row.
const MAX_MESSAGES: usize = 1 << 20;
/// The number of histories that a board of blocks has. Backups of earlier ones are no longer recognised.
const HISTORIES: usize = 1000;

/// A block of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The number of blocks before this one in the ledger.
    pub height: u64,
    /// The hash of the block.
    pub hash: [u8; 32],
    /// The hash of the block before it.
    pub parent: [u8; 32],
    /// The messages, in the order of the ledger.
    pub messages: Vec<Message>,
    /// For each message its id in the ledger, such as that of its transaction.
    pub ids: Vec<[u8; 32]>,
    /// The hash of each message, if the store is to keep them.
    pub hashes: Option<MessageHashes>,
}

/// The place of a block on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The number of blocks before this one in the ledger.
    pub height: u64,
    /// The hash of the block.
    pub hash: [u8; 32],
    /// The indices of its messages.
    pub range: Range<u64>,
    /// For each message its id in the ledger.
    pub ids: Vec<[u8; 32]>,
}

/// The changes of one call of [`Store::feed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fed {
    /// The former indices of the messages that were withdrawn; empty unless the ledger took another branch.
    pub withdrawn: Range<u64>,
    /// The number of blocks that were appended. The others were on the board already.
    pub appended: u64,
    /// The messages that were left out, since their one-time keys were used before.
    pub left_out: Vec<LeftOut>,
    /// The height of the last block on the board.
    pub tip: u64,
}

/// A message of a block that is not on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The height of the block.
    pub height: u64,
    /// The position of the message in the block, from 0.
    pub position: usize,
}

/// The reason for which blocks do not fit those on the board. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockRefusal {
    /// The height is not the next one.
    #[error("expected the block at height {}, found one at {}", .0.expected, .0.found)]
    Height(Mismatch<u64>),
    /// The block belongs to another branch than the block before it.
    #[error("block {height}: expected the parent {}, found {}: send the blocks from the fork on", hex(&.parents.expected), hex(&.parents.found))]
    Parent {
        /// The height of the block.
        height: u64,
        /// The hash of the block before it, and its parent.
        parents: Mismatch<[u8; 32]>,
    },
    /// The branch begins before the blocks that can be withdrawn.
    #[error("expected a fork at height {} or above, found one at {}: earlier blocks are final", .0.expected, .0.found)]
    Deep(Mismatch<u64>),
    /// The board has messages that were posted to it, and no blocks.
    #[error("expected a board of blocks, found one with {0} messages that were posted")]
    Posts(u64),
}

/// The part of a call that changes something.
struct Plan {
    /// The number of blocks that are on the board already.
    known: usize,
    /// The height of the first block that is withdrawn, and the length of the log without it.
    fork: Option<Fork>,
}

#[derive(Clone, Copy)]
struct Fork {
    height: u64,
    len: u64,
}

/// The data that a transaction needs to withdraw blocks.
struct Cut {
    fork: Fork,
    /// The one-time keys of the messages that are withdrawn.
    keys: Vec<Listed>,
    /// The running hash of the log without them.
    head: [u8; 32],
    /// The histories of the board, with the one that begins; the transaction sets its sequence.
    histories: Vec<History>,
}

impl Store {
    /// Appends blocks in one durable transaction, all or none. Blocks that are on the board already change nothing. A
    /// block whose height is taken by another one begins another branch: that block and all after it are withdrawn, so
    /// that the board has the messages of one branch alone, their indices are used again, and another history begins.
    ///
    /// A message whose one-time key was used before is left out, since a ledger does not refuse it. The caller must have
    /// tested the sizes and signatures of all clues, and left out what fails, as every operator of the ledger does: equal
    /// blocks then have equal running hashes everywhere.
    ///
    /// The inner result is a refusal of blocks that do not fit.
    /// Errors: [`StoreError::Size`], [`StoreError::PostLength`] and [`StoreError::HashCount`], which count blocks as posts;
    /// [`StoreError::DiskFull`], and those of the database.
    pub fn feed(&self, blocks: &[Block]) -> Result<Result<Fed, BlockRefusal>, StoreError> {
        let inner = self.inner();
        check_blocks(self, blocks)?;
        // Nothing is sealed and nothing expires meanwhile.
        let _one_at_a_time = lock(&inner.sealing);
        let planned = inner
            .meta
            .view(|view| Plan::new(view, blocks, inner.fork_blocks))?;
        let plan = match planned {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let cut = match plan.fork {
            Some(fork) => Some(self.cut(fork)?),
            None => None,
        };
        let feed = || self.write_blocks(&blocks[plan.known..], cut.as_ref());
        let fed = match feed() {
            Err(StoreError::KeyCount(count)) => {
                tracing::warn!(?count, "listing the one-time keys again");
                list_all(self, &mut |_, _| {})?;
                feed()?
            }
            other => other?,
        };
        Ok(Ok(fed))
    }

    /// Returns what a transaction must know to withdraw the blocks from a fork on.
    fn cut(&self, fork: Fork) -> Result<Cut, StoreError> {
        let meta = &self.inner().meta;
        let mut histories = meta.histories();
        histories.push(History::begin(fork.len, 0)?);
        histories.drain(..histories.len().saturating_sub(HISTORIES));
        Ok(Cut {
            fork,
            keys: keys_read(self, fork.len..self.len())?,
            head: chain::hash_before_expiry(self, fork.len)?,
            histories,
        })
    }

    /// Appends blocks, after those of a fork are withdrawn.
    fn write_blocks(&self, blocks: &[Block], cut: Option<&Cut>) -> Result<Fed, StoreError> {
        let meta = &self.inner().meta;
        let layout = meta.layout;
        meta.transact(|writing, state| {
            let mut fed = Fed {
                withdrawn: state.len..state.len,
                appended: blocks.len() as u64,
                left_out: Vec::new(),
                tip: 0,
            };
            let mut histories = None;
            let mut once = Once::open(writing, &layout, state)?;
            if let Some(cut) = cut {
                let Fork { height, len } = cut.fork;
                fed.withdrawn.start = len;
                once.free(&cut.keys)?;
                tail::drop_from(&mut writing.table(TAIL)?, &layout, len)?;
                chain::drop_from(writing, len)?;
                hashes::drop_from(writing, &layout, len)?;
                let mut all = cut.histories.clone();
                if let Some(begun) = all.last_mut() {
                    begun.sequence = state.sequence;
                }
                writing.put_histories(&all)?;
                histories = Some(all);
                let mut table = writing.table(BLOCKS)?;
                let from = index_key(height);
                table
                    .retain_in(from.as_slice().., |_, _| false)
                    .map_err(Redb)?;
                (state.len, state.head) = (len, cut.head);
            }
            let mut tail = Tail::open(writing, &layout, state)?;
            let mut keeper = Keeper::new(writing, &layout);
            for block in blocks {
                let first = tail.end;
                let mut ids = Vec::with_capacity(block.ids.len());
                for (position, message) in block.messages.iter().enumerate() {
                    let alone = std::slice::from_ref(message);
                    if !once.take(alone, tail.end)?.is_empty() {
                        let height = block.height;
                        fed.left_out.push(LeftOut { height, position });
                        continue;
                    }
                    if let Some(MessageHashes { tag, hashes }) = &block.hashes {
                        keeper.push(tail.end, *tag, &hashes[position..=position])?;
                    }
                    tail.push_all(alone)?;
                    ids.push(block.ids[position]);
                }
                let placed = Placed {
                    height: block.height,
                    hash: block.hash,
                    range: first..tail.end,
                    ids,
                };
                writing.put(
                    BLOCKS,
                    &index_key(block.height),
                    &placed.encode(&block.parent),
                )?;
            }
            tail.finish(writing, state)?;
            keeper.finish()?;
            fed.tip = match writing.last(BLOCKS)? {
                Some(key) => index_of("blocks", &key)?,
                None => 0,
            };
            if blocks.is_empty() {
                return Ok(Outcome::Nothing(fed));
            }
            Ok(match histories {
                Some(histories) => Outcome::Begin(fed, histories),
                None => Outcome::Commit(fed),
            })
        })
    }

    /// Returns the length of the log up to which no message can be withdrawn. On a board without blocks it is the whole
    /// length.
    ///
    /// Errors: [`StoreError::Row`], and those of the database.
    pub fn settled(&self) -> Result<u64, StoreError> {
        let inner = self.inner();
        inner.meta.view(|view| settled(view, inner.fork_blocks))
    }

    /// Returns the last block on the board, or `None` if there are no blocks.
    ///
    /// Errors: [`StoreError::Row`], and those of the database.
    pub fn tip(&self) -> Result<Option<Placed>, StoreError> {
        self.inner().meta.view(tip)
    }

    /// Returns the blocks of a range of heights that are on the board, in order.
    ///
    /// Errors: [`StoreError::Row`], and those of the database.
    pub fn blocks(&self, heights: Range<u64>) -> Result<Vec<Placed>, StoreError> {
        self.inner().meta.view(|view| {
            let mut found = Vec::new();
            view.each(BLOCKS, &index_key(heights.start), |key, row| {
                if index_of("blocks", key)? >= heights.end {
                    return Ok(ControlFlow::Break(()));
                }
                found.push(Placed::open(view, key, row)?);
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(found)
        })
    }
}

impl Plan {
    /// Compares blocks with those on the board, whose last `depth` blocks can be withdrawn.
    ///
    /// Errors: [`StoreError::Row`], and those of the database.
    fn new(
        view: &View,
        blocks: &[Block],
        depth: u64,
    ) -> Result<Result<Self, BlockRefusal>, StoreError> {
        if let Some(refusal) = detached(blocks) {
            return Ok(Err(refusal));
        }
        let state = view.state()?;
        let Some(tip) = tip(view)? else {
            return Ok(match state.len {
                0 => Ok(Self {
                    known: 0,
                    fork: None,
                }),
                posted => Err(BlockRefusal::Posts(posted)),
            });
        };
        let mut known = 0;
        for block in blocks {
            if at(view, block.height)?.is_none_or(|placed| placed.hash != block.hash) {
                break;
            }
            known += 1;
        }
        let Some(next) = blocks.get(known) else {
            return Ok(Ok(Self { known, fork: None }));
        };
        if let Some(parent) = next.height.checked_sub(1).map(|height| at(view, height)) {
            match parent? {
                Some(parent) if parent.hash != next.parent => {
                    return Ok(Err(BlockRefusal::Parent {
                        height: next.height,
                        parents: Mismatch::new(parent.hash, next.parent),
                    }));
                }
                Some(_) => {}
                // The first block on the board has no parent there, and may be replaced.
                None if at(view, next.height)?.is_some() => {}
                None => {
                    let heights = Mismatch::new(tip.height + 1, next.height);
                    return Ok(Err(BlockRefusal::Height(heights)));
                }
            }
        }
        let Some(other) = at(view, next.height)? else {
            return Ok(Ok(Self { known, fork: None }));
        };
        let mut lowest = (tip.height + 1).saturating_sub(depth);
        if other.range.start < state.sealed {
            // The end was higher when these messages were sealed.
            let unsealed = first_from(view, state.sealed)?;
            lowest = lowest.max(unsealed.map_or(tip.height + 1, |placed| placed.height));
        }
        if next.height < lowest {
            return Ok(Err(BlockRefusal::Deep(Mismatch::new(lowest, next.height))));
        }
        let fork = Some(Fork {
            height: next.height,
            len: other.range.start,
        });
        Ok(Ok(Self { known, fork }))
    }
}

/// Returns the refusal of blocks that do not follow each other.
fn detached(blocks: &[Block]) -> Option<BlockRefusal> {
    blocks.windows(2).find_map(|pair| {
        let [block, next] = pair else { return None };
        let expected = block.height.saturating_add(1);
        if next.height != expected {
            return Some(BlockRefusal::Height(Mismatch::new(expected, next.height)));
        }
        (next.parent != block.hash).then_some(BlockRefusal::Parent {
            height: next.height,
            parents: Mismatch::new(block.hash, next.parent),
        })
    })
}

/// Tests the sizes of messages, and that each has an id.
fn check_blocks(store: &Store, blocks: &[Block]) -> Result<(), StoreError> {
    for (position, block) in blocks.iter().enumerate() {
        let messages = block.messages.len();
        if messages > MAX_MESSAGES || block.ids.len() != messages {
            return Err(StoreError::PostLength {
                post: position,
                found: messages,
            });
        }
        check_sizes(&store.inner().meta.layout, position, &block.messages)?;
        if let Some(hashes) = &block.hashes {
            hashes.check(messages)?;
        }
    }
    Ok(())
}

/// Returns the last block on the board.
fn tip(view: &View) -> Result<Option<Placed>, StoreError> {
    let last = view.last_to(BLOCKS, &index_key(u64::MAX))?;
    last.map(|(key, row)| Placed::open(view, &key, &row))
        .transpose()
}

/// Returns the block at a height.
fn at(view: &View, height: u64) -> Result<Option<Placed>, StoreError> {
    let key = index_key(height);
    let row = view.raw(BLOCKS, &key)?;
    row.map(|row| Placed::open(view, &key, &row)).transpose()
}

/// Returns the first block whose messages begin at `index` or after it.
fn first_from(view: &View, index: u64) -> Result<Option<Placed>, StoreError> {
    let mut found = None;
    view.each(BLOCKS, &[], |key, row| {
        let placed = Placed::open(view, key, row)?;
        if placed.range.start < index {
            return Ok(ControlFlow::Continue(()));
        }
        found = Some(placed);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// Returns the length of the log up to which no message can be withdrawn, if `depth` blocks can. On a board without blocks
/// it is the whole length.
///
/// Errors: [`StoreError::Row`], and those of the database.
pub(super) fn settled(view: &View, depth: u64) -> Result<u64, StoreError> {
    let state = view.state()?;
    let Some(tip) = tip(view)? else {
        return Ok(state.len);
    };
    let final_blocks = (tip.height + 1).saturating_sub(depth);
    let mut settled = state.len;
    view.each(BLOCKS, &index_key(final_blocks), |key, row| {
        settled = Placed::open(view, key, row)?.range.start;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(settled)
}

impl Placed {
    fn encode(&self, parent: &[u8; 32]) -> Vec<u8> {
        let numbers = pack([self.range.start, self.range.end - self.range.start]);
        [&self.hash[..], parent, &numbers, self.ids.as_flattened()].concat()
    }

    /// Opens a stored row.
    fn open(view: &View, key: &[u8], row: &[u8]) -> Result<Self, StoreError> {
        Self::decode(key, view.open(BLOCKS, key, row)?)
    }

    /// Decodes a row.
    ///
    /// Errors: [`StoreError::Row`].
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        let bad = || {
            bad_row(
                "blocks",
                key,
                Evidence::Bytes(HEAD_BYTES as u64),
                value.len(),
            )
        };
        let (head, ids) = value.split_at_checked(HEAD_BYTES).ok_or_else(bad)?;
        let [start, count] = numbers("blocks", key, &head[64..])?;
        let (ids, []) = ids.as_chunks::<32>() else {
            return Err(bad());
        };
        if ids.len() as u64 != count {
            return Err(bad());
        }
        Ok(Self {
            height: index_of("blocks", key)?,
            hash: *head.first_chunk().ok_or_else(bad)?,
            range: start..start.saturating_add(count),
            ids: ids.to_vec(),
        })
    }
}
