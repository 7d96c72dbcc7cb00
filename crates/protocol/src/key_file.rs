//! Parts that key files of every scheme have: polynomials whose residues are stored with their exact number of bits.

use crate::frame::{FrameError, Opened, pack_bits, packed_len, unpack_bits};
use crate::{EngineKind, ParamSet, ParamsError};
use omr_errors::Mismatch;
use omr_ring::{Basis, Eval, Poly, Ring};
use std::io::{Chain, Cursor, Read, Write};

/// A detection key that was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectionKeyError {
    /// A residue is not below its prime.
    #[error("expected key residues below {}, found {}", .0.expected, .0.found)]
    Residue(Mismatch<u64>),
    /// The length of the file does not fit the parameter set.
    #[error("expected a detection key of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<u64>),
    /// The frame of the file is wrong.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The set lacks the key's engine.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The engine could not load the key.
    #[error("{0}")]
    Engine(String),
}

impl From<std::io::Error> for DetectionKeyError {
    fn from(error: std::io::Error) -> Self {
        Self::Frame(error.into())
    }
}

impl DetectionKeyError {
    /// Returns whether the error is a failure to read the file, which may be temporary, rather than wrong content.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        matches!(self, Self::Frame(FrameError::Io(_)))
    }
}

/// The file of a detection key whose header has been read.
pub struct KeyFile<R> {
    /// The engine that the key is for.
    pub kind: EngineKind,
    /// The key's id, which digests made with the key contain.
    pub key_id: [u8; 16],
    /// A reader of the whole file, including the header.
    pub reader: Chain<Cursor<Vec<u8>>, R>,
}

impl<R: Read> KeyFile<R> {
    /// Reads the header of the file of a detection key.
    ///
    /// Errors: `Frame` if the file cannot be read, is no detection key, or belongs to another set.
    pub fn open(file: R, set: &ParamSet) -> Result<Self, DetectionKeyError> {
        let kinds = EngineKind::ALL.map(EngineKind::key_file);
        let Opened { header, reader, .. } = Opened::new::<DetectionKeyError>(file, &kinds)?;
        header.expect_params(set.name())?;
        let other = Mismatch::new(kinds[0], header.kind);
        Ok(Self {
            kind: EngineKind::of_key_file(header.kind).ok_or(FrameError::Kind(other))?,
            key_id: header.key_id,
            reader,
        })
    }
}

/// A function that writes one body of a part of a key.
pub type WriteBody<'a> = dyn FnMut(&Poly<Eval>) -> Result<(), DetectionKeyError> + 'a;

/// Returns the length in bytes of a row modulo one of the ring's primes.
pub fn row_bytes(ring: &Ring, id: usize) -> usize {
    packed_len(ring.n(), ring.modulus(id).bits()).expect("rows fit memory")
}

/// Writes a polynomial's rows, each residue with its exact number of bits.
///
/// Errors: those of the writer.
pub fn write_poly(ring: &Ring, poly: &Poly<Eval>, out: &mut impl Write) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    for (i, &id) in poly.basis().ids().iter().enumerate() {
        bytes.clear();
        pack_bits(poly.row(i), ring.modulus(id).bits(), &mut bytes);
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Number of residues that are read, unpacked and checked together, in cache. It is a multiple of eight, so that pieces
/// end at byte boundaries.
const PIECE: usize = 1 << 13;

/// Reads a polynomial that [`write_poly`] wrote.
///
/// Errors: `Residue`, those of the reader.
pub fn read_poly(
    ring: &Ring,
    basis: &Basis,
    from: &mut impl Read,
) -> Result<Poly<Eval>, DetectionKeyError> {
    let mut poly = Poly::lasting(ring, basis);
    let mut bytes = Vec::new();
    for (row, &id) in poly.rows_mut().zip(basis.ids()) {
        let modulus = ring.modulus(id);
        for piece in row.chunks_mut(PIECE) {
            let len = packed_len(piece.len(), modulus.bits()).expect("rows fit memory");
            bytes.resize(len, 0);
            from.read_exact(&mut bytes)?;
            unpack_bits(&bytes, modulus.bits(), piece)?;
            check_residues(piece, modulus.value())?;
        }
    }
    Ok(poly)
}

/// Checks that residues of at most 63 bits are below a modulus.
///
/// Errors: `Residue` with the first that is not.
fn check_residues(residues: &[u64], modulus: u64) -> Result<(), DetectionKeyError> {
    // The top bit of a difference shows which number is larger, without a branch for each residue.
    let over = |over, &x: &u64| over | (modulus - 1).wrapping_sub(x);
    if residues.iter().fold(0, over) >> 63 == 0 {
        return Ok(());
    }
    let found = residues.iter().find(|&&x| x >= modulus);
    Err(DetectionKeyError::Residue(Mismatch::new(
        modulus,
        *found.expect("one of them is over"),
    )))
}
