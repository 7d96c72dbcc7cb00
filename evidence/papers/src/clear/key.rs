//! Clue keys of LWE clues.

use super::LweParams;
use omr_protocol::ClueError;
use omr_protocol::Mismatch;
use omr_protocol::clue::{PLAIN, SEAL_PUBLIC_BYTES, read_residues, residue_bits, write_residues};
use omr_protocol::frame::{self, FrameHeader, Kind, packed_len};
use omr_ring::Xof;

/// A recipient's public address for LWE clues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LweClueKey {
    /// The name of the address, unrelated to the name of the detection key.
    pub id: [u8; 16],
    /// The seed of the public rows.
    pub seed: [u8; 32],
    /// For every row and then every coordinate, `<row, secret> + error`; for integers, the `n` coefficients of
    /// `alpha s + e`. Residues modulo q.
    pub products: Vec<u32>,
    /// The public sealing keys.
    pub seal: [u8; SEAL_PUBLIC_BYTES],
}

impl LweClueKey {
    /// Writes public row `row`, which has `n` uniform residues; for integers, row 0 is alpha.
    ///
    /// Panics: if `out` does not have `n` entries, or if there is no such row.
    pub fn row_into(&self, params: &LweParams, row: usize, out: &mut [u32]) {
        assert_eq!(out.len(), params.spec().n, "a row");
        assert!(row < params.rows(), "row {row}");
        let mut stream = Xof::stream("omr lwe clue key row v1", &self.seed, &[row as u64]);
        params.residues().fill(&mut stream, out);
    }

    /// Returns the number of residues that a key with these parameters publishes.
    pub fn product_count(params: &LweParams) -> usize {
        match params.spec().kind {
            super::LweKind::Integers { .. } => params.spec().n,
            _ => params.rows() * params.spec().coordinates,
        }
    }

    /// Returns the length in bytes of a key in its file, without the frame.
    pub fn body_bytes(params: &LweParams) -> usize {
        let bits = residue_bits(params.spec().q.into());
        let products = packed_len(Self::product_count(params), bits).expect("keys are small");
        1 + 32 + products + SEAL_PUBLIC_BYTES
    }

    /// Returns the framed file: kind of clue, seed, products, sealing keys.
    ///
    /// Errors: `Frame`.   Panics: if the products do not have the shape of the parameters.
    pub fn to_bytes(&self, params: &LweParams) -> Result<Vec<u8>, ClueError> {
        assert_eq!(self.products.len(), Self::product_count(params), "products");
        let mut body = vec![PLAIN];
        body.extend(self.seed);
        write_residues(params.spec().q.into(), self.products.iter(), &mut body);
        body.extend(self.seal);
        let header = FrameHeader::new(Kind::ClueKey, params.name(), self.id);
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads a file that [`LweClueKey::to_bytes`] made.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Kind`, `Coordinate`.
    pub fn from_bytes(params: &LweParams, bytes: &[u8]) -> Result<Self, ClueError> {
        let expected = Self::body_bytes(params);
        let limit = expected as u64;
        let (header, body) = frame::read_frame(&mut &bytes[..], Kind::ClueKey, limit)?;
        header.expect_params(params.name())?;
        let found = body.len();
        if expected != found {
            return Err(ClueError::Length(Mismatch::new(expected, found)));
        }
        if body[0] != PLAIN {
            return Err(ClueError::Kind(Mismatch::new(PLAIN, body[0])));
        }
        let end = expected - SEAL_PUBLIC_BYTES;
        let mut products = vec![0; Self::product_count(params)];
        read_residues(params.spec().q.into(), &body[33..end], &mut products)?;
        Ok(Self {
            id: header.key_id,
            seed: body[1..33].try_into().expect("32 bytes"),
            products,
            seal: body[end..].try_into().expect("checked length"),
        })
    }
}
