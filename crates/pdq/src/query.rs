//! A query as it goes to the server.

use crate::noise::EXPANSION_LEVELS;
use crate::{Params, Plan, QueryFileError};
use omr_protocol::Mismatch;
use omr_protocol::frame::{self, FrameHeader, Kind};
use omr_protocol::key_file::{read_poly, row_bytes, write_poly};
use omr_ring::{Eval, Poly};
use omr_rlwe::{Rlwe, mask};
use omr_table::{Schema, Shape};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::ops::Range;

/// Longest public part of a query, in bytes.
const MAX_HEAD_BYTES: usize = 1 << 18;

/// The public part of a query, which the server reads in the clear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryHead {
    /// The fingerprint of the schema that the client planned with.
    pub schema: [u8; 32],
    /// The filter without constants, and the columns asked for.
    pub shape: Shape,
    /// Most rows that the answer is to hold.
    pub bound: usize,
}

impl QueryHead {
    /// Errors: unless the query was made for this schema.
    pub fn expect_schema(&self, schema: &Schema) -> Result<(), QueryFileError> {
        let expected = schema.fingerprint();
        if self.schema == expected {
            Ok(())
        } else {
            Err(QueryFileError::Schema(Mismatch::new(
                omr_protocol::hex(&expected[..8]),
                omr_protocol::hex(&self.schema[..8]),
            )))
        }
    }
}

/// A query: its public part, and encrypted truth tables.
pub struct EncryptedQuery {
    /// Names the client's keys.
    pub key_id: [u8; 16],
    /// The public part.
    pub head: QueryHead,
    /// The seed of all masks.
    pub seed: [u8; 32],
    /// Bodies of the constants, 128 constants in each, the rest in the last.
    pub bodies: Vec<Poly<Eval>>,
}

/// How many ciphertexts hold a plan's constants.
pub(crate) fn ciphertexts(plan: &Plan) -> usize {
    plan.circuit.constants().div_ceil(1 << EXPANSION_LEVELS)
}

/// The constants of ciphertext `i` of a plan, in its first coefficients.
pub(crate) fn constants_of(plan: &Plan, i: usize) -> Range<usize> {
    let (start, all) = (i << EXPANSION_LEVELS, plan.circuit.constants());
    start..(start + (1 << EXPANSION_LEVELS)).min(all)
}

impl EncryptedQuery {
    /// Ciphertext `i` of a plan.
    pub(crate) fn ciphertext(&self, params: &Params, plan: &Plan, i: usize) -> Rlwe {
        let basis = params.chain.basis(plan.start);
        Rlwe::new(
            self.bodies[i].clone(),
            mask(&params.ring, basis, &self.seed, &[i as u64]),
        )
    }

    /// The file: length of the public part, the public part as JSON, the seed, the bodies.
    pub fn to_bytes(&self, params: &Params) -> Result<Vec<u8>, QueryFileError> {
        let head = serde_json::to_vec(&self.head).map_err(QueryFileError::Head)?;
        let mut body = (head.len() as u32).to_le_bytes().to_vec();
        body.extend(head);
        body.extend(self.seed);
        for poly in &self.bodies {
            write_poly(&params.ring, poly, &mut body)?;
        }
        let header = FrameHeader::new(Kind::PdqQuery, params.name(), self.key_id);
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads a file whose plan `plan` makes from the public part.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Head`, `Plan`, `Part`.
    pub fn from_bytes(
        params: &Params,
        bytes: &[u8],
        plan: impl FnOnce(&QueryHead) -> Result<Plan, QueryFileError>,
    ) -> Result<(Self, Plan), QueryFileError> {
        let (header, body) = frame::read_frame(&mut &bytes[..], Kind::PdqQuery, 1 << 30)?;
        header.expect_params(params.name())?;
        let mut from = &body[..];
        let mut take = |expected: usize| -> Result<Vec<u8>, QueryFileError> {
            let found = from.len();
            let mut bytes = vec![0; expected.min(found)];
            from.read_exact(&mut bytes)?;
            if found >= expected {
                Ok(bytes)
            } else {
                Err(QueryFileError::Length(Mismatch::new(expected, found)))
            }
        };
        let length = take(4)?;
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        if length > MAX_HEAD_BYTES {
            return Err(QueryFileError::LongHead(Mismatch::new(
                MAX_HEAD_BYTES,
                length,
            )));
        }
        let head: QueryHead =
            serde_json::from_slice(&take(length)?).map_err(QueryFileError::Head)?;
        let seed = take(32)?.try_into().expect("32 bytes");
        let plan = plan(&head)?;
        let basis = params.chain.basis(plan.start);
        let row = |&id: &usize| row_bytes(&params.ring, id);
        let expected = ciphertexts(&plan) * basis.ids().iter().map(row).sum::<usize>();
        if from.len() != expected {
            return Err(QueryFileError::Length(Mismatch::new(expected, from.len())));
        }
        let bodies = (0..ciphertexts(&plan))
            .map(|_| Ok(read_poly(&params.ring, basis, &mut from)?))
            .collect::<Result<_, QueryFileError>>()?;
        let query = Self {
            key_id: header.key_id,
            head,
            seed,
            bodies,
        };
        Ok((query, plan))
    }
}
