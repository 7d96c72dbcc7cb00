//! Key switching, modulus switching and the trace at full size: values and noise.

use crate::common::*;
use omr_tfhe::*;

#[test]
fn lwe_switches() {
    let mut w = World::new(11);
    let (q, small) = (w.ring.q(), w.small.q());
    let key = w.switch_key(40);
    let (mut rounded, mut switched, mut last) = (vec![], vec![], vec![]);
    for i in 0..400 {
        let mut message = vec![1 << 40; w.ring.n()];
        message[0] = (i - 200) * (q as i64 / 500);
        let ct = w.exact(&message);
        let wide = Lwe::extract(w.ring.modulus(0), &ct).switch(q, small);
        let ternary: i128 = wide
            .mask
            .iter()
            .zip(w.ternary.coeffs())
            .map(|(&a, &z)| i128::from(a) * i128::from(z))
            .sum();
        let m = w.small.modulus(0);
        let wide_phase = (ternary + i128::from(wide.body)).rem_euclid(i128::from(small)) as u64;
        let exactly = (message[0] as f64 / q as f64 * small as f64).round() as i64;
        rounded.push(m.to_centered(m.sub(wide_phase, m.from_i64(exactly))));
        let out = key.switch(&w.small, &wide);
        let out_phase = out.phase(&w.secret, small);
        switched.push(m.to_centered(m.sub(out_phase, wide_phase)));
        let coarse = out.switch(small, 4096);
        let fine = out_phase as f64 / small as f64;
        let off = coarse.phase(&w.secret, 4096) as f64 / 4096.0 - fine;
        last.push(((off - off.round()) * 2f64.powi(50)) as i64);
    }
    let n = w.ring.n() as f64;
    let error = (w.switch_noise.sd() / small as f64).powi(2);
    let predicted = noise::modulus_switch(small, n * 2.0 / 3.0);
    check(
        "modulus to 24 bits",
        predicted,
        variance(rounded.into_iter(), small),
        0.2,
    );
    let predicted = noise::lwe_switch(SWITCH, w.ring.n(), error);
    check(
        "key switch",
        predicted,
        variance(switched.into_iter(), small),
        0.2,
    );
    let predicted = noise::modulus_switch(4096, w.secret.weight() as f64);
    check(
        "modulus to 4096",
        predicted,
        variance(last.into_iter(), 1 << 50),
        0.2,
    );
}

#[test]
fn traces() {
    let mut w = World::new(12);
    let q = w.ring.q();
    let key = w.trace_key();
    let (mut constant, mut others) = (vec![], vec![]);
    for i in 0..40 {
        let mut message: Vec<i64> = (0..w.ring.n() as i64)
            .map(|j| (j * 7919 + i) % (1 << 48))
            .collect();
        message[0] = (i - 20) * (q as i64 / 50);
        let ct = w.exact(&message);
        let found = phase(&w.ring, &key.apply(&w.ring, ct), &w.z);
        constant.push(found[0] - message[0]);
        others.extend(&found[1..]);
    }
    let error = (w.noise.sd() / q as f64).powi(2);
    let predicted = noise::trace(TRACE, w.ring.n(), error);
    check(
        "trace, constant coefficient",
        predicted,
        variance(constant.into_iter(), q),
        0.4,
    );
    let predicted = noise::trace_others(TRACE, w.ring.n(), error);
    check(
        "trace, other coefficients",
        predicted,
        variance(others.into_iter(), q),
        0.2,
    );
}

#[test]
fn keys_from_bodies_are_the_same() {
    let mut w = World::new(13);
    let at = MaskSeed::new(&SEED, 60);
    let trace = w.trace_key();
    let bodies: Vec<_> = trace.bodies().cloned().collect();
    let steps = bodies.chunks(TRACE.digits as usize).map(<[_]>::to_vec);
    let again = TraceKey::from_bodies(&w.ring, TRACE, steps.collect(), at);
    let message = vec![1 << 40; w.ring.n()];
    let ct = w.exact(&message);
    let words = |ct: RingCipher| (ct.body.to_vec(), ct.mask.to_vec());
    let outs = [&trace, &again].map(|key| words(key.apply(&w.ring, ct.clone())));
    assert_eq!(outs[0], outs[1]);

    let at = MaskSeed::new(&SEED, 80);
    let key = w.switch_key(80);
    let bodies: Vec<_> = key.bodies().cloned().collect();
    let parts = bodies.chunks(SWITCH.digits as usize).map(<[_]>::to_vec);
    let again = LweSwitchKey::from_bodies(&w.small, SWITCH, parts.collect(), at);
    let lwe = Lwe {
        body: 3,
        mask: (0..w.ring.n() as u64).collect(),
    };
    assert_eq!(key.switch(&w.small, &lwe), again.switch(&w.small, &lwe));
}
