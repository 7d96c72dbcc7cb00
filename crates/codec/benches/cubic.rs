//! Times of the cubic code with a bound of 50 and payloads of 612 bytes: what the detector computes
//! for each message, and a whole decode.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use omr_codec::{CUBIC_MESSAGES, CubicCode, CubicElement, CubicSymbols};

const BOUND: usize = 50;
const PAYLOAD_BYTES: usize = 612;
const MESSAGES: u64 = 65_536;

fn code() -> CubicCode {
    CubicCode::new(&[42; 32], BOUND).unwrap()
}

fn packing() -> CubicSymbols {
    CubicSymbols::new(PAYLOAD_BYTES).unwrap()
}

fn payload(seed: u64) -> Vec<u8> {
    (0..PAYLOAD_BYTES as u64)
        .map(|i| (((i + 1) * (seed + 251) * 2_654_435_761) >> 13) as u8)
        .collect()
}

fn message(code: &CubicCode, index: u64) -> (CubicElement, Vec<CubicElement>) {
    let mut symbols = packing().pack(&payload(index)).unwrap();
    code.blind(index, &mut symbols);
    (code.nodes().node(index), symbols)
}

fn add(sums: &mut [u8], weights: &[u8]) {
    for (sum, &weight) in sums.iter_mut().zip(weights) {
        *sum = (*sum + weight) % 97;
    }
}

fn detector(c: &mut Criterion) {
    let code = code();
    let packing = packing();
    let bytes = payload(7);
    let (node, mut symbols) = message(&code, 7);
    let mut indices = (0..CUBIC_MESSAGES).cycle();
    let mut weights = vec![0; code.index_weights()];
    c.bench_function("cubic: build code", |b| {
        b.iter(|| CubicCode::new(black_box(&[1; 32]), BOUND))
    });
    c.bench_function("cubic: node", |b| {
        b.iter(|| code.nodes().node(black_box(indices.next().unwrap())));
    });
    c.bench_function("cubic: index weights", |b| {
        b.iter(|| code.index_weights_into(black_box(node), black_box(&mut weights)));
    });
    c.bench_function("cubic: pack 612 bytes", |b| {
        b.iter(|| packing.pack(black_box(&bytes)).unwrap())
    });
    c.bench_function("cubic: blind 248 symbols", |b| {
        b.iter(|| code.blind(black_box(7), black_box(&mut symbols)));
    });
    let mut weights = vec![0; code.payload_weights(symbols.len())];
    c.bench_function("cubic: payload weights of 248 symbols", |b| {
        b.iter(|| code.payload_weights_into(node, black_box(&symbols), black_box(&mut weights)));
    });
}

fn recipient(c: &mut Criterion) {
    let (code, packing) = (code(), packing());
    let mut index_sums = vec![0; code.index_weights()];
    let mut payload_sums = vec![0; code.payload_weights(packing.count())];
    let (mut index_row, mut payload_row) = (index_sums.clone(), payload_sums.clone());
    for i in 0..BOUND as u64 {
        let (node, symbols) = message(&code, i * 18_013 % MESSAGES);
        code.index_weights_into(node, &mut index_row);
        code.payload_weights_into(node, &symbols, &mut payload_row);
        add(&mut index_sums, &index_row);
        add(&mut payload_sums, &payload_row);
    }
    c.bench_function("cubic: find 50 messages of 65536", |b| {
        b.iter(|| {
            code.find_counted(black_box(&index_sums), BOUND, MESSAGES)
                .unwrap()
        });
    });
    c.bench_function(
        "cubic: find 50 messages of 65536 and decode their 612 bytes",
        |b| {
            b.iter(|| {
                let support = code
                    .find_counted(black_box(&index_sums), BOUND, MESSAGES)
                    .unwrap();
                let rows = code
                    .solver(&support)
                    .solve(packing.count(), black_box(&payload_sums))
                    .unwrap();
                rows.rows
                    .iter()
                    .map(|row| packing.unpack(row).unwrap())
                    .collect::<Vec<_>>()
            });
        },
    );
}

criterion_group!(benches, detector, recipient);
criterion_main!(benches);
