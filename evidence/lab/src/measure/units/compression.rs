//! Rows of the small ring, mostly in cache, and payloads.

use super::{Measured, each, row, rows, time};
use crate::measure::cost::Unit;
use omr_codec::Symbols;
use omr_protocol::sophomr::{DigestPlan, Params, checksum};
use omr_ring::{AlignedVec, Automorphism, Basis, Conversion, Ring};
use std::hint::black_box;

/// Rows: as many as a key switch touches, and factors of its sums.
const ROWS: usize = 16;
const TERMS: usize = 2;

/// Slots of a piece of the sums over codes, products added at a time, and symbols that meet them.
const CODE_PIECE: usize = 256;
const CODE_TERMS: usize = 64;
const CODE_SYMBOLS: usize = 32;

/// Payloads that are turned to columns of symbols at a time.
const LINE: usize = 16;

pub(super) struct Compression<'a> {
    pub(super) params: &'a Params,
    pub(super) plan: &'a DigestPlan,
}

impl Compression<'_> {
    pub(super) fn measure(&self) -> Measured {
        let mut rows = rows(self.small(), ROWS);
        vec![
            (Unit::SmallConvert, self.convert(&rows)),
            (Unit::SmallDot, self.dot(&rows)),
            (Unit::SmallGather, self.gather(&mut rows)),
            (Unit::SmallPass, self.pass(&mut rows)),
            (Unit::SmallNtt, self.transform(&mut rows)),
            (Unit::SmallScatter, self.scatter(&mut rows)),
            (Unit::SmallLookup, self.lookup()),
            (Unit::CodeDot, self.code_dot()),
            (Unit::Payload, self.payload()),
        ]
    }

    fn small(&self) -> &Ring {
        &self.params.small
    }

    fn transform(&self, rows: &mut [AlignedVec]) -> f64 {
        let ring = self.small();
        each(rows, |i, row| match i % 2 {
            0 => ring.kernels().ntt_forward(ring.table(0), row),
            _ => ring.kernels().ntt_inverse(ring.table(0), row),
        })
    }

    /// From the two primes of a ciphertext to the special ones.
    fn convert(&self, rows: &[AlignedVec]) -> f64 {
        let ring = self.small();
        let own = self.params.small_basis();
        let to: Basis = ring.everything().minus(&own);
        let conversion = Conversion::raise(ring, &own, &to);
        let sources: Vec<&[u64]> = rows[..own.len()].iter().map(|row| &row[..]).collect();
        let seconds = time(|| drop(black_box(conversion.apply(ring, &sources))));
        seconds / ((own.len() + 1) * to.len() + own.len()) as f64
    }

    fn dot(&self, rows: &[AlignedVec]) -> f64 {
        let ring = self.small();
        let mut out = AlignedVec::zeroed(ring.n());
        let seconds = time(|| {
            for rows in rows.chunks_exact(2 * TERMS) {
                let rows: Vec<&[u64]> = rows.iter().map(|row| &row[..]).collect();
                let (a, b) = rows.split_at(TERMS);
                ring.kernels().dot(ring.modulus(0), &mut out, a, b);
            }
        });
        seconds / (rows.len() / 2) as f64
    }

    fn pass(&self, rows: &mut [AlignedVec]) -> f64 {
        let ring = self.small();
        let (from, to) = rows.split_at_mut(ROWS / 2);
        each(to, |i, row| {
            ring.kernels()
                .sub_scale_assign(ring.modulus(0), row, &from[i], 12_345);
        })
    }

    fn gather(&self, rows: &mut [AlignedVec]) -> f64 {
        let ring = self.small();
        let turned = Automorphism::new(ring.n(), Automorphism::rotation(ring.n(), 1));
        let (from, to) = rows.split_at_mut(ROWS / 2);
        each(to, |i, row| {
            ring.kernels().gather(row, &from[i], turned.indices())
        })
    }

    fn scatter(&self, rows: &mut [AlignedVec]) -> f64 {
        let positions = self.params.small_plain.order().positions();
        let (from, to) = rows.split_at_mut(ROWS / 2);
        each(to, |i, row| {
            for (&position, &value) in positions.iter().zip(&*from[i]) {
                row[position as usize] = value;
            }
        })
    }

    /// Anywhere in a table of p words.
    fn lookup(&self) -> f64 {
        let (ring, p) = (self.small(), self.params.p().value());
        let table = row(p as usize, p, 0);
        let places = row(ring.n(), p, 1);
        let places: Vec<u32> = places.iter().map(|&x| x as u32).collect();
        let mut out = AlignedVec::zeroed(ring.n());
        time(|| ring.kernels().gather(black_box(&mut out), &table, &places))
    }

    /// One piece: some codes meet all symbols that are encoded together, each read a slot further
    /// on for every automorphism.
    fn code_dot(&self) -> f64 {
        let ring = self.small();
        let classes = self.params.slots() / ring.n();
        let (piece, q) = (CODE_PIECE.min(ring.n() / 2), ring.modulus(0).value());
        let codes = row(CODE_TERMS * piece, q, 0);
        let codes: Vec<&[u64]> = codes.chunks(piece).collect();
        let width = piece + CODE_TERMS.div_ceil(classes);
        let symbols = row(CODE_SYMBOLS * classes * width, q, 1);
        let mut out = AlignedVec::zeroed(piece);
        let seconds = time(|| {
            for symbol in symbols.chunks(classes * width) {
                let term = |i: usize| &symbol[i % classes * width + i / classes..][..piece];
                let plain: Vec<&[u64]> = (0..CODE_TERMS).map(term).collect();
                ring.kernels()
                    .dot(ring.modulus(0), black_box(&mut out), &plain, &codes);
            }
        });
        seconds * (ring.n() / piece) as f64 / (CODE_TERMS * CODE_SYMBOLS) as f64
    }

    /// A batch of payloads to columns of symbols in memory just given.
    fn payload(&self) -> f64 {
        let (p, slots) = (self.params.p().value(), self.params.slots());
        let bytes = self.plan.payload_bytes().unwrap_or(1);
        let code = Symbols::new(p as u32, bytes).expect("a plan's payload size");
        let payload: Vec<u8> = (0..bytes).map(|i| (i * 37) as u8).collect();
        let count = code.count();
        let pack = || {
            let mut rows = vec![0; LINE * count];
            let mut columns = vec![0u32; count * slots];
            for start in (0..slots).step_by(LINE) {
                for (i, row) in rows.chunks_mut(count).enumerate() {
                    code.pack(&payload, row).expect("lengths fit");
                    black_box(checksum((start + i) as u64, &payload, &code));
                }
                for (symbol, column) in columns.chunks_mut(slots).enumerate() {
                    for (i, value) in column[start..start + LINE].iter_mut().enumerate() {
                        *value = rows[i * count + symbol];
                    }
                }
            }
            drop(black_box(columns));
        };
        time(pack) / slots as f64
    }
}
