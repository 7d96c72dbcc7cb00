//! Secrets keep the bounds that the noise model asks for.
use chacha20::ChaCha20Rng;
use omr_ring::{max_embedding_squared, squared_embeddings};
use omr_rlwe::Secret;
use rand_core::SeedableRng;

const N: usize = 1024;
const WEIGHT: usize = 64;

fn draw(seed: u64, bound: f64) -> Secret {
    Secret::fixed_weight(&mut ChaCha20Rng::seed_from_u64(seed), N, WEIGHT, bound)
}

fn coefficients(secret: &Secret) -> Vec<f64> {
    secret.coeffs().iter().map(|&c| c as f64).collect()
}

#[test]
fn embeddings_together_are_no_worse_than_one_at_the_bound() {
    let bound = 6.0;
    let mut redrawn = 0;
    for seed in 0..20 {
        let secret = draw(seed, bound);
        assert_eq!(secret.weight(), WEIGHT);
        let squares = squared_embeddings(&coefficients(&secret));
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        assert!((mean - WEIGHT as f64).abs() < 1e-6, "Parseval: {mean}");
        let sum: f64 = squares
            .iter()
            .map(|u| (-32.0 * (bound * WEIGHT as f64 / u - 1.0)).exp())
            .sum();
        assert!(sum <= 1.0, "{sum}");
        let first = max_embedding_squared(&coefficients(&draw(seed, f64::INFINITY)));
        redrawn += u32::from(first > bound * WEIGHT as f64);
    }
    assert!(redrawn > 0, "some first draws are refused");
}
