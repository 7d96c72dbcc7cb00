//! A storage back end that keeps its writes in memory, over bytes that it only reads.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

const BLOCK: u64 = 4096;

/// The bytes of `base`, with changes in memory.
///
/// The overlay takes no lock: the caller keeps writers out.
#[derive(Debug)]
pub(crate) struct Overlay<B> {
    base: B,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    len: u64,
    /// The number of bytes of `base` that are still visible: the least length so far.
    visible: u64,
    /// The blocks that were written, by number.
    blocks: BTreeMap<u64, Box<[u8]>>,
}

impl<B: StorageBackend> Overlay<B> {
    pub(crate) fn new(base: B) -> io::Result<Self> {
        let len = base.len()?;
        Ok(Self {
            base,
            state: Mutex::new(State {
                len,
                visible: len,
                blocks: BTreeMap::new(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills `out` from `offset`: with bytes of `base` where they are visible, and with zeros beyond.
    fn read_base(&self, visible: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let count = visible.saturating_sub(offset).min(out.len() as u64) as usize;
        let (data, zeros) = out.split_at_mut(count);
        zeros.fill(0);
        if data.is_empty() {
            Ok(())
        } else {
            self.base.read(offset, data)
        }
    }
}

/// Splits `offset..offset + len` at the borders of blocks. Returns the block, the offset in it and the number of bytes
/// of each part.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + len as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        let within = at % BLOCK;
        let count = (BLOCK - within).min(end - at);
        let piece = (at / BLOCK, within as usize, count as usize);
        at += count;
        (count > 0).then_some(piece)
    })
}

fn out_of_range() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

impl<B: StorageBackend> StorageBackend for Overlay<B> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if offset
            .checked_add(out.len() as u64)
            .is_none_or(|end| end > state.len)
        {
            return Err(out_of_range());
        }
        self.read_base(state.visible, offset, out)?;
        let mut done = 0;
        for (block, within, count) in pieces(offset, out.len()) {
            if let Some(bytes) = state.blocks.get(&block) {
                out[done..done + count].copy_from_slice(&bytes[within..within + count]);
            }
            done += count;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        if len < state.len {
            state.visible = state.visible.min(len);
            state.blocks.split_off(&len.div_ceil(BLOCK));
            if let Some(bytes) = state.blocks.get_mut(&(len / BLOCK)) {
                bytes[(len % BLOCK) as usize..].fill(0);
            }
        }
        state.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        if offset
            .checked_add(data.len() as u64)
            .is_none_or(|end| end > state.len)
        {
            return Err(out_of_range());
        }
        let mut done = 0;
        for (block, within, count) in pieces(offset, data.len()) {
            if !state.blocks.contains_key(&block) {
                let mut bytes = vec![0; BLOCK as usize].into_boxed_slice();
                self.read_base(state.visible, block * BLOCK, &mut bytes)?;
                state.blocks.insert(block, bytes);
            }
            if let Some(bytes) = state.blocks.get_mut(&block) {
                bytes[within..within + count].copy_from_slice(&data[done..done + count]);
            }
            done += count;
        }
        Ok(())
    }
}
