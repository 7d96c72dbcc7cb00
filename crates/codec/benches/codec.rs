//! Times of packing, support finding and solving modulo the default prime.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use omr_codec::{DEFAULT_PRIME, Nodes, Solver, Symbols, power_sums};

const PAYLOAD_BYTES: usize = 612;
const SLOTS: usize = 65_536;
/// Sums beyond those that determine the unknowns.
const REDUNDANT: usize = 14;

fn payload(seed: usize) -> Vec<u8> {
    (0..PAYLOAD_BYTES)
        .map(|i| (((i + 1) * (seed + 251) * 2_654_435_761) >> 13) as u8)
        .collect()
}

fn chosen(nodes: &Nodes, count: usize) -> Vec<u32> {
    (0..count)
        .map(|i| nodes.node(0, i * 40_503 % SLOTS))
        .collect()
}

fn packing(c: &mut Criterion) {
    let symbols = Symbols::new(DEFAULT_PRIME, PAYLOAD_BYTES).unwrap();
    let payloads: Vec<Vec<u8>> = (0..64).map(payload).collect();
    let mut row = vec![0; symbols.count()];
    let mut next = (0..payloads.len()).cycle();
    c.bench_function("pack 612 bytes", |b| {
        b.iter(|| {
            symbols
                .pack(&payloads[next.next().unwrap()], black_box(&mut row))
                .unwrap()
        });
    });
    symbols.pack(&payloads[0], &mut row).unwrap();
    c.bench_function("unpack 612 bytes", |b| {
        b.iter(|| symbols.unpack(black_box(&row)).unwrap())
    });
}

fn places(c: &mut Criterion) {
    let nodes = Nodes::new(DEFAULT_PRIME, SLOTS).unwrap();
    let mut next = (0..64).cycle();
    c.bench_function("build nodes", |b| {
        b.iter(|| Nodes::new(black_box(DEFAULT_PRIME), SLOTS).unwrap());
    });
    c.bench_function("node", |b| {
        b.iter(|| nodes.node(0, black_box(next.next().unwrap())))
    });
}

fn support(c: &mut Criterion) {
    let nodes = Nodes::new(DEFAULT_PRIME, SLOTS).unwrap();
    let slots: Vec<u32> = (0..SLOTS as u32).collect();
    for count in [50, 512] {
        let sums = power_sums(nodes.field(), &chosen(&nodes, count), count + 1 + REDUNDANT);
        c.bench_function(&format!("find support of {count} of 65536"), |b| {
            b.iter(|| {
                let mut search = nodes.search(black_box(&sums), count).unwrap();
                search.batch(0, &slots);
                search.finish().count().unwrap()
            });
        });
    }
}

fn solving(c: &mut Criterion) {
    let nodes = Nodes::new(DEFAULT_PRIME, SLOTS).unwrap();
    let field = nodes.field();
    for count in [50, 512] {
        let known = chosen(&nodes, count);
        let sums = power_sums(field, &known, count + REDUNDANT); // every symbol is 1
        c.bench_function(
            &format!("invert {count} nodes and solve 252 symbols"),
            |b| {
                b.iter(|| {
                    let solver = Solver::new(field, &known, sums.len());
                    (0..252).for_each(|_| drop(black_box(solver.solve(black_box(&sums)).unwrap())));
                });
            },
        );
    }
}

criterion_group!(benches, packing, places, support, solving);
criterion_main!(benches);
