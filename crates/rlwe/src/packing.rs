use omr_ring::{Basis, Eval, Poly, Ring};
use std::io::{self, Read, Write};

/// What can be wrong with key material that is read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A residue is not below its prime.
    #[error("expected residues below {modulus}, found {found}")]
    Residue {
        /// The prime.
        modulus: u64,
        /// The residue.
        found: u64,
    },
    /// The source failed or ended early.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Bytes of one polynomial: each row packed at its prime's exact width, rounded up to a byte.
pub fn key_bytes(ring: &Ring, basis: &Basis) -> u64 {
    basis.ids().iter().map(|&id| row_bytes(ring, id) as u64).sum()
}

fn row_bytes(ring: &Ring, id: usize) -> usize {
    (ring.n() * ring.modulus(id).bits() as usize).div_ceil(8)
}

/// Writes the rows in the order of the basis, little-endian bit order.
pub fn write_body(ring: &Ring, poly: &Poly<Eval>, out: &mut impl Write) -> io::Result<()> {
    for (i, &id) in poly.basis().ids().iter().enumerate() {
        let bits = ring.modulus(id).bits();
        let mut bytes = Vec::with_capacity(row_bytes(ring, id));
        let (mut acc, mut held) = (0u128, 0);
        for &x in poly.row(i) {
            acc |= u128::from(x) << held;
            held += bits;
            while held >= 8 {
                bytes.push(acc as u8);
                acc >>= 8;
                held -= 8;
            }
        }
        if held > 0 {
            bytes.push(acc as u8);
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Reads what [`write_body`] wrote.
///
/// Errors: a residue that is too large, or the source's own.
pub fn read_body(ring: &Ring, basis: &Basis, from: &mut impl Read) -> Result<Poly<Eval>, KeyError> {
    let mut poly = Poly::zero(ring, basis);
    for (i, &id) in basis.ids().iter().enumerate() {
        let (modulus, bits) = (ring.modulus(id).value(), ring.modulus(id).bits());
        let mut bytes = vec![0; row_bytes(ring, id)];
        from.read_exact(&mut bytes)?;
        let mut source = bytes.iter();
        let (mut acc, mut held) = (0u128, 0);
        for x in poly.row_mut(i) {
            while held < bits {
                acc |= u128::from(*source.next().expect("row_bytes suffice")) << held;
                held += 8;
            }
            *x = (acc & ((1 << bits) - 1)) as u64;
            acc >>= bits;
            held -= bits;
            if *x >= modulus {
                return Err(KeyError::Residue { modulus, found: *x });
            }
        }
    }
    Ok(poly)
}
