//! What key files of every scheme share: polynomials at the exact width of their residues.

use crate::frame::{FrameError, Opened, pack_bits, packed_len, unpack_bits};
use crate::{EngineKind, ParamSet, ParamsError};
use omr_errors::Mismatch;
use omr_ring::{Basis, Eval, Poly, Ring};
use std::io::{Chain, Cursor, Read, Write};

/// A detection key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectionKeyError {
    /// A residue is not below its prime.
    #[error("expected key residues below {}, found {}", .0.expected, .0.found)]
    Residue(Mismatch<u64>),
    /// The file's length does not fit the parameter set.
    #[error("expected a detection key of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<u64>),
    /// The file around it.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The set lacks the key's engine.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The engine could not take the key.
    #[error("{0}")]
    Engine(String),
}

impl From<std::io::Error> for DetectionKeyError {
    fn from(error: std::io::Error) -> Self {
        Self::Frame(error.into())
    }
}

impl DetectionKeyError {
    /// Whether the file could not be read, which may pass, rather than held no such key.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        matches!(self, Self::Frame(FrameError::Io(_)))
    }
}

/// The file of a detection key whose header was read.
pub struct KeyFile<R> {
    /// The engine that the key is for.
    pub kind: EngineKind,
    /// The key's id, which stands in the digests that are made with it.
    pub key_id: [u8; 16],
    /// The whole file, its header again.
    pub reader: Chain<Cursor<Vec<u8>>, R>,
}

impl<R: Read> KeyFile<R> {
    /// Reads the header of the file of a key of a set.
    ///
    /// Errors: `Frame` for a file that cannot be read, is no detection key, or is one of another set.
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

/// Writes a body of a key's part.
pub type WriteBody<'a> = dyn FnMut(&Poly<Eval>) -> Result<(), DetectionKeyError> + 'a;

/// Bytes of a row modulo one of the ring's primes.
pub fn row_bytes(ring: &Ring, id: usize) -> usize {
    packed_len(ring.n(), ring.modulus(id).bits()).expect("rows fit memory")
}

/// Writes a polynomial's rows at their exact width. Errors: those of the writer.
pub fn write_poly(ring: &Ring, poly: &Poly<Eval>, out: &mut impl Write) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    for (i, &id) in poly.basis().ids().iter().enumerate() {
        bytes.clear();
        pack_bits(poly.row(i), ring.modulus(id).bits(), &mut bytes);
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Residues that are read, unpacked and checked together, in cache: whole bytes whatever their width.
const PIECE: usize = 1 << 13;

/// Reads what [`write_poly`] wrote. Errors: `Residue`, those of the reader.
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
/// Errors: `Residue`, of the first that is not.
fn check_residues(residues: &[u64], modulus: u64) -> Result<(), DetectionKeyError> {
    // The top bit of a difference says which is larger: no branch a residue.
    let over = |over, &x: &u64| over | (modulus - 1).wrapping_sub(x);
    if residues.iter().fold(0, over) >> 63 == 0 {
        return Ok(());
    }
    let found = residues.iter().find(|&&x| x >= modulus);
    let found = *found.expect("one of them is over");
    Err(DetectionKeyError::Residue(Mismatch::new(modulus, found)))
}
