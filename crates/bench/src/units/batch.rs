//! Clues, diagonals and their products with baby steps, as the affine transform uses them.

use super::{Measured, row, time};
use crate::cost::Unit;
use omr_detector::ClueBatch;
use omr_protocol::{Clue, Params, Placement, SEED_BYTES};
use omr_ring::{AlignedVec, Ring, SlidingRows};
use std::hint::black_box;

/// Giant steps held together, and coefficients of a piece; words between rows.
const GIANTS_TOGETHER: usize = 4;
const PIECE: usize = 512;
const PAD: usize = 8;

pub(super) struct Batch<'a> {
    params: &'a Params,
    piece: usize,
    /// Diagonals that are held together.
    held: usize,
    /// Their transforms half done, piece by piece.
    heads: AlignedVec,
}

impl<'a> Batch<'a> {
    pub(super) fn new(params: &'a Params) -> Self {
        let (n, held) = (params.ring.n(), GIANTS_TOGETHER * params.spec().baby);
        Self {
            params,
            piece: PIECE.min(n),
            held,
            heads: AlignedVec::zeroed(n * held),
        }
    }

    pub(super) fn measure(mut self) -> Measured {
        let (clue, diagonal) = self.clues();
        vec![
            (Unit::Clue, clue),
            (Unit::Diagonal, diagonal),
            (Unit::Head, self.head()),
            (Unit::Tail, self.tail()),
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
        let bytes = clue.to_bytes(self.params);
        let count = self.params.slots();
        let placement = Placement::new(&[0; SEED_BYTES], 0, count);
        let mut all = Some(bytes.repeat(count));
        let mut batch = None;
        // Once: it takes long enough.
        let seconds = time(|| {
            if let Some(all) = all.take() {
                batch = Some(ClueBatch::new(self.params, &placement, all, bytes.len()));
            }
        });
        let batch = batch.expect("made above");
        let diagonals = time(|| drop(black_box(batch.diagonals(self.params, 1))));
        (
            seconds / count as f64,
            diagonals / self.params.spec().baby as f64,
        )
    }

    fn head(&mut self) -> f64 {
        let (ring, p) = (self.ring(), self.params.p().value() as u32);
        let n = ring.n();
        let diagonal = |i: u32| -> Vec<u32> { (0..n as u32).map(|x| (x * 7 + i) % p).collect() };
        let diagonals: Vec<Vec<u32>> = (0..self.held as u32).map(diagonal).collect();
        let (k, m, table) = (ring.kernels(), ring.modulus(0), ring.table(0));
        let (piece, every) = (self.piece, self.held * self.piece);
        let mut row = AlignedVec::zeroed(n);
        let heads = &mut self.heads;
        let seconds = time(|| {
            for (i, coeffs) in diagonals.iter().enumerate() {
                k.lift_centered(m, &mut row, coeffs, p);
                k.ntt_forward_head(table, &mut row, n / piece);
                k.spread(&mut heads[i * piece..], every, &row, piece);
            }
        });
        seconds / self.held as f64
    }

    fn tail(&self) -> f64 {
        let (ring, piece) = (self.ring(), self.piece);
        let mut tile = AlignedVec::zeroed(self.held * (piece + PAD));
        let seconds = time(|| {
            for (index, heads) in self.heads.chunks(self.held * piece).enumerate() {
                for (part, head) in tile.chunks_mut(piece + PAD).zip(heads.chunks(piece)) {
                    part[..piece].copy_from_slice(head);
                }
                for part in tile.chunks_mut(piece + PAD) {
                    let part = &mut part[..piece];
                    ring.kernels().ntt_forward_tail(ring.table(0), index, part);
                }
            }
        });
        seconds / self.held as f64
    }

    /// One piece of all that are held together; the baby steps' rows are in cache.
    fn dot(&self) -> f64 {
        let (ring, spec) = (self.ring(), self.params.spec());
        let (stride, coordinates) = (self.piece + PAD, spec.clue.coordinates);
        let q = ring.modulus(0).value();
        let tile = row(self.held * stride, q, 1);
        let window = row(2 * (spec.baby + coordinates - 1) * stride, q, 2);
        let sums = GIANTS_TOGETHER * coordinates * 2;
        let mut out = AlignedVec::zeroed(sums * self.piece);
        let rows = SlidingRows {
            a: &tile,
            b: &window,
            stride,
            len: self.piece,
            terms: spec.baby,
            groups: GIANTS_TOGETHER,
            shifts: coordinates,
            parts: 2,
        };
        let seconds = time(|| {
            let mut out: Vec<&mut [u64]> = out.chunks_mut(self.piece).collect();
            ring.kernels()
                .sliding_dots(ring.modulus(0), &mut out, &rows);
        });
        seconds * (ring.n() / self.piece) as f64 / (sums * spec.baby) as f64
    }
}
