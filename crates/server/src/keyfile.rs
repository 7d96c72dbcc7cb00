//! Detection keys as they lie in the store.

use omr_cuda::{Cards, CardsError};
use omr_detector::instantomr::InstantDetector;
use omr_protocol::instantomr::InstantKey;
use omr_protocol::sophomr::DetectionKey;
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, ParamsError};
use omr_runner::KeyFile;
use omr_store::{Store, StoreError};
use std::sync::Arc;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum KeyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] omr_runner::KeyError),
    #[error(transparent)]
    Cards(#[from] CardsError),
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
    #[error(transparent)]
    Params(#[from] ParamsError),
}

impl KeyError {
    /// Whether the key could not be read, which may pass.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Store(error) => !matches!(error, StoreError::NoKey(_)),
            Self::File(error) => error.may_pass(),
            _ => false,
        }
    }
}

fn open(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<KeyFile, KeyError> {
    Ok(KeyFile::open(store.open_key(hash)?, set)?)
}

/// What a key is for, by its header.
///
/// Errors: any `KeyError`.
pub(crate) fn kind(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<EngineKind, KeyError> {
    Ok(open(store, hash, set)?.kind)
}

/// What a key is for, and the id that stands in digests made with it.
///
/// Errors: any `KeyError`.
pub(crate) fn id(
    store: &Store,
    hash: [u8; 32],
    set: &ParamSet,
) -> Result<(EngineKind, [u8; 16]), KeyError> {
    let file = open(store, hash, set)?;
    Ok((file.kind, file.key_id))
}

/// The seed of masks that keys have in common which one run serves, by the head of its file; `None` of keys that are
/// served alone.
///
/// Errors: any `KeyError`.
pub(crate) fn masks(
    store: &Store,
    hash: [u8; 32],
    set: &ParamSet,
) -> Result<Option<[u8; 32]>, KeyError> {
    let KeyFile { kind, reader, .. } = open(store, hash, set)?;
    match kind {
        EngineKind::Sophomr => Ok(Some(DetectionKey::read_masks(set.sophomr()?, reader)?)),
        EngineKind::Instantomr => Ok(None),
    }
}

/// Reads a key for InstantOMR whole, to a card if there is one.
///
/// Errors: any `KeyError`.
pub(crate) fn load_instant(
    store: &Store,
    hash: [u8; 32],
    (set, cards): (&ParamSet, &Cards),
) -> Result<Arc<InstantDetector>, KeyError> {
    let params = set.instantomr()?;
    let key = InstantKey::read(params, store.open_key(hash)?)?;
    Ok(Arc::new(cards.instant(set, key)?))
}

/// Reads a key whole, checks it, and says what it is for.
///
/// Errors: any `KeyError`.
pub(crate) fn check(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<EngineKind, KeyError> {
    let KeyFile { kind, reader, .. } = open(store, hash, set)?;
    set.check_key_file(kind, reader)?;
    Ok(kind)
}
