//! Sums of products with plaintexts: values, noise, splits; LWE ciphertexts back into the ring.

use crate::common::*;
use omr_tfhe::*;
use rand_core::Rng;

/// Encrypts the constant `bit q / P`, with Gaussian noise of this many units.
fn bit(w: &mut World, bit: u64, sd: f64) -> RingCipher {
    let mut message: Vec<i64> = (0..w.ring.n()).map(|_| w.gaussian(sd) as i64).collect();
    message[0] += (bit * (w.ring.q() / P)) as i64;
    w.exact(&message)
}

/// In one call, in parts by several threads, or one after another: the same rows.
#[test]
fn many_ciphertexts_at_once_add_up_to_the_same() {
    let mut w = World::new(52);
    let (n, count, p) = (w.ring.n(), 2, P as u8);
    let mut cts: Vec<RingCipher> = (0..70).map(|i| bit(&mut w, i % 2, 10.0)).collect();
    let mut values = |_| -> Vec<u8> {
        (0..n + 300)
            .map(|_| (w.rng.next_u32() % P as u32) as u8)
            .collect()
    };
    let values: Vec<Vec<u8>> = (0..cts.len()).map(&mut values).collect();
    let mut alone = PlainSums::new(&w.ring, count);
    for (ct, values) in cts.iter().zip(&values) {
        alone.add(&w.ring, &mut [ct.clone()], std::slice::from_ref(values), p);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
    let mut together = PlainSums::new(&w.ring, count);
    let add = || together.add(&w.ring, &mut cts, &values, p);
    pool.build().unwrap().install(add);
    assert!(alone.rows().eq(together.rows()));
}

#[test]
fn sums_of_pertinent_values() {
    let mut w = World::new(51);
    let (n, q, p) = (w.ring.n(), w.ring.q(), P as u8);
    // The last plaintext is cut short.
    let (count, len) = (3, 2 * n + 700);
    let sd = 30_000.0;
    let messages = 60;
    let mut parts = [
        PlainSums::new(&w.ring, count),
        PlainSums::new(&w.ring, count),
    ];
    let mut expected = vec![0u64; len];
    for i in 0..messages {
        let pertinent = u64::from(i % 3 == 0);
        let values: Vec<u8> = (0..len)
            .map(|_| (w.rng.next_u32() % P as u32) as u8)
            .collect();
        for (sum, &value) in expected.iter_mut().zip(&values) {
            *sum += pertinent * u64::from(value);
        }
        let ct = bit(&mut w, pertinent, sd);
        parts[i % 2].add(&w.ring, &mut [ct], &[values], p);
    }
    let [mut sums, other] = parts;
    sums.merge(&w.ring, &other);
    let mut errors = Vec::new();
    for (j, ct) in sums.ciphers(&w.ring).iter().enumerate() {
        for (i, &x) in phase(&w.ring, ct, &w.z).iter().enumerate() {
            let Some(&expected) = expected.get(j * n + i) else {
                continue;
            };
            let value = (x as f64 / q as f64 * P as f64).round() as i64;
            assert_eq!(
                value.rem_euclid(P as i64) as u64,
                expected % P,
                "value {j} {i}"
            );
            // q / P is not whole: what that brings is far below the noise.
            let exact = value as f64 * q as f64 / P as f64;
            errors.push((x as f64 - exact) as i64);
        }
    }
    let one = (sd / q as f64).powi(2);
    let predicted = noise::plain_sum(messages as u64, P as u32, n, one, one);
    // The noise of a product grows with the coefficients of its plaintext.
    let (full, cut) = ((2 * n) as f64, (len - 2 * n) as f64);
    let share = (full + cut * cut / n as f64) / len as f64;
    let measured = variance(errors.into_iter(), q);
    check("sum of products", predicted * share, measured, 0.1);
}

#[test]
fn lwe_ciphertexts_go_back_into_the_ring() {
    let mut w = World::new(52);
    let key = w.trace_key();
    let ct = bit(&mut w, 1, 1000.0);
    let lwe = Lwe::extract(w.ring.modulus(0), &ct);
    let embedded = RingCipher::embed(w.ring.modulus(0), &lwe);
    assert_eq!(Lwe::extract(w.ring.modulus(0), &embedded), lwe);
    let found = phase(&w.ring, &key.apply(&w.ring, embedded), &w.z);
    let unit = (w.ring.q() / P) as i64;
    assert!((found[0] - unit).abs() < unit / 1000);
    assert!(found[1..].iter().all(|x| x.abs() < unit / 1000));
}
