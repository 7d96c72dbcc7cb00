//! An asker's keys.

use crate::Set;
use crate::error::{WasmError, other};
use chacha20::ChaCha20Rng;
use js_sys::{Function, Uint8Array};
use omr_pdq::{Params, SecretKey};
use rand_core::SeedableRng;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A secret, which is wiped when it is freed, and its set.
#[wasm_bindgen]
pub struct Keys {
    pub(crate) params: Arc<Params>,
    pub(crate) secret: SecretKey,
    rng: ChaCha20Rng,
}

/// A key for servers by its content.
#[wasm_bindgen]
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

/// Gives what is written to JavaScript and hashes it.
struct Given<'a> {
    hasher: blake3::Hasher,
    bytes: u64,
    /// For all pieces: of a blob of a fresh one Chromium keeps the array beside the blob, until a collector comes by.
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
    /// A new secret.
    ///
    /// Errors: where the browser gives no randomness.
    pub fn generate(set: &Set) -> Result<Keys, JsValue> {
        let mut rng = rng()?;
        Ok(Self {
            secret: SecretKey::random(&mut rng),
            params: set.0.clone(),
            rng,
        })
    }

    /// Makes the server's key and gives it in pieces of at most `size` bytes, each in place of the one before.
    ///
    /// Errors: those of `take`.
    #[wasm_bindgen(js_name = makeKey)]
    pub fn make_key(&mut self, size: usize, take: &Function) -> Result<MadeKey, JsValue> {
        let size = size.max(1);
        let given = Given {
            hasher: blake3::Hasher::new(),
            bytes: 0,
            array: Uint8Array::new_with_length(u32::try_from(size).map_err(other)?),
            take,
        };
        let mut out = BufWriter::with_capacity(size, given);
        let written = self
            .secret
            .write_evaluation_key(&self.params, &mut self.rng, &mut out);
        written.map_err(other)?;
        let given = out.into_inner().map_err(|error| other(error.error()))?;
        Ok(MadeKey {
            hash: *given.hasher.finalize().as_bytes(),
            bytes: given.bytes,
        })
    }
}

/// Seeded by the browser.
pub(crate) fn rng() -> Result<ChaCha20Rng, JsValue> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(other)?;
    let rng = ChaCha20Rng::from_seed(seed);
    seed.fill(0);
    Ok(rng)
}
