//! SophOMR's digest and its file format.

use super::{DigestPlan, RecipientParams};
use crate::digest::{FIXED_BYTES, Packing};
use crate::frame::{self, FrameHeader, Kind};
use crate::{DigestError, DigestHeader, Placement, Request, Scheme};
use omr_compress::PackedCiphertext;
use omr_errors::Mismatch;

/// Bits of a mask coefficient. In dimension 2,048, rounding to them adds 0.016 of a symbol's step to the noise.
pub const MASK_BITS: u32 = 29;

/// Bits of a body coefficient. Rounding to them changes a sum by at most 0.19 of a symbol's step.
pub const BODY_BITS: u32 = 21;

/// SophOMR's digest. There is one *part* for each group, round and set of symbols; parts share a ciphertext as far as
/// the final ring has room.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// The header.
    pub header: DigestHeader,
    /// The ciphertexts, with their parts group by group and round by round.
    pub ciphertexts: Vec<PackedCiphertext>,
}

impl DigestHeader {
    /// Returns the placement of the messages of a batch.
    pub fn placement(&self, params: &RecipientParams, batch: usize) -> Placement {
        Placement::new(&self.seed, batch, params.slots())
    }
}

fn packing(params: &RecipientParams) -> Packing {
    Packing {
        n: params.final_ring.n(),
        together: params.final_shape.parts,
        mask_bits: MASK_BITS,
        body_bits: BODY_BITS,
    }
}

impl Digest {
    /// Returns the length in bytes of the file's body.
    fn body_bytes(plan: &DigestPlan, params: &RecipientParams) -> u64 {
        let packing = packing(params);
        let of_round = |round| {
            (0..plan.ciphertexts())
                .map(|ct| packing.part_bytes(plan.kept_len(round, ct)))
                .sum::<u64>()
        };
        // All rounds but the last are alike, and groups too: a forged header cannot cause a long loop.
        let last = plan.rounds() - 1;
        let group = last as u64 * of_round(0) + of_round(last);
        FIXED_BYTES as u64 + packing.mask_bytes(plan.parts()) + group * plan.groups() as u64
    }

    /// Returns the length in bytes of the whole file of a digest of this shape.
    pub fn file_bytes(plan: &DigestPlan, params: &RecipientParams) -> u64 {
        let header = FrameHeader::new(Kind::Digest, params.name(), [0; 16]);
        header.file_len(Self::body_bytes(plan, params))
    }

    /// Returns the file.
    pub fn to_bytes(&self, params: &RecipientParams) -> Result<Vec<u8>, DigestError> {
        let request = self.header.plan.request();
        let scheme = Scheme::sophomr(request.payload_bytes.is_some());
        let fingerprints = self.header.plan.has_fingerprints();
        let mut body = self.header.encode(scheme, fingerprints, request);
        packing(params).write(&self.ciphertexts, &mut body);
        Ok(frame::write_frame_vec(
            &self.header.frame(params.name()),
            &body,
        )?)
    }

    /// Reads a digest's file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `UnknownScheme`, `Scheme`,
    /// `IndexPayload`, `Sealing`, `Plan`, `Length`.
    pub fn from_bytes(params: &RecipientParams, bytes: &[u8]) -> Result<Self, DigestError> {
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::Digest, 1 << 33)?;
        file.expect_params(params.name())?;
        Self::from_body(params, file.key_id, &body)
    }

    pub(crate) fn from_body(
        params: &RecipientParams,
        key_id: [u8; 16],
        body: &[u8],
    ) -> Result<Self, DigestError> {
        let header = Self::header_of(params, key_id, body)?;
        let plan = &header.plan;
        let (expected, found) = (Self::body_bytes(plan, params), body.len() as u64);
        if expected != found {
            return Err(DigestError::Length(Mismatch::new(expected, found)));
        }
        let lengths = (0..plan.parts()).map(|part| plan.part_len(part));
        let ciphertexts = packing(params).read(lengths, &body[FIXED_BYTES..])?;
        Ok(Self {
            header,
            ciphertexts,
        })
    }

    /// Reads the header at the beginning of a body.
    ///
    /// Errors: `Length`, `UnknownScheme`, `Scheme`, `IndexPayload`, `Sealing`, `Plan`.
    pub(super) fn header_of(
        params: &RecipientParams,
        key_id: [u8; 16],
        body: &[u8],
    ) -> Result<DigestHeader, DigestError> {
        let (scheme, clues, header) = DigestHeader::decode(key_id, body)?;
        let Request {
            range,
            bound,
            payload_bytes,
        } = match scheme {
            Scheme::Sophomr | Scheme::Sophomd => header.plan.clone(),
            found => {
                let expected = "sophomr or sophomd";
                return Err(DigestError::Scheme(Mismatch::new(expected, found)));
            }
        };
        let plan = DigestPlan::new(params, range, bound, payload_bytes)?;
        Ok(header.with_plan(plan.for_clues(params, clues)))
    }
}
