//! Detection keys, made and cut into chunks at once.

use crate::error::{WasmError, fixed};
use chacha20::ChaCha20Rng;
use js_sys::{Function, Uint8Array};
use omr_client::{MakeKeyError, SecretKey, write_detection_key};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{EngineKind, ParamSet};
use rand_core::SeedableRng;
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};
use wasm_bindgen::prelude::{JsError, JsValue, wasm_bindgen};
use zeroize::Zeroizing;

/// A key by its content.
#[wasm_bindgen]
#[derive(Debug, PartialEq, Eq)]
pub struct MadeKey {
    hash: [u8; 32],
    bytes: u64,
}

#[wasm_bindgen]
impl MadeKey {
    /// BLAKE3 of the file.
    #[wasm_bindgen(getter)]
    pub fn hash(&self) -> Vec<u8> {
        self.hash.to_vec()
    }

    /// Its length.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> f64 {
        self.bytes as f64
    }
}

/// Cuts what is written into chunks and hashes it.
struct Chunks<F> {
    data: Vec<u8>,
    size: usize,
    hasher: blake3::Hasher,
    bytes: u64,
    take: F,
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Chunks<F> {
    fn give(&mut self) -> io::Result<()> {
        (self.take)(&self.data)?;
        self.data.clear();
        Ok(())
    }
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Write for Chunks<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.size - self.data.len());
        let taken = &bytes[..fits];
        self.data.extend_from_slice(taken);
        self.hasher.update(taken);
        self.bytes += fits as u64;
        if self.data.len() == self.size {
            self.give()?;
        }
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes a detection key and gives its chunks as they come. The same seed gives the same key.
///
/// Errors: `MakeKeyError`, of `take` too.
pub fn write_in_chunks(
    (set, secret, engine): (&ParamSet, &SecretKey, EngineKind),
    epoch: Option<&Epoch>,
    seed: [u8; 32],
    size: usize,
    take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<MadeKey, MakeKeyError> {
    let mut rng = ChaCha20Rng::from_seed(seed);
    let mut chunks = Chunks {
        data: Vec::with_capacity(size),
        size,
        hasher: blake3::Hasher::new(),
        bytes: 0,
        take,
    };
    write_detection_key(set, engine, secret, epoch, &mut rng, &mut chunks)?;
    if !chunks.data.is_empty() {
        chunks
            .give()
            .map_err(omr_protocol::DetectionKeyError::from)?;
    }
    Ok(MadeKey {
        hash: *chunks.hasher.finalize().as_bytes(),
        bytes: chunks.bytes,
    })
}

/// What goes with a chunk of a key that is sent.
#[wasm_bindgen]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The engine of a key file's name.
///
/// Errors: `KeyName`.
pub(crate) fn engine(name: &str) -> Result<EngineKind, WasmError> {
    EngineKind::of_key_name(name).ok_or_else(|| WasmError::KeyName(name.to_owned()))
}

/// [`write_in_chunks`] for JavaScript. All chunks are given in one array: of a blob of a fresh one Chromium keeps the
/// array beside the blob, until a collector comes by.
pub(crate) fn make(
    (set, secret, name): (&ParamSet, &SecretKey, &str),
    (board_id, seconds): (&[u8], f64),
    seed: &Zeroizing<Vec<u8>>,
    size: usize,
    take: &Function,
) -> Result<MadeKey, JsError> {
    let time = UNIX_EPOCH + Duration::from_secs_f64(seconds.max(0.0));
    let epoch = Epoch::at(fixed("a board's id", board_id)?, time);
    let size = size.max(1);
    let array = Uint8Array::new_with_length(u32::try_from(size)?);
    let give = |chunk: &[u8]| {
        let part = array.subarray(0, chunk.len() as u32);
        part.copy_from(chunk);
        let given = take.call1(&JsValue::NULL, &part);
        given.map_err(|_| io::Error::other(WasmError::Stopped))?;
        Ok(())
    };
    let what = (set, secret, engine(name)?);
    Ok(write_in_chunks(
        what,
        Some(&epoch),
        fixed("a seed", seed)?,
        size,
        give,
    )?)
}
