//! What key files of every scheme share: polynomials at the exact width of their residues.

use crate::ParamsError;
use crate::frame::{FrameError, pack_bits, packed_len, unpack_bits};
use omr_mismatch::Mismatch;
use omr_ring::{Basis, Eval, Poly, Ring};
use std::io::{Read, Write};

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
}

impl From<std::io::Error> for DetectionKeyError {
    fn from(error: std::io::Error) -> Self {
        Self::Frame(error.into())
    }
}

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

/// Reads what [`write_poly`] wrote. Errors: `Residue`, those of the reader.
pub fn read_poly(
    ring: &Ring,
    basis: &Basis,
    from: &mut impl Read,
) -> Result<Poly<Eval>, DetectionKeyError> {
    let mut poly = Poly::zero(ring, basis);
    for (i, &id) in basis.ids().iter().enumerate() {
        let mut bytes = vec![0; row_bytes(ring, id)];
        from.read_exact(&mut bytes)?;
        let row = poly.row_mut(i);
        unpack_bits(&bytes, ring.modulus(id).bits(), row)?;
        let modulus = ring.modulus(id).value();
        if let Some(&found) = row.iter().find(|&&x| x >= modulus) {
            return Err(DetectionKeyError::Residue(Mismatch::new(modulus, found)));
        }
    }
    Ok(poly)
}
