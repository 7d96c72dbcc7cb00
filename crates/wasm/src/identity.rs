//! A recipient: her secret, her address, her keys, what digests hold for her.

use crate::error::WasmError;
use crate::keys::{MadeKey, make};
use js_sys::{Function, Uint8Array};
use omr_client::{SecretKey, decode, identity, os_rng};
use omr_protocol::frame::{FrameReader, Kind};
use omr_protocol::{ClueKind, EngineKind, ParamSet, Response};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use zeroize::Zeroizing;

/// A recipient. Her secrets are wiped when this is freed.
#[wasm_bindgen]
pub struct Identity {
    set: ParamSet,
    secret: SecretKey,
}

/// A message of a digest as it stands on the board.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Found {
    /// Its place on the board.
    pub index: f64,
    /// Its payload; of a digest of indices none.
    pub payload: Option<Vec<u8>>,
}

#[wasm_bindgen]
impl Identity {
    /// A new one for bound clues, of the operating system's randomness.
    pub fn generate(params: &str) -> Result<Identity, JsError> {
        let set = ParamSet::named(params)?;
        let (secret, _) = identity(set.clue(), ClueKind::Bound, &mut os_rng());
        Ok(Self { set, secret })
    }

    /// Reads a file `secret.key` and wipes the copy that it was given.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(secret: Vec<u8>) -> Result<Identity, JsError> {
        let secret = Zeroizing::new(secret);
        let frame = FrameReader::read_header(&secret[..], Kind::SecretKey, u64::MAX)?;
        let set = ParamSet::named(&frame.header().params_id)?;
        let secret = SecretKey::from_bytes(set.clue(), &secret)?;
        Ok(Self { set, secret })
    }

    /// The file `secret.key`: whoever gets it is her.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Uint8Array, JsError> {
        let bytes = self.secret.to_bytes(self.set.clue())?;
        Ok(Uint8Array::from(&bytes[..]))
    }

    /// The parameter set.
    #[wasm_bindgen(getter)]
    pub fn params(&self) -> String {
        self.set.name().to_owned()
    }

    /// Her address: the file `clue.key`.
    #[wasm_bindgen(getter, js_name = clueKey)]
    pub fn clue_key(&self) -> Result<Vec<u8>, JsError> {
        let address = self.secret.address().ok_or(WasmError::NoAddress)?;
        Ok(address.to_bytes(self.set.clue())?)
    }

    /// Names of the detection keys that the set's engines take.
    #[wasm_bindgen(js_name = keyNames)]
    pub fn key_names(&self) -> Vec<String> {
        let names = self.set.spec().engines().into_iter();
        names.map(EngineKind::key_name).map(str::to_owned).collect()
    }

    /// Makes a detection key with the masks of the board's recipients at a time, in seconds since 1970, and gives its
    /// chunks to `take` as they come, each in place of the one before. The same 32 bytes of seed and the same epoch give
    /// the same key; they are as secret as hers, and wiped.
    #[wasm_bindgen(js_name = makeKey)]
    pub fn make_key(
        &self,
        name: &str,
        board_id: &[u8],
        seconds: f64,
        seed: Vec<u8>,
        chunk_bytes: usize,
        take: &Function,
    ) -> Result<MadeKey, JsError> {
        let what = (&self.set, &self.secret, name);
        let seed = Zeroizing::new(seed);
        make(what, (board_id, seconds), &seed, chunk_bytes, take)
    }

    /// The messages in a digest as they stand on the board.
    pub fn retrieve(&self, digest: &[u8]) -> Result<Vec<Found>, JsError> {
        let digest = Response::from_bytes(&self.set, digest)?;
        let found = decode(&self.set, &self.secret, &digest)?;
        let found = found.into_iter().map(|one| Found {
            index: one.index as f64,
            payload: one.payload,
        });
        Ok(found.collect())
    }
}

impl Identity {
    /// The same once more.
    pub(crate) fn copy(&self) -> Result<(ParamSet, SecretKey), JsError> {
        let set = ParamSet::named(self.set.name())?;
        let bytes = self.secret.to_bytes(set.clue())?;
        let secret = SecretKey::from_bytes(set.clue(), &bytes)?;
        Ok((set, secret))
    }
}
