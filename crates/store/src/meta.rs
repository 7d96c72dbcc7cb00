//! The meta file: views, transactions, and opening it again after an error.

#[cfg_attr(not(feature = "server"), path = "meta/no_lengths.rs")]
mod lengths;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use crate::config::BoardConfig;
use lengths::Lengths;
use omr_errors::Mismatch;
use redb::TableError;

use crate::database::{Access, Guarded, Handle, Source, guarded};
use crate::error::{Evidence, Foreign, Redb, StoreError};
use crate::format::History;
use crate::format::{
    KEYS_CONFIG, KEYS_VERSION, Layout, META, META_VERSION, State, bad_row, decode_config,
};
use crate::tables::{View, Writing};

/// The open meta file.
#[derive(Debug)]
pub(crate) struct Meta {
    source: Source,
    access: Access,
    pub(crate) config: BoardConfig,
    pub(crate) layout: Layout,
    /// The histories of the board, oldest first; at least one.
    histories: RwLock<Vec<History>>,
    /// Held during a transaction and while the file is opened.
    writer: Mutex<()>,
    slot: RwLock<Slot>,
    len: AtomicU64,
    /// The length of the log, for tasks that wait for it to change.
    pub(crate) lengths: Lengths,
    first: AtomicU64,
    opened: Instant,
    /// The value of the store's clock when this process opened it.
    clock_start: u64,
}

#[derive(Debug)]
struct Slot {
    /// The database; `None` after an error, until it is opened again.
    database: Option<Guarded<Handle>>,
    /// The number of times that the file was opened again.
    epoch: u64,
}

/// The result of a transaction's work: whether there is something to commit.
pub(crate) enum Outcome<T> {
    Commit(T),
    /// As `Commit`, and another history begins. The transaction wrote these histories; the last one begins.
    Begin(T, Vec<History>),
    Nothing(T),
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No statement leaves the protected data invalid, so a panic in another thread is harmless.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meta {
    /// Opens the meta file.
    ///
    /// Errors: those of [`crate::Store::open`].
    pub(crate) fn open(source: Source, access: Access) -> Result<Self, StoreError> {
        let database = source.open(access)?;
        let loaded = guarded(|| load(&source, database.get()?))?;
        let (config, state) = (loaded.config, loaded.state);
        Ok(Self {
            histories: RwLock::new(loaded.histories),
            source,
            access,
            layout: Layout::new(&config),
            config,
            writer: Mutex::new(()),
            slot: RwLock::new(Slot {
                database: Some(database),
                epoch: 0,
            }),
            len: AtomicU64::new(state.len),
            lengths: Lengths::new(state.len),
            first: AtomicU64::new(state.first),
            opened: Instant::now(),
            clock_start: state.clock,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    /// Returns the current history of the board.
    pub(crate) fn history(&self) -> History {
        let histories = self.histories();
        let last = histories.last();
        last.copied().unwrap_or(History::first(&self.config))
    }

    /// Returns the histories of the board, oldest first; at least one.
    pub(crate) fn histories(&self) -> Vec<History> {
        let histories = self.histories.read();
        histories.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the index of the first message that has not expired.
    pub(crate) fn first(&self) -> u64 {
        self.first.load(Ordering::Relaxed)
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the total time for which the store has been open, in milliseconds. It does not depend on a wall clock.
    pub(crate) fn clock(&self) -> u64 {
        let elapsed = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.clock_start.saturating_add(elapsed)
    }

    /// Runs `f` on a consistent view of the tables. `f` must not call code of other crates.
    ///
    /// Errors: those of `f` and of the database. After an error the database is opened again for the next call.
    pub(crate) fn view<T>(
        &self,
        f: impl FnOnce(&View) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let view = self.begin_view()?;
        let epoch = view.epoch;
        let result = guarded(|| {
            let view = view;
            f(&view)
        });
        if result.as_ref().is_err_and(StoreError::poisons) {
            let _ = self.recover(epoch);
        }
        result
    }

    /// Returns a view that the caller may keep, within [`guarded`].
    pub(crate) fn begin_view(&self) -> Result<View, StoreError> {
        let epoch = match self.try_view() {
            Err((error, epoch)) if error.poisons() => epoch,
            other => return other.map_err(|(error, _)| error),
        };
        self.recover(epoch)?;
        self.try_view().map_err(|(error, _)| error)
    }

    fn try_view(&self) -> Result<View, (StoreError, u64)> {
        let slot = self.slot.read().unwrap_or_else(PoisonError::into_inner);
        guarded(|| {
            let database = slot.database.as_ref().ok_or(StoreError::Suspended)?.get()?;
            Ok(View {
                transaction: database.begin_read()?,
                seed: self.layout.seed,
                epoch: slot.epoch,
            })
        })
        .map_err(|error| (error, slot.epoch))
    }

    /// Runs `f` in one durable transaction, all or nothing. `f` must not call code of other crates.
    ///
    /// After an error of the disk the database is opened again. If the transaction turns out to be written, the call
    /// succeeds: opening has synced its pages.
    ///
    /// Errors: those of `f` and of the database. Nothing was changed; only if the database cannot be opened at once,
    /// the change may appear later.
    pub(crate) fn transact<T>(
        &self,
        f: impl FnOnce(&Writing<'_>, &mut State) -> Result<Outcome<T>, StoreError>,
    ) -> Result<T, StoreError> {
        let _writer = lock(&self.writer);
        if self.access == Access::ReadOnly {
            return Err(StoreError::ReadOnly);
        }
        if self.slot().database.is_none() {
            self.reopen()?;
        }
        let mut attempt = None;
        let result = guarded(|| self.commit(f, &mut attempt));
        match (result, attempt) {
            (Ok(Some(value)), _) => Ok(value),
            (
                Ok(None),
                Some(Attempt {
                    state,
                    histories,
                    value,
                }),
            ) => {
                self.publish(&state, histories);
                Ok(value)
            }
            (Ok(None), None) => Err(StoreError::Suspended),
            (Err(error), attempt) if error.poisons() => match (self.reopen(), attempt) {
                (Ok(found), Some(Attempt { state, value, .. }))
                    if found.sequence == state.sequence =>
                {
                    Ok(value)
                }
                _ => Err(error),
            },
            (Err(error), _) => Err(error),
        }
    }

    /// Returns the value if there was nothing to commit. Otherwise stores what is committed in `attempt`.
    fn commit<T>(
        &self,
        f: impl FnOnce(&Writing<'_>, &mut State) -> Result<Outcome<T>, StoreError>,
        attempt: &mut Option<Attempt<T>>,
    ) -> Result<Option<T>, StoreError> {
        let mut transaction = {
            let slot = self.slot();
            let handle = slot.database.as_ref().ok_or(StoreError::Suspended)?;
            let database = handle.get()?.writable()?;
            database.begin_write().map_err(Redb)?
        };
        // Quick repair commits with two syncs and recovers fast. Without it, recovery would rely on redb's checksums
        // alone, which are too weak against content chosen by an attacker.
        transaction.set_quick_repair(true);
        let writing = Writing::new(&transaction, self.layout.seed);
        let mut state = writing.state()?;
        let (value, histories) = match f(&writing, &mut state)? {
            Outcome::Nothing(value) => {
                transaction.abort().map_err(Redb)?;
                return Ok(Some(value));
            }
            Outcome::Commit(value) => (value, None),
            Outcome::Begin(value, histories) => (value, Some(histories)),
        };
        state.sequence += 1;
        state.clock = state.clock.max(self.clock());
        writing.put_state(&state)?;
        *attempt = Some(Attempt {
            state,
            histories,
            value,
        });
        transaction.commit().map_err(Redb)?;
        Ok(None)
    }

    fn slot(&self) -> std::sync::RwLockReadGuard<'_, Slot> {
        self.slot.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of times that the meta file was opened again.
    pub(crate) fn epoch(&self) -> u64 {
        self.slot().epoch
    }

    /// Shows a committed state to readers, after the histories if another one has begun.
    fn publish(&self, state: &State, histories: Option<Vec<History>>) {
        let has_begun = histories.is_some();
        if let Some(histories) = histories {
            let known = self.histories.write();
            *known.unwrap_or_else(PoisonError::into_inner) = histories;
        }
        self.first.store(state.first, Ordering::Relaxed);
        self.len.store(state.len, Ordering::Release);
        self.lengths.publish(state.len, has_begun);
    }

    /// Makes the file smaller, unless a reader prevents it. A failure is not an error of the caller's operation; the
    /// next operation reports what is wrong with the disk.
    pub(crate) fn shrink(&self) {
        let _writer = lock(&self.writer);
        let mut slot = self.slot.write().unwrap_or_else(PoisonError::into_inner);
        let compacted = guarded(|| match &mut slot.database {
            Some(database) => database.get_mut()?.compact(),
            None => Ok(()),
        });
        drop(slot);
        if compacted.is_err_and(|error| error.poisons()) {
            let _ = self.reopen();
        }
    }

    /// Opens the database again, unless that has happened since `epoch`.
    fn recover(&self, epoch: u64) -> Result<(), StoreError> {
        let _writer = lock(&self.writer);
        let slot = self.slot();
        let done = slot.epoch != epoch && slot.database.is_some();
        drop(slot);
        if !done {
            self.reopen()?;
        }
        Ok(())
    }

    /// Opens the database again, since redb refuses all work after an error of the disk. The caller holds the writer's
    /// lock.
    fn reopen(&self) -> Result<State, StoreError> {
        let mut slot = self.slot.write().unwrap_or_else(PoisonError::into_inner);
        // The old handle is closed first, since it holds the lock of the file.
        slot.database = None;
        slot.epoch += 1;
        #[cfg(feature = "server")]
        tracing::warn!(path = %self.source.path().display(), "opening the meta file again");
        let database = self.source.open(self.access)?;
        let Loaded {
            config,
            state,
            histories,
        } = guarded(|| load(&self.source, database.get()?))?;
        if config != self.config {
            return Err(StoreError::OtherBoard(Mismatch::new(
                self.config.board_id,
                config.board_id,
            )));
        }
        slot.database = Some(database);
        drop(slot);
        let has_begun = histories.last() != self.histories().last();
        self.publish(&state, has_begun.then_some(histories));
        Ok(state)
    }
}

/// The effects of a transaction that was committed, or of one whose commit failed.
struct Attempt<T> {
    state: State,
    /// The histories of the board, if another one has begun.
    histories: Option<Vec<History>>,
    value: T,
}

/// The content of the meta table.
struct Loaded {
    config: BoardConfig,
    state: State,
    histories: Vec<History>,
}

/// Reads and checks the rows of the meta table.
fn load(source: &Source, database: &Handle) -> Result<Loaded, StoreError> {
    let mut view = View {
        transaction: database.begin_read()?,
        seed: 0,
        epoch: 0,
    };
    let not_a_board = || StoreError::NotABoard {
        path: source.path(),
        what: Foreign::OtherDatabase,
    };
    match view.transaction.open_table(META) {
        Err(
            TableError::TableDoesNotExist(_)
            | TableError::TableTypeMismatch { .. }
            | TableError::TableIsMultimap(_),
        ) => return Err(not_a_board()),
        other => drop(other.map_err(Redb)?),
    }
    let mut versions = Vec::new();
    for key in KEYS_VERSION {
        if let Some(row) = view.raw(META, key)?
            && let Ok(version) = row.try_into()
        {
            versions.push(u32::from_le_bytes(version));
        }
    }
    if !versions.contains(&META_VERSION) {
        let found = *versions.first().ok_or_else(not_a_board)?;
        return Err(StoreError::version("the board", META_VERSION, found));
    }
    let mut intact = None;
    for key in KEYS_CONFIG {
        intact = intact.or(view.raw(META, key)?.and_then(|row| decode_config(&row)));
    }
    let config = intact.ok_or_else(|| bad_row("meta", KEYS_CONFIG[0], Evidence::Present, 0))?;
    view.seed = Layout::new(&config).seed;
    Ok(Loaded {
        state: view.state()?,
        histories: view.histories()?,
        config,
    })
}
