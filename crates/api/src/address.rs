//! The fingerprint of an address, which a server checks when one is published, and a client when one is found.

use crate::v1::Address;
pub use omr_protocol::FINGERPRINT_BYTES;
use omr_protocol::{HAS_PERIODS, signed_fingerprint};

/// Returns the fingerprint over all fields of an address, except that the keys of periods count as present or absent; `None` for a sealing without a tag, and for a verifying key of
/// another length than 0 or 32 bytes.
#[must_use]
pub fn address_fingerprint(address: &Address) -> Option<[u8; FINGERPRINT_BYTES]> {
    let Address {
        server,
        sealing,
        bound,
        parts,
        clue_key,
        verifying_key,
        period_keys,
    } = address;
    let mut sealing = u8::try_from(*sealing).ok()?;
    if !period_keys.is_empty() {
        sealing |= HAS_PERIODS;
    }
    let unsigned = omr_protocol::address_fingerprint(server, sealing, *bound, *parts, clue_key);
    match &verifying_key[..] {
        [] => Some(unsigned),
        key => Some(signed_fingerprint(key.try_into().ok()?, &unsigned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_counts() {
        let address = Address {
            server: "https://a".into(),
            sealing: 1,
            bound: 50,
            parts: 250,
            clue_key: b"key".as_slice().into(),
            verifying_key: Default::default(),
            period_keys: Default::default(),
        };
        let mut input = 9u64.to_le_bytes().to_vec();
        input.extend(b"https://a\x01\x32\0\0\0\xfa\0\0\0key");
        let expected = &blake3::derive_key("omr address v1", &input)[..16];
        assert_eq!(address_fingerprint(&address).unwrap(), expected);
        let signed = Address {
            verifying_key: vec![7; 32].into(),
            ..address.clone()
        };
        let input = [&[7; 32], expected].concat();
        assert_eq!(
            address_fingerprint(&signed).unwrap(),
            blake3::derive_key("omr signing address v1", &input)[..16]
        );
        for length in [1, 31, 33] {
            let verifying_key = vec![7; length].into();
            let wrong = Address {
                verifying_key,
                ..address.clone()
            };
            assert_eq!(address_fingerprint(&wrong), None, "{length}");
        }
        let change: [&dyn Fn(&mut Address); 7] = [
            &|a| a.verifying_key = vec![8; 32].into(),
            &|a| a.server.push('/'),
            &|a| a.sealing = 0,
            &|a| a.period_keys = vec![1].into(),
            &|a| a.bound += 1,
            &|a| a.parts += 1,
            &|a| a.clue_key = b"kez".as_slice().into(),
        ];
        for change in change {
            let mut other = address.clone();
            change(&mut other);
            assert_ne!(address_fingerprint(&other).unwrap(), expected);
        }
        // A tag must not count by its low bits.
        let beyond = Address {
            sealing: 257,
            ..address
        };
        assert_eq!(address_fingerprint(&beyond), None);
    }
}
