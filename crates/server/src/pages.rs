//! The secret from which the seeds of pages are derived (docs/wire.md, section 22).

use crate::error::ServerError;
use crate::records;
use omr_store::Store;
use std::sync::{Arc, PoisonError, RwLock};

/// The name of the table of secrets, by the id of the board's history.
const SECRETS: &str = "page-secrets";

/// The secret of the board's present history.
#[derive(Clone)]
pub(crate) struct PageSecret(Arc<RwLock<[u8; 32]>>);

impl PageSecret {
    /// Reads the secret.
    ///
    /// Errors: `Store`; `NoRandomness`.
    pub(crate) fn open(store: &Store) -> Result<Self, ServerError> {
        Ok(Self(Arc::new(RwLock::new(secret(store)?))))
    }

    /// Returns the secret.
    pub(crate) fn get(&self) -> [u8; 32] {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the secret of another history, which has begun.
    ///
    /// Errors: `Store`; `NoRandomness`.
    pub(crate) fn renew(&self, store: &Store) -> Result<(), ServerError> {
        let renewed = secret(store)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }
}

/// Returns the secret of the board's present history, which the first start makes. A restored board has a history of its
/// own, so nobody has seen a seed of a page before its messages were posted.
///
/// Errors: `Store`; `NoRandomness`.
fn secret(store: &Store) -> Result<[u8; 32], ServerError> {
    let history = store.history().id;
    let stored = store.get(SECRETS, &history)?;
    if let Some(known) = stored.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) {
        return Ok(known);
    }
    let mut made = [0; 32];
    getrandom::fill(&mut made).map_err(|_| ServerError::NoRandomness)?;
    store.write(&[records::put(SECRETS, &history, made.to_vec())])?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::test_store;

    #[test]
    fn the_secret_of_a_history_stays() {
        let dir = tempfile::tempdir().unwrap();
        let store = test_store(&dir);
        let first = secret(&store).unwrap();
        assert_ne!(first, [0; 32]);
        assert_eq!(secret(&store).unwrap(), first);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(secret(&test_store(&other)).unwrap(), first);
    }
}
