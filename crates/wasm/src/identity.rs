//! A recipient: the secret, the address, the detection keys, and the messages of digests.

use crate::error::{WasmError, fixed};
use crate::keys::{MadeKey, engine, make};
use js_sys::{Function, Uint8Array};
use omr_client::{SecretKey, decode, identity, os_rng};
use omr_protocol::frame::{FrameReader, Kind};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Response};
use std::time::{Duration, UNIX_EPOCH};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use zeroize::Zeroizing;

/// A recipient, whose secrets are wiped when this object is freed.
#[wasm_bindgen]
pub struct Identity {
    set: ParamSet,
    secret: SecretKey,
}

/// A message of a digest, as the board stores it.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Found {
    /// The place of the message on the board.
    pub index: f64,
    /// The payload; undefined from a digest of indices.
    pub payload: Option<Vec<u8>>,
}

#[wasm_bindgen]
impl Identity {
    /// Makes a new recipient for bound clues, with randomness of the operating system.
    pub fn generate(params: &str) -> Result<Identity, JsError> {
        let set = ParamSet::named(params)?;
        let (secret, _) = identity(set.clue(), ClueKind::Bound, &mut os_rng());
        Ok(Self { set, secret })
    }

    /// Reads a file `secret.key` and wipes the copy of it in the module.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(secret: Vec<u8>) -> Result<Identity, JsError> {
        let file = Zeroizing::new(secret);
        let frame = FrameReader::read_header(&file[..], Kind::SecretKey, u64::MAX)?;
        let set = ParamSet::named(&frame.header().params_id)?;
        let secret = SecretKey::from_bytes(set.clue(), &file)?;
        Ok(Self { set, secret })
    }

    /// Returns the file `secret.key`. Anybody who has it can act as the recipient.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Uint8Array, JsError> {
        let bytes = self.secret.to_bytes(self.set.clue())?;
        Ok(Uint8Array::from(&bytes[..]))
    }

    /// Returns the name of the parameter set.
    #[wasm_bindgen(getter)]
    pub fn params(&self) -> String {
        self.set.name().to_owned()
    }

    /// Returns the recipient's address: the file `clue.key`.
    #[wasm_bindgen(getter, js_name = clueKey)]
    pub fn clue_key(&self) -> Result<Vec<u8>, JsError> {
        let address = self.secret.address().ok_or(WasmError::NoAddress)?;
        Ok(address.to_bytes(self.set.clue())?)
    }

    /// Returns the names of the detection keys for the set's engines.
    #[wasm_bindgen(js_name = keyNames)]
    pub fn key_names(&self) -> Vec<String> {
        let names = self.set.spec().engines().into_iter();
        names.map(EngineKind::key_name).map(str::to_owned).collect()
    }

    /// Makes a detection key with the masks of the board's recipients at a time, in seconds since 1970, and passes its
    /// chunks to `take` as they are made, each in place of the previous one. Equal seeds of 32 bytes and equal epochs
    /// lead to equal keys. The seed is as secret as the recipient's secret, and is wiped.
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
        let time = UNIX_EPOCH + Duration::from_secs_f64(seconds.max(0.0));
        let epoch = Epoch::at(fixed("a board's id", board_id)?, time);
        make(
            &self.set,
            &self.secret,
            engine(name)?,
            &epoch,
            &Zeroizing::new(seed),
            chunk_bytes,
            take,
        )
    }

    /// Returns the messages of a digest, as the board stores them.
    pub fn retrieve(&self, digest: &[u8]) -> Result<Vec<Found>, JsError> {
        let response = Response::from_bytes(&self.set, digest)?;
        let retrieved = decode(&self.set, &self.secret, &response)?;
        let found = retrieved.into_iter().map(|one| Found {
            index: one.index as f64,
            payload: one.payload,
        });
        Ok(found.collect())
    }
}

impl Identity {
    /// Returns a copy of the set and the secret.
    pub(crate) fn copy(&self) -> Result<(ParamSet, SecretKey), JsError> {
        let set = ParamSet::named(self.set.name())?;
        let bytes = self.secret.to_bytes(set.clue())?;
        let secret = SecretKey::from_bytes(set.clue(), &bytes)?;
        Ok((set, secret))
    }
}
