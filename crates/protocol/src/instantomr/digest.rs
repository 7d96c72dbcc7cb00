//! InstantOMR's digest and its file format.

use super::InstantPlan;
use crate::digest::{FIXED_BYTES, Packing};
use crate::frame::{self, Kind};
use crate::instantomr::{INSTANT_BODY_BITS, INSTANT_MASK_BITS, InstantParams};
use crate::{DigestError, DigestHeader};
use omr_compress::PackedCiphertext;
use omr_errors::Mismatch;
use std::ops::Range;

/// InstantOMR's digest: the parts of all groups. The set's number of bodies share each mask.
#[derive(Clone, Debug, PartialEq)]
pub struct InstantDigest {
    /// The header.
    pub header: DigestHeader<InstantPlan>,
    /// The ciphertexts, with their parts group by group.
    pub ciphertexts: Vec<PackedCiphertext>,
}

fn packing(params: &InstantParams) -> Packing {
    Packing {
        n: params.ring.n(),
        together: params.spec().bodies,
        mask_bits: INSTANT_MASK_BITS,
        body_bits: INSTANT_BODY_BITS,
    }
}

impl InstantDigest {
    /// Returns the length in bytes of the file's body.
    fn body_bytes(plan: &InstantPlan, params: &InstantParams) -> u64 {
        let packing = packing(params);
        let bytes = |parts: Range<usize>| -> u64 {
            parts
                .map(|part| packing.part_bytes(plan.part_len(part)))
                .sum()
        };
        // Full groups have equal lengths; a hostile header may announce millions.
        let (full, each) = (plan.groups() - 1, plan.parts_of_group());
        let before = match full {
            0 => 0,
            _ => bytes(0..each) * full as u64,
        };
        let groups = before + bytes(full * each..plan.parts());
        FIXED_BYTES as u64 + packing.mask_bytes(plan.parts()) + groups
    }

    /// Returns the length in bytes of the whole file of a digest of this shape.
    pub fn file_bytes(plan: &InstantPlan, params: &InstantParams) -> u64 {
        let header = frame::FrameHeader::new(Kind::Digest, params.name(), [0; 16]);
        header.file_len(Self::body_bytes(plan, params))
    }

    /// Returns the file.
    pub fn to_bytes(&self, params: &InstantParams) -> Result<Vec<u8>, DigestError> {
        let request = self.header.plan.request();
        let scheme = self.header.plan.scheme();
        let fingerprints = self.header.plan.has_fingerprints();
        let mut body = self.header.encode(scheme, fingerprints, request);
        packing(params).write(&self.ciphertexts, &mut body);
        let header = self.header.frame(params.name());
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads a digest's file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `UnknownScheme`, `Scheme`,
    /// `IndexPayload`, `Sealing`, `Plan`, `Length`.
    pub fn from_bytes(params: &InstantParams, bytes: &[u8]) -> Result<Self, DigestError> {
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::Digest, 1 << 33)?;
        file.expect_params(params.name())?;
        Self::from_body(params, file.key_id, &body)
    }

    pub(crate) fn from_body(
        params: &InstantParams,
        key_id: [u8; 16],
        body: &[u8],
    ) -> Result<Self, DigestError> {
        let (scheme, clues, header) = DigestHeader::decode(key_id, body)?;
        scheme.expect_instantomr()?;
        let plan = InstantPlan::new(params, header.plan.clone())?.for_clues(clues);
        let (expected, found) = (Self::body_bytes(&plan, params), body.len() as u64);
        if expected != found {
            return Err(DigestError::Length(Mismatch::new(expected, found)));
        }
        let lengths = (0..plan.parts()).map(|part| plan.part_len(part));
        let ciphertexts = packing(params).read(lengths, &body[FIXED_BYTES..])?;
        Ok(Self {
            header: header.with_plan(plan),
            ciphertexts,
        })
    }
}
