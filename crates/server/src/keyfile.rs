//! Detection keys as they lie in the store.

use omr_detector::instantomr::InstantDetector;
use omr_detector::sophomr::Detector;
use omr_protocol::frame::{FrameError, FrameReader, Kind};
use omr_protocol::instantomr::InstantKey;
use omr_protocol::sophomr::DetectionKey;
use omr_protocol::{DetectionKeyError, ParamSet, ParamsError};
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

/// A key ready for work.
#[derive(Clone)]
pub(crate) enum Loaded {
    Bulk(Arc<Detector>),
    Instant(Arc<InstantDetector>),
}

/// A key's file, its header read.
struct Opened {
    kind: Kind,
    reader: Box<dyn Read + Send>,
}

fn open(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<Opened, KeyError> {
    let mut reader = store.open_key(hash)?;
    let mut start = Vec::new();
    reader.by_ref().take(HEADER_BYTES).read_to_end(&mut start)?;
    let read = |kind| FrameReader::read_header(&start[..], kind, u64::MAX);
    let frame = match read(Kind::DetectionKey) {
        Err(FrameError::Kind {
            found: Kind::InstantKey,
            ..
        }) => read(Kind::InstantKey),
        read => read,
    }?;
    frame.header().expect_params(set.name())?;
    let kind = frame.header().kind;
    let reader = Box::new(Cursor::new(start).chain(reader));
    Ok(Opened { kind, reader })
}

/// What a key is, by its header.
///
/// Errors: any `KeyError`.
pub(crate) fn kind(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<Kind, KeyError> {
    Ok(open(store, hash, set)?.kind)
}

/// Reads a key whole and says what it is; `bulk` makes a detector of a key for SophOMR.
///
/// Errors: any `KeyError`.
pub(crate) fn load(
    store: &Store,
    hash: [u8; 32],
    set: &ParamSet,
    bulk: impl FnOnce(DetectionKey) -> Result<Detector, ParamsError>,
) -> Result<Loaded, KeyError> {
    let Opened { kind, reader } = open(store, hash, set)?;
    Ok(match kind {
        Kind::InstantKey => {
            let params = set.instant()?;
            let key = InstantKey::read(params, reader)?;
            Loaded::Instant(Arc::new(InstantDetector::new(params.clone(), key)))
        }
        _ => Loaded::Bulk(Arc::new(bulk(DetectionKey::read(set.bulk()?, reader)?)?)),
    })
}

/// Reads a key for InstantOMR whole.
///
/// Errors: any `KeyError`.
pub(crate) fn load_instant(
    store: &Store,
    hash: [u8; 32],
    set: &ParamSet,
) -> Result<Arc<InstantDetector>, KeyError> {
    let params = set.instant()?;
    let key = InstantKey::read(params, store.open_key(hash)?)?;
    Ok(Arc::new(InstantDetector::new(params.clone(), key)))
}

/// Reads a key whole, checks it, and says what it is.
///
/// Errors: any `KeyError`.
pub(crate) fn check(store: &Store, hash: [u8; 32], set: &ParamSet) -> Result<Kind, KeyError> {
    let Opened { kind, reader } = open(store, hash, set)?;
    match kind {
        Kind::InstantKey => drop(InstantKey::read(set.instant()?, reader)?),
        _ => drop(DetectionKey::read(set.bulk()?, reader)?),
    }
    Ok(kind)
}
