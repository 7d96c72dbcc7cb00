//! The cost of one message, by the number of messages in flight: three rotations with one digit, the
//! switch to the block secret, one rotation with two digits, the trace.

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../tests/tfhe/common.rs"]
mod common;

use common::{Arithmetic, COORDINATES, Keys, World, first_layer, second_layer};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use omr_tfhe::*;

fn messages(c: &mut Criterion) {
    let mut w = World::new(21);
    let keys = Keys::new(&mut w);
    for count in [1, 4, 8, 64] {
        let mut group = c.benchmark_group("message");
        group.sample_size(10);
        group.throughput(Throughput::Elements(count));
        let turn = 2 * w.ring.n() as u64;
        let clues: Vec<Vec<Lwe>> = (0..count)
            .map(|i| (0..COORDINATES).map(|_| w.lwe(turn, i % 2 * 100)).collect())
            .collect();
        let middle = first_layer(&w, &keys, &clues, Arithmetic::Exact);
        let last = second_layer(&w, &keys, &middle, Arithmetic::Exact);
        let id = |name| BenchmarkId::new(name, count);
        for (name, arithmetic) in [
            ("first layer, exact", Arithmetic::Exact),
            ("first layer, floats", Arithmetic::Floats),
        ] {
            group.bench_function(id(name), |b| {
                b.iter(|| first_layer(&w, &keys, &clues, arithmetic));
            });
        }
        for (name, arithmetic) in [
            ("second layer, exact", Arithmetic::Exact),
            ("second layer, floats", Arithmetic::Floats),
        ] {
            group.bench_function(id(name), |b| {
                b.iter(|| second_layer(&w, &keys, &middle, arithmetic));
            });
        }
        group.bench_function(id("trace"), |b| {
            let all = |cts: Vec<RingCipher>| {
                for ct in cts {
                    keys.trace.apply(&w.ring, ct);
                }
            };
            b.iter_batched(|| last.clone(), all, BatchSize::LargeInput);
        });
        group.finish();
    }
}

criterion_group!(benches, messages);
criterion_main!(benches);
