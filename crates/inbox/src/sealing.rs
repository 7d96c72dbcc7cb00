//! The sealing of letters, which address and profile determine, never the server.

use crate::InboxError;
use omr_protocol::Mismatch;
use omr_protocol::Sealing;

/// Checks the sealing that a server states for its board or a digest. Where nothing was agreed on (bare clue keys,
/// addresses and profiles of older versions), every kind of sealing is accepted, but not unsealed letters.
///
/// Errors:
/// - `OtherSealing` if the letters are sealed in another way than agreed.
/// - `Unsealed` if they are not sealed.
pub fn check_sealing(agreed: Option<Sealing>, found: Sealing) -> Result<(), InboxError> {
    match agreed {
        Some(expected) if expected == found => Ok(()),
        Some(expected) => Err(InboxError::OtherSealing(Mismatch::new(expected, found))),
        None if found == Sealing::None => Err(InboxError::Unsealed),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Sealing::{HpkeX25519, None as Open, XWing};

    #[test]
    fn a_server_has_no_say() {
        for agreed in [HpkeX25519, XWing, Open] {
            for found in Sealing::ALL {
                let checked = check_sealing(Some(agreed), found);
                assert_eq!(checked.is_ok(), agreed == found, "{agreed} {found}");
            }
        }
        for found in Sealing::ALL {
            assert_eq!(check_sealing(None, found).is_ok(), found != Open);
        }
    }
}
