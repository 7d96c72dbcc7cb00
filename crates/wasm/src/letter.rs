//! Writing letters to an address.

use crate::error::{WasmError, fixed};
use omr_client::letter::{self, Place};
use omr_client::{header, os_rng};
use omr_inbox::check_sealing;
use omr_protocol::frame::{FrameReader, Kind};
use omr_protocol::periods::{PeriodKeys, period_at};
use omr_protocol::{ClueKey, Mismatch, ParamSet, Sealing, from_hex};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// A message that is ready to be posted.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Message {
    /// The clue.
    pub clue: Vec<u8>,
    /// The payload.
    pub payload: Vec<u8>,
}

/// The statements of a letter about itself.
#[wasm_bindgen]
pub struct Header(header::Header);

#[wasm_bindgen]
impl Header {
    /// Makes the header of a letter, with the time in seconds since 1970 and the conversation as 32 hexadecimal digits.
    ///
    /// Errors: `Thread`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        time: Option<f64>,
        thread: Option<String>,
        subject: Option<String>,
        media_type: Option<String>,
    ) -> Result<Header, JsError> {
        let known = |text: String| from_hex(&text).ok_or(WasmError::Thread(text));
        Ok(Self(header::Header {
            time: time.map(|time| time as u64),
            thread: thread.map(known).transpose()?,
            subject,
            media_type,
        }))
    }
}

/// The sender whom letters name, with the signing key, which is wiped when this object is freed.
#[wasm_bindgen]
pub struct Signer(pub(crate) header::Signer);

/// A writer of messages for one recipient on one board.
#[wasm_bindgen]
pub struct Writer(letter::Writer);

#[wasm_bindgen]
impl Writer {
    /// Prepares an address (a file `clue.key`) for a board, with the board's description of itself. `agreed` is the tag
    /// of the sealing that the address states: payloads must have this sealing, and no server can change it.
    ///
    /// Errors: `OtherParams`, `OtherClues`; for another sealing and a damaged address.
    #[wasm_bindgen(constructor)]
    pub fn new(
        clue_key: &[u8],
        agreed: u8,
        board_id: &[u8],
        params: String,
        sealing: &str,
        clue_bytes: usize,
        payload_bytes: usize,
    ) -> Result<Writer, JsError> {
        let frame = FrameReader::read_header(clue_key, Kind::ClueKey, u64::MAX)?;
        let expected = frame.header().params_id.clone();
        if expected != params {
            return Err(WasmError::OtherParams(Mismatch::new(expected, params)).into());
        }
        let (agreed, sealing): (_, Sealing) = (Sealing::try_from(agreed)?, sealing.parse()?);
        check_sealing(Some(agreed), sealing)?;
        let set = ParamSet::named(&params)?;
        let key = ClueKey::from_bytes(set.clue(), clue_key)?;
        let expected = key.kind.bytes(set.clue());
        if expected != clue_bytes {
            return Err(WasmError::OtherClues(Mismatch::new(expected, clue_bytes)).into());
        }
        let place = Place {
            board_id: fixed("a board's id", board_id)?,
            params,
            sealing,
            payload_bytes,
        };
        Ok(Self(letter::Writer::new(set.clue(), &key, place)?))
    }

    /// Returns a writer that seals to the key of the period that contains a time in seconds since 1970, if the address's
    /// list has one. The list must be signed with the address's verifying key.
    ///
    /// Errors: those of the list; `Length` of the verifying key.
    #[wasm_bindgen(js_name = inPeriod)]
    pub fn in_period(
        self,
        period_keys: &[u8],
        verifying_key: &[u8],
        seconds: f64,
    ) -> Result<Writer, JsError> {
        let signer = fixed("a verifying key", verifying_key)?;
        let keys = PeriodKeys::from_bytes(period_keys, &signer)?;
        Ok(Self(self.0.in_period(&keys, period_at(seconds as u64))?))
    }

    /// Splits a file, seals its parts and makes a clue for each. A file without a header and a signer is as it always
    /// was.
    pub fn write(
        &self,
        name: Option<String>,
        bytes: &[u8],
        header: Option<Header>,
        signer: Option<Signer>,
    ) -> Result<Vec<Message>, JsError> {
        let rng = &mut os_rng();
        let header = header.map(|Header(stated)| stated).unwrap_or_default();
        let signer = signer.as_ref().map(|Signer(signer)| signer);
        let name = name.as_deref();
        let parts = self.0.letter_parts(name, &header, signer, bytes, rng)?;
        let message = |part: &Vec<u8>| {
            let written = self.0.message(rng, part)?;
            Ok(Message {
                clue: written.clue,
                payload: written.payload,
            })
        };
        parts.iter().map(message).collect()
    }
}

/// Returns the tag of a sealing by its name.
#[wasm_bindgen(js_name = sealingTag)]
pub fn sealing_tag(name: &str) -> Result<u8, JsError> {
    Ok(name.parse::<Sealing>()?.tag())
}
