//! The secret of LWE clues, and the distances of a clue from it.

use super::ring::negacyclic;
use crate::clear::{LweKind, LweParams};
use omr_client::seal::{SEAL_SECRET_BYTES, SealSecret};
use omr_client::{DigestSecret, SecretKeyError};
use omr_protocol::Clue;
use omr_protocol::Mismatch;
use omr_protocol::frame::{self, FrameHeader, Kind, pack_bits, packed_len, unpack_bits};
use zeroize::Zeroizing;

/// A recipient's secret for LWE clues. Its memory is wiped on drop.
pub struct LweSecret {
    /// The name of the recipient's address.
    pub id: [u8; 16],
    pub(super) coefficients: Zeroizing<Vec<i64>>,
    pub(super) seal: SealSecret,
}

impl LweSecret {
    /// Returns the concatenated secret vectors: ternary coefficients -1, 0 or 1, uniform ones in `[0, q)`. Key
    /// generation encrypts them for the detector.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// Returns the seed of the secrets that digests are encrypted under. It is derived from the sealing secret.
    pub(super) fn digest(&self) -> DigestSecret {
        let seal = self.seal.to_bytes();
        DigestSecret::new(blake3::derive_key("omr earlier digest secret v1", &*seal))
    }

    /// Returns the name of the recipient's detection key.
    pub fn detection_id(&self) -> [u8; 16] {
        self.digest().name("omr earlier key id v1")
    }

    /// Returns the sealing secret.
    pub fn seal_secret(&self) -> &SealSecret {
        &self.seal
    }

    /// Returns the distances of a clue: `b_j - q/4 - <a, s_j>`, in `[-q/2, q/2)`; for integers `b - a s` of a
    /// and b in `[-q/2, q/2)`, not reduced. [`LweParams::accepts`] decides whether such a clue is pertinent.
    ///
    /// Time:   constant.   Panics: if the clue does not have the shape of the parameters.
    pub fn distances(&self, params: &LweParams, clue: &Clue) -> Vec<i64> {
        let (spec, residues) = (params.spec(), params.residues());
        let shape = (clue.a.len(), clue.b.len());
        assert_eq!(shape, (spec.n, spec.coordinates), "shape of the clue");
        if let LweKind::Integers { .. } = spec.kind {
            let lifted = |row: &[u32]| {
                row.iter()
                    .map(|&x| residues.centered(x))
                    .collect::<Vec<_>>()
            };
            let masks = negacyclic(&lifted(&clue.a), &self.coefficients, spec.coordinates);
            let b = lifted(&clue.b);
            return b.iter().zip(masks).map(|(b, mask)| b - mask).collect();
        }
        let vectors = self.coefficients.chunks_exact(spec.n);
        let distance = |(s, &b): (&[i64], &u32)| {
            let products = clue.a.iter().zip(s).map(|(&a, &s)| i64::from(a) * s);
            let d = i64::from(b) - i64::from(params.offset()) - products.sum::<i64>();
            residues.centered(residues.reduce_signed(d))
        };
        vectors.zip(&clue.b).map(distance).collect()
    }

    /// Returns whether a clue is pertinent to this recipient.
    ///
    /// Time:   constant.   Panics: if the clue does not have the shape of the parameters.
    pub fn is_pertinent(&self, params: &LweParams, clue: &Clue) -> bool {
        params.accepts(&self.distances(params, clue))
    }

    fn body_bytes(params: &LweParams) -> usize {
        let count = params.secret_coefficients();
        16 + packed_len(count, width(params)).expect("secrets are small") + SEAL_SECRET_BYTES
    }

    /// Returns the framed file: name, residues of the coefficients, sealing secret.
    ///
    /// Errors: `Frame`.
    pub fn to_bytes(&self, params: &LweParams) -> Result<Zeroizing<Vec<u8>>, SecretKeyError> {
        let mut body = Zeroizing::new(Vec::with_capacity(Self::body_bytes(params)));
        body.extend(self.id);
        let residue = |&x: &i64| u64::from(params.residues().reduce_signed(x));
        let words: Zeroizing<Vec<u64>> =
            Zeroizing::new(self.coefficients.iter().map(residue).collect());
        pack_bits(&words, width(params), &mut body);
        body.extend_from_slice(&*self.seal.to_bytes());
        let header = FrameHeader::new(Kind::SecretKey, params.name(), self.id);
        Ok(Zeroizing::new(frame::write_frame_vec(&header, &body)?))
    }

    /// Reads a file that [`LweSecret::to_bytes`] made.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters, two different names), `Length`,
    /// `Coefficients`, `Seal`.
    pub fn from_bytes(params: &LweParams, bytes: &[u8]) -> Result<Self, SecretKeyError> {
        let expected = Self::body_bytes(params);
        let limit = expected as u64;
        let (header, body) = frame::read_frame(&mut &bytes[..], Kind::SecretKey, limit)?;
        let body = Zeroizing::new(body);
        header.expect_params(params.name())?;
        let found = body.len();
        if expected != found {
            return Err(SecretKeyError::Length(Mismatch::new(expected, found)));
        }
        let id = body[..16].try_into().expect("in range");
        header.expect_key(&id)?;
        let (words, seal) = body[16..].split_at(expected - 16 - SEAL_SECRET_BYTES);
        let mut residues = Zeroizing::new(vec![0; params.secret_coefficients()]);
        unpack_bits(words, width(params), &mut residues)?;
        let coefficients = coefficients(params, &residues);
        Ok(Self {
            id,
            coefficients: coefficients.ok_or(SecretKeyError::Coefficients)?,
            seal: SealSecret::from_bytes(seal)?,
        })
    }
}

/// Returns the number of bits of a residue.
fn width(params: &LweParams) -> u32 {
    u32::BITS - (params.spec().q - 1).leading_zeros()
}

/// Returns the number of ternary coefficients, which each vector begins with.
pub(super) fn ternary(params: &LweParams) -> usize {
    match params.spec().kind {
        LweKind::Subset { .. } => 0,
        LweKind::Lwemongrass { large, .. } => params.spec().n - large,
        LweKind::Integers { .. } => params.spec().n,
    }
}

/// Returns the coefficients with these residues; `None` if no secret of these parameters has them. Time:
/// constant except for refused residues.
fn coefficients(params: &LweParams, words: &[u64]) -> Option<Zeroizing<Vec<i64>>> {
    let (spec, q) = (params.spec(), i64::from(params.spec().q));
    let ternary = ternary(params);
    let (mut right, mut weight) = (true, 0);
    let coefficient = |(i, &word): (usize, &u64)| {
        let x = word as i64; // at most 24 bits
        right &= x < q;
        let minus_one = i64::from(x == q - 1);
        if i % spec.n < ternary {
            let own = x - q * minus_one;
            right &= (-1..=1).contains(&own);
            weight += usize::from(own != 0);
            own
        } else {
            x
        }
    };
    let all = Zeroizing::new(
        words
            .iter()
            .enumerate()
            .map(coefficient)
            .collect::<Vec<_>>(),
    );
    if let LweKind::Integers { weight: expected } = spec.kind {
        right &= weight == expected;
    }
    right.then_some(all)
}
