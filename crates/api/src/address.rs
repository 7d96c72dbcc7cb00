//! The fingerprint of an address, which a server checks when one is published, and a client when one is found.

use crate::v1::Address;
pub use omr_protocol::FINGERPRINT_BYTES;

/// Returns the fingerprint over all fields of an address; `None` for a sealing without a tag.
#[must_use]
pub fn address_fingerprint(address: &Address) -> Option<[u8; FINGERPRINT_BYTES]> {
    let Address {
        server,
        sealing,
        bound,
        parts,
        clue_key,
    } = address;
    let sealing = u8::try_from(*sealing).ok()?;
    Some(omr_protocol::address_fingerprint(
        server, sealing, *bound, *parts, clue_key,
    ))
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
        };
        let mut input = 9u64.to_le_bytes().to_vec();
        input.extend(b"https://a\x01\x32\0\0\0\xfa\0\0\0key");
        let expected = &blake3::derive_key("omr address v1", &input)[..16];
        assert_eq!(address_fingerprint(&address).unwrap(), expected);
        let change: [&dyn Fn(&mut Address); 5] = [
            &|a| a.server.push('/'),
            &|a| a.sealing = 0,
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
