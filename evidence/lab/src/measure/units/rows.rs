//! Rows of the large ring as key switches and products of ciphertexts use them.

use super::{Measured, each, rows, time};
use crate::measure::cost::Unit;
use omr_protocol::sophomr::Params;
use omr_ring::{AlignedVec, Automorphism, Basis, Conversion, Ring};
use std::hint::black_box;

/// Rows that no cache of a core holds together.
const ROWS: usize = 128;

/// Rows that the second-level cache holds, one of a key beside them.
const CACHED: usize = 2;

/// Transforms for each reading of a prime's twiddles.
const TOGETHER: usize = 2;

/// Residues of a piece of a key that several inputs read.
const PIECE: usize = 4096;

/// Words of a page, and of a cache line.
const PAGE: usize = 512;
const LINE: usize = 8;

pub(super) struct Rows<'a> {
    ring: &'a Ring,
    /// Primes of a digit of the rotation keys.
    digit: Basis,
    memory: Vec<AlignedVec>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(params: &'a Params) -> Self {
        let ring = &params.ring;
        let basis = params.chain.basis(0).ids();
        let digit = basis.len().div_ceil(params.spec().rotation_digits);
        Self {
            ring,
            digit: Basis::new(basis[..digit].iter().copied()),
            memory: rows(ring, ROWS),
        }
    }

    pub(super) fn measure(mut self) -> Measured {
        let (convert, written) = self.conversion();
        vec![
            (Unit::Convert, convert),
            (Unit::ConvertRow, written),
            (Unit::KeyDot, self.key_dot()),
            (Unit::Dot, self.dot()),
            (Unit::Pass, self.pass()),
            (Unit::Permute, self.permute()),
            (Unit::Stream, self.stream()),
            (Unit::Fresh, self.fresh()),
            (Unit::Ntt, self.transform()),
        ]
    }

    fn transform(&mut self) -> f64 {
        let ring = self.ring;
        let primes = ring.everything().len();
        each(&mut self.memory, |i, row| {
            let visit = i / TOGETHER;
            let table = ring.table(visit % primes);
            match visit % 2 {
                0 => ring.kernels().ntt_forward(table, row),
                _ => ring.kernels().ntt_inverse(table, row),
            }
        })
    }

    /// Seconds for one source into one target, and for writing a target: from a digit of one prime
    /// and one of a rotation key's.
    fn conversion(&self) -> (f64, f64) {
        let all = self.ring.everything();
        let seconds = |own: &Basis, to: &Basis| {
            let conversion = Conversion::raise(self.ring, own, to);
            let sources: Vec<&[u64]> = self.memory[..own.len()]
                .iter()
                .map(|row| &row[..])
                .collect();
            time(|| drop(black_box(conversion.apply(self.ring, &sources))))
        };
        let sources = self.digit.len();
        let others = all.minus(&self.digit);
        let to = Basis::new(others.ids().iter().copied().take(2 * sources));
        let one = Basis::new([self.digit.ids()[0]]);
        // s sources and t targets: t rows written, t (s + 1) + s conversions.
        let targets = to.len() as f64;
        let (few, many) = (seconds(&one, &to), seconds(&self.digit, &to));
        let convert = (many - few) / ((sources - 1).max(1) as f64 * (targets + 1.0));
        let written = (few - convert * (2.0 * targets + 1.0)) / targets;
        (convert, written.max(0.0))
    }

    /// Sums of two products: digits from cache, keys from memory.
    fn key_dot(&self) -> f64 {
        let (ring, keys) = (self.ring, self.memory.as_slice());
        let digits: Vec<&[u64]> = keys[..CACHED].iter().map(|row| &row[..]).collect();
        let mut out = AlignedVec::zeroed(ring.n());
        let seconds = time(|| {
            for key in keys.chunks_exact(CACHED) {
                let key: Vec<&[u64]> = key.iter().map(|row| &row[..]).collect();
                ring.kernels().dot(ring.modulus(0), &mut out, &digits, &key);
            }
        });
        seconds / (keys.len() / CACHED * CACHED) as f64
    }

    /// Piece by piece, all from cache.
    fn dot(&self) -> f64 {
        let ring = self.ring;
        let piece = PIECE.min(ring.n());
        let rows: Vec<&[u64]> = self.memory[..2 * CACHED]
            .iter()
            .map(|row| &row[..piece])
            .collect();
        let (a, b) = rows.split_at(CACHED);
        let mut out = AlignedVec::zeroed(piece);
        let seconds = time(|| {
            ring.kernels()
                .dot(ring.modulus(0), black_box(&mut out), a, b)
        });
        seconds * (ring.n() / piece) as f64 / CACHED as f64
    }

    /// Half of the rows are scaled and subtracted from the other half.
    fn pass(&mut self) -> f64 {
        let ring = self.ring;
        let (from, to) = self.memory.split_at_mut(ROWS / 2);
        each(to, |i, row| {
            ring.kernels()
                .sub_scale_assign(ring.modulus(0), row, &from[i], 12_345);
        })
    }

    /// From cache to memory.
    fn permute(&mut self) -> f64 {
        let ring = self.ring;
        let turned = Automorphism::new(ring.n(), Automorphism::rotation(ring.n(), 1));
        let (from, to) = self.memory.split_at_mut(CACHED);
        each(to, |i, row| turned.apply_row(ring, row, &from[i % CACHED]))
    }

    fn stream(&self) -> f64 {
        let read = |row: &AlignedVec| row.iter().step_by(LINE).fold(0, |acc, x| acc ^ x);
        let all = || {
            black_box(self.memory.iter().fold(0, |acc, row| acc ^ read(row)));
        };
        time(all) / self.memory.len() as f64
    }

    fn fresh(&self) -> f64 {
        let touch = || {
            let mut words = AlignedVec::zeroed(ROWS * self.ring.n());
            words.chunks_mut(PAGE).for_each(|page| page[0] = 1);
            drop(black_box(words));
        };
        time(touch) / ROWS as f64
    }
}
