use crate::digest_secret::{DIGEST_SEED_BYTES, DigestSecret};
use crate::seal::{SEAL_SECRET_BYTES, SealError, SealSecret};
use omr_protocol::ClueParams;
use omr_protocol::frame::{
    self, FrameError, FrameHeader, Kind, pack_bits, packed_len, unpack_bits,
};
use omr_protocol::params::SecretSpec;
use omr_rlwe::Secret;
use omr_tfhe::BlockSecret;
use zeroize::Zeroizing;

/// A secret key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretKeyError {
    /// The file's length does not fit the parameter set.
    #[error("expected a secret key of {expected} bytes, found {found}")]
    Length {
        /// Bytes of the body.
        expected: usize,
        /// Bytes there are.
        found: usize,
    },
    /// Coefficients that no secret of the set has.
    #[error(
        "expected coefficients of the set's shape and weight, found others: the file is forged"
    )]
    Coefficients,
    /// The sealing key.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The file around it.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// A recipient's secret: decodes digests and opens payloads. Wiped when dropped.
pub struct SecretKey {
    /// The name of her address.
    pub address_id: [u8; 16],
    /// The name of her detection key.
    pub detection_id: [u8; 16],
    /// The clue secret.
    pub(crate) clue: Secret,
    /// The secrets under which digests come.
    pub(crate) digest: DigestSecret,
    /// The sealing secret.
    pub(crate) seal: SealSecret,
}

impl SecretKey {
    /// The clue secret, for tests and tools that decide clues in the clear.
    pub fn clue_secret(&self) -> &Secret {
        &self.clue
    }

    /// The sealing secret.
    pub fn seal_secret(&self) -> &SealSecret {
        &self.seal
    }

    /// The name of her detection key for InstantOMR.
    pub fn instant_id(&self) -> [u8; 16] {
        self.digest.instant_id()
    }

    fn body_bytes(params: &ClueParams) -> usize {
        let ternary = |n| packed_len(n, 2).expect("secrets are small");
        32 + ternary(params.spec().n) + DIGEST_SEED_BYTES + SEAL_SECRET_BYTES
    }

    /// The file: names, the clue secret's coefficients in two bits each (plus one), the seeds of
    /// the digest's secrets and of sealing.
    pub fn to_bytes(&self, params: &ClueParams) -> Result<Zeroizing<Vec<u8>>, SecretKeyError> {
        let mut body = Zeroizing::new(Vec::with_capacity(Self::body_bytes(params)));
        body.extend(self.address_id);
        body.extend(self.detection_id);
        let words = self.clue.coeffs().iter().map(|&c| (c + 1) as u64);
        pack_bits(&Zeroizing::new(words.collect::<Vec<_>>()), 2, &mut body);
        body.extend(self.digest.seed());
        body.extend_from_slice(&*self.seal.to_bytes());
        let header = FrameHeader {
            kind: Kind::SecretKey,
            params_id: params.name().to_owned(),
            key_id: self.address_id,
        };
        Ok(Zeroizing::new(frame::write_frame_vec(&header, &body)?))
    }

    /// Reads the file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters, two names), `Length`,
    /// `Coefficients`.
    pub fn from_bytes(params: &ClueParams, bytes: &[u8]) -> Result<Self, SecretKeyError> {
        let (header, body) = frame::read_frame(&mut &bytes[..], Kind::SecretKey, 1 << 20)?;
        let body = Zeroizing::new(body);
        header.expect_params(params.name())?;
        let expected = Self::body_bytes(params);
        if body.len() != expected {
            return Err(SecretKeyError::Length {
                expected,
                found: body.len(),
            });
        }
        let (names, rest) = body.split_at(32);
        let name = |at: usize| names[at..at + 16].try_into().expect("in range");
        header.expect_key(&name(0))?;
        let clue_n = params.spec().n;
        let (clue, rest) = rest.split_at(packed_len(clue_n, 2).expect("checked"));
        let (digest, seal) = rest.split_at(DIGEST_SEED_BYTES);
        let clue = ternary(clue, clue_n)?;
        if !is_of(&params.spec().secret, &clue) {
            return Err(SecretKeyError::Coefficients);
        }
        Ok(Self {
            address_id: name(0),
            detection_id: name(16),
            clue,
            digest: DigestSecret::new(digest.try_into().expect("split so")),
            seal: SealSecret::from_bytes(seal)?,
        })
    }
}

/// Whether a set has such a secret.
fn is_of(spec: &SecretSpec, secret: &Secret) -> bool {
    match spec {
        SecretSpec::Ternary { weight } => secret.weight() == *weight,
        SecretSpec::Blocks { block, weight } => {
            weight.contains(&secret.weight()) && block_secret(secret, *block).is_some()
        }
    }
}

/// The secret as one in blocks; `None` where it is none.
pub(crate) fn block_secret(secret: &Secret, block: usize) -> Option<BlockSecret> {
    let bits = secret.coeffs().iter().map(|&c| c as u64).collect();
    BlockSecret::from_bits(bits, block)
}

fn ternary(bytes: &[u8], n: usize) -> Result<Secret, SecretKeyError> {
    let mut words = Zeroizing::new(vec![0; n]);
    unpack_bits(bytes, 2, &mut words)?;
    let coeffs = words.iter().map(|&w| w as i64 - 1).collect();
    Secret::from_coeffs(coeffs).ok_or(SecretKeyError::Coefficients)
}
