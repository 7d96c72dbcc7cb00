//! The owners of unfinished uploads of keys, so that no client uses all the room.

use crate::caller::Caller;
use crate::refuse;
use crate::strangers::of_strangers;
use omr_store::{Store, Upload};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tonic::Status;

/// The least number of bytes that an upload counts.
const LEAST_BYTES: u64 = 1 << 20;
/// The time for which an upload counts before the store has its first bytes.
const NEW: Duration = Duration::from_secs(10);
/// The time after which a client should try again if there is no room.
const AGAIN: Duration = Duration::from_secs(10);

struct Begun {
    client: u64,
    stranger: bool,
    at: Instant,
}

/// The uploads that began since the start of the server.
pub(crate) struct Uploads {
    begun: Mutex<HashMap<[u8; 32], Begun>>,
    /// The limit for the bytes of all uploads.
    limit: u64,
}

impl Uploads {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            begun: Mutex::default(),
            limit,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an upload that begins or continues. A client may have as many uploads as keys.
    ///
    /// Errors: FAILED_PRECONDITION, RESOURCE_EXHAUSTED.
    pub(crate) fn begin(
        &self,
        store: &Store,
        caller: &Caller,
        hash: &[u8; 32],
    ) -> Result<(), Status> {
        let mut begun = self.lock();
        begun.retain(|hash, one| store.upload_bytes(hash).is_some() || one.at.elapsed() < NEW);
        if begun.contains_key(hash) {
            return Ok(());
        }
        let own = begun.values().filter(|one| one.client == caller.client);
        if own.count() >= caller.keys as usize {
            return Err(refuse::over_quota("unfinished uploads", caller.keys));
        }
        let stranger = caller.is_anonymous();
        if stranger {
            self.check(arrived(store, &begun), LEAST_BYTES)?;
        }
        let one = Begun {
            client: caller.client,
            stranger,
            at: Instant::now(),
        };
        begun.insert(*hash, one);
        Ok(())
    }

    /// Stops counting a completed upload.
    pub(crate) fn note(&self, hash: &[u8; 32], upload: &Upload) {
        if upload.complete {
            self.lock().remove(hash);
        }
    }

    /// Checks that there is room for more bytes of an upload without a token.
    ///
    /// Errors: RESOURCE_EXHAUSTED.
    pub(crate) fn room(&self, store: &Store, caller: &Caller, bytes: usize) -> Result<(), Status> {
        if caller.is_anonymous() {
            self.check(arrived(store, &self.lock()), bytes as u64)
        } else {
            Ok(())
        }
    }

    fn check(&self, arrived: u64, more: u64) -> Result<(), Status> {
        let most = of_strangers(usize::try_from(self.limit).unwrap_or(usize::MAX)) as u64;
        if arrived.saturating_add(more) <= most {
            return Ok(());
        }
        Err(refuse::busy(
            format!(
                "uploads without a token: expected at most {most} bytes together, found as many: try again later"
            ),
            AGAIN,
        ))
    }
}

/// Returns the bytes of uploads without a token.
fn arrived(store: &Store, begun: &HashMap<[u8; 32], Begun>) -> u64 {
    let strangers = begun.iter().filter(|(_, one)| one.stranger);
    strangers
        .map(|(hash, _)| store.upload_bytes(hash).unwrap_or(0).max(LEAST_BYTES))
        .sum()
}
