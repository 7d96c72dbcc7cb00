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

/// A secret key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretKeyError {
    /// The file's length does not fit the parameter set.
    #[error("expected a secret key of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<usize>),
    /// Coefficients that no secret of the set has.
    #[error(
        "expected coefficients of the set's shape and weight, found others: the file is forged"
    )]
    Coefficients,
    /// The address.
    #[error(transparent)]
    Address(#[from] ClueError),
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
    /// Her address where clues are bound to it: she makes the clues of her messages again.
    pub(crate) address: Option<ClueKey>,
    /// The clue secrets: one, or one for each engine.
    pub(crate) clue: Vec<Secret>,
    /// The secrets under which digests come.
    pub(crate) digest: DigestSecret,
    /// The sealing secret.
    pub(crate) seal: SealSecret,
}

impl SecretKey {
    /// The clue secret that SophOMR works with, for tests and tools that decide clues in the clear.
    pub fn clue_secret(&self) -> &Secret {
        self.clue.first().expect("one secret at least")
    }

    /// That which InstantOMR works with: of a set with one secret the same.
    pub fn instant_secret(&self) -> &Secret {
        self.clue.last().expect("one secret at least")
    }

    /// The secrets under which digests come.
    pub fn digest_secret(&self) -> &DigestSecret {
        &self.digest
    }

    /// The sealing secret.
    pub fn seal_secret(&self) -> &SealSecret {
        &self.seal
    }

    /// The name of her detection key for InstantOMR.
    pub fn instant_id(&self) -> [u8; 16] {
        self.digest.instant_id()
    }

    /// Her address where clues are bound to it; one for plain clues does not follow from the secret.
    pub fn address(&self) -> Option<&ClueKey> {
        self.address.as_ref()
    }

    /// Which clues her address takes.
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

    /// Of all clue secrets, one coefficient for each residue of the betas.
    fn clue_bytes(params: &ClueParams) -> usize {
        packed_len(params.spec().beta_len(), 2).expect("secrets are small")
    }

    /// Of a key for plain clues; bound ones add [`SecretKey::address_bytes`].
    fn body_bytes(params: &ClueParams) -> usize {
        32 + Self::clue_bytes(params) + DIGEST_SEED_BYTES + SEAL_SECRET_BYTES
    }

    /// The file: names, of bound clues the address's seed and betas, the clue secrets' coefficients in two bits each (plus
    /// one), the seeds of the digest's secrets and of sealing.
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

    /// Reads the file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters, two names), `Length`,
    /// `Address`, `Coefficients`.
    pub fn from_bytes(params: &ClueParams, bytes: &[u8]) -> Result<Self, SecretKeyError> {
        let (header, body) = frame::read_frame(&mut &bytes[..], Kind::SecretKey, 1 << 20)?;
        let body = Zeroizing::new(body);
        header.expect_params(params.name())?;
        let expected = Self::body_bytes(params);
        let address = match body.len().checked_sub(expected) {
            Some(0) => 0,
            Some(rest) if rest == Self::address_bytes(params) => rest,
            _ => {
                let found = body.len();
                return Err(SecretKeyError::Length(Mismatch::new(expected, found)));
            }
        };
        let (names, rest) = body.split_at(32);
        let (address, rest) = rest.split_at(address);
        let name = |at: usize| names[at..at + 16].try_into().expect("in range");
        header.expect_key(&name(0))?;
        let (clue, rest) = rest.split_at(Self::clue_bytes(params));
        let (digest, seal) = rest.split_at(DIGEST_SEED_BYTES);
        let clue = clue_secrets(params, clue)?;
        let seal = SealSecret::from_bytes(seal)?;
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

/// The address of bound clues, if the file has one.
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

/// The clue secrets of a file.
///
/// Errors: `Frame`, `Coefficients`.
fn clue_secrets(params: &ClueParams, bytes: &[u8]) -> Result<Vec<Secret>, SecretKeyError> {
    let spec = params.spec();
    let mut words = Zeroizing::new(vec![0; spec.beta_len()]);
    unpack_bits(bytes, 2, &mut words)?;
    let secret = |words: &[u64]| Secret::from_coeffs(words.iter().map(|&w| w as i64 - 1).collect());
    let secrets: Option<Vec<Secret>> = words.chunks(spec.n).map(secret).collect();
    let secrets = secrets.ok_or(SecretKeyError::Coefficients)?;
    let mut pairs = secrets.iter().zip(spec.secrets());
    if pairs.all(|(secret, own)| is_of(own.spec, secret)) {
        Ok(secrets)
    } else {
        Err(SecretKeyError::Coefficients)
    }
}
