//! Times sums of products of 32-bit words for 1 to 8 recipients, in cache and from memory:
//! `cargo run --release -p omr-kernels --example words [TERMS [LISTS]]`. `OMR_KERNELS` chooses the back end.

use std::{hint::black_box, time::Instant};

use omr_kernels::{AlignedVec, Kernels, Modulus, WORD_LINE, WordRows};

/// The largest prime of 32 bits.
const PRIME: u64 = 4_294_967_291;

/// A database: lists of rows modulo each of several primes.
struct Shape {
    n: usize,
    terms: usize,
    lists: usize,
    primes: usize,
    /// How often the database is read in one measurement.
    repeats: usize,
}

fn words(len: usize) -> AlignedVec {
    let mut words = AlignedVec::zeroed(len / 2);
    for (i, x) in words.halves_mut().iter_mut().enumerate() {
        *x = (i as u32).wrapping_mul(0x9e37_79b9) % PRIME as u32;
    }
    words
}

/// Prints the least time of nine measurements.
fn measure(k: &Kernels, what: &str, shape: &Shape) {
    let m = Modulus::new(PRIME).expect("a prime");
    let row = shape.n.next_multiple_of(WORD_LINE);
    let list = row * shape.terms;
    // The terms of the first prime, then those of the next one.
    let terms = 0..shape.primes * shape.terms;
    let database: Vec<AlignedVec> = terms.map(|_| words(shape.lists * row)).collect();
    let database: Vec<&[u32]> = database.iter().map(AlignedVec::halves).collect();
    for recipients in [1, 2, 4, 8] {
        let b: Vec<_> = (0..2 * recipients).map(|_| words(list)).collect();
        let b: Vec<&[u32]> = b.iter().map(AlignedVec::halves).collect();
        let outputs = shape.lists * b.len();
        let mut out = AlignedVec::zeroed(outputs * shape.n);
        let mut out: Vec<_> = out.chunks_mut(shape.n).collect();
        let mut best = f64::MAX;
        for _ in 0..9 {
            let start = Instant::now();
            for _ in 0..shape.repeats {
                for a in database.chunks(shape.terms) {
                    k.dot_words(&m, &mut out, black_box(&WordRows { a, b: &b }));
                }
            }
            best = best.min(start.elapsed().as_secs_f64() / shape.repeats as f64);
        }
        let products = shape.primes * outputs * shape.n * shape.terms;
        println!(
            "{}, {what}, {recipients} recipients: {:.3} ms, {:.3} ns a multiply-add, {:.1} GB/s",
            k.name(),
            best * 1e3,
            best * 1e9 / products as f64,
            4e-9 * (shape.primes * shape.lists * list) as f64 / best,
        );
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).flat_map(|arg| arg.parse().ok());
    let memory = Shape {
        n: 8192,
        terms: numbers.next().unwrap_or(36),
        lists: numbers.next().unwrap_or(250),
        primes: 2,
        repeats: 1,
    };
    let cache = Shape {
        n: WORD_LINE,
        lists: 4,
        repeats: 1000,
        ..memory
    };
    measure(Kernels::detect(), "in cache", &cache);
    measure(Kernels::detect(), "from memory", &memory);
}
