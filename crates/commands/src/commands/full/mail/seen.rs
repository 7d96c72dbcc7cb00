//! A length of a board and the running hash of its log there, on the command line.

use omr_protocol::from_hex;
use std::str::FromStr;

/// A mark of another inbox, `LENGTH:HASH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) length: u64,
    pub(crate) hash: [u8; 32],
}

/// The text is not a length and a hash.
#[derive(Debug, thiserror::Error)]
#[error(
    "expected a length, a colon and 64 hexadecimal digits, as `omr inbox history` prints, found {0:?}"
)]
pub(crate) struct SeenError(String);

impl FromStr for Seen {
    type Err = SeenError;

    fn from_str(text: &str) -> Result<Self, SeenError> {
        let parsed = || {
            let (length, hash) = text.trim().split_once(':')?;
            Some(Self {
                length: length.parse().ok()?,
                hash: from_hex(hash)?,
            })
        };
        parsed().ok_or_else(|| SeenError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_read() {
        let line = format!("12:{}\n", "0a".repeat(32));
        let seen: Seen = line.parse().unwrap();
        assert_eq!((seen.length, seen.hash), (12, [10; 32]));
        for wrong in ["", "12", "12:0a", ":", "x:00"] {
            assert!(wrong.parse::<Seen>().is_err(), "{wrong}");
        }
    }
}
