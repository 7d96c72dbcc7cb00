//! The numbers and rings of the first round.

use crate::RoundsError;
use omr_bgv::Plain;
use omr_opening::{ClueShape, Opening, OpeningSpec};
use omr_ring::{Kernels, NarrowGaussian, Ring, primes_below};
use omr_rlwe::{SharedShape, rounding_noise};

/// The number of coordinates of a clue that a scan opens.
pub const COORDINATES: usize = 2;

/// The numbers of the first round, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanSpec {
    /// The dimension of the ring of responses: a multiple of the dimension of packing.
    pub n: usize,
    /// The bits of the ring's one prime.
    pub modulus_bits: u32,
    /// The number of groups that share a mask.
    pub parts: usize,
    /// The number of digits of a mask coefficient that is switched.
    pub digits: usize,
    /// The bits of a digit.
    pub digit_bits: u32,
    /// The bits of a body coefficient in a response, by coordinate.
    pub body_bits: [u32; COORDINATES],
    /// The bits of a mask coefficient in a response, by coordinate.
    pub mask_bits: [u32; COORDINATES],
    /// The largest distance of a pertinent message, by coordinate, in steps of a rounded body.
    pub limits: [f64; COORDINATES],
}

/// The rings of the first round.
pub struct Scan {
    spec: ScanSpec,
    opening: Opening,
    ring: Ring,
}

impl Scan {
    /// Checks the numbers. `plain` belongs to the large ring of SophOMR's digests, which packing is specified for.
    ///
    /// Errors: `Dimension`; `Opening`; `Ring`.
    pub fn new(
        clue: ClueShape,
        packing: OpeningSpec,
        plain: &Plain,
        spec: ScanSpec,
        kernels: &'static Kernels,
    ) -> Result<Self, RoundsError> {
        let check = RoundsError::dimension;
        check(
            spec.n.is_power_of_two() && spec.n > packing.n,
            "a dimension of responses that is a power of two above that of packing",
            spec.n,
        )?;
        check(spec.parts > 0, "at least one group", spec.parts)?;
        check(
            clue.coordinates == COORDINATES,
            "clues with two coordinates",
            clue.coordinates,
        )?;
        for (body, mask) in spec.body_bits.into_iter().zip(spec.mask_bits) {
            let fits = (1..=mask).contains(&body) && mask <= 32;
            check(
                fits,
                "body bits up to the mask bits, which are 32 at most",
                body as usize,
            )?;
        }
        let primes = primes_below(spec.modulus_bits, spec.n, 1, &[])?;
        Ok(Self {
            opening: Opening::new(clue, packing, plain)?,
            ring: Ring::with_kernels(spec.n, &primes, kernels)?,
            spec,
        })
    }

    /// Returns the numbers.
    pub fn spec(&self) -> &ScanSpec {
        &self.spec
    }

    /// Returns the rings of packing.
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Returns the ring of responses, of one prime.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Returns the number of messages of a block.
    pub fn block(&self) -> usize {
        self.opening.spec().n
    }

    /// Returns the number of blocks of a group.
    pub fn step(&self) -> usize {
        self.spec.n / self.block()
    }

    /// Returns the number of blocks of a section.
    pub fn blocks(&self) -> usize {
        self.step() * self.spec.parts
    }

    /// Returns the number of messages of a section.
    pub fn section(&self) -> usize {
        self.spec.n * self.spec.parts
    }

    /// Returns the shape of one of the switching keys. There is one for each rank of packing.
    pub fn switch_shape(&self) -> SharedShape {
        SharedShape {
            components: 1,
            parts: self.spec.parts,
            digits: self.spec.digits,
            digit_bits: self.spec.digit_bits,
        }
    }

    /// Returns the standard deviation of the noise of a distance, without the rounding of its body, in steps of a rounded
    /// body.
    ///
    /// Shape: `clue` is the standard deviation of the clue's own error as a fraction of its modulus; `norm` the mean
    /// square of the residues of a block's clues, in that of uniform ones. Out one value for each coordinate.
    pub fn noise(&self, clue: f64, norm: f64) -> [f64; COORDINATES] {
        let (packing, shape) = (self.opening.spec(), self.opening.clue());
        let q1 = f64::from(packing.packing_bits).exp2();
        let residues = (shape.n as f64 * packing.n as f64 * norm / 12.0).sqrt() * shape.q as f64;
        let packed = residues * NarrowGaussian::new(packing.packing_sigma).sd() / q1;
        let (shared, rank) = (self.switch_shape(), packing.packing_rank);
        let key = shared.key_noise(self.spec.n, self.ring.modulus(0).value());
        // The secrets of packing have as many coefficients as its rank and dimension together.
        let digits = rounding_noise(rank * packing.n, shared.mask_bits());
        let before = clue
            .hypot(packed)
            .hypot(key * (rank as f64).sqrt())
            .hypot(digits);
        let of = |c: usize| {
            let mask = rounding_noise(self.spec.n, self.spec.mask_bits[c]);
            before.hypot(mask) * f64::from(self.spec.body_bits[c]).exp2()
        };
        [of(0), of(1)]
    }

    /// Returns log2 of the chance that a uniform distance lies within the limit of a coordinate.
    pub fn window_log2(&self, coordinate: usize) -> f64 {
        let inside = 2.0 * self.limit(coordinate) as f64 + 1.0;
        inside.log2() - f64::from(self.spec.mask_bits[coordinate])
    }

    /// Returns the noise from which on a pertinent message is missed, in steps of a rounded body: distances are whole
    /// numbers of units of `2^-mask_bits`, so that it is half a unit above the largest.
    pub fn beyond(&self, coordinate: usize) -> f64 {
        let bits = self.spec.mask_bits[coordinate] - self.spec.body_bits[coordinate];
        (self.limit(coordinate) as f64 + 0.5) / f64::from(1u32 << bits)
    }

    /// Returns the largest distance of a pertinent message, in units of `2^-mask_bits`.
    pub(crate) fn limit(&self, coordinate: usize) -> i64 {
        let bits = self.spec.mask_bits[coordinate] - self.spec.body_bits[coordinate];
        (self.spec.limits[coordinate] * f64::from(1u32 << bits)) as i64
    }
}
