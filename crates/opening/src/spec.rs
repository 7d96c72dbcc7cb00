//! The numbers that packing and opening are made of.

use crate::error::{OpeningError, dimension};
use crate::transform;
use omr_bgv::Plain;
use omr_ring::{Gadget, Kernels, Modulus, NttTable, Ring, primes_below, primes_near};

/// The dimensions of clues that packing depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClueShape {
    /// Residues of a clue's a: the dimension of the clue ring.
    pub n: usize,
    /// Modulus of the posted residues.
    pub q: u64,
    /// Coordinates of a clue that are opened.
    pub coordinates: usize,
}

/// How clues are packed and opened; [`Opening`] is the checked form.
#[derive(Clone, Debug, PartialEq)]
pub struct OpeningSpec {
    /// Dimension of the ring that clues are packed in, and messages of a block.
    pub n: usize,
    /// Rank of the module that clues are packed in: its secret has `packing_rank n` coefficients, uniform ternary.
    pub packing_rank: usize,
    /// Size of the packing modulus.
    pub packing_bits: u32,
    /// Parameter of the packing key's narrow Gaussian errors.
    pub packing_sigma: f64,
    /// Rank of the module that packed clues are opened from.
    pub rank: usize,
    /// Coefficients +1 or -1 of each of its `rank` secret polynomials.
    pub weight: usize,
    /// Size of the modulus at which the secret is changed.
    pub narrow_bits: f64,
    /// Digits of a mask in that change.
    pub gadget: Gadget,
    /// Points of the transform that is undone in slots: `n` is a multiple of it.
    pub points: usize,
    /// Baby steps of that transform: a divisor of `points`.
    pub baby: usize,
}

impl OpeningSpec {
    /// Columns of slots that the messages of a block fill.
    pub(crate) fn of_block(&self) -> usize {
        self.n / self.points
    }

    /// Polynomials of degree below `points` that the opened secret is cut into.
    pub fn window(&self) -> usize {
        self.rank * self.of_block()
    }

    /// Returns the number of turns of the encrypted secret in a ring of `slots` slots, the secret itself included. Over
    /// all turns, every column of slots is multiplied with every part.
    pub(crate) fn turns(&self, slots: usize) -> usize {
        let (columns, window) = (slots / 2 / self.points, self.window());
        window + (columns % window).div_ceil(columns / window)
    }

    /// Giant steps of the transform.
    pub(crate) fn giants(&self) -> usize {
        self.points / self.baby
    }
}

/// The rings and tables of packing and opening.
pub struct Opening {
    clue: ClueShape,
    spec: OpeningSpec,
    /// The ring of packing: one prime.
    pub packing: Ring,
    /// The ring of the change of the secret: one prime.
    pub narrow: Ring,
    /// Transforms of `points` modulo p.
    pub(crate) table: NttTable,
    /// The factor of each value in the transform back to coefficients.
    pub(crate) inner_factors: Vec<u64>,
    slots: usize,
}

impl Opening {
    /// Checks the numbers against the slots of the large ring.
    ///
    /// Errors: `Dimension` where they do not fit each other; `Ring` where there is no prime of a size.
    pub fn new(clue: ClueShape, spec: OpeningSpec, plain: &Plain) -> Result<Self, OpeningError> {
        let half = plain.n() / 2;
        dimension(
            spec.points.is_power_of_two() && (2..=half).contains(&spec.points),
            "a transform of a power of two of points, at most half of the slots",
            spec.points,
        )?;
        dimension(
            spec.n.is_power_of_two() && spec.n >= 2 * spec.points && spec.n <= half,
            "a packing dimension that is a power of two, at least twice the points and at most half of the slots",
            spec.n,
        )?;
        dimension(spec.rank > 0, "a rank of at least 1", spec.rank)?;
        dimension(
            spec.packing_rank > 0,
            "a rank of packing of at least 1",
            spec.packing_rank,
        )?;
        let window = spec.rank * (spec.n / spec.points);
        dimension(
            window <= half / spec.points,
            "no more parts of a secret than columns of slots",
            window,
        )?;
        dimension(
            spec.baby > 0 && spec.points.is_multiple_of(spec.baby),
            "baby steps that divide the points",
            spec.baby,
        )?;
        dimension(
            (1..=clue.n).contains(&clue.coordinates),
            "from one coordinate up to the clue's dimension",
            clue.coordinates,
        )?;
        dimension(
            spec.weight <= spec.n,
            "a weight up to the packing dimension",
            spec.weight,
        )?;
        let p = plain.p();
        let q1 = primes_below(spec.packing_bits, spec.n, 1, &[])?[0];
        let q2 = primes_near(spec.narrow_bits, spec.n, 1, &[])?[0];
        let table = transform::table(p.value(), spec.points)?;
        Ok(Self {
            packing: Ring::new(spec.n, &[q1])?,
            narrow: Ring::new(spec.n, &[q2])?,
            inner_factors: transform::inner_factors(&table),
            table,
            slots: plain.n(),
            clue,
            spec,
        })
    }

    /// The clues.
    pub fn clue(&self) -> &ClueShape {
        &self.clue
    }

    /// The numbers.
    pub fn spec(&self) -> &OpeningSpec {
        &self.spec
    }

    /// The modulus of slots.
    pub fn p(&self) -> &Modulus {
        self.table.modulus()
    }

    /// Slots of the large ring: messages of a batch.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Blocks of messages of a batch.
    pub fn blocks(&self) -> usize {
        self.slots / self.spec.n
    }

    /// Columns of a row of slots; each row is `points` times as long.
    pub(crate) fn columns(&self) -> usize {
        self.slots / 2 / self.spec.points
    }

    /// Columns of slots that the messages of a block fill.
    pub(crate) fn of_block(&self) -> usize {
        self.spec.of_block()
    }

    /// Polynomials of degree below `points` that the opened secret is cut into.
    pub fn window(&self) -> usize {
        self.spec.window()
    }

    /// Returns the part of the opened secret that each column of slots encrypts: all parts in order, repeated, with empty
    /// columns between the repeats so that the last one ends with the row.
    pub(crate) fn layout(&self) -> Vec<Option<usize>> {
        let (columns, window) = (self.columns(), self.window());
        let (repeats, empty) = (columns / window, columns % window);
        let repeat = |i: usize| {
            // As many in one repeat as in another, but for one.
            let own = empty / repeats + usize::from(i < empty % repeats);
            let parts = (0..window).map(Some);
            parts.chain(std::iter::repeat_n(None, own))
        };
        (0..repeats).flat_map(repeat).collect()
    }

    /// Turns of the encrypted secret that [`crate::Turned`] holds, the secret itself among them.
    pub fn turns(&self) -> usize {
        self.spec.turns(self.slots)
    }

    /// Rows of plaintexts that are held encoded at a time, by a thread: while values of phases are made, and by the
    /// transform.
    pub fn rows_encoded(&self, coordinates: usize) -> [usize; 2] {
        let of_values = crate::inner::TOGETHER * 2 * coordinates;
        [of_values, transform::TOGETHER]
    }

    /// Polynomials at the top level that the transform holds for each body and mask of a coordinate.
    pub fn polynomials_of_transform(&self) -> usize {
        self.spec.baby + crate::transform::TOGETHER
    }

    /// Returns the number of bodies of a packing key with `extra` extra values.
    pub fn packing_bodies(&self, extra: usize) -> usize {
        self.clue.n + self.clue.coordinates - 1 + extra
    }

    /// Bodies of a narrowing key.
    pub fn narrow_bodies(&self) -> usize {
        self.spec.packing_rank * self.spec.gadget.digits as usize
    }

    /// Steps of the rotation from one baby step of the transform to the next; of a giant step.
    pub fn transform_steps(&self) -> [usize; 2] {
        [self.columns(), self.columns() * self.spec.baby]
    }

    pub(crate) fn kernels(&self) -> &'static Kernels {
        self.packing.kernels()
    }

    /// The factor by which a clue's residues are multiplied to become residues of packing.
    pub(crate) fn packing_scale(&self) -> u64 {
        let (q, clue_q) = (self.packing.modulus(0).value(), self.clue.q);
        (q + clue_q / 2) / clue_q
    }

    /// Values of a polynomial of degree below `points` at `omega^(2 i + 1)` for i = 0, 1, ...
    pub(crate) fn values(&self, coeffs: &mut [u64]) -> Vec<u64> {
        self.kernels().ntt_forward(&self.table, coeffs);
        let shift = usize::BITS - self.spec.points.trailing_zeros();
        let natural = |i: usize| coeffs[i.reverse_bits() >> shift];
        (0..self.spec.points).map(natural).collect()
    }
}
