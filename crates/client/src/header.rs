//! The header of a letter: sender, conversation, subject, media type and time, with a signature.
//!
//! A header is a field of the file (see [`crate::fragment`]), so it is inside the sealing. Letters without one have the
//! bytes that they always had. Its layout, with `varint` as in fragments and integers little-endian, is:
//!
//! ```text
//! 01   fields in the order of their tags, each at most once: varint(tag)  varint(len)  len bytes
//!
//! tag  len     field
//! 1    8       time, u64 seconds since 1970
//! 2    16      conversation, random
//! 3    1..256  subject, UTF-8
//! 4    1..128  media type, UTF-8
//! 5    48..304 sender: verifying key (32), fingerprint of the address without this key (16), the server's URL
//! 6    64      Ed25519 signature, if and only if there is a sender
//! ```
//!
//! The signature covers the recipient, the board, all fields, the name and the content ([`Signer`]).
//!
//! ```
//! use omr_client::header::{Addressee, Author, Header, Signer, read};
//! use omr_client::{identity, os_rng};
//! use omr_protocol::{ClueKind, ParamSet, Sealing};
//!
//! let set = ParamSet::named("insecure-tiny-v4")?;
//! let (ann, _) = identity(set.clue(), ClueKind::Bound, &mut os_rng());
//! let (bob, bobs_address) = identity(set.clue(), ClueKind::Bound, &mut os_rng());
//!
//! // The second value is the fingerprint of Ann's address without the verifying key.
//! let signer = Signer::new(&ann, [7; 16], Some("https://mail.example.org"))?;
//! let header = Header { subject: Some("Dinner".into()), ..Header::default() };
//! let to = Addressee::new(&[1; 16], set.name(), &bobs_address.seal);
//! let bytes = header.signed(&signer, &to, None, b"At eight?")?;
//!
//! // Bob needs his secret and the letter, and no server.
//! let to = Addressee::of(&bob, &[1; 16], set.name());
//! let stated = read(&bytes, &to, None, b"At eight?")?;
//! assert_eq!(stated.header, header);
//! assert_eq!(stated.author, Author::Verified(signer.sender().clone()));
//! // The same header in front of another content proves nothing.
//! assert!(matches!(read(&bytes, &to, None, b"At nine?")?.author, Author::Forged(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod fields;
mod sign;
#[cfg(test)]
mod tests;

pub use error::HeaderError;
pub(crate) use sign::signing_key;
pub use sign::{Addressee, Signer};

use omr_protocol::{FINGERPRINT_BYTES, VERIFYING_KEY_BYTES, signed_fingerprint};

/// The greatest length in bytes of a subject.
pub const SUBJECT_BYTES: usize = 256;
/// The greatest length in bytes of a media type.
pub const MEDIA_TYPE_BYTES: usize = 128;
/// The greatest length in bytes of the URL of a sender's server.
pub const SERVER_BYTES: usize = 256;

/// The name of a conversation: random bytes of its first letter, which the replies repeat.
pub type Thread = [u8; 16];

/// The statements of a letter about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The time in seconds since 1970, by the sender's clock.
    pub time: Option<u64>,
    /// The conversation.
    pub thread: Option<Thread>,
    /// The subject, 1 to [`SUBJECT_BYTES`] bytes.
    pub subject: Option<String>,
    /// The media type of the content, 1 to [`MEDIA_TYPE_BYTES`] bytes, for example `text/plain`.
    pub media_type: Option<String>,
}

/// The sender that a letter names: enough to compute the fingerprint of the address and to verify the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The key that verifies the sender's signatures.
    pub verifying_key: [u8; VERIFYING_KEY_BYTES],
    /// The fingerprint of the sender's address without the verifying key.
    pub unsigned: [u8; FINGERPRINT_BYTES],
    /// The URL of the sender's server, of at most [`SERVER_BYTES`] bytes.
    pub server: Option<String>,
}

impl Sender {
    /// Returns the fingerprint of the sender's address.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; FINGERPRINT_BYTES] {
        signed_fingerprint(&self.verifying_key, &self.unsigned)
    }
}

/// Who wrote a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The letter names nobody.
    Unnamed,
    /// The owner of this sender's key signed this letter for this recipient on this board.
    Verified(Sender),
    /// The letter names this sender, but its signature does not match: somebody else wrote it, or wrote it to somebody
    /// else, or it was altered.
    Forged(Sender),
}

/// A header that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The header.
    pub header: Header,
    /// The author, after the signature was verified.
    pub author: Author,
}

impl Header {
    /// Returns whether it states nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that all texts can be sent: their lengths, and that they have no characters that control a terminal, hide
    /// text or change its direction.
    ///
    /// Errors: `Length`, `Hidden`.
    pub fn check(&self) -> Result<(), HeaderError> {
        fields::check(self)
    }

    /// Returns the bytes of a header without a sender.
    ///
    /// Errors: `Length`, `Hidden`.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HeaderError> {
        self.check()?;
        Ok(fields::write(self, None))
    }

    /// Returns the bytes of a header with a sender, signed for a recipient, the name and the content of a letter.
    ///
    /// Errors: `Length`, `Hidden`.
    pub fn signed(
        &self,
        signer: &Signer,
        to: &Addressee,
        name: Option<&str>,
        content: &[u8],
    ) -> Result<Vec<u8>, HeaderError> {
        self.check()?;
        let mut bytes = fields::write(self, Some(signer.sender()));
        let signature = signer.sign(to, &bytes, name, content);
        fields::push_signature(&signature, &mut bytes);
        Ok(bytes)
    }
}

/// Reads the header of a letter that was received, and verifies its signature.
///
/// Errors: `Version`, `Truncated`, `Number`, `Order`, `Tag`, `Length`, `Text`, `Pair`.
pub fn read(
    bytes: &[u8],
    to: &Addressee,
    name: Option<&str>,
    content: &[u8],
) -> Result<Stated, HeaderError> {
    let parsed = fields::parse(bytes)?;
    let author = match (parsed.sender, parsed.signature) {
        (None, None) => Author::Unnamed,
        (Some(sender), Some(signature)) => {
            let (signed, _) = bytes.split_at(bytes.len() - fields::SIGNATURE_FIELD);
            if sign::verifies(&sender, &signature, to, signed, name, content) {
                Author::Verified(sender)
            } else {
                Author::Forged(sender)
            }
        }
        _ => return Err(HeaderError::Pair),
    };
    Ok(Stated {
        header: parsed.header,
        author,
    })
}
