//! Detection keys as they lie in the store.

use omr_detector::engine::{Engine, Loaded};
use omr_detector::instantomr::InstantDetector;
use omr_protocol::Mismatch;
use omr_protocol::frame::{FrameError, FrameReader};
use omr_protocol::instantomr::InstantKey;
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, ParamsError};
use omr_store::{Store, StoreError};
use std::io::{Cursor, Read};
use std::sync::Arc;

/// Bytes that hold the header of any key.
const HEADER_BYTES: u64 = 128;

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
struct Opened {
    kind: EngineKind,
    reader: Box<dyn Read + Send>,
}

fn open(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<Opened, KeyError> {
    let mut reader = store.open_key(hash)?;
    let mut start = Vec::new();
    reader.by_ref().take(HEADER_BYTES).read_to_end(&mut start)?;
    let read = |kind: EngineKind| {
        let frame = FrameReader::read_header(&start[..], kind.key_file(), u64::MAX)?;
        frame.header().expect_params(set.name()).map(|()| kind)
    };
    let kind = match read(EngineKind::Sophomr) {
        Err(FrameError::Kind(Mismatch { expected, found })) => match EngineKind::of_key_file(found)
        {
            Some(kind) => read(kind),
            None => Err(FrameError::Kind(Mismatch::new(expected, found))),
        },
        read => read,
    }?;
    let reader = Box::new(Cursor::new(start).chain(reader));
    Ok(Opened { kind, reader })
}

/// What a key is for, by its header.
///
/// Errors: any `KeyError`.
pub(crate) fn kind(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<EngineKind, KeyError> {
    Ok(open(store, hash, set)?.kind)
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
    let Opened { kind, mut reader } = open(store, hash, set)?;
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
    let Opened { kind, reader } = open(store, hash, set)?;
    set.check_key_file(kind, reader)?;
    Ok(kind)
}
