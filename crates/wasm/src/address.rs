//! Short addresses: fingerprints of addresses as text.

use crate::error::{WasmError, fixed};
use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32m, Hrp};
use omr_protocol::{FINGERPRINT_BYTES, HAS_PERIODS, address_fingerprint, signed_fingerprint};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// The text before the separator `1`.
const PREFIX: &str = "omr";

/// Returns the short form of an address: of the server's URL, the sealing's tag, bound, parts, the clue key's file and
/// the key that verifies signatures, empty where there is none. Of the keys of periods only their presence counts.
///
/// Errors: `Sealing`, `Length`.
#[wasm_bindgen(js_name = shortAddress)]
pub fn short_address(
    server: &str,
    sealing: u32,
    bound: u32,
    parts: u32,
    clue_key: &[u8],
    verifying_key: &[u8],
    period_keys: Option<Vec<u8>>,
) -> Result<String, JsError> {
    let tag = u8::try_from(sealing).map_err(|_| WasmError::Sealing(sealing))?;
    let has_periods = period_keys.is_some_and(|keys| !keys.is_empty());
    let tag = if has_periods { tag | HAS_PERIODS } else { tag };
    let unsigned = address_fingerprint(server, tag, bound, parts, clue_key);
    let fingerprint = match verifying_key {
        [] => unsigned,
        key => signed_fingerprint(&fixed("a verifying key", key)?, &unsigned),
    };
    Ok(short_form(&fingerprint, server))
}

/// Returns the short form of an address with this fingerprint; `server` is empty where it has none.
pub(crate) fn short_form(fingerprint: &[u8; FINGERPRINT_BYTES], server: &str) -> String {
    let code = bech32::encode::<Bech32m>(Hrp::parse_unchecked(PREFIX), fingerprint)
        .expect("a code of 16 bytes is short");
    match server {
        "" => code,
        _ => format!("{code}@{server}"),
    }
}

/// Returns the fingerprint in a short address, with or without a server.
///
/// Errors: `ShortAddress`, `Length`.
#[wasm_bindgen(js_name = shortFingerprint)]
pub fn short_fingerprint(text: &str) -> Result<Vec<u8>, JsError> {
    Ok(fingerprint(text)?.to_vec())
}

/// Returns the fingerprint in a short address, with or without a server.
///
/// Errors: `ShortAddress`, `Length`.
pub(crate) fn fingerprint(text: &str) -> Result<[u8; FINGERPRINT_BYTES], WasmError> {
    let wrong = |why: String| WasmError::ShortAddress {
        found: text.to_owned(),
        why,
    };
    let code = text.trim().split('@').next().unwrap_or_default();
    let checked =
        CheckedHrpstring::new::<Bech32m>(code).map_err(|error| wrong(error.to_string()))?;
    if checked.hrp() != Hrp::parse_unchecked(PREFIX) {
        return Err(wrong("it is none".into()));
    }
    let bytes: Vec<u8> = checked.byte_iter().collect();
    fixed("a fingerprint", &bytes)
}
