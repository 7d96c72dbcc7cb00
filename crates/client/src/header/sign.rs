//! Signatures of letters.

use super::fields::{SIGNATURE_BYTES, check_server};
use super::{HeaderError, Sender};
use crate::SecretKey;
use crate::derive::derived;
use crate::seal::public_bytes;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use omr_marks::published;
use omr_protocol::{FINGERPRINT_BYTES, VERIFYING_KEY_BYTES};
use std::fmt;

const KEY_CONTEXT: &str = "omr letter v1 signing key";
const ADDRESSEE_CONTEXT: &str = "omr letter v1 addressee";
const SIGNATURE_CONTEXT: &str = "omr letter v1 signature";

/// The recipient and the board that a signature is for: a hash of the board, its parameter set and the recipient's
/// sealing keys. Who has the secrets of these keys, and nobody else, can read the letter. An address may get another
/// server or other terms; signatures for it still match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressee([u8; 32]);

impl Addressee {
    /// Returns the owner of an address with these public sealing keys ([`omr_protocol::ClueKey::seal`]), on a board of
    /// a parameter set.
    #[must_use]
    pub fn new(board_id: &[u8; 16], params: &str, seal: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(ADDRESSEE_CONTEXT);
        hasher.update(board_id);
        hasher.update(&(params.len() as u64).to_le_bytes());
        hasher.update(params.as_bytes());
        hasher.update(seal);
        Self(*hasher.finalize().as_bytes())
    }

    /// Returns the owner of a secret.
    #[must_use]
    pub fn of(secret: &SecretKey, board_id: &[u8; 16], params: &str) -> Self {
        Self::new(board_id, params, &public_bytes(&secret.seal))
    }
}

/// A sender's signing key, which is wiped when dropped, and what letters state about the sender.
pub struct Signer {
    key: SigningKey,
    sender: Sender,
}

/// Shows nothing of the key.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("sender", &self.sender)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Returns the signer of an identity. `unsigned` is the fingerprint of its address without the verifying key,
    /// `server` the URL of its server.
    ///
    /// Errors: `Length`.
    pub fn new(
        secret: &SecretKey,
        unsigned: [u8; FINGERPRINT_BYTES],
        server: Option<&str>,
    ) -> Result<Self, HeaderError> {
        server.map_or(Ok(()), check_server)?;
        let key = signing_key(secret);
        let sender = Sender {
            verifying_key: public(&key),
            unsigned,
            server: server.map(str::to_owned),
        };
        Ok(Self { key, sender })
    }

    /// Returns what letters state about the sender.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Signs a letter whose header has the bytes `fields` without its signature.
    pub(super) fn sign(
        &self,
        to: &Addressee,
        fields: &[u8],
        name: Option<&str>,
        content: &[u8],
    ) -> [u8; SIGNATURE_BYTES] {
        let transcript = transcript(to, fields, name, content);
        self.key.sign(&transcript).to_bytes()
    }
}

impl SecretKey {
    /// Returns the key that verifies the signatures of the secret's owner, for the address.
    #[must_use]
    pub fn verifying_key(&self) -> [u8; VERIFYING_KEY_BYTES] {
        public(&signing_key(self))
    }
}

/// Returns whether the sender signed this letter for this recipient. Keys and signatures that would verify for several
/// letters are refused.
pub(super) fn verifies(
    sender: &Sender,
    signature: &[u8; SIGNATURE_BYTES],
    to: &Addressee,
    fields: &[u8],
    name: Option<&str>,
    content: &[u8],
) -> bool {
    let Ok(key) = VerifyingKey::from_bytes(&sender.verifying_key) else {
        return false;
    };
    let transcript = transcript(to, fields, name, content);
    let signature = Signature::from_bytes(signature);
    key.verify_strict(&transcript, &signature).is_ok()
}

/// Returns the message that is signed: a hash of everything that a signature is for.
fn transcript(to: &Addressee, fields: &[u8], name: Option<&str>, content: &[u8]) -> [u8; 32] {
    let name = name.unwrap_or_default();
    let mut hasher = blake3::Hasher::new_derive_key(SIGNATURE_CONTEXT);
    hasher.update(&to.0);
    for part in [name.as_bytes(), fields] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.update(content).finalize().as_bytes()
}

/// Derives the signing key from the seed of the sealing secret, so that files of secret keys need no room for it.
pub(crate) fn signing_key(secret: &SecretKey) -> SigningKey {
    SigningKey::from_bytes(&derived(KEY_CONTEXT, &secret.seal.to_bytes()))
}

fn public(key: &SigningKey) -> [u8; VERIFYING_KEY_BYTES] {
    published(key.verifying_key().to_bytes())
}
