//! What one message costs, by the number of messages in flight: three rotations with one digit, the
//! switch to the block secret, one rotation with two digits, the trace.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{SEED, SWITCH, TRACE, World};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use omr_tfhe::*;

/// LWE ciphertexts of a clue.
const COORDINATES: usize = 3;

struct Keys {
    bootstrap: BootstrapKey,
    switch: LweSwitchKey,
    trace: TraceKey,
}

/// What the second rotation looks for: all coordinates hit.
fn windows(q: u64) -> [Window; 2] {
    let first = Window {
        centre: 0,
        half: 19,
        value: q / 14,
    };
    let second = Window {
        centre: 877,
        half: 146,
        value: q / 97,
    };
    [first, second]
}

fn first_layer(w: &World, keys: &Keys, clues: &[Vec<Lwe>]) -> Vec<Lwe> {
    let [window, _] = windows(w.ring.q());
    let start = clues.iter().flatten();
    let start = start.map(|ct| Rotation::new(&w.ring, ct, window)).collect();
    let m = w.ring.modulus(0);
    let turned = keys.bootstrap.rotate(&w.ring, 1, start);
    let of_message = |turned: &[RingCipher]| {
        let mut sum = Lwe::extract(m, &turned[0]);
        for ct in &turned[1..] {
            sum.add_assign(m, &Lwe::extract(m, ct));
        }
        let narrow = sum.switch(m.value(), w.small.q());
        let switched = keys.switch.switch(&w.small, &narrow);
        switched.switch(w.small.q(), 2 * w.ring.n() as u64)
    };
    turned.chunks(COORDINATES).map(of_message).collect()
}

fn second_layer(w: &World, keys: &Keys, cts: &[Lwe]) -> Vec<RingCipher> {
    let [_, window] = windows(w.ring.q());
    let start = cts.iter().map(|ct| Rotation::new(&w.ring, ct, window));
    keys.bootstrap.rotate(&w.ring, 2, start.collect())
}

fn messages(c: &mut Criterion) {
    let mut w = World::new(21);
    let bootstrap = w.bootstrap_key();
    let at = (&SEED, 40);
    let (from, to) = (&w.ternary, &w.secret);
    let switch =
        LweSwitchKey::generate(&w.small, SWITCH, from, to, at, &w.switch_noise, &mut w.rng);
    let at = (&SEED, 60);
    let trace = TraceKey::generate(&w.ring, TRACE, &w.z, at, &w.noise, &mut w.rng);
    let keys = Keys {
        bootstrap,
        switch,
        trace,
    };
    for count in [1, 4, 8, 64] {
        let mut group = c.benchmark_group("message");
        group.sample_size(10);
        group.throughput(Throughput::Elements(count));
        let turn = 2 * w.ring.n() as u64;
        let clues: Vec<Vec<Lwe>> = (0..count)
            .map(|i| (0..COORDINATES).map(|_| w.lwe(turn, i % 2 * 100)).collect())
            .collect();
        let middle = first_layer(&w, &keys, &clues);
        let last = second_layer(&w, &keys, &middle);
        let id = |name| BenchmarkId::new(name, count);
        group.bench_function(id("first layer"), |b| {
            b.iter(|| first_layer(&w, &keys, &clues));
        });
        group.bench_function(id("second layer"), |b| {
            b.iter(|| second_layer(&w, &keys, &middle));
        });
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
