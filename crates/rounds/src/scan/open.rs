//! The recipient's part of the first round.

use crate::RoundsError;
use crate::scan::{COORDINATES, Scan, ScanPart};
use omr_ring::{Coeff, Poly};
use omr_rlwe::SecretPoly;
use zeroize::Zeroize;

/// The secrets of responses, one for each group of a section. They are wiped when dropped.
pub struct ScanSecret(Vec<SecretPoly>);

impl ScanSecret {
    /// Prepares secrets of the ring of responses.
    ///
    /// Panics: unless there is one for each group of a section.
    pub fn new(scan: &Scan, secrets: Vec<SecretPoly>) -> Self {
        assert_eq!(
            secrets.len(),
            scan.spec().parts,
            "one secret for each group"
        );
        Self(secrets)
    }

    /// Returns, for each message of some groups of a section, whether its distance lies within the limits of both
    /// coordinates.
    ///
    /// Shape: `groups` are the numbers of the groups that have a body, in order; out one row of a group's messages for
    /// each, in the order of the board.
    /// Time: that of the shape.
    /// Errors: `Length` if the parts have another shape.
    pub fn inside(
        &self,
        scan: &Scan,
        groups: &[usize],
        parts: &[ScanPart],
    ) -> Result<Vec<Vec<bool>>, RoundsError> {
        RoundsError::length("coordinates", COORDINATES, parts.len())?;
        let mut all = vec![vec![true; scan.spec().n]; groups.len()];
        for (coordinate, part) in parts.iter().enumerate() {
            let limit = scan.limit(coordinate);
            let mut distances = self.distances(scan, groups, coordinate, part)?;
            for (row, own) in all.iter_mut().zip(&distances) {
                for (inside, &x) in row.iter_mut().zip(own) {
                    *inside &= (x <= limit) & (x >= -limit);
                }
            }
            distances.iter_mut().for_each(Zeroize::zeroize);
        }
        Ok(all)
    }

    /// Returns the distances of the messages of some groups in one coordinate, in units of `2^-mask_bits`.
    ///
    /// Shape, time and errors: those of [`ScanSecret::inside`].
    pub fn distances(
        &self,
        scan: &Scan,
        groups: &[usize],
        coordinate: usize,
        part: &ScanPart,
    ) -> Result<Vec<Vec<i64>>, RoundsError> {
        let ring = scan.ring();
        RoundsError::length("mask coefficients", ring.n(), part.mask.len())?;
        RoundsError::length("bodies", groups.len(), part.bodies.len())?;
        let (m, spec) = (ring.modulus(0), scan.spec());
        let mask_bits = spec.mask_bits[coordinate];
        let shift = mask_bits - spec.body_bits[coordinate];
        let coefficients =
            Poly::<Coeff>::from_rows(ring.n(), &ring.everything(), part.mask.clone());
        let mask = ring.forward(coefficients);
        let step = scan.step();
        let mut out = Vec::with_capacity(groups.len());
        for (&group, body) in groups.iter().zip(&part.bodies) {
            RoundsError::length("body coefficients", ring.n(), body.len())?;
            let mut product = mask.clone();
            ring.mul_assign(&mut product, &self.0[group]);
            let mut phases = ring.inverse(product);
            // |mask secret| < n 2^mask_bits: exact modulo the prime, then modulo 2^mask_bits.
            let distance = |at: usize| {
                let exact = m.to_centered(phases.row(0)[at]);
                let phase = exact.wrapping_add((body[at] as i64) << shift);
                // The low bits, read as a signed number.
                (phase << (64 - mask_bits)) >> (64 - mask_bits)
            };
            // Block by block, as messages lie on the board.
            let places = (0..step).flat_map(|i| (0..scan.block()).map(move |y| step * y + i));
            out.push(places.map(distance).collect());
            phases.zeroize();
        }
        Ok(out)
    }
}
