//! Noise flooding, which hides the server's part of the noise from the client.

use super::Plan;
use crate::{Params, noise};
use serde::Serialize;

/// Two-sided privacy: noise that the server adds to hide the noise of its computation, and the quality of this hiding.
///
/// Before an answer leaves the small ring, the server adds an encryption of zero to each packed ciphertext, its noise
/// uniform in `-2^bits..2^bits` times p. The client then decrypts the sums plus this noise, up to the
/// statistical distances below; and the masks look uniform to the client under RLWE, whose secret the server holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flooding {
    /// Bits of the noise.
    pub bits: u32,
    /// log2 of the statistical distance of one coefficient from one that depends on the result alone.
    pub coefficient: f64,
    /// log2 of the statistical distance of all coefficients of an answer together.
    pub answer: f64,
}

impl Flooding {
    /// From the predicted noise of the largest group; none in a set without room.
    pub(super) fn new(params: &Params, plan: &Plan) -> Option<Self> {
        let bits = params.flooding()?;
        let sums = plan.sums(params);
        let compressed = plan.compressed(params);
        let coefficient = noise::distance(params.spec(), bits, compressed);
        let kept: usize = sums.positions().map(|(r, ct)| sums.kept_len(r, ct)).sum();
        let all = kept * plan.groups(params);
        Some(Self {
            bits,
            coefficient,
            answer: coefficient + (all as f64).log2(),
        })
    }
}
