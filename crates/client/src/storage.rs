//! Encryption of data that a recipient has in a storage that others can read.

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

const NONCE_BYTES: usize = 12;
const CONTEXT: &str = "omr record contents v1";

/// A cipher under a recipient's storage key. It wipes its key when it is dropped.
pub struct StorageCipher(ChaCha20Poly1305);

impl StorageCipher {
    /// Makes the cipher from the key of [`crate::SecretKey::storage_key`].
    #[must_use]
    pub fn new(storage_key: &[u8; 32]) -> Self {
        let key = Zeroizing::new(blake3::derive_key(CONTEXT, storage_key));
        Self(ChaCha20Poly1305::new((&*key).into()))
    }

    /// Returns a nonce of 12 bytes and the encrypted bytes, which open beside the same data alone.
    ///
    /// Panics: for 256 GiB or more.
    pub fn encrypt(&self, beside: &[u8], mut bytes: Vec<u8>, rng: &mut impl CryptoRng) -> Vec<u8> {
        let mut nonce = [0; NONCE_BYTES];
        rng.fill_bytes(&mut nonce);
        self.0
            .encrypt_in_place(&nonce.into(), beside, &mut bytes)
            .expect("content is shorter than 256 GiB");
        [&nonce[..], &bytes].concat()
    }

    /// Returns the bytes; `None` if they were encrypted with another key or beside other data, or were changed.
    #[must_use]
    pub fn decrypt(&self, beside: &[u8], content: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = content.split_first_chunk::<NONCE_BYTES>()?;
        let mut bytes = Zeroizing::new(sealed.to_vec());
        self.0
            .decrypt_in_place(&(*nonce).into(), beside, &mut *bytes)
            .ok()?;
        Some(bytes)
    }
}
