//! The parts of a two-sided answer that a client sees with its secrets.

use super::*;
use crate::{Client, Quiet, SecretKey, Spec};
use chacha20::ChaCha20Rng;
use omr_compress::Phases;
use omr_ring::centered_f64;
use omr_rlwe::{decrypt_residues, rounding_noise};
use omr_table::{ColumnType, Filter, Leaf, Query, TableBuilder, Test, Value};
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

struct World {
    params: Arc<Params>,
    secret: SecretKey,
    key: EvaluationKey,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let params = Params::named("insecure-tiny-pdq-two-sided-v1").unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (secret, key) = SecretKey::generate(&params, &mut rng);
    World {
        params,
        secret,
        key,
    }
});

/// Two columns: a number below 30, and what is asked for.
fn table(rows: i64, value: impl Fn(i64) -> i64) -> Table {
    let columns = ["key", "value"].map(|name| (name.to_owned(), ColumnType::Integer));
    let mut builder = TableBuilder::new("t", columns.to_vec()).unwrap();
    for row in 0..rows {
        let values = vec![Value::Integer(row % 30), Value::Integer(value(row))];
        builder.push_row(values).unwrap();
    }
    builder.finish([2; 16])
}

/// The ciphertexts of an answer in the small ring: as computed, and flooded.
struct Packed {
    plan: Plan,
    before: Vec<Rlwe>,
    after: Vec<Rlwe>,
    answer: Answer,
}

fn packed(table: &Table, key: i64, bound: usize, draw: u64) -> Packed {
    let World { params, secret, .. } = &*WORLD;
    let query = Query::new(
        vec![1],
        Filter::Leaf(Leaf::new(0, Test::Ordinals(vec![key]))),
    );
    let client = Client::new(params, table.schema(), secret);
    let server = Server::new(params, table, [0; 32]);
    let rng = |seed| ChaCha20Rng::seed_from_u64(seed);
    let plan = client.plan(&query, bound).unwrap();
    let sent = client.encrypt(&query, &plan, &mut rng(2));
    let hidden = server.hidden(&plan, &mut rng(draw));
    let layout = server.layout(hidden.as_ref());
    let compressor = Compressor::new(params, plan.sums(params), &WORLD.key);
    let flooding = server.flooding(hidden.as_ref(), &WORLD.key).unwrap();
    let run = Run {
        layout,
        plan: &plan,
        schedule: Schedule::new(params, &plan),
        key: &WORLD.key,
        compressor: &compressor,
        symbols: &RowSymbols::new(&server, &plan).unwrap(),
        times: &Times::new(),
    };
    let mut before: Vec<Rlwe> = Vec::new();
    run.groups(&sent, &Quiet, &mut |_, sums| {
        before.extend(compressor.pack(sums))
    })
    .unwrap();
    let mut after = before.clone();
    for (ct, packed) in after.iter_mut().enumerate() {
        let flooding = flooding.as_ref().expect("a set with flooding");
        flooding.hide(params, 0, ct, packed);
    }
    let answer = server
        .answer(&sent, &plan, &WORLD.key, &mut rng(draw), &Quiet)
        .unwrap();
    Packed {
        plan,
        before,
        after,
        answer,
    }
}

/// Returns the integers that ciphertexts decrypt to.
fn phase(cts: &[Rlwe]) -> Vec<f64> {
    let params = &*WORLD.params;
    let secret = WORLD
        .secret
        .small(params)
        .poly(&params.small, params.small_basis());
    let of = |ct| centered_f64(&params.small, &decrypt_residues(&params.small, ct, &secret));
    cts.iter().flat_map(of).collect()
}

/// The coefficients that contain sums.
fn kept(plan: &Plan, noise: &[f64]) -> Vec<f64> {
    let (shape, n) = (plan.sums(&WORLD.params), WORLD.params.small.n());
    let of = |(part, (round, ct))| shape.kept(round, ct).map(move |at| noise[part * n + at]);
    shape.positions().enumerate().flat_map(of).collect()
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64).sqrt()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, x| x.abs().max(most))
}

/// Standard deviation of the flooding noise times p.
fn width() -> f64 {
    let params = &*WORLD.params;
    f64::from(params.flooding().unwrap()).exp2() * params.p().value() as f64
}

/// Noise that depends on the table is what was predicted, and far below what is added.
#[test]
fn the_computation_is_as_quiet_as_predicted() {
    let tables = [(2500, 16), (2500, 40), (2500, 100), (900, 16), (20_000, 16)];
    for (rows, bound) in tables {
        let packed = packed(&table(rows, |row| row * row), 7, bound, 5);
        let kept = kept(&packed.plan, &phase(&packed.before));
        let (found, predicted) = (rms(&kept).log2(), packed.plan.compressed(&WORLD.params));
        eprintln!("{rows} {bound}: {found:.2} of {predicted:.2} bits");
        let above = found - predicted;
        // Symbols are predicted at their largest norm, 0.8 bits above the mean.
        assert!((-2.0..0.0).contains(&above), "{above} bits");
        let flooding = packed.plan.flooding.unwrap();
        let mean = kept.iter().map(|x| x.abs()).sum::<f64>() / kept.len() as f64;
        let distance = (mean / width() / 2.0).log2();
        assert!(
            distance < flooding.coefficient && flooding.coefficient < -48.0,
            "{distance} of {flooding:?}"
        );
    }
}

/// Flooded ciphertexts of three tables have noise of the same deviation, that of a uniform distribution.
#[test]
fn flooded_noise_does_not_tell_the_table() {
    let tables = [
        table(2500, |row| row * row),
        table(2500, |_| 1),
        table(40, |row| row),
    ];
    for (draw, table) in (10..).zip(&tables) {
        for key in [7, 29, 1_000] {
            let packed = packed(table, key, 16, draw);
            let [before, after] = [&packed.before, &packed.after].map(|cts| phase(cts));
            let ratio = rms(&after) / (width() / 3f64.sqrt());
            // The fourth moment of a uniform value is 9/5 of its second's square.
            let deviation = (0.8 / after.len() as f64).sqrt() / 2.0;
            eprintln!(
                "{:.1} bits before; {ratio:.4} after, in units of {deviation:.4}",
                rms(&before).log2()
            );
            assert!((ratio - 1.0).abs() < 4.5 * deviation, "{ratio}");
            assert!(rms(&before) < rms(&after) * (-44f64).exp2());
        }
    }
}

/// Flooding never takes more than its share of what decodes, and at least half of that.
#[test]
fn the_modulus_has_room() {
    let params = &*WORLD.params;
    let half = params.small.log2(params.small_basis()) - 1.0;
    let packed = packed(&table(2500, |row| row), 3, 100, 20);
    let margin = half - largest(&phase(&packed.after)).log2();
    assert!((1.85..2.9).contains(&margin), "{margin} bits");
}

/// Phases of an answer, in half steps between sums: flooding, rounding of bodies and the last steps add up to what was
/// predicted, and stay below 1.
#[test]
fn phases_deviate_as_predicted() {
    let params = &*WORLD.params;
    let packed = packed(&table(2500, |row| row), 3, 100, 30);
    let packing = params.compression().packing;
    let phases = Phases::new(packing.last(), WORLD.secret.last(params));
    let shape = packed.plan.sums(params);
    let phases = phases.phases(shape, 1, &packed.answer.groups[0]).unwrap();
    let (p, bits) = (params.p().value(), packing.mask_bits);
    let deviation = |&phase: &u64| {
        let part = (phase * p) & ((1 << bits) - 1);
        let centred = part as i64 - ((part >> (bits - 1)) << bits) as i64;
        centred as f64 / (1u64 << (bits - 1)) as f64
    };
    let found: Vec<f64> = phases.iter().flatten().map(deviation).collect();

    let LastSteps { uniform, normal } = LastSteps::new(params);
    let squares = uniform.iter().map(|x| x * x).sum::<f64>();
    let expected = (normal * normal + squares / 3.0).sqrt();
    let ratio = rms(&found) / expected;
    eprintln!("{} of {expected}, at most {}", rms(&found), largest(&found));
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert!(largest(&found) < uniform.iter().sum::<f64>() + 5.0 * normal);
}

/// The parts of the half step between sums that are used once an answer is flooded.
struct LastSteps {
    /// Bounds: flooding, rounding of bodies.
    uniform: [f64; 2],
    /// Standard deviation of all else.
    normal: f64,
}

impl LastSteps {
    fn new(params: &Params) -> Self {
        let (n, q) = (params.final_ring.n(), params.final_ring.modulus(0).value());
        let (packing, shape) = (params.compression().packing, params.final_shape);
        let half_steps = 2.0 * params.p().value() as f64;
        let modulus = params.small.log2(params.small_basis());
        let flooding = f64::from(params.flooding().unwrap()) - modulus;
        let rounding = -f64::from(packing.body_bits) - 1.0;
        let normal = [
            shape.key_noise(n, q),
            shape.mask_noise(n),
            rounding_noise(n, packing.mask_bits),
        ];
        Self {
            uniform: [flooding, rounding].map(|bits| bits.exp2() * half_steps),
            normal: normal.iter().map(|x| x * x).sum::<f64>().sqrt() * half_steps,
        }
    }
}

/// In all sets a sum comes out wrong with probability 2^-55 at most: 8.5 deviations.
#[test]
fn flooding_leaves_room_for_the_last_steps() {
    for spec in Spec::ALL.into_iter().filter(|spec| spec.flooding_bits > 0) {
        let params = Params::named(spec.name).unwrap();
        let LastSteps { uniform, normal } = LastSteps::new(&params);
        let left = (1.0 - uniform.iter().sum::<f64>()) / normal;
        eprintln!(
            "{}: {} bits, {uniform:?} of a half step, {left} deviations of {normal} left",
            spec.name,
            params.flooding().unwrap()
        );
        assert!(left > 8.5, "{left} deviations");
    }
}

/// The sums of a row's symbols are those of masked ones: they change from answer to answer, the count does not.
#[test]
fn overflowing_sums_are_masked() {
    let params = &*WORLD.params;
    let table = table(2500, |_| 1);
    let sums = [40, 41].map(|draw| {
        let packed = packed(&table, 3, 16, draw);
        let phases = Phases::new(
            params.compression().packing.last(),
            WORLD.secret.last(params),
        );
        let shape = packed.plan.sums(params);
        phases.sums(shape, &packed.answer.groups[0]).unwrap()
    });
    assert_eq!(sums[0][0][0], 84);
    assert_eq!(sums[1][0][0], 84);
    for (one, other) in sums[0].iter().zip(&sums[1]).skip(2) {
        assert_ne!(one[0], other[0]);
    }
}
