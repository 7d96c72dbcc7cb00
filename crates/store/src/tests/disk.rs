//! A simulated disk that loses unsynced writes in a crash and can run full.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use redb::StorageBackend;

/// A disk in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The bytes that reads return.
    cached: Vec<u8>,
    /// The bytes that survive a crash for certain.
    synced: Vec<u8>,
    pending: Vec<Pending>,
    /// The number of writes, syncs and resizings so far.
    operations: u64,
    crash_at: Option<u64>,
    crashed: bool,
    full_from: Option<u64>,
    /// The kind and the number from which on the first operation of this kind fails.
    fail_once: Option<(u64, Kind)>,
    /// Whether a failed sync loses the bytes that it should have written, although reads still return them. Some
    /// systems mark pages clean after they failed to write them.
    lossy: bool,
    /// The kind of operations that the full disk refuses; all kinds if `None`.
    full_kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Sync,
    SetLen,
    Object,
}

enum Pending {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.cached.len())
    }
}

impl Pending {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::SetLen(len) => bytes.resize(*len as usize, 0),
            Self::Write(offset, data) => {
                let (start, end) = (*offset as usize, *offset as usize + data.len());
                bytes.resize(bytes.len().max(end), 0);
                bytes[start..end].copy_from_slice(data);
            }
        }
    }
}

impl Disk {
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.state().synced = bytes.clone();
        disk.state().cached = bytes;
        disk
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Returns a back end of the disk.
    pub(crate) fn attach(&self) -> Attached {
        Attached { disk: self.clone() }
    }

    /// Counts an operation on an object, and fails it if a test has asked for that.
    pub(crate) fn operate_object(&self) -> io::Result<()> {
        self.attach().operate(Kind::Object).map(drop)
    }

    pub(crate) fn len(&self) -> u64 {
        self.state().cached.len() as u64
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state().cached.clone()
    }

    pub(crate) fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Lets every operation from number `at` on fail without effect.
    pub(crate) fn crash_at(&self, at: u64) {
        self.state().crash_at = Some(at);
    }

    pub(crate) fn crashed(&self) -> bool {
        self.state().crashed
    }

    /// Lets operations (of `kind`) from number `from` on fail for lack of space.
    pub(crate) fn fill(&self, from: u64, kind: Option<Kind>) {
        let mut state = self.state();
        state.full_from = Some(from);
        state.full_kind = kind;
    }

    /// Lets everything fail after the next object, which is stored.
    pub(crate) fn fail_after_object(&self, next: u64) {
        self.fill(next + 1, None);
    }

    pub(crate) fn fail_once(&self, from: u64, kind: Kind) {
        self.state().fail_once = Some((from, kind));
    }

    pub(crate) fn lose_failed_syncs(&self) {
        self.state().lossy = true;
    }

    pub(crate) fn free(&self) {
        self.state().full_from = None;
    }

    /// Returns the disk after the crash: the synced bytes and the pending writes for which `keep` returns a number. The
    /// number is the fraction of the write that is kept, in 256ths, at a multiple of 512 bytes.
    pub(crate) fn after_crash(&self, keep: &mut dyn FnMut() -> Option<u8>) -> Self {
        let state = self.state();
        let mut bytes = state.synced.clone();
        for pending in &state.pending {
            match (pending, keep()) {
                (_, None) => {}
                (Pending::Write(offset, data), Some(part)) if part < u8::MAX => {
                    let sectors = data.len() / 512 * usize::from(part) / 256;
                    Pending::Write(*offset, data[..sectors * 512].to_vec()).apply(&mut bytes);
                }
                (pending, Some(_)) => pending.apply(&mut bytes),
            }
        }
        Self::from_bytes(bytes)
    }
}

/// A back end on a [`Disk`].
#[derive(Debug)]
pub(crate) struct Attached {
    disk: Disk,
}

impl Attached {
    /// Counts an operation, and fails it if a test has asked for that.
    fn operate(&self, kind: Kind) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.disk.state();
        let number = state.operations;
        state.operations += 1;
        if state.crash_at.is_some_and(|at| number >= at) {
            state.crashed = true;
        }
        if state.crashed {
            return Err(io::Error::other("crashed"));
        }
        let once = |(from, fails): (u64, Kind)| number >= from && fails == kind;
        if state.fail_once.is_some_and(once) {
            state.fail_once = None;
            return Err(io::Error::other("input/output error"));
        }
        let full = state.full_from.is_some_and(|from| number >= from);
        if full && state.full_kind.is_none_or(|refused| refused == kind) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(state)
    }
}

impl StorageBackend for Attached {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.disk.state();
        let found = state
            .cached
            .get(offset as usize..)
            .and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.operate(Kind::SetLen)?;
        let pending = Pending::SetLen(len);
        pending.apply(&mut state.cached);
        state.pending.push(pending);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = match self.operate(Kind::Sync) {
            Err(error) => {
                let mut state = self.disk.state();
                if state.lossy {
                    state
                        .pending
                        .retain(|pending| matches!(pending, Pending::SetLen(_)));
                }
                return Err(error);
            }
            Ok(state) => state,
        };
        for pending in std::mem::take(&mut state.pending) {
            pending.apply(&mut state.synced);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.operate(Kind::Write)?;
        let mut pending = Pending::Write(offset, data.to_vec());
        pending.apply(&mut state.cached);
        if state.lossy {
            // The system writes whole pages.
            let start = offset / 4096 * 4096;
            let end = (offset + data.len() as u64).next_multiple_of(4096);
            let end = end.min(state.cached.len() as u64);
            pending = Pending::Write(start, state.cached[start as usize..end as usize].to_vec());
        }
        state.pending.push(pending);
        Ok(())
    }
}
