//! Detection keys, which are split into chunks while they are made.

use crate::error::{WasmError, fixed};
use chacha20::ChaCha20Rng;
use js_sys::{Function, Uint8Array};
use omr_client::{MakeKeyError, SecretKey, write_detection_key};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{EngineKind, ParamSet};
use rand_core::SeedableRng;
use std::io::{self, Write};
use wasm_bindgen::prelude::{JsError, JsValue, wasm_bindgen};
use zeroize::Zeroizing;

/// The hash and the length of a key.
#[wasm_bindgen]
#[derive(Debug, PartialEq, Eq)]
pub struct MadeKey {
    hash: [u8; 32],
    bytes: u64,
}

#[wasm_bindgen]
impl MadeKey {
    /// Returns BLAKE3 of the file.
    #[wasm_bindgen(getter)]
    pub fn hash(&self) -> Vec<u8> {
        self.hash.to_vec()
    }

    /// Returns the length of the file in bytes.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> f64 {
        self.bytes as f64
    }
}

/// A writer that splits its input into chunks and hashes it.
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

/// Makes a detection key and passes its chunks to `take` as they are made. Equal seeds lead to equal keys.
///
/// Errors: `MakeKeyError`, also for errors of `take`.
pub fn write_in_chunks(
    set: &ParamSet,
    secret: &SecretKey,
    engine: EngineKind,
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

/// Returns the checksum that is sent with a chunk of a key.
#[wasm_bindgen]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// Returns the engine of a key file's name.
///
/// Errors: `KeyName`.
pub(crate) fn engine(name: &str) -> Result<EngineKind, WasmError> {
    EngineKind::of_key_name(name).ok_or_else(|| WasmError::KeyName(name.to_owned()))
}

/// Makes a key as [`write_in_chunks`] does, for JavaScript. All chunks are passed in one array, because Chromium keeps
/// every array from which a blob was made until the next garbage collection.
pub(crate) fn make(
    set: &ParamSet,
    secret: &SecretKey,
    engine: EngineKind,
    epoch: &Epoch,
    seed: &Zeroizing<Vec<u8>>,
    size: usize,
    take: &Function,
) -> Result<MadeKey, JsError> {
    let chunk_bytes = size.max(1);
    let array = Uint8Array::new_with_length(u32::try_from(chunk_bytes)?);
    let give = |chunk: &[u8]| {
        let part = array.subarray(0, chunk.len() as u32);
        part.copy_from(chunk);
        let given = take.call1(&JsValue::NULL, &part);
        given.map_err(|_| io::Error::other(WasmError::Stopped))?;
        Ok(())
    };
    Ok(write_in_chunks(
        set,
        secret,
        engine,
        Some(epoch),
        fixed("a seed", seed)?,
        chunk_bytes,
        give,
    )?)
}
