//! The digest and its file.

use crate::frame::{self, FrameError, FrameHeader, Kind, pack_bits, packed_len, unpack_bits};
use crate::{DigestPlan, Params, Placement, PlanError, SEED_BYTES, Sealing};

/// Bits of a mask coefficient: in the dimension 2,048 rounding it adds 0.016 of a symbol's step to
/// the noise.
pub const MASK_BITS: u32 = 29;

/// Bits of a body coefficient: rounding it moves a sum by at most 0.19 of a symbol's step.
pub const BODY_BITS: u32 = 21;

/// A digest that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The header asks for a shape that does not exist.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A sealing that does not exist.
    #[error(transparent)]
    Sealing(#[from] crate::sealing::SealingError),
    /// A scheme that this version does not know.
    #[error("expected scheme 1 (sophomr) or 2 (sophomd), found {found}")]
    Scheme {
        /// The number.
        found: u8,
    },
    /// A digest of indices that announces payloads.
    #[error("expected payloads of 0 bytes in a digest of indices, found {found}")]
    IndexPayload {
        /// Bytes of a payload.
        found: u32,
    },
    /// The file's length does not fit what its header announces.
    #[error("expected a digest of {expected} bytes, found {found}")]
    Length {
        /// Bytes of the body.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The file around it.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// What a digest says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestHeader {
    /// The detection key it was made with.
    pub key_id: [u8; 16],
    /// The board it was made of.
    pub board_id: [u8; 16],
    /// How the board's payloads are sealed.
    pub sealing: Sealing,
    /// Range, bound, payload size.
    pub plan: DigestPlan,
    /// Where messages lie ([`crate::Placement`]). Random, drawn after the messages were posted.
    pub seed: [u8; SEED_BYTES],
}

/// A ciphertext of the final ring rounded to few bits: mask modulo 2^29, bodies modulo 2^21.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedCiphertext {
    /// As many coefficients as the final ring's dimension.
    pub mask: Vec<u64>,
    /// For each part the coefficients that hold sums, in the order of [`DigestPlan::kept`].
    /// Coefficient i of a part of r components is coefficient `i / r` under secret `i % r` of it.
    pub parts: Vec<Vec<u64>>,
}

/// The detector's answer. For each group, round and set of symbols there is one *part*; as many
/// parts as the final ring has room for share a ciphertext.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// What it covers.
    pub header: DigestHeader,
    /// The ciphertexts, their parts group by group, round by round.
    pub ciphertexts: Vec<PackedCiphertext>,
}

const FIXED_BYTES: usize = 1 + 16 + 8 + 8 + 4 + 4 + 1 + SEED_BYTES;
const SOPHOMR: u8 = 1;
const SOPHOMD: u8 = 2;

impl DigestHeader {
    /// The bytes in front of the ciphertexts.
    fn encode(&self) -> Vec<u8> {
        let payload = self.plan.payload_bytes();
        let mut out = vec![if payload.is_some() { SOPHOMR } else { SOPHOMD }];
        out.extend(self.board_id);
        out.extend(self.plan.range().start.to_le_bytes());
        out.extend(self.plan.range().end.to_le_bytes());
        out.extend((self.plan.bound() as u32).to_le_bytes());
        out.extend((payload.unwrap_or(0) as u32).to_le_bytes());
        out.push(self.sealing.tag());
        out.extend(self.seed);
        out
    }

    fn decode(params: &Params, key_id: [u8; 16], body: &[u8]) -> Result<Self, DigestError> {
        let word = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().expect("in range"));
        let half = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().expect("in range"));
        let payload = match (body[0], half(37)) {
            (SOPHOMR, bytes) => Some(bytes as usize),
            (SOPHOMD, 0) => None,
            (SOPHOMD, found) => return Err(DigestError::IndexPayload { found }),
            (found, _) => return Err(DigestError::Scheme { found }),
        };
        Ok(Self {
            key_id,
            board_id: body[1..17].try_into().expect("in range"),
            sealing: Sealing::try_from(body[41])?,
            plan: DigestPlan::new(params, word(17)..word(25), half(33) as usize, payload)?,
            seed: body[42..FIXED_BYTES].try_into().expect("in range"),
        })
    }

    /// Where the messages of a batch lie.
    pub fn placement(&self, params: &Params, batch: usize) -> Placement {
        Placement::new(&self.seed, batch, params.slots())
    }
}

impl Digest {
    /// Bytes of the file's body.
    fn body_bytes(plan: &DigestPlan, params: &Params) -> u64 {
        let packed = |count, bits| packed_len(count, bits).expect("rows fit memory") as u64;
        let mask = packed(params.final_ring.n(), MASK_BITS);
        let of_round = |round| {
            (0..plan.ciphertexts())
                .map(|ct| packed(plan.kept_len(round, ct), BODY_BITS))
                .sum::<u64>()
        };
        // Rounds but the last are alike, groups too: no long loop on the word of a header.
        let last = plan.rounds() - 1;
        let group = last as u64 * of_round(0) + of_round(last);
        let masks = mask * plan.parts().div_ceil(params.final_shape.parts) as u64;
        FIXED_BYTES as u64 + masks + group * plan.groups() as u64
    }

    /// Bytes of the whole file of a digest of this shape.
    pub fn file_bytes(plan: &DigestPlan, params: &Params) -> u64 {
        let header = FrameHeader {
            kind: Kind::Digest,
            params_id: params.name().to_owned(),
            key_id: [0; 16],
        };
        header.file_len(Self::body_bytes(plan, params))
    }

    /// The file.
    pub fn to_bytes(&self, params: &Params) -> Result<Vec<u8>, DigestError> {
        let mut body = self.header.encode();
        for ct in &self.ciphertexts {
            pack_bits(&ct.mask, MASK_BITS, &mut body);
            for part in &ct.parts {
                pack_bits(part, BODY_BITS, &mut body);
            }
        }
        let header = FrameHeader {
            kind: Kind::Digest,
            params_id: params.name().to_owned(),
            key_id: self.header.key_id,
        };
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads the file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Scheme`, `IndexPayload`,
    /// `Sealing`, `Plan`, `Length`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, DigestError> {
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::Digest, 1 << 33)?;
        file.expect_params(params.name())?;
        let found = body.len() as u64;
        if body.len() < FIXED_BYTES {
            return Err(DigestError::Length {
                expected: FIXED_BYTES as u64,
                found,
            });
        }
        let header = DigestHeader::decode(params, file.key_id, &body)?;
        let expected = Self::body_bytes(&header.plan, params);
        if expected != found {
            return Err(DigestError::Length { expected, found });
        }
        let mut rest = &body[FIXED_BYTES..];
        let mut take = |count: usize, bits: u32| -> Result<Vec<u64>, DigestError> {
            let (bytes, after) = rest.split_at(packed_len(count, bits).expect("checked"));
            rest = after;
            let mut out = vec![0; count];
            unpack_bits(bytes, bits, &mut out)?;
            Ok(out)
        };
        let mut ciphertexts: Vec<PackedCiphertext> = Vec::new();
        for part in 0..header.plan.parts() {
            if part % params.final_shape.parts == 0 {
                let mask = take(params.final_ring.n(), MASK_BITS)?;
                let parts = Vec::new();
                ciphertexts.push(PackedCiphertext { mask, parts });
            }
            let body = take(header.plan.part_len(part), BODY_BITS)?;
            let last = ciphertexts
                .last_mut()
                .expect("pushed before the first part");
            last.parts.push(body);
        }
        Ok(Self {
            header,
            ciphertexts,
        })
    }
}
