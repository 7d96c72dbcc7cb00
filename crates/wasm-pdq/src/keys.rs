//! A client's keys.

use crate::Set;
use crate::error::{WasmError, other};
use chacha20::ChaCha20Rng;
use js_sys::{Function, Uint8Array};
use omr_pdq::{Params, SecretKey};
use rand_core::SeedableRng;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A secret with its parameter set. It is wiped when it is freed.
#[wasm_bindgen]
pub struct Keys {
    pub(crate) params: Arc<Params>,
    pub(crate) secret: SecretKey,
    rng: ChaCha20Rng,
}

/// The hash and the length of a key for servers.
#[wasm_bindgen]
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

/// A writer that passes its input to JavaScript and hashes it.
struct Given<'a> {
    hasher: blake3::Hasher,
    bytes: u64,
    /// The array of all pieces, because Chromium keeps every array from which a blob was made until the next garbage
    /// collection.
    array: Uint8Array,
    take: &'a Function,
}

impl Write for Given<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.array.length() as usize);
        let (bytes, part) = (&bytes[..fits], self.array.subarray(0, fits as u32));
        part.copy_from(bytes);
        let given = self.take.call1(&JsValue::NULL, &part);
        given.map_err(|_| io::Error::other(WasmError::Stopped))?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[wasm_bindgen]
impl Keys {
    /// Makes a new secret.
    ///
    /// Errors: if the browser has no randomness.
    pub fn generate(set: &Set) -> Result<Keys, JsValue> {
        let mut rng = rng()?;
        Ok(Self {
            secret: SecretKey::random(&mut rng),
            params: set.0.clone(),
            rng,
        })
    }

    /// Makes the server's key and passes it to `take` in pieces of at most `size` bytes, each in place of the previous
    /// one.
    ///
    /// Errors: those of `take`.
    #[wasm_bindgen(js_name = makeKey)]
    pub fn make_key(&mut self, size: usize, take: &Function) -> Result<MadeKey, JsValue> {
        let piece = size.max(1);
        let given = Given {
            hasher: blake3::Hasher::new(),
            bytes: 0,
            array: Uint8Array::new_with_length(u32::try_from(piece).map_err(other)?),
            take,
        };
        let mut out = BufWriter::with_capacity(piece, given);
        let written = self
            .secret
            .write_evaluation_key(&self.params, &mut self.rng, &mut out);
        written.map_err(other)?;
        let done = out.into_inner().map_err(|error| other(error.error()))?;
        Ok(MadeKey {
            hash: *done.hasher.finalize().as_bytes(),
            bytes: done.bytes,
        })
    }
}

/// Returns a generator seeded by the browser.
pub(crate) fn rng() -> Result<ChaCha20Rng, JsValue> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(other)?;
    let rng = ChaCha20Rng::from_seed(seed);
    seed.fill(0);
    Ok(rng)
}
