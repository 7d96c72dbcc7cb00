//! Complex embeddings of polynomials, in which noise is measured.

use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};
use zeroize::Zeroize;

/// `a(zeta)` at every complex embedding `zeta = exp(i pi (4 j + 1) / n)` (the other half are
/// their conjugates). The degree is a power of two.
fn embeddings(coeffs: &[f64]) -> Vec<Complex<f64>> {
    let half = coeffs.len() / 2;
    let mut values: Vec<Complex<f64>> = (0..half)
        .map(|k| {
            let twist = std::f64::consts::PI * k as f64 / coeffs.len() as f64;
            Complex::new(coeffs[k], coeffs[k + half]) * Complex::from_polar(1.0, twist)
        })
        .collect();
    Radix4::new(half, FftDirection::Inverse).process(&mut values);
    values
}

/// `|a(zeta)|^2` at the n/2 complex embeddings, one of each conjugate pair. Wipes what it
/// computed on the way.
pub fn squared_embeddings(coeffs: &[f64]) -> Vec<f64> {
    let mut values = embeddings(coeffs);
    let squares = values.iter().map(Complex::norm_sqr).collect();
    values.iter_mut().for_each(|v| {
        v.re.zeroize();
        v.im.zeroize();
    });
    squares
}

/// The largest `|a(zeta)|^2` over all complex embeddings. Wipes what it computed.
pub fn max_embedding_squared(coeffs: &[f64]) -> f64 {
    let mut squares = squared_embeddings(coeffs);
    let max = squares.iter().copied().fold(0.0, f64::max);
    squares.zeroize();
    max
}

/// The root mean square of `|a(zeta)|` over all embeddings: `sqrt(n)` times that of the
/// coefficients (Parseval).
pub fn rms_embedding(coeffs: &[f64]) -> f64 {
    coeffs.iter().map(|c| c * c).sum::<f64>().sqrt()
}
