//! The recipient's sealing keys, one key pair for each sealing, derived from one seed.

use std::fmt;

use hpke::kem::{X25519HkdfSha256, XWing};
use hpke::{Deserializable, Kem, Serializable};
use omr_protocol::Mismatch;
use omr_protocol::sealing::Sealing;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::SealError;
use crate::derive::derived;

type XPublic = <X25519HkdfSha256 as Kem>::PublicKey;
type XSecret = <X25519HkdfSha256 as Kem>::PrivateKey;
type WPublic = <XWing as Kem>::PublicKey;
type WSecret = <XWing as Kem>::PrivateKey;

/// Serialised length of a `SealSecret`.
pub const SEAL_SECRET_BYTES: usize = 32;
/// Serialised length of a `SealPublic`: X25519 (32), then X-Wing (1216).
pub const SEAL_PUBLIC_BYTES: usize = X25519_BYTES + 1216;

const X25519_BYTES: usize = 32;

/// The recipient's secret, which is wiped when dropped.
///
/// The key material of each KEM is derived from the seed by BLAKE3-derive-key, and the key pair from the material by
/// the KEM's own `DeriveKeyPair`, so the pairs are independent.
#[derive(Clone)]
pub struct SealSecret {
    seed: Zeroizing<[u8; SEAL_SECRET_BYTES]>,
    x25519: XSecret,
    x_wing: WSecret,
}

impl SealSecret {
    /// Makes a new secret.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; SEAL_SECRET_BYTES]);
        rng.fill_bytes(seed.as_mut());
        Self::from_seed(seed)
    }

    /// Makes the secret of a seed.
    ///
    /// Errors: `KeyLength`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SealError> {
        let wrong = |_| SealError::KeyLength(Mismatch::new(SEAL_SECRET_BYTES, bytes.len()));
        Ok(Self::from_seed(Zeroizing::new(
            bytes.try_into().map_err(wrong)?,
        )))
    }

    /// Returns the seed, from which [`SealSecret::from_bytes`] makes the same secret.
    pub fn to_bytes(&self) -> Zeroizing<[u8; SEAL_SECRET_BYTES]> {
        self.seed.clone()
    }

    /// Returns the public keys for senders.
    pub fn public(&self) -> SealPublic {
        SealPublic {
            x25519: X25519HkdfSha256::sk_to_pk(&self.x25519),
            x_wing: XWing::sk_to_pk(&self.x_wing),
        }
    }

    fn from_seed(seed: Zeroizing<[u8; SEAL_SECRET_BYTES]>) -> Self {
        let (x25519, _) = X25519HkdfSha256::derive_keypair(&*derived(X25519_CONTEXT, &seed));
        let (x_wing, _) = XWing::derive_keypair(&*derived(X_WING_CONTEXT, &seed));
        Self {
            seed,
            x25519,
            x_wing,
        }
    }

    pub(super) fn x25519(&self) -> &XSecret {
        &self.x25519
    }

    pub(super) fn x_wing(&self) -> &WSecret {
        &self.x_wing
    }
}

/// Shows nothing of the secret.
impl fmt::Debug for SealSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealSecret").finish_non_exhaustive()
    }
}

const X25519_CONTEXT: &str = "omr seal v1 x25519 key material";
const X_WING_CONTEXT: &str = "omr seal v1 x-wing key material";

/// The recipient's public keys, one for each sealing. They are parsed once and used many times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealPublic {
    x25519: XPublic,
    x_wing: WPublic,
}

impl SealPublic {
    /// Parses public keys.
    ///
    /// Errors: `KeyLength`, `PublicKey`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SealError> {
        let wrong = || SealError::KeyLength(Mismatch::new(SEAL_PUBLIC_BYTES, bytes.len()));
        if bytes.len() != SEAL_PUBLIC_BYTES {
            return Err(wrong());
        }
        let (x25519, x_wing) = bytes.split_at(X25519_BYTES);
        Ok(Self {
            x25519: XPublic::from_bytes(x25519).map_err(|_| SealError::PublicKey)?,
            x_wing: WPublic::from_bytes(x_wing).map_err(|_| SealError::PublicKey)?,
        })
    }

    /// Returns all public keys.
    ///
    /// Shape:  `SEAL_PUBLIC_BYTES` bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.key_bytes(Sealing::HpkeX25519);
        bytes.extend_from_slice(&self.x_wing.to_bytes());
        bytes
    }

    /// Returns the public key of one sealing.
    ///
    /// Shape:  `sealing.public_key_bytes()` bytes.
    pub fn key_bytes(&self, sealing: Sealing) -> Vec<u8> {
        match sealing {
            Sealing::None => Vec::new(),
            Sealing::HpkeX25519 => self.x25519.to_bytes().to_vec(),
            Sealing::XWing => self.x_wing.to_bytes().to_vec(),
        }
    }

    /// Returns the public key of one sealing, for [`super::seal`].
    #[must_use]
    pub fn key(&self, sealing: Sealing) -> SealKey {
        SealKey(match sealing {
            Sealing::None => Key::None,
            Sealing::HpkeX25519 => Key::X25519(self.x25519.clone()),
            Sealing::XWing => Key::XWing(Box::new(self.x_wing.clone())),
        })
    }
}

/// A recipient's public key of one sealing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealKey(pub(super) Key);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// There is no key: payloads are not sealed.
    None,
    X25519(XPublic),
    XWing(Box<WPublic>),
}

impl SealKey {
    /// Parses the public key of a sealing, which has `sealing.public_key_bytes()` bytes.
    ///
    /// Errors: `KeyLength`, `PublicKey`.
    pub fn from_bytes(sealing: Sealing, bytes: &[u8]) -> Result<Self, SealError> {
        let expected = sealing.public_key_bytes();
        if bytes.len() != expected {
            return Err(SealError::KeyLength(Mismatch::new(expected, bytes.len())));
        }
        let wrong = |_| SealError::PublicKey;
        Ok(Self(match sealing {
            Sealing::None => Key::None,
            Sealing::HpkeX25519 => Key::X25519(XPublic::from_bytes(bytes).map_err(wrong)?),
            Sealing::XWing => Key::XWing(Box::new(WPublic::from_bytes(bytes).map_err(wrong)?)),
        }))
    }
}
