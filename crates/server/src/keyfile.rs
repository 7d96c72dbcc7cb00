//! Detection keys as they lie in the store.

use omr_detector::engine::{Engine, Loaded};
use omr_detector::instantomr::InstantDetector;
use omr_protocol::Mismatch;
use omr_protocol::frame::{FrameError, Opened};
use omr_protocol::instantomr::InstantKey;
use omr_protocol::sophomr::DetectionKey;
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, ParamsError};
use omr_store::{Store, StoreError};
use std::io::Read;
use std::sync::Arc;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum KeyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("reading the key: {0}")]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
    #[error(transparent)]
    Params(#[from] ParamsError),
}

/// A key's file, its header read.
struct KeyFile {
    kind: EngineKind,
    reader: Box<dyn Read + Send>,
}

fn open(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<KeyFile, KeyError> {
    let kinds = EngineKind::ALL.map(EngineKind::key_file);
    let file = Opened::new::<KeyError>(store.open_key(hash)?, &kinds)?;
    file.header.expect_params(set.name())?;
    let other = Mismatch::new(kinds[0], file.header.kind);
    Ok(KeyFile {
        kind: EngineKind::of_key_file(file.header.kind).ok_or(FrameError::Kind(other))?,
        reader: Box::new(file.reader),
    })
}

/// What a key is for, by its header.
///
/// Errors: any `KeyError`.
pub(crate) fn kind(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<EngineKind, KeyError> {
    Ok(open(store, hash, set)?.kind)
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
    if !set.spec().opens_clues() {
        return Ok(None);
    }
    let KeyFile { kind, reader } = open(store, hash, set)?;
    match kind {
        EngineKind::Sophomr => Ok(DetectionKey::read_masks(set.sophomr()?, reader)?),
        EngineKind::Instantomr => Ok(None),
    }
}

/// Makes a key ready on the engine that `engine` gives for its kind.
///
/// Errors: any `KeyError`.
pub(crate) fn load(
    store: &Store,
    hash: [u8; 32],
    set: &ParamSet,
    engine: impl FnOnce(EngineKind) -> Result<Box<dyn Engine>, ParamsError>,
) -> Result<Arc<dyn Loaded>, KeyError> {
    let KeyFile { kind, mut reader } = open(store, hash, set)?;
    Ok(engine(kind)?.load(&mut reader)?)
}

/// Reads a key for InstantOMR whole.
///
/// Errors: any `KeyError`.
pub(crate) fn load_instant(
    store: &Store,
    hash: [u8; 32],
    set: &ParamSet,
) -> Result<Arc<InstantDetector>, KeyError> {
    let params = set.instantomr()?;
    let key = InstantKey::read(params, store.open_key(hash)?)?;
    Ok(Arc::new(InstantDetector::new(params.clone(), key)))
}

/// Reads a key whole, checks it, and says what it is for.
///
/// Errors: any `KeyError`.
pub(crate) fn check(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<EngineKind, KeyError> {
    let KeyFile { kind, reader } = open(store, hash, set)?;
    set.check_key_file(kind, reader)?;
    Ok(kind)
}
