//! Seconds of each unit of work on this machine, one thread.

use crate::cost::{Unit, Work};
use omr_codec::Symbols;
use omr_detector::ClueBatch;
use omr_protocol::plan::checksum;
use omr_protocol::{Clue, DigestPlan, Params, Placement, SEED_BYTES};
use omr_ring::{AlignedVec, Ring};
use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

/// Rows of the large ring that no cache of a core holds together.
const ROWS: usize = 64;
/// The same in the small ring: as many as a key switch touches.
const SMALL_ROWS: usize = 16;
/// Terms of a key switch's sums.
const KEY_TERMS: usize = 3;
/// Sources and targets of a basis conversion, and the residues of a piece.
const SOURCES: usize = 9;
const TARGETS: usize = 24;
const PIECE: usize = 2048;
/// Residues of a piece of the sums over baby steps, and of those over codes.
const AFFINE_PIECE: usize = 512;
const CODE_PIECE: usize = 64;

/// Seconds of each [`Unit`].
#[derive(Clone, Debug)]
pub struct Units([f64; Unit::ALL.len()]);

impl Units {
    /// Measures them at the dimensions of `params`, for digests like `plan`; a second or two.
    pub fn measure(params: &Params, plan: &DigestPlan) -> Self {
        let bench = Bench::new(params);
        Self(Unit::ALL.map(|unit| bench.seconds(unit, plan)))
    }

    /// Seconds of one unit.
    pub fn seconds(&self, unit: Unit) -> f64 {
        self.0[unit as usize]
    }

    /// Seconds of work, one thread.
    pub fn model(&self, work: &Work) -> f64 {
        let cost = |unit: Unit| work.count(unit) * self.seconds(unit);
        Unit::ALL.into_iter().map(cost).sum()
    }
}

struct Bench<'a> {
    params: &'a Params,
    large: Vec<AlignedVec>,
    small: Vec<AlignedVec>,
}

impl<'a> Bench<'a> {
    fn new(params: &'a Params) -> Self {
        let rows = |ring: &Ring, count: usize| -> Vec<AlignedVec> {
            let q = ring.modulus(0).value();
            (0..count as u64).map(|i| row(ring.n(), q, i)).collect()
        };
        Self {
            large: rows(&params.ring, 2 * ROWS),
            small: rows(&params.small, SMALL_ROWS),
            params,
        }
    }

    fn seconds(&self, unit: Unit, plan: &DigestPlan) -> f64 {
        let (ring, small) = (&self.params.ring, &self.params.small);
        match unit {
            Unit::Ntt => transform(ring, &self.large),
            Unit::Convert => convert(ring, &self.large),
            Unit::KeyDot => key_dot(ring, &self.large),
            Unit::Pass => pass(ring, &self.large),
            Unit::Gather => gather(ring, &self.large),
            Unit::Lift => self.lift(),
            Unit::Diagonal => self.diagonal(),
            Unit::AffineDot => self.affine_dot(),
            Unit::Clue => self.clue(),
            Unit::SmallNtt => transform(small, &self.small),
            Unit::SmallConvert => convert(small, &self.small),
            Unit::SmallKeyDot => key_dot(small, &self.small),
            Unit::SmallPass => pass(small, &self.small),
            Unit::SmallGather => gather(small, &self.small),
            Unit::SmallScalar => self.scalar(),
            Unit::CodeDot => self.code_dot(plan),
            Unit::Payload => self.payload(plan),
        }
    }

    fn lift(&self) -> f64 {
        let (ring, p) = (&self.params.ring, self.params.p().value() as u32);
        let coeffs: Vec<u32> = (0..ring.n() as u32).map(|i| i * 7 % p).collect();
        let mut rows = self.large.clone();
        each(&mut rows, |row| {
            ring.kernels()
                .lift_centered(ring.modulus(0), row, &coeffs, p);
        })
    }

    /// As many words read backwards from a message each and written to as many rows.
    fn diagonal(&self) -> f64 {
        let (n, spec) = (self.params.slots(), self.params.spec());
        let (width, baby) = (spec.clue.n, spec.baby);
        let p = self.params.p().value() as u32;
        let messages = n.min(8192);
        let a: Vec<u32> = (0..(messages * width) as u32).map(|i| i % p).collect();
        let mut out = vec![vec![0u32; n]; baby];
        let seconds = time(|| {
            for slot in 0..n {
                let message = &a[slot % messages * width..][..width];
                for (j, diagonal) in out.iter_mut().enumerate() {
                    let back = (2 * width - (slot + j) % (2 * width)) % (2 * width);
                    let value = message[back % width];
                    diagonal[slot] = match back >= width && value != 0 {
                        true => p - value,
                        false => value,
                    };
                }
            }
            black_box(&mut out);
        });
        seconds / baby as f64
    }

    /// Pieces of rows that together no cache holds.
    fn affine_dot(&self) -> f64 {
        let ring = &self.params.ring;
        let (m, n) = (ring.modulus(0), ring.n());
        let (a, b) = self.large.split_at(ROWS);
        let mut out = AlignedVec::zeroed(n);
        let piece = AFFINE_PIECE.min(n);
        let seconds = time(|| {
            for start in (0..n).step_by(piece) {
                let (a, b) = (
                    pieces(a, start..start + piece),
                    pieces(b, start..start + piece),
                );
                // Each piece meets both parts, both coordinates and two giant steps.
                for _ in 0..8 {
                    ring.kernels()
                        .dot(m, &mut out[start..start + piece], &a, &b);
                }
            }
        });
        seconds / (8 * ROWS) as f64
    }

    fn clue(&self) -> f64 {
        let spec = &self.params.spec().clue;
        let clue = Clue {
            a: (0..spec.n as u32).collect(),
            b: vec![1; spec.coordinates],
        };
        let bytes = clue.to_bytes(self.params);
        let count = self.params.slots();
        let placement = Placement::new(&[0; SEED_BYTES], 0, count);
        let all = bytes.repeat(count);
        let parse = || {
            drop(black_box(ClueBatch::new(
                self.params,
                &placement,
                all.clone(),
                bytes.len(),
            )))
        };
        time(parse) / count as f64
    }

    fn scalar(&self) -> f64 {
        let p = self.params.p();
        let mut values: Vec<u32> = (1..=self.params.small.n() as u32).collect();
        let factors = values.clone();
        time(|| {
            for (x, &y) in values.iter_mut().zip(&factors) {
                *x = p.mul((*x).into(), y.into()) as u32;
            }
            black_box(&mut values);
        })
    }

    fn code_dot(&self, plan: &DigestPlan) -> f64 {
        let small = &self.params.small;
        let terms = plan.width() * self.params.slots() / small.n();
        let piece = CODE_PIECE.min(small.n() / 2);
        let q = small.modulus(0).value();
        let rows = |first: u64| -> Vec<AlignedVec> {
            (0..terms as u64)
                .map(|i| row(piece, q, first + i))
                .collect()
        };
        let (a, b) = (rows(0), rows(terms as u64));
        let (a, b) = (pieces(&a, 0..piece), pieces(&b, 0..piece));
        let mut out = vec![0; piece];
        let dot = || {
            small
                .kernels()
                .dot(small.modulus(0), black_box(&mut out), &a, &b)
        };
        time(dot) * (small.n() / piece) as f64 / terms as f64
    }

    fn payload(&self, plan: &DigestPlan) -> f64 {
        let p = self.params.p().value();
        let bytes = plan.payload_bytes().unwrap_or(1);
        let code = Symbols::new(p as u32, bytes).expect("a plan's payload size");
        let payload: Vec<u8> = (0..bytes).map(|i| (i * 37) as u8).collect();
        let mut symbols = vec![0; code.count()];
        time(|| {
            code.pack(&payload, &mut symbols).expect("lengths fit");
            black_box((&mut symbols, checksum(7, &payload, p)));
        })
    }
}

/// The same piece of each row.
fn pieces(rows: &[AlignedVec], piece: Range<usize>) -> Vec<&[u64]> {
    rows.iter().map(|row| &row[piece.clone()]).collect()
}

fn row(n: usize, q: u64, seed: u64) -> AlignedVec {
    let mut row = AlignedVec::zeroed(n);
    for (i, x) in row.iter_mut().enumerate() {
        *x = (i as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q;
    }
    row
}

/// Seconds of `work`: the median of 5 rounds of at least 4 ms.
fn time(mut work: impl FnMut()) -> f64 {
    let mut round = || {
        let start = Instant::now();
        let mut count = 0;
        while count == 0 || start.elapsed().as_secs_f64() < 0.004 {
            work();
            count += 1;
        }
        start.elapsed().as_secs_f64() / f64::from(count)
    };
    let mut rounds: [f64; 5] = std::array::from_fn(|_| round());
    rounds.sort_by(f64::total_cmp);
    rounds[2]
}

/// Seconds for one of the rows, all in turn.
fn each(rows: &mut [AlignedVec], mut work: impl FnMut(&mut [u64])) -> f64 {
    let count = rows.len() as f64;
    time(|| rows.iter_mut().for_each(|row| work(row))) / count
}

fn transform(ring: &Ring, rows: &[AlignedVec]) -> f64 {
    let mut rows = rows.to_vec();
    let mut forward = false;
    each(&mut rows, |row| {
        forward = !forward;
        match forward {
            true => ring.kernels().ntt_forward(ring.table(0), row),
            false => ring.kernels().ntt_inverse(ring.table(0), row),
        }
    })
}

fn convert(ring: &Ring, rows: &[AlignedVec]) -> f64 {
    let n = ring.n();
    let sources = SOURCES.min(rows.len() / 2);
    let targets = TARGETS.min(rows.len() - sources);
    let (from, to) = rows.split_at(sources);
    let mut to = to[..targets].to_vec();
    let coefficients: Vec<u64> = (1..=sources as u64).collect();
    let piece = PIECE.min(n);
    let seconds = time(|| {
        for start in (0..n).step_by(piece) {
            let from = pieces(from, start..start + piece);
            for out in &mut to {
                let out = &mut out[start..start + piece];
                ring.kernels()
                    .convert(ring.modulus(0), out, &from, &coefficients);
            }
        }
    });
    seconds / (sources * targets) as f64
}

fn key_dot(ring: &Ring, rows: &[AlignedVec]) -> f64 {
    let mut outs: Vec<AlignedVec> =
        vec![AlignedVec::zeroed(ring.n()); rows.len() / (2 * KEY_TERMS)];
    let mut i = 0;
    let seconds = each(&mut outs, |out| {
        let at = i % (rows.len() / (2 * KEY_TERMS)) * 2 * KEY_TERMS;
        i += 1;
        let (a, b) = rows[at..at + 2 * KEY_TERMS].split_at(KEY_TERMS);
        let (a, b) = (pieces(a, 0..ring.n()), pieces(b, 0..ring.n()));
        ring.kernels().dot(ring.modulus(0), out, &a, &b);
    });
    seconds / KEY_TERMS as f64
}

/// Half of the rows are scaled and subtracted from the other half.
fn pass(ring: &Ring, rows: &[AlignedVec]) -> f64 {
    let (from, to) = rows.split_at(rows.len() / 2);
    let mut to = to.to_vec();
    let mut from = from.iter().cycle();
    each(&mut to, |row| {
        let other = from.next().expect("rows repeat");
        ring.kernels()
            .sub_scale_assign(ring.modulus(0), row, other, 12_345);
    })
}

fn gather(ring: &Ring, rows: &[AlignedVec]) -> f64 {
    let n = ring.n();
    let turned = omr_ring::Automorphism::new(n, omr_ring::Automorphism::rotation(n, 1));
    let (from, to) = rows.split_at(rows.len() / 2);
    let mut to = to.to_vec();
    let mut from = from.iter().cycle();
    each(&mut to, |row| {
        let other = from.next().expect("rows repeat");
        ring.kernels().gather(row, other, turned.indices());
    })
}
