//! A recipient: the secret, the address, the detection keys, and the messages of digests.

use crate::error::{WasmError, fixed};
use crate::keys::{MadeKey, engine, make};
use crate::letter::Signer;
use js_sys::{Function, Uint8Array};
use omr_client::{SecretKey, decode, header, identity, os_rng};
use omr_protocol::frame::{FrameReader, Kind};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Response, Scheme, address_fingerprint};
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

    /// Returns the key that verifies the recipient's signatures, for the address.
    #[wasm_bindgen(getter, js_name = verifyingKey)]
    pub fn verifying_key(&self) -> Vec<u8> {
        self.secret.verifying_key().to_vec()
    }

    /// Returns the signer of the recipient's letters, who is named by the address with these terms and the verifying
    /// key. It is wiped when it is freed.
    pub fn signer(
        &self,
        server: &str,
        sealing: u8,
        bound: u32,
        parts: u32,
    ) -> Result<Signer, JsError> {
        let clue_key = self.clue_key()?;
        let unsigned = address_fingerprint(server, sealing, bound, parts, &clue_key);
        let signer = header::Signer::new(&self.secret, unsigned, Some(server))?;
        Ok(Signer(signer))
    }

    /// Returns the tag of the scheme of a new recipient at a server that answers fetches of at most this number of
    /// messages: two rounds where the server and the set have them, otherwise 0.
    #[wasm_bindgen(js_name = newScheme)]
    pub fn new_scheme(&self, fetch_messages: f64) -> u8 {
        if fetch_messages > 0.0 && self.set.spec().serves(Scheme::TwoRounds) {
            Scheme::TwoRounds.tag()
        } else {
            0
        }
    }

    /// Returns the names of the detection keys for the scheme of this tag; 0 stands for all keys that make digests.
    ///
    /// Errors: `Scheme`.
    #[wasm_bindgen(js_name = keyNames)]
    pub fn key_names(&self, scheme: u8) -> Result<Vec<String>, JsError> {
        let engines = self.set.spec().engines_for(known_scheme(scheme)?);
        let names = engines.into_iter().map(EngineKind::key_name);
        Ok(names.map(str::to_owned).collect())
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

/// Returns the scheme of a tag; `None` for 0.
///
/// Errors: `Scheme`.
pub(crate) fn known_scheme(tag: u8) -> Result<Option<Scheme>, WasmError> {
    match tag {
        0 => Ok(None),
        tag => match Scheme::from_tag(tag) {
            None => Err(WasmError::Scheme(tag)),
            known => Ok(known),
        },
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
