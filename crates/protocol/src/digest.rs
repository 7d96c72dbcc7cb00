//! Parts that digests of every scheme have: the header, and the packing of ciphertexts in the file.

use crate::frame::{FrameError, FrameHeader, Kind, pack_bits, packed_len, unpack_bits};
use crate::sophomr::DigestPlan;
use crate::{ClueKind, PlanError, Request, SEED_BYTES, Scheme, Sealing};
use omr_compress::PackedCiphertext;
use omr_errors::Mismatch;

/// A digest that was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The header describes a shape that does not exist.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The header names a sealing that does not exist.
    #[error(transparent)]
    Sealing(#[from] crate::sealing::SealingError),
    /// The header has the number of a scheme that this version does not know.
    #[error("expected the number of a digest's scheme, 1 to 5, found {0}")]
    UnknownScheme(u8),
    /// The digest is of another scheme.
    #[error("expected a digest of {}, found one of {}", .0.expected, .0.found)]
    Scheme(Mismatch<&'static str, Scheme>),
    /// The parameter set is unknown or lacks the scheme's engine.
    #[error(transparent)]
    Params(#[from] crate::ParamsError),
    /// A digest of indices announces payloads of this many bytes.
    #[error("expected payloads of 0 bytes in a digest of indices, found {0}")]
    IndexPayload(u32),
    /// Two digests that are not parts of one response.
    #[error("expected two digests of one board, the second where the first one ends, found others")]
    Parts,
    /// The file is a scan that was refused.
    #[error(transparent)]
    Scan(#[from] crate::rounds::RoundsError),
    /// The length of the file differs from what its header announces.
    #[error("expected a digest of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<u64>),
    /// The frame of the file is wrong.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// The header of a digest.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestHeader<P = DigestPlan> {
    /// The detection key with which the digest was made.
    pub key_id: [u8; 16],
    /// The board whose messages the digest covers.
    pub board_id: [u8; 16],
    /// How the board's payloads are sealed.
    pub sealing: Sealing,
    /// The range, the bound and the size of payloads.
    pub plan: P,
    /// The random seed of the messages' places ([`crate::Placement`]), or of the nodes of their codes. For SophOMR it
    /// is drawn after the messages were posted.
    pub seed: [u8; SEED_BYTES],
}

/// The bit beside the scheme's number that is set if payloads come with fingerprints of their clues.
const FINGERPRINTS: u8 = 0x80;

/// Returns the scheme that the first byte of a digest names, and whether the digest contains fingerprints.
///
/// Errors: `UnknownScheme`.
pub(crate) fn scheme_of(found: u8) -> Result<(Scheme, bool), DigestError> {
    let fingerprints = found & FINGERPRINTS != 0;
    let scheme = Scheme::from_tag(found & !FINGERPRINTS)
        .filter(|scheme| !fingerprints || scheme.may_have_fingerprints())
        .ok_or(DigestError::UnknownScheme(found))?;
    Ok((scheme, fingerprints))
}

/// Length in bytes of the header, which precedes the ciphertexts.
pub(crate) const FIXED_BYTES: usize = 1 + 16 + 8 + 8 + 4 + 4 + 1 + SEED_BYTES;

impl<P> DigestHeader<P> {
    /// Returns the bytes of the header.
    pub(crate) fn encode(&self, scheme: Scheme, fingerprints: bool, request: &Request) -> Vec<u8> {
        let mut out = vec![scheme.tag() | if fingerprints { FINGERPRINTS } else { 0 }];
        out.extend(self.board_id);
        out.extend(request.range.start.to_le_bytes());
        out.extend(request.range.end.to_le_bytes());
        out.extend((request.bound as u32).to_le_bytes());
        out.extend((request.payload_bytes.unwrap_or(0) as u32).to_le_bytes());
        out.push(self.sealing.tag());
        out.extend(self.seed);
        out
    }

    /// Returns the header with another plan.
    pub(crate) fn with_plan<Q>(self, plan: Q) -> DigestHeader<Q> {
        DigestHeader {
            key_id: self.key_id,
            board_id: self.board_id,
            sealing: self.sealing,
            plan,
            seed: self.seed,
        }
    }

    /// Returns the header of the digest's frame.
    pub(crate) fn frame(&self, params: &str) -> FrameHeader {
        FrameHeader::new(Kind::Digest, params, self.key_id)
    }
}

impl DigestHeader<Request> {
    /// Reads the header's bytes: scheme, kind of clues and the rest.
    ///
    /// Errors: `Length`, `UnknownScheme`, `IndexPayload`, `Sealing`.
    pub(crate) fn decode(
        key_id: [u8; 16],
        body: &[u8],
    ) -> Result<(Scheme, ClueKind, Self), DigestError> {
        if body.len() < FIXED_BYTES {
            return Err(DigestError::Length(Mismatch::new(
                FIXED_BYTES as u64,
                body.len() as u64,
            )));
        }
        let (scheme, fingerprints) = scheme_of(body[0])?;
        let clues = if fingerprints {
            ClueKind::Bound
        } else {
            ClueKind::Plain
        };
        let word = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().expect("in range"));
        let half = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().expect("in range"));
        let payload_bytes = match (scheme.is_for_indices(), half(37)) {
            (true, 0) => None,
            (true, found) => return Err(DigestError::IndexPayload(found)),
            (false, bytes) => Some(bytes as usize),
        };
        let request = Request::new(word(17)..word(25), half(33) as usize, payload_bytes);
        let header = Self {
            key_id,
            board_id: body[1..17].try_into().expect("in range"),
            sealing: Sealing::try_from(body[41])?,
            plan: request,
            seed: body[42..FIXED_BYTES].try_into().expect("in range"),
        };
        Ok((scheme, clues, header))
    }
}

/// The packing of ciphertexts in a file: each mask, followed by the parts that share it.
pub(crate) struct Packing {
    /// Coefficients of a mask.
    pub(crate) n: usize,
    /// Number of parts that share a mask.
    pub(crate) together: usize,
    /// Bits of a mask coefficient.
    pub(crate) mask_bits: u32,
    /// Bits of a body coefficient.
    pub(crate) body_bits: u32,
}

impl Packing {
    /// Returns the length in bytes of a part of `len` coefficients.
    pub(crate) fn part_bytes(&self, len: usize) -> u64 {
        packed_len(len, self.body_bits).expect("rows fit memory") as u64
    }

    /// Returns the length in bytes of the masks of this number of parts.
    pub(crate) fn mask_bytes(&self, parts: usize) -> u64 {
        let mask = packed_len(self.n, self.mask_bits).expect("rows fit memory") as u64;
        mask * parts.div_ceil(self.together) as u64
    }

    pub(crate) fn write(&self, ciphertexts: &[PackedCiphertext], out: &mut Vec<u8>) {
        for ct in ciphertexts {
            pack_bits(&ct.mask, self.mask_bits, out);
            for part in &ct.parts {
                pack_bits(part, self.body_bits, out);
            }
        }
    }

    /// Reads parts of these lengths.
    ///
    /// Errors: `Frame` (padding).   Panics: if bytes are missing.
    pub(crate) fn read(
        &self,
        parts: impl Iterator<Item = usize>,
        mut rest: &[u8],
    ) -> Result<Vec<PackedCiphertext>, FrameError> {
        let mut take = |count: usize, bits: u32| -> Result<Vec<u64>, FrameError> {
            let (bytes, after) = rest.split_at(packed_len(count, bits).expect("checked"));
            rest = after;
            let mut out = vec![0; count];
            unpack_bits(bytes, bits, &mut out)?;
            Ok(out)
        };
        let mut ciphertexts: Vec<PackedCiphertext> = Vec::new();
        for (i, len) in parts.enumerate() {
            if i % self.together == 0 {
                let mask = take(self.n, self.mask_bits)?;
                let parts = Vec::new();
                ciphertexts.push(PackedCiphertext { mask, parts });
            }
            let body = take(len, self.body_bits)?;
            let last = ciphertexts
                .last_mut()
                .expect("pushed before the first part");
            last.parts.push(body);
        }
        Ok(ciphertexts)
    }
}

/// Returns 64 bits of BLAKE3 of a message's index and payload, from which checksums are made.
pub(crate) fn checksum_word(index: u64, payload: &[u8]) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("omr payload checksum v1");
    hasher.update(&index.to_le_bytes());
    hasher.update(payload);
    let hash = hasher.finalize();
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"))
}
