//! The sealing of letters, which address and profile determine, never the server.

use crate::MailError;
use omr_protocol::Mismatch;
use omr_protocol::Sealing;

/// Checks the sealing that a server states for its board or a digest. Where nothing was agreed on (bare clue keys,
/// addresses and profiles of older versions), every kind of sealing is accepted, but not unsealed letters.
///
/// Errors:
/// - `OtherSealing` if the letters are sealed in another way than agreed.
/// - `Unsealed` if they are not sealed.
pub fn check_sealing(agreed: Option<Sealing>, found: Sealing) -> Result<(), MailError> {
    Ok(omr_inbox::check_sealing(agreed, found)?)
}

/// Returns the required sealing of a letter, from the choices of its address and its sender: `none` needs both.
///
/// Errors: `OtherSealing` where they contradict each other; `Unsealed` where only the address has `none`.
pub(crate) fn agreed(
    address: Option<Sealing>,
    sender: Option<Sealing>,
) -> Result<Option<Sealing>, MailError> {
    match (address, sender) {
        (Some(expected), Some(found)) if expected != found => {
            Err(MailError::OtherSealing(Mismatch::new(expected, found)))
        }
        (Some(Sealing::None), None) => Err(MailError::Unsealed("address")),
        (address, sender) => Ok(address.or(sender)),
    }
}

/// The JSON form of a sealing: its name.
pub(crate) mod name {
    use omr_protocol::Sealing;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        sealing: &Option<Sealing>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match sealing {
            Some(sealing) => out.serialize_some(sealing.name()),
            None => out.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Sealing>, D::Error> {
        let name: Option<String> = Option::deserialize(from)?;
        let sealing = name.map(|name| name.parse()).transpose();
        sealing.map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Sealing::{HpkeX25519, None as Open, XWing};

    #[test]
    fn letters_are_open_only_if_both_sides_say_so() {
        for (address, sender, expected) in [
            (None, None, Some(None)),
            (None, Some(Open), Some(Some(Open))),
            (Some(Open), None, None),
            (Some(Open), Some(Open), Some(Some(Open))),
            (Some(HpkeX25519), None, Some(Some(HpkeX25519))),
            (Some(HpkeX25519), Some(Open), None),
            (Some(XWing), Some(HpkeX25519), None),
        ] {
            assert_eq!(
                agreed(address, sender).ok(),
                expected,
                "{address:?} {sender:?}"
            );
        }
    }
}
