//! Conversion of sums to the ring of digests.

use crate::clear::Params;
use omr_compress::finish;
use omr_protocol::PackedCiphertext;
use omr_rlwe::{Rlwe, SharedKey};

/// Returns the first `positions` coefficients of all ciphertexts together. Part k contains the coefficients
/// from `n' k` on.
pub(crate) fn pack(
    params: &Params,
    last: &SharedKey,
    sums: &[Rlwe],
    positions: usize,
) -> Vec<PackedCiphertext> {
    let (packing, n) = (params.compression().packing, params.small.n());
    let (together, components) = (params.final_shape.parts, params.final_shape.components);
    let ciphertext = |(i, parts): (usize, &[Rlwe])| {
        let inputs: Vec<_> = parts.iter().map(|sum| finish::high(packing, sum)).collect();
        let (mask, bodies) = finish::share(packing, last, &inputs);
        let part = |(j, bodies): (usize, &[Vec<u64>])| {
            let kept = n.min(positions - (i * together + j) * n);
            (0..kept)
                .map(|at| bodies[at % components][at / components])
                .collect()
        };
        let parts = bodies.chunks(components).enumerate().map(part).collect();
        PackedCiphertext { mask, parts }
    };
    sums.chunks(together).enumerate().map(ciphertext).collect()
}
