//! The files of the second round.

use super::header::header_bytes;
use crate::digest::Packing;
use crate::frame::{self, FrameHeader, Kind, pack_bits, unpack_bits};
use crate::key_file::row_bytes;
use crate::rounds::{RoundsError, RoundsHeader, RoundsParams, RoundsPlan};
use omr_compress::PackedCiphertext;
use omr_errors::Mismatch;
use omr_ring::{Eval, Poly};
use omr_rounds::fetch::Query;

const QUERY: &str = "a query";
const ANSWER: &str = "an answer";
/// The length in bytes of the seed of a query's masks.
const MASKS_BYTES: usize = 32;
/// The length in bytes of the hash of a query.
const HASH_BYTES: usize = 32;

/// A recipient's query for payloads of a range that was scanned.
#[derive(Clone, Debug)]
pub struct FetchQuery {
    /// The subject, which is that of the scan.
    pub header: RoundsHeader,
    /// The encrypted choices.
    pub query: Query,
}

impl FetchQuery {
    /// Returns the length in bytes of the file of a query.
    ///
    /// Errors: `Plan`; `Seeds`.
    pub fn file_bytes(params: &RoundsParams, header: &RoundsHeader) -> Result<u64, RoundsError> {
        let plan = header.plan(params)?;
        let frame = FrameHeader::new(Kind::FetchQuery, params.name(), header.key_id);
        Ok(frame.file_len(header_bytes(&plan) + query_bytes(params, &plan)))
    }

    /// Returns the file. A query must not be encrypted again to be sent again: its bytes are kept.
    ///
    /// Errors: `Frame`.
    pub fn to_bytes(&self, params: &RoundsParams) -> Result<Vec<u8>, RoundsError> {
        let ring = &params.fetch.ring;
        let mut body = self.header.encode();
        body.extend(self.query.seed);
        for poly in &self.query.bodies {
            for (i, &id) in poly.basis().ids().iter().enumerate() {
                pack_bits(poly.row(i), ring.modulus(id).bits(), &mut body);
            }
        }
        let frame = FrameHeader::new(Kind::FetchQuery, params.name(), self.header.key_id);
        Ok(frame::write_frame_vec(&frame, &body)?)
    }

    /// Reads a query's file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Sealing`, `Clues`, `Plan`,
    /// `Residue`.
    pub fn from_bytes(params: &RoundsParams, bytes: &[u8]) -> Result<Self, RoundsError> {
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::FetchQuery, 1 << 33)?;
        file.expect_params(params.name())?;
        let opened = RoundsHeader::decode(QUERY, params, file.key_id, &body)?;
        let plan = &opened.plan;
        opened.check_rest(QUERY, query_bytes(params, plan))?;
        let (seed, mut left) = opened.rest.split_at(MASKS_BYTES);
        let (ring, basis) = (&params.fetch.ring, params.fetch.chain.basis(0));
        let mut bodies = Vec::new();
        for _ in 0..params.fetch.query_ciphertexts(plan.rows()) {
            let mut poly = Poly::<Eval>::zero(ring, basis);
            for (row, &id) in poly.rows_mut().zip(basis.ids()) {
                let (packed, after) = left.split_at(row_bytes(ring, id));
                left = after;
                let modulus = ring.modulus(id);
                unpack_bits(packed, modulus.bits(), row)?;
                if let Some(&found) = row.iter().find(|&&x| x >= modulus.value()) {
                    return Err(RoundsError::Residue(Mismatch::new(modulus.value(), found)));
                }
            }
            bodies.push(poly);
        }
        let query = Query {
            rows: plan.rows(),
            seed: seed.try_into().expect("split so"),
            bodies,
        };
        Ok(Self {
            header: opened.header,
            query,
        })
    }

    /// Returns the hash of a query's file, which its answer names.
    pub fn hash(file: &[u8]) -> [u8; HASH_BYTES] {
        *blake3::hash(file).as_bytes()
    }
}

/// Returns the length in bytes of a query behind its header.
fn query_bytes(params: &RoundsParams, plan: &RoundsPlan) -> u64 {
    let (ring, basis) = (&params.fetch.ring, params.fetch.chain.basis(0));
    let body: usize = basis.ids().iter().map(|&id| row_bytes(ring, id)).sum();
    (MASKS_BYTES + params.fetch.query_ciphertexts(plan.rows()) * body) as u64
}

/// A detector's answer to a query: one payload from each bucket. Its subject is that of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchAnswer {
    /// The name of the detector's key.
    pub key_id: [u8; 16],
    /// The hash of the query's file.
    pub query: [u8; HASH_BYTES],
    /// The ciphertexts as they are sent.
    packed: Vec<u8>,
}

impl FetchAnswer {
    /// Makes the answer to a query about this subject, whose file has this hash.
    ///
    /// Errors: `Plan`; `Seeds`.
    pub fn new(
        params: &RoundsParams,
        header: &RoundsHeader,
        query: [u8; HASH_BYTES],
        ciphertexts: &[PackedCiphertext],
    ) -> Result<Self, RoundsError> {
        let plan = header.plan(params)?;
        let mut packed = Vec::new();
        packing(params, &plan).write(ciphertexts, &mut packed);
        Ok(Self {
            key_id: header.key_id,
            query,
            packed,
        })
    }

    /// Returns the length in bytes of the file of an answer to a query about this subject.
    ///
    /// Errors: `Plan`; `Seeds`.
    pub fn file_bytes(params: &RoundsParams, header: &RoundsHeader) -> Result<u64, RoundsError> {
        let plan = header.plan(params)?;
        let frame = FrameHeader::new(Kind::FetchAnswer, params.name(), header.key_id);
        Ok(frame.file_len(HASH_BYTES as u64 + packed_bytes(params, &plan)))
    }

    /// Returns the file.
    ///
    /// Errors: `Frame`.
    pub fn to_bytes(&self, params: &RoundsParams) -> Result<Vec<u8>, RoundsError> {
        let body = [&self.query[..], &self.packed].concat();
        let frame = FrameHeader::new(Kind::FetchAnswer, params.name(), self.key_id);
        Ok(frame::write_frame_vec(&frame, &body)?)
    }

    /// Reads an answer's file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`.
    pub fn from_bytes(params: &RoundsParams, bytes: &[u8]) -> Result<Self, RoundsError> {
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::FetchAnswer, 1 << 33)?;
        file.expect_params(params.name())?;
        let Some((query, packed)) = body.split_first_chunk() else {
            return Err(RoundsError::length(ANSWER, HASH_BYTES as u64, body.len()));
        };
        Ok(Self {
            key_id: file.key_id,
            query: *query,
            packed: packed.to_vec(),
        })
    }

    /// Returns the ciphertexts, if this answers the query in a file about this subject.
    ///
    /// Errors: `OtherQuery`; `Length`; `Plan`; `Seeds`.
    pub fn ciphertexts(
        &self,
        params: &RoundsParams,
        header: &RoundsHeader,
        query: &[u8],
    ) -> Result<Vec<PackedCiphertext>, RoundsError> {
        let plan = header.plan(params)?;
        let expected = FetchQuery::hash(query);
        if expected != self.query {
            let of = Mismatch::new(expected, self.query);
            return Err(RoundsError::OtherQuery(of));
        }
        let bytes = packed_bytes(params, &plan);
        if bytes != self.packed.len() as u64 {
            return Err(RoundsError::length(ANSWER, bytes, self.packed.len()));
        }
        let lengths = part_lengths(params, &plan).into_iter();
        Ok(packing(params, &plan).read(lengths, &self.packed)?)
    }
}

/// Returns the packing of an answer's ciphertexts.
fn packing(params: &RoundsParams, plan: &RoundsPlan) -> Packing {
    let spec = params.fetch.spec();
    Packing {
        n: spec.final_n,
        together: spec.parts,
        mask_bits: spec.mask_bits,
        body_bits: params.fetch.body_bits(plan.rows()),
    }
}

/// Returns the number of coefficients of each part of an answer.
fn part_lengths(params: &RoundsParams, plan: &RoundsPlan) -> Vec<usize> {
    let shape = params.fetch.answer_shape(plan.symbols());
    let sums = shape.expect("a payload has symbols");
    let positions = sums.positions();
    positions
        .map(|(round, ciphertext)| sums.kept_len(round, ciphertext))
        .collect()
}

/// Returns the length in bytes of an answer's ciphertexts.
fn packed_bytes(params: &RoundsParams, plan: &RoundsPlan) -> u64 {
    let (format, parts) = (packing(params, plan), part_lengths(params, plan));
    let bodies: u64 = parts.iter().map(|&len| format.part_bytes(len)).sum();
    format.mask_bytes(parts.len()) + bodies
}
