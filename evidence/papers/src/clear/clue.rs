//! The encoding of LWE clues as bytes, and the check for clues that are pertinent to every recipient.

use super::{LweKind, LweParams};
use omr_protocol::clue::{
    PLAIN, check_head, check_norm, read_residues, residue_bits, write_residues,
};
use omr_protocol::frame::packed_len;
use omr_protocol::{Clue, ClueError};
use omr_ring::Modulus;

impl LweParams {
    /// Returns the length of a clue in bytes. A clue consists of its kind, a tag, and packed residues of a,
    /// then of b.
    pub fn clue_bytes(&self) -> usize {
        let residues = self.spec().n + self.spec().coordinates;
        5 + packed_len(residues, residue_bits(self.spec().q.into())).expect("clues are small")
    }

    /// Writes a clue.
    ///
    /// Panics: if the clue does not have the set's shape.
    pub fn clue_to_bytes(&self, clue: &Clue) -> Vec<u8> {
        let shape = (clue.a.len(), clue.b.len());
        assert_eq!(shape, (self.spec().n, self.spec().coordinates), "shape");
        let mut out = vec![PLAIN];
        out.extend(self.tag());
        let residues = clue.a.iter().chain(&clue.b);
        write_residues(self.spec().q.into(), residues, &mut out);
        out
    }

    /// Reads a clue. It may still be pertinent to every recipient; [`LweParams::check_clue`] checks that.
    ///
    /// Errors: `Length`, `Kind`, `Params`, `Coordinate`, `Frame` (non-zero padding).
    pub fn clue_from_bytes(&self, bytes: &[u8]) -> Result<Clue, ClueError> {
        check_head(bytes, PLAIN, self.name(), self.tag(), self.clue_bytes())?;
        let spec = self.spec();
        let mut a = vec![0; spec.n + spec.coordinates];
        read_residues(spec.q.into(), &bytes[5..], &mut a)?;
        let b = a.split_off(spec.n);
        Ok(Clue { a, b })
    }

    /// Returns the ring LWE clue modulo `p`, in dimension `n`, with the distances `b - a s` of this clue. For
    /// vectors, the first coefficient counts: a becomes `a_0, -a_(n-1), .., -a_1`, and each coordinate's secret
    /// `s_0, s_1, ..` is padded with zeros. For integers, all coefficients count.
    ///
    /// Panics: if the clue does not have the set's shape, or if `n` is below its dimension.
    pub fn in_ring(&self, p: &Modulus, n: usize, clue: &Clue) -> Clue {
        let residue = |x: i64| p.from_i64(x) as u32;
        let lifted = |x: &u32| residue(self.residues().centered(*x));
        if let LweKind::Integers { .. } = self.spec().kind {
            return Clue {
                a: clue.a.iter().map(lifted).collect(),
                b: clue.b.iter().map(lifted).collect(),
            };
        }
        let mut a = vec![0; n];
        a[0] = clue.a[0];
        for (k, &x) in clue.a.iter().enumerate().skip(1) {
            a[n - k] = residue(-i64::from(x));
        }
        let shift = i64::from(self.offset());
        let b = clue.b.iter().map(|&b| residue(i64::from(b) - shift));
        Clue { a, b: b.collect() }
    }

    /// Returns the residue b of a slot without a clue. With `a = 0` such a slot is impertinent. Range: out `[0,
    /// q)`.
    pub fn nobody(&self) -> u32 {
        self.spec().q / 2
    }

    /// Checks that a clue is not pertinent to every recipient; boards and detectors must refuse clues that are.
    /// Refused are a vector a of zeros; for LWEmongrass, zeros in all coordinates with a uniform secret (honest
    /// senders then sample another clue); for integers, a short a, as in [`Clue::check_norm`].
    ///
    /// A sender who knows one recipient's noise can still make a clue for that recipient alone, as every sender
    /// can.
    ///
    /// Errors: `Universal`, `Norm`.
    pub fn check_clue(&self, clue: &Clue) -> Result<(), ClueError> {
        let (free, expected) = match self.spec().kind {
            LweKind::Subset { .. } => (0, "a vector other than 0"),
            LweKind::Lwemongrass { large, .. } => (
                clue.a.len().saturating_sub(large),
                "last coordinates other than 0",
            ),
            LweKind::Integers { .. } => return check_norm(&clue.a, self.spec().q.into()),
        };
        if clue.a[free..].iter().any(|&x| x != 0) {
            Ok(())
        } else {
            Err(ClueError::Universal(expected))
        }
    }
}
