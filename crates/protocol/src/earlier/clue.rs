//! LWE clues as bytes, and those that reach everybody.

use super::{LweKind, LweParams};
use crate::clue::{PLAIN, check_head, check_norm, read_residues, residue_bits, write_residues};
use crate::frame::packed_len;
use crate::{Clue, ClueError};

impl LweParams {
    /// Bytes of a clue: kind, tag, packed residues of a, then b.
    pub fn clue_bytes(&self) -> usize {
        let residues = self.spec().n + self.spec().coordinates;
        5 + packed_len(residues, residue_bits(self.spec().q.into())).expect("clues are small")
    }

    /// Writes a clue.
    ///
    /// Panics: unless it has the set's shape.
    pub fn clue_to_bytes(&self, clue: &Clue) -> Vec<u8> {
        let shape = (clue.a.len(), clue.b.len());
        assert_eq!(shape, (self.spec().n, self.spec().coordinates), "shape");
        let mut out = vec![PLAIN];
        out.extend(self.tag());
        let residues = clue.a.iter().chain(&clue.b);
        write_residues(self.spec().q.into(), residues, &mut out);
        out
    }

    /// Reads a clue. It may still reach everybody: [`LweParams::check_clue`].
    ///
    /// Errors: `Length`, `Kind`, `Params`, `Coordinate`, `Frame` (padding).
    pub fn clue_from_bytes(&self, bytes: &[u8]) -> Result<Clue, ClueError> {
        let set = (self.name(), self.tag());
        check_head(bytes, PLAIN, set, self.clue_bytes())?;
        let spec = self.spec();
        let mut a = vec![0; spec.n + spec.coordinates];
        read_residues(spec.q.into(), &bytes[5..], &mut a)?;
        let b = a.split_off(spec.n);
        Ok(Clue { a, b })
    }

    /// Refuses clues that would reach everybody, which boards and detectors must not take: a vector a of
    /// zeros; for LWEmongrass zeros in all coordinates with a uniform secret (honest senders draw again);
    /// for integers a short one, as [`Clue::check_norm`] does.
    ///
    /// Whoever knows one recipient's noise can still make a clue for her: no more than any sender can.
    /// Errors: `Universal`, `Short`.
    pub fn check_clue(&self, clue: &Clue) -> Result<(), ClueError> {
        let (free, expected) = match self.spec().kind {
            LweKind::Subset { .. } => (0, "a vector other than 0"),
            LweKind::Lwemongrass { large, .. } => (
                clue.a.len().saturating_sub(large),
                "last coordinates other than 0",
            ),
            LweKind::Integers { .. } => return check_norm(&clue.a, self.spec().q.into()),
        };
        match clue.a[free..].iter().any(|&x| x != 0) {
            true => Ok(()),
            false => Err(ClueError::Universal { expected }),
        }
    }
}
