//! An answer as it goes to the client.

use crate::{AnswerError, BODY_BITS, MASK_BITS, Params, Plan};
use omr_compress::{PackedCiphertext, SumsShape};
use omr_protocol::Mismatch;
use omr_protocol::frame::{self, BitReader, BitWriter, FrameHeader, Kind};

/// Bytes of a placement's seed.
const SEED_BYTES: usize = 32;

/// The sums of the rows that match, packed and encrypted.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Names the client's keys.
    pub key_id: [u8; 16],
    /// The seed of where rows lie in their blocks; none where the server keeps that to itself.
    pub placement: Option<[u8; 32]>,
    /// Ciphertexts of each group.
    pub groups: Vec<Vec<PackedCiphertext>>,
}

impl Answer {
    /// The file: the seed (in sets without two-sided privacy), then masks and bodies in their bits.
    pub fn to_bytes(&self, params: &Params) -> Result<Vec<u8>, AnswerError> {
        let mut body = self.placement.map_or_else(Vec::new, |seed| seed.to_vec());
        let mut bits = BitWriter::new(&mut body);
        for ct in self.groups.iter().flatten() {
            ct.mask.iter().for_each(|&x| bits.push(x, MASK_BITS));
            ct.parts
                .iter()
                .flatten()
                .for_each(|&x| bits.push(x, BODY_BITS));
        }
        bits.finish();
        let header = FrameHeader::new(Kind::PdqAnswer, params.name(), self.key_id);
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads the answer to a planned query.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`.
    pub fn from_bytes(params: &Params, plan: &Plan, bytes: &[u8]) -> Result<Self, AnswerError> {
        let (header, body) = frame::read_frame(&mut &bytes[..], Kind::PdqAnswer, 1 << 30)?;
        header.expect_params(params.name())?;
        let (shape, groups) = (plan.sums(params), plan.groups(params));
        let seed = SEED_BYTES * usize::from(!params.two_sided());
        let expected = seed + (groups * bits_of_group(params, shape)).div_ceil(8);
        if body.len() != expected {
            return Err(AnswerError::Length(Mismatch::new(expected, body.len())));
        }
        let (placement, packed) = body.split_at(seed);
        let mut bits = BitReader::new(packed);
        let groups = (0..groups)
            .map(|_| group(params, shape, &mut bits))
            .collect::<Result<_, _>>()?;
        bits.finish()?;
        Ok(Self {
            key_id: header.key_id,
            placement: placement.try_into().ok(),
            groups,
        })
    }
}

fn bits_of_group(params: &Params, shape: SumsShape) -> usize {
    let mask = params.spec().final_n * MASK_BITS as usize;
    let part = |(round, ct)| mask + shape.kept_len(round, ct) * BODY_BITS as usize;
    shape.positions().map(part).sum()
}

fn group(
    params: &Params,
    shape: SumsShape,
    bits: &mut BitReader,
) -> Result<Vec<PackedCiphertext>, AnswerError> {
    let mut take = |count: usize, width: u32| -> Result<Vec<u64>, AnswerError> {
        (0..count).map(|_| Ok(bits.take(width)?)).collect()
    };
    let ciphertext = |(round, ct)| {
        Ok(PackedCiphertext {
            mask: take(params.spec().final_n, MASK_BITS)?,
            parts: vec![take(shape.kept_len(round, ct), BODY_BITS)?],
        })
    };
    shape.positions().map(ciphertext).collect()
}
