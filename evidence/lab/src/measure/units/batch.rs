//! Clues, diagonals and their products with baby steps, as the affine transform uses them.

use super::{Measured, time};
use crate::measure::cost::Unit;
use crate::measure::cpu::thread_seconds;
use omr_detector::sophomr::ClueBatch;
use omr_protocol::sophomr::{Params, ParamsSpec};
use omr_protocol::{Clue, Placement, SEED_BYTES};
use omr_ring::{AlignedVec, Encoding, Ring, SlidingRows};
use std::hint::black_box;

/// Giant steps held together, and coefficients of a piece; words between rows.
const GIANTS_TOGETHER: usize = 4;
const PIECE: usize = 128;
const PAD: usize = 8;

pub(super) struct Batch<'a> {
    params: &'a Params,
    piece: usize,
    /// Diagonals that are held together, and rows of the baby steps.
    held: usize,
    steps: usize,
    /// One limb of both, piece by piece.
    diagonals: AlignedVec,
    baby: AlignedVec,
}

impl<'a> Batch<'a> {
    pub(super) fn new(params: &'a Params) -> Self {
        let (spec, n) = (params.spec(), params.ring.n());
        let piece = PIECE.min(n);
        let (held, steps) = (
            GIANTS_TOGETHER * spec.baby,
            2 * (spec.baby + ParamsSpec::COORDINATES - 1),
        );
        // Touched beforehand: a detector keeps this memory.
        let rows = |count: usize| {
            let mut rows = AlignedVec::zeroed(n / piece * count * (piece + PAD));
            rows.fill(1);
            rows
        };
        Self {
            params,
            piece,
            held,
            steps,
            diagonals: rows(held),
            baby: rows(steps),
        }
    }

    pub(super) fn measure(mut self) -> Measured {
        let (clue, diagonal) = self.clues();
        vec![
            (Unit::Clue, clue),
            (Unit::Diagonal, diagonal),
            (Unit::Encode, self.encode()),
            (Unit::AffineDot, self.dot()),
        ]
    }

    fn ring(&self) -> &'a Ring {
        &self.params.ring
    }

    /// A batch of one clue everywhere; messages lie where a digest's would.
    fn clues(&self) -> (f64, f64) {
        let spec = &self.params.spec().clue;
        let clue = Clue {
            a: (0..spec.n as u32).collect(),
            b: vec![1; spec.coordinates],
        };
        let bytes = clue.to_bytes(&self.params.clue);
        let count = self.params.slots();
        let placement = Placement::new(&[0; SEED_BYTES], 0, count);
        let all = bytes.repeat(count);
        // Once: it takes long enough.
        let start = thread_seconds();
        let batch = ClueBatch::new(self.params, &placement, all, bytes.len());
        let seconds = thread_seconds() - start;
        let mut out = vec![0; count * self.params.spec().baby];
        let diagonals = time(|| batch.diagonals(self.params, 1, black_box(&mut out)));
        (
            seconds / count as f64,
            diagonals / self.params.spec().baby as f64,
        )
    }

    fn encode(&mut self) -> f64 {
        let (ring, p) = (self.ring(), self.params.p().value() as u32);
        let (n, piece, stride) = (ring.n(), self.piece, self.piece + PAD);
        let diagonal = |i: u32| -> Vec<u32> { (0..n as u32).map(|x| (x * 7 + i) % p).collect() };
        let coeffs: Vec<Vec<u32>> = (0..self.held as u32).map(diagonal).collect();
        let (k, table) = (ring.kernels(), ring.table(0));
        let mut row = AlignedVec::zeroed(n);
        let (tile, diagonals) = (self.held * stride, &mut self.diagonals);
        let seconds = time(|| {
            for (i, coeffs) in coeffs.iter().enumerate() {
                let encoding = Encoding {
                    coeffs,
                    p,
                    out: &mut diagonals[i * stride..],
                    every: tile,
                    piece,
                };
                k.encode(table, &mut row, encoding);
            }
        });
        seconds / self.held as f64
    }

    /// One limb of the giant steps that are held together.
    fn dot(&self) -> f64 {
        let (ring, spec) = (self.ring(), self.params.spec());
        let stride = self.piece + PAD;
        let sums = GIANTS_TOGETHER * ParamsSpec::COORDINATES * 2;
        let mut out = AlignedVec::zeroed(sums * self.piece);
        let seconds = time(|| {
            let tiles = self.diagonals.chunks(self.held * stride);
            for (a, b) in tiles.zip(self.baby.chunks(self.steps * stride)) {
                let rows = SlidingRows {
                    a,
                    b,
                    stride,
                    len: self.piece,
                    terms: spec.baby,
                    groups: GIANTS_TOGETHER,
                    shifts: ParamsSpec::COORDINATES,
                    parts: 2,
                };
                let mut out: Vec<&mut [u64]> = out.chunks_mut(self.piece).collect();
                ring.kernels()
                    .sliding_dots(ring.modulus(0), &mut out, &rows);
            }
        });
        seconds / (sums * spec.baby) as f64
    }
}
