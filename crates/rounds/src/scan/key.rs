//! The detector's key of the first round.

use crate::scan::Scan;
use omr_opening::{ModuleSecret, PackingKey};
use omr_ring::{Eval, Poly};
use omr_rlwe::{MaskSeed, SecretPoly, SharedKey};
use rand_core::CryptoRng;

/// A detector's key of the first round. The keys of recipients whose masks come from one seed are used together.
pub struct ScanKey {
    /// The encrypted clue secret.
    pub packing: PackingKey,
    /// For each rank of packing, the key that switches its part of the secret to those of responses.
    pub switch: Vec<SharedKey>,
}

/// Makes the switching key of one rank of the packing secret `from` to the secrets `to` of responses, one for each group
/// of a section. The keys of different ranks must have different mask indices.
///
/// Panics: unless there is a secret for each group, and this rank.
pub fn switch_key(
    scan: &Scan,
    from: &ModuleSecret,
    rank: usize,
    to: &[SecretPoly],
    seed: MaskSeed<'_>,
    rng: &mut impl CryptoRng,
) -> SharedKey {
    let secret = from.0[rank].spread(scan.step());
    SharedKey::generate(scan.ring(), scan.switch_shape(), &secret, to, seed, rng)
}

/// Rebuilds the switching key of one rank from its bodies; the masks are drawn from the seed.
///
/// Panics: if there are more or fewer bodies.
pub fn switch_key_of(scan: &Scan, bodies: Vec<Poly<Eval>>, seed: MaskSeed<'_>) -> SharedKey {
    SharedKey::from_bodies(scan.ring(), scan.switch_shape(), bodies, seed)
}
