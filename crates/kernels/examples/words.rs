//! Times sums of products of 32-bit words in cache and from memory, for 1 to 8 recipients:
//! `cargo run --release -p omr-kernels --example words [TERMS [LISTS]]`. `OMR_KERNELS` chooses the back end.

use std::time::Instant;

use omr_kernels::{AlignedVec, Kernels, Modulus, WORD_LINE, WordRows};

/// The largest prime of 32 bits.
const PRIME: u64 = 4_294_967_291;

/// Calls of which the fastest counts.
const CALLS: usize = 9;

/// The shape of a measurement.
struct Shape {
    n: usize,
    terms: usize,
    lists: usize,
    /// Lists of `a` are read from as many copies in turn, so that none is in a cache.
    copies: usize,
    /// Calls that are timed together.
    repeats: usize,
}

fn words(len: usize) -> AlignedVec {
    let mut words = AlignedVec::zeroed(len / 2);
    for (i, x) in words.halves_mut().iter_mut().enumerate() {
        *x = (i as u32).wrapping_mul(0x9e37_79b9) % PRIME as u32;
    }
    words
}

fn measure(k: &Kernels, what: &str, shape: &Shape) {
    let m = Modulus::new(PRIME).expect("a prime");
    let list = shape.n.next_multiple_of(WORD_LINE) * shape.terms;
    let copies: Vec<_> = (0..shape.copies)
        .map(|_| words(list * shape.lists))
        .collect();
    for recipients in [1, 2, 4, 8] {
        let b: Vec<_> = (0..2 * recipients).map(|_| words(list)).collect();
        let b: Vec<&[u32]> = b.iter().map(AlignedVec::halves).collect();
        let outputs = shape.lists * b.len();
        let mut out = AlignedVec::zeroed(outputs * shape.n);
        let mut out: Vec<_> = out.chunks_mut(shape.n).collect();
        let mut best = f64::MAX;
        for call in 0..CALLS {
            let a = copies[call % shape.copies].halves();
            let rows = WordRows {
                a,
                b: &b,
                terms: shape.terms,
            };
            let start = Instant::now();
            for _ in 0..shape.repeats {
                k.dot_words(&m, &mut out, std::hint::black_box(&rows));
            }
            best = best.min(start.elapsed().as_secs_f64() / shape.repeats as f64);
        }
        let products = (outputs * shape.n * shape.terms) as f64;
        println!(
            "{}, {what}, {recipients} recipients: {best:.5} s, {:.3} ns a multiply-add, {:.1} GB/s of a",
            k.name(),
            best * 1e9 / products,
            4e-9 * (list * shape.lists) as f64 / best,
        );
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).flat_map(|arg| arg.parse().ok());
    let (terms, lists) = (numbers.next().unwrap_or(36), numbers.next().unwrap_or(250));
    let (n, copies, repeats) = (8192, 2, 1);
    let memory = Shape {
        n,
        terms,
        lists,
        copies,
        repeats,
    };
    let cache = Shape {
        n: WORD_LINE,
        lists: 8,
        copies: 1,
        repeats: 1000,
        ..memory
    };
    measure(Kernels::detect(), "in cache", &cache);
    measure(Kernels::detect(), "from memory", &memory);
}
