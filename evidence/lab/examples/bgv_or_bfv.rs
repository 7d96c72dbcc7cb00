//! The cost of one homomorphic multiplication in BGV and in BFV, with equal kernels, primes and relinearisation key:
//! `cargo run --release -p omr-lab --example bgv_or_bfv`.
//!
//! BFV is that of Halevi, Polyakov and Shoup (2019): both operands are raised to a second basis as large as the
//! first, the tensor is computed in both, scaled by p/Q into the second and brought back.
use chacha20::ChaCha20Rng;
use omr_bgv::{Ciphertext, Evaluator};
use omr_protocol::params::SOPHOMR;
use omr_protocol::sophomr::Params;
use omr_ring::{Basis, Conversion, Eval, Poly, Ring, Switch, uniform_poly};
use omr_rlwe::{KeySwitch, Rlwe, Secret, SwitchInput, SwitchingKey};
use rand_core::SeedableRng;
use std::time::Instant;

fn seconds(mut work: impl FnMut()) -> f64 {
    work();
    let mut runs: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[2]
}

/// Runs the part of a BFV multiplication that replaces the tensor of BGV.
fn bfv_tensor(
    ring: &Ring,
    a: &Rlwe,
    b: &Rlwe,
    second: &Basis,
    p: &omr_ring::Modulus,
) -> Vec<Poly<Eval>> {
    let first = a.basis().clone();
    let both = first.union(second);
    let up = Conversion::raise(ring, &first, second);
    let raise = |poly: &Poly<Eval>| {
        let high = converted(ring, &up, poly);
        Poly::<Eval>::from_rows(ring.n(), &both, [poly.to_words(), high.to_words()].concat())
    };
    let [a0, a1, b0, b1] = [&a.c0, &a.c1, &b.c0, &b.c1].map(raise);
    let product = |x: &Poly<Eval>, y: &Poly<Eval>| {
        let mut out = x.clone();
        ring.mul_assign(&mut out, y);
        out
    };
    let mut middle = product(&a0, &b1);
    ring.mul_add_assign(&mut middle, &a1, &b0);
    let down = Switch::new(ring, &both, second, p);
    let back = Conversion::raise(ring, second, &first);
    [product(&a0, &b0), middle, product(&a1, &b1)]
        .iter()
        .map(|part| converted(ring, &back, &down.apply(ring, part)))
        .collect()
}

fn converted(ring: &Ring, conversion: &Conversion, poly: &Poly<Eval>) -> Poly<Eval> {
    let mut source = poly.clone();
    ring.each_row(&mut source, |id, row| {
        ring.kernels()
            .ntt_inverse_scaled(ring.table(id), row, conversion.weight(id));
    });
    let rows: Vec<&[u64]> = source.rows().collect();
    ring.forward(conversion.apply(ring, &rows))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()?;
    let params = Params::named(SOPHOMR)?;
    let (ring, p) = (&params.ring, params.p());
    let ev = Evaluator {
        ring,
        plain: &params.plain,
        chain: &params.chain,
        stop: None,
    };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let extended = params.product_shape.extended();
    let s = Secret::fixed_weight(&mut rng, ring.n(), 4096, 20.0).poly(ring, &extended);
    let square = s.product(ring, &s);
    let key = SwitchingKey::generate(
        ring,
        &params.product_shape,
        &square,
        &s,
        p.value(),
        &[0; 32],
        0,
        &mut rng,
    );
    println!("level  limbs  BGV ms  BFV ms  BFV/BGV");
    for level in (1..params.chain.len()).step_by(8) {
        let basis = params.chain.basis(level);
        // Any primes of the ring can be the second basis; one more than the first has.
        let others = ring.everything().minus(basis);
        let second = Basis::new(others.ids().iter().copied().take(basis.len() + 1));
        let uniform = |i: u64| uniform_poly(ring, basis, "bgv or bfv", &[1; 32], &[i]);
        let pair = |i: u64| Rlwe::new(uniform(2 * i), uniform(2 * i + 1));
        let (a, b) = (pair(0), pair(1));
        let (x, y) = (
            Ciphertext::new(a.clone(), level, 1),
            Ciphertext::new(b.clone(), level, 1),
        );
        let bgv = seconds(|| {
            std::hint::black_box(ev.mul(&x, &y, &key).expect("levels are left"));
        });
        let bfv = seconds(|| {
            let parts = bfv_tensor(ring, &a, &b, &second, p);
            let switch = KeySwitch {
                key: &key,
                to: basis,
                image: None,
            };
            let input = SwitchInput {
                c: &parts[2],
                add: [Some(&parts[0]), Some(&parts[1])],
            };
            std::hint::black_box(switch.apply(ring, &[input], p));
        });
        println!(
            "{level:5}  {:5}  {:6.1}  {:6.1}  {:7.2}",
            basis.len(),
            bgv * 1e3,
            bfv * 1e3,
            bfv / bgv
        );
    }
    Ok(())
}
