//! A recipient's secret key and its file.

use crate::digest_secret::{DIGEST_SEED_BYTES, DigestSecret};
use crate::seal::{SEAL_SECRET_BYTES, SealError, SealSecret, public_bytes};
use omr_protocol::Mismatch;
use omr_protocol::clue::{read_residues, residue_bits, write_residues};
use omr_protocol::frame::{
    self, FrameError, FrameHeader, Kind, pack_bits, packed_len, unpack_bits,
};
use omr_protocol::params::SecretSpec;
use omr_protocol::{ClueError, ClueKey, ClueKind, ClueParams};
use omr_rlwe::Secret;
use omr_tfhe::BlockSecret;
use zeroize::Zeroizing;

/// A secret key that was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretKeyError {
    /// The length of the file does not fit the parameter set.
    #[error("expected a secret key of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<usize>),
    /// No secret of the set has these coefficients.
    #[error(
        "expected coefficients of the set's shape and weight, found others: the file is forged"
    )]
    Coefficients,
    /// The address is wrong.
    #[error(transparent)]
    Address(#[from] ClueError),
    /// The sealing key is wrong.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The frame of the file is wrong.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// A recipient's secret, which decodes digests and opens payloads. It is wiped when dropped.
pub struct SecretKey {
    /// The name of the recipient's address.
    pub address_id: [u8; 16],
    /// The name of the recipient's detection key for SophOMR.
    pub detection_id: [u8; 16],
    /// The recipient's address if clues are bound to it, for making the clues of received messages again.
    pub(crate) address: Option<ClueKey>,
    /// The clue secrets: one, or one for each engine.
    pub(crate) clue: Vec<Secret>,
    /// The secrets under which digests are encrypted.
    pub(crate) digest: DigestSecret,
    /// The sealing secret.
    pub(crate) seal: SealSecret,
}

impl SecretKey {
    /// Returns the clue secret for SophOMR, for tests and tools that examine clues in the clear.
    pub fn clue_secret(&self) -> &Secret {
        self.clue.first().expect("one secret at least")
    }

    /// Returns the clue secret for InstantOMR. A set with one clue secret has the same for both.
    pub fn instant_secret(&self) -> &Secret {
        self.clue.last().expect("one secret at least")
    }

    /// Returns the secrets under which digests are encrypted.
    pub fn digest_secret(&self) -> &DigestSecret {
        &self.digest
    }

    /// Returns the sealing secret.
    pub fn seal_secret(&self) -> &SealSecret {
        &self.seal
    }

    /// Returns the name of the recipient's detection key for InstantOMR.
    pub fn instant_id(&self) -> [u8; 16] {
        self.digest.instant_id()
    }

    /// Returns the name of the recipient's detection key for two rounds.
    pub fn rounds_id(&self) -> [u8; 16] {
        self.digest.rounds_id()
    }

    /// Returns the key under which a program stores the recipient's letters. A person who can read the secret can read
    /// them.
    pub fn storage_key(&self) -> Zeroizing<[u8; 32]> {
        self.digest.storage_key()
    }

    /// Returns the recipient's address if clues are bound to it. An address for plain clues cannot be derived from the
    /// secret.
    pub fn address(&self) -> Option<&ClueKey> {
        self.address.as_ref()
    }

    /// Returns the kind of clues for the recipient's address.
    pub fn clues(&self) -> ClueKind {
        match self.address {
            Some(_) => ClueKind::Bound,
            None => ClueKind::Plain,
        }
    }

    fn address_bytes(params: &ClueParams) -> usize {
        let bits = residue_bits(params.spec().q);
        32 + packed_len(params.spec().beta_len(), bits).expect("keys are small")
    }

    /// Returns the length in bytes of all clue secrets, which have one coefficient for each residue of the betas.
    fn clue_bytes(params: &ClueParams) -> usize {
        packed_len(params.spec().beta_len(), 2).expect("secrets are small")
    }

    /// Returns the length in bytes of a key for plain clues. One for bound clues has [`SecretKey::address_bytes`] more.
    fn body_bytes(params: &ClueParams) -> usize {
        32 + Self::clue_bytes(params) + DIGEST_SEED_BYTES + SEAL_SECRET_BYTES
    }

    /// Returns the file: the names, for bound clues the address's seed and betas, the coefficients of the clue secrets
    /// (plus one) in two bits each, and the seeds of the digest's secrets and of sealing.
    pub fn to_bytes(&self, params: &ClueParams) -> Result<Zeroizing<Vec<u8>>, SecretKeyError> {
        let most = Self::body_bytes(params) + Self::address_bytes(params);
        let mut body = Zeroizing::new(Vec::with_capacity(most));
        body.extend(self.address_id);
        body.extend(self.detection_id);
        if let Some(address) = &self.address {
            body.extend(address.seed);
            write_residues(params.spec().q, address.beta.iter(), &mut body);
        }
        let coefficients = self.clue.iter().flat_map(|secret| secret.coeffs());
        let words = coefficients.map(|&c| (c + 1) as u64);
        pack_bits(&Zeroizing::new(words.collect::<Vec<_>>()), 2, &mut body);
        body.extend(self.digest.seed());
        body.extend_from_slice(&*self.seal.to_bytes());
        let header = FrameHeader::new(Kind::SecretKey, params.name(), self.address_id);
        Ok(Zeroizing::new(frame::write_frame_vec(&header, &body)?))
    }

    /// Reads a secret key's file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters, two names), `Length`, `Address`,
    /// `Coefficients`.
    pub fn from_bytes(params: &ClueParams, bytes: &[u8]) -> Result<Self, SecretKeyError> {
        let (header, content) = frame::read_frame(&mut &bytes[..], Kind::SecretKey, 1 << 20)?;
        let body = Zeroizing::new(content);
        header.expect_params(params.name())?;
        let expected = Self::body_bytes(params);
        let address_len = match body.len().checked_sub(expected) {
            Some(0) => 0,
            Some(rest) if rest == Self::address_bytes(params) => rest,
            _ => {
                let found = body.len();
                return Err(SecretKeyError::Length(Mismatch::new(expected, found)));
            }
        };
        let (names, after_names) = body.split_at(32);
        let (address, after_address) = after_names.split_at(address_len);
        let name = |at: usize| names[at..at + 16].try_into().expect("in range");
        header.expect_key(&name(0))?;
        let (clue_bits, seeds) = after_address.split_at(Self::clue_bytes(params));
        let (digest, seal_seed) = seeds.split_at(DIGEST_SEED_BYTES);
        let clue = clue_secrets(params, clue_bits)?;
        let seal = SealSecret::from_bytes(seal_seed)?;
        Ok(Self {
            address_id: name(0),
            detection_id: name(16),
            address: read_address(params, name(0), address, &seal)?,
            clue,
            digest: DigestSecret::new(digest.try_into().expect("split so")),
            seal,
        })
    }
}

/// Reads the address of a key for bound clues; returns `None` if there are no bytes.
///
/// Errors: `Address`.
fn read_address(
    params: &ClueParams,
    id: [u8; 16],
    bytes: &[u8],
    seal: &SealSecret,
) -> Result<Option<ClueKey>, SecretKeyError> {
    let Some((seed, beta)) = bytes.split_first_chunk() else {
        return Ok(None);
    };
    let mut key = ClueKey {
        kind: ClueKind::Bound,
        id,
        seed: *seed,
        beta: vec![0; params.spec().beta_len()],
        seal: public_bytes(seal),
    };
    read_residues(params.spec().q, beta, &mut key.beta)?;
    Ok(Some(key))
}

/// Returns whether the secret is possible in the set.
fn is_of(spec: &SecretSpec, secret: &Secret) -> bool {
    match spec {
        SecretSpec::Ternary { weight } => secret.weight() == *weight,
        SecretSpec::Blocks { block, weight } => {
            weight.contains(&secret.weight()) && block_secret(secret, *block).is_some()
        }
    }
}

/// Returns the secret as a block secret; `None` if it is none.
pub(crate) fn block_secret(secret: &Secret, block: usize) -> Option<BlockSecret> {
    let bits = secret.coeffs().iter().map(|&c| c as u64).collect();
    BlockSecret::from_bits(bits, block)
}

/// Reads the clue secrets of a file.
///
/// Errors: `Frame`, `Coefficients`.
fn clue_secrets(params: &ClueParams, bytes: &[u8]) -> Result<Vec<Secret>, SecretKeyError> {
    let spec = params.spec();
    let mut words = Zeroizing::new(vec![0; spec.beta_len()]);
    unpack_bits(bytes, 2, &mut words)?;
    let secret = |words: &[u64]| Secret::from_coeffs(words.iter().map(|&w| w as i64 - 1).collect());
    let secrets = words
        .chunks(spec.n)
        .map(secret)
        .collect::<Option<Vec<Secret>>>()
        .ok_or(SecretKeyError::Coefficients)?;
    let mut pairs = secrets.iter().zip(spec.secrets());
    if pairs.all(|(secret, own)| is_of(own.spec, secret)) {
        Ok(secrets)
    } else {
        Err(SecretKeyError::Coefficients)
    }
}
