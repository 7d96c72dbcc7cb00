//! Distributions of the samplers (fixed seeds, chi-square) and arithmetic against 128-bit integers.
use chacha20::ChaCha20Rng;
use omr_ring::*;
use rand_core::{Rng, SeedableRng};

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Standard deviations by which Pearson's statistic exceeds its mean.
fn chi_square(observed: &[u64], expected: &[f64]) -> f64 {
    let statistic: f64 = observed
        .iter()
        .zip(expected)
        .map(|(&o, e)| (o as f64 - e).powi(2) / e)
        .sum();
    let freedom = observed.len() as f64 - 1.0;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

fn moments(values: &[i64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<i64>() as f64 / count;
    let square = values.iter().map(|x| (x * x) as f64).sum::<f64>() / count;
    (mean, square - mean * mean)
}

#[test]
fn fixed_weight_is_exact_and_uniform() {
    let mut rng = rng(1);
    let (n, weight, draws) = (128, 20, 20_000);
    let (mut plus, mut minus, mut pairs) = (vec![0u64; n], vec![0u64; n], 0u64);
    for _ in 0..draws {
        let coeffs = fixed_weight(&mut rng, n, weight);
        assert!(coeffs.iter().all(|c| (-1..=1).contains(c)));
        assert_eq!(coeffs.iter().filter(|&&c| c != 0).count(), weight);
        for (i, &c) in coeffs.iter().enumerate() {
            plus[i] += u64::from(c == 1);
            minus[i] += u64::from(c == -1);
        }
        pairs += coeffs.windows(2).filter(|w| w[0] != 0 && w[1] != 0).count() as u64;
    }
    let expected = vec![f64::from(draws) * weight as f64 / (2 * n) as f64; 2 * n];
    let score = chi_square(&[plus, minus].concat(), &expected);
    assert!(
        score.abs() < 4.0,
        "positions and signs: {score:.2} standard deviations"
    );
    // Neighbours are no more often chosen together than any two positions.
    let (w, n) = (weight as f64, n as f64);
    let together = f64::from(draws) * (n - 1.0) * w * (w - 1.0) / (n * (n - 1.0));
    let deviation = (pairs as f64 - together) / together.sqrt();
    assert!(
        deviation.abs() < 4.0,
        "neighbours: {deviation:.2} standard deviations"
    );
}

#[test]
fn fixed_weight_extremes() {
    assert_eq!(fixed_weight(&mut rng(2), 64, 0), vec![0; 64]);
    assert!(
        fixed_weight(&mut rng(2), 64, 64)
            .iter()
            .all(|&c| c.abs() == 1)
    );
}

#[test]
fn centered_binomial_frequencies() {
    const DRAWS: usize = 1 << 20;
    let values = centered_binomial(&mut rng(3), DRAWS);
    let (mean, variance) = moments(&values);
    assert!(
        mean.abs() < 4.0 * (10.5 / DRAWS as f64).sqrt(),
        "mean {mean}"
    );
    // The variance of a variance estimate is about 2 sigma^4 / count.
    assert!(
        (variance - 10.5).abs() < 4.0 * 10.5 * (2.0 / DRAWS as f64).sqrt(),
        "{variance}"
    );
    // P(x) = C(42, 21 + x) / 2^42: all from -14 to 14, the rest in one.
    let mut binomial = vec![1.0];
    for k in 0..42 {
        let last: f64 = binomial[k];
        binomial.push(last * (42 - k) as f64 / (k + 1) as f64);
    }
    let mut observed = vec![0; 30];
    values
        .iter()
        .for_each(|&x| observed[if x.abs() > 14 { 29 } else { (x + 14) as usize }] += 1);
    let mut expected: Vec<f64> = (7..=35)
        .map(|k| binomial[k] / 42f64.exp2() * DRAWS as f64)
        .collect();
    expected.push(DRAWS as f64 - expected.iter().sum::<f64>());
    let score = chi_square(&observed, &expected);
    assert!(score.abs() < 4.0, "{score:.2} standard deviations");
}

#[test]
fn uniform_ternary_frequencies() {
    const DRAWS: usize = 300_000;
    let mut observed = [0; 3];
    uniform_ternary(&mut rng(4), DRAWS)
        .iter()
        .for_each(|&x| observed[(x + 1) as usize] += 1);
    let score = chi_square(&observed, &[DRAWS as f64 / 3.0; 3]);
    assert!(score.abs() < 4.0, "{observed:?}");
}

#[test]
fn narrow_gaussian_frequencies() {
    const DRAWS: usize = 1 << 20;
    let gaussian = NarrowGaussian::new(0.5);
    let weight = |x: i32| (-2.0 * f64::from(x * x)).exp();
    let total: f64 = (-20..=20).map(weight).sum();
    for (x, &found) in gaussian.probabilities().iter().enumerate() {
        let expected = weight(x as i32) / total;
        assert!(
            (found / expected - 1.0).abs() < 1e-12,
            "P({x}) = {found}, not {expected}"
        );
    }
    let variance: f64 = (-20..=20)
        .map(|x| f64::from(x * x) * weight(x) / total)
        .sum();
    assert!(
        (variance.sqrt() - 0.4637).abs() < 5e-5,
        "{}",
        variance.sqrt()
    );
    let values = gaussian.sample(&mut rng(5), DRAWS);
    let (mean, found) = moments(&values);
    assert!(
        mean.abs() < 4.0 * (variance / DRAWS as f64).sqrt(),
        "mean {mean}"
    );
    assert!((found / variance - 1.0).abs() < 0.01, "variance {found}");
    let mut observed = [0; 5];
    values.iter().for_each(|&x| observed[(x + 2) as usize] += 1);
    let expected: Vec<f64> = (-2..=2).map(|x| DRAWS as f64 * weight(x) / total).collect();
    let score = chi_square(&observed, &expected);
    assert!(score.abs() < 4.0, "{observed:?} against {expected:?}");
}

#[test]
fn uniform_residues_fill_the_range() {
    const DRAWS: usize = 1 << 18;
    // Just above a power of two (half of all tries are refused), just below one, tiny.
    for q in [786_433, 65_537, 1_125_899_906_842_597, 3] {
        let m = Modulus::new(q).unwrap();
        let mut values = vec![0; DRAWS];
        uniform_residues(&mut rng(6), &m, &mut values);
        assert!(values.iter().all(|&x| x < q));
        let mean = values.iter().map(|&x| x as f64).sum::<f64>() / DRAWS as f64;
        let middle = (q - 1) as f64 / 2.0;
        let error = ((q as f64).powi(2) / 12.0 / DRAWS as f64).sqrt();
        assert!(
            (mean - middle).abs() < 4.0 * error,
            "mean {mean} modulo {q}"
        );
        let bins = q.min(64);
        let mut observed = vec![0; bins as usize];
        let bin = |x: u64| (u128::from(x) * u128::from(bins) / u128::from(q)) as usize;
        values.iter().for_each(|&x| observed[bin(x)] += 1);
        // Bins hold equal numbers of residues but for one: below 0.1 % where q is 65,537.
        let score = chi_square(&observed, &vec![DRAWS as f64 / bins as f64; bins as usize]);
        assert!(
            score.abs() < 4.0,
            "modulo {q}: {score:.2} standard deviations"
        );
    }
}

/// Word by word, 512 at a time from the stream.
fn residues_one_by_one(rng: &mut ChaCha20Rng, q: u64, count: usize) -> Vec<u64> {
    let mask = u64::MAX >> q.leading_zeros();
    let mut words: Vec<u64> = Vec::new();
    let mut out = Vec::new();
    while out.len() < count {
        if words.is_empty() {
            let mut bytes = [0; 4096];
            rng.fill_bytes(&mut bytes);
            let chunks = bytes.as_chunks::<8>().0.iter().rev();
            words = chunks.map(|&word| u64::from_le_bytes(word)).collect();
        }
        out.extend(words.pop().map(|word| word & mask).filter(|&x| x < q));
    }
    out
}

#[test]
fn uniform_residues_are_the_words_below_the_modulus() {
    // From half of all tries refused to hardly any.
    for q in [3, 65_537, 786_433, 137_438_953_481, 1_125_899_906_842_597] {
        let m = Modulus::new(q).unwrap();
        for count in [0, 1, 2, 255, 256, 511, 512, 513, 5000] {
            let (mut rng, mut slow) = (rng(7), rng(7));
            let mut out = vec![u64::MAX; count];
            uniform_residues(&mut rng, &m, &mut out);
            let expected = residues_one_by_one(&mut slow, q, count);
            assert_eq!(out, expected, "{count} modulo {q}");
            assert_eq!(rng.next_u64(), slow.next_u64(), "the stream goes on");
        }
    }
}

#[test]
fn streams_of_other_names_differ() {
    let first = |domain: &str, seed: u8, index: &[u64]| {
        let mut bytes = [0; 32];
        Xof::stream(domain, &[seed; 32], index).fill_bytes(&mut bytes);
        bytes
    };
    let streams = [
        first("omr test a", 1, &[1, 2]),
        first("omr test b", 1, &[1, 2]),
        first("omr test a", 2, &[1, 2]),
        first("omr test a", 1, &[2, 1]),
        first("omr test a", 1, &[1]),
        first("omr test a", 1, &[]),
        first("omr test a", 1, &[1, 2, 0]),
    ];
    assert_eq!(
        streams[0],
        first("omr test a", 1, &[1, 2]),
        "the same name, the same bytes"
    );
    for (i, a) in streams.iter().enumerate() {
        assert!(!streams[..i].contains(a), "stream {i} repeats another");
    }
}

#[test]
fn masks_of_one_prime_do_not_depend_on_the_others() {
    let primes = primes_near(40.0, 64, 3, &[]).unwrap();
    let ring = Ring::new(64, &primes).unwrap();
    let draw = |basis: &Basis| uniform_poly(&ring, basis, "omr test mask", &[7; 32], &[3]);
    let all = draw(&ring.everything());
    assert_eq!(draw(&Basis::new([2])).row_of(2), all.row_of(2));
    assert_ne!(all.row(0), all.row(1));
}

/// Three primes of 38 bits: the product is below 2^115.
fn ring_of_three() -> Ring {
    Ring::new(64, &primes_near(38.0, 64, 3, &[786_433]).unwrap()).unwrap()
}

fn product(ring: &Ring) -> i128 {
    (0..3)
        .map(|id| i128::from(ring.modulus(id).value()))
        .product()
}

/// Centred integers spread over all magnitudes, and the edges.
fn integers(ring: &Ring) -> Vec<i128> {
    let (mut rng, q) = (rng(8), product(ring));
    let mut out: Vec<i128> = (0..ring.n())
        .map(|i| {
            let wide =
                (i128::from(rng.next_u64()) << 64 | i128::from(rng.next_u64())).rem_euclid(q);
            (wide - q / 2) >> (i % 100)
        })
        .collect();
    out[..7].copy_from_slice(&[
        0,
        1,
        -1,
        q / 4,
        -q / 4,
        q / 2 - (q >> 30),
        (q >> 30) - q / 2,
    ]);
    out
}

fn poly(ring: &Ring, values: &[i128]) -> Poly<Coeff> {
    let rows = (0..3).flat_map(|id| {
        let q = i128::from(ring.modulus(id).value());
        values.iter().map(move |x| x.rem_euclid(q) as u64)
    });
    Poly::from_rows(ring.n(), &ring.everything(), rows.collect())
}

#[test]
fn centered_values_agree_with_wide_integers() {
    let ring = ring_of_three();
    let values = integers(&ring);
    let a = poly(&ring, &values);
    let floats = centered_f64(&ring, &a);
    for (&x, &found) in values.iter().zip(&floats) {
        assert!(
            (found - x as f64).abs() <= (x as f64).abs() * 2f64.powi(-50),
            "{x} as {found}"
        );
    }
    for p in [3, 97, 786_433] {
        let modulus = Modulus::new(p).unwrap();
        let expected: Vec<u64> = values
            .iter()
            .map(|x| x.rem_euclid(i128::from(p)) as u64)
            .collect();
        assert_eq!(centered_mod(&ring, a.clone(), &modulus), expected);
    }
}

#[test]
fn switching_up_and_down_again() {
    let ring = ring_of_three();
    let p = Modulus::new(786_433).unwrap();
    let (low, all) = (Basis::new([0]), ring.everything());
    let up = Switch::new(&ring, &low, &all, &p);
    let down = Switch::new(&ring, &all, &low, &p);
    assert_eq!(p.mul(up.factor(), down.factor()), 1);
    let a = ring.forward(poly(&ring, &integers(&ring))).restrict(&low);
    let raised = up.apply(&ring, &a);
    assert_eq!(
        down.apply(&ring, &raised).to_words(),
        a.to_words(),
        "up and down lose nothing"
    );
}

#[test]
fn switching_down_keeps_the_value_modulo_p() {
    let ring = ring_of_three();
    let p = Modulus::new(786_433).unwrap();
    let low = Basis::new([0, 1]);
    let down = Switch::new(&ring, &ring.everything(), &low, &p);
    let values = integers(&ring);
    let a = poly(&ring, &values);
    let before = centered_mod(&ring, a.clone(), &p);
    let after = ring.inverse(down.apply(&ring, &ring.forward(a)));
    let expected: Vec<u64> = before.iter().map(|&x| p.mul(x, down.factor())).collect();
    assert_eq!(centered_mod(&ring, after.clone(), &p), expected);
    // The quotient, to within p / 2.
    let dropped = ring.modulus(2).value() as f64;
    for (&x, found) in values.iter().zip(centered_f64(&ring, &after)) {
        let error = found - x as f64 / dropped;
        let rounding = (x as f64 / dropped).abs() * 2f64.powi(-49);
        assert!(
            error.abs() <= 786_433.0 / 2.0 + 1.0 + rounding,
            "off by {error}"
        );
    }
}
