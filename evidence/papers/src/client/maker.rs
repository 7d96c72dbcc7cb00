//! Generation of detection keys, part by part.

use crate::clear::{DetectionKey, Params, Part};
use omr_bgv::{Ciphertext, GaloisKey, encrypt_symmetric};
use omr_client::DigestSecret;
use omr_protocol::clue::OFFSET_LEN;
use omr_rlwe::{MaskSeed, Secret, SecretPoly, SharedKey, SwitchingKey};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// The secrets that a detection key contains in encrypted form.
pub(super) struct Hidden<'a> {
    /// The clue secrets, as many as the circuit has. Range: coefficients above -p and below p.
    pub(super) clue: Vec<&'a [i64]>,
    /// The `w` of an address with bound clues.
    pub(super) offset: Option<[u32; OFFSET_LEN]>,
    /// The secrets of digests.
    pub(super) digest: &'a DigestSecret,
}

/// A generator of one key, with fresh secrets of the large and the small ring.
pub(super) struct Maker<'a, R> {
    params: &'a Params,
    large: Secret,
    small: Secret,
    seed: [u8; 32],
    rng: &'a mut R,
}

impl<'a, R: CryptoRng> Maker<'a, R> {
    pub(super) fn new(params: &'a Params, rng: &'a mut R) -> Self {
        let spec = &params.spec().rings;
        let small = Secret::uniform_ternary(rng, spec.small_n);
        let large = Secret::fixed_weight(rng, spec.n, spec.weight, spec.embedding_bound);
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        Self {
            params,
            large,
            small,
            seed,
            rng,
        }
    }

    /// Returns the whole key, and the large ring's secret for measuring noise.
    pub(super) fn key(mut self, id: [u8; 16], hidden: &Hidden) -> (DetectionKey, Secret) {
        let params = self.params;
        let mut secrets = Vec::new();
        for (number, secret) in hidden.clue.iter().enumerate() {
            let mut slots = packed_secret(params, secret);
            secrets.push(self.encrypted(Part::Secret(number as u32), &slots));
            slots.zeroize();
        }
        let offset = hidden.offset.map(|w| {
            let mut slots = packed_offset(params, &w);
            let encrypted = self.encrypted(Part::Offset, &slots);
            slots.zeroize();
            encrypted
        });
        let seed = self.seed;
        let merge: Vec<GaloisKey> = params
            .merge_levels()
            .map(|level| self.galois(Part::Merge(level)))
            .collect();
        let key = DetectionKey {
            id,
            seed,
            merge,
            secrets,
            offset,
            step: self.galois(Part::Step),
            giant: self.galois(Part::Giant),
            product: self.product(),
            descent: self.descent(),
            turn: self.galois(Part::Turn),
            swap: self.galois(Part::Swap),
            last: self.last(hidden.digest),
        };
        (key, self.large)
    }

    fn galois(&mut self, part: Part) -> GaloisKey {
        let (ring, shape) = part.shape(self.params);
        let shape = shape.expect("a rotation's key has a gadget");
        let exponent = part.exponent(self.params);
        let ring_secret = if std::ptr::eq(ring, &self.params.ring) {
            &self.large
        } else {
            &self.small
        };
        let secret = ring_secret.poly(ring, &shape.extended());
        GaloisKey::generate(
            ring,
            shape,
            &secret,
            exponent.expect("a rotation's key has an exponent"),
            self.params.p().value(),
            MaskSeed::new(&self.seed, part.index()),
            self.rng,
        )
    }

    fn product(&mut self) -> SwitchingKey {
        let (ring, shape) = (&self.params.ring, &self.params.product_shape);
        let secret = self.large.poly(ring, &shape.extended());
        let square = secret.product(ring, &secret);
        self.switching(Part::Product, &square, &secret)
    }

    fn descent(&mut self) -> SwitchingKey {
        let (ring, shape) = (&self.params.ring, &self.params.descent_shape);
        let from = self.large.poly(ring, &shape.extended());
        let spread = self.small.spread(ring.n() / self.params.small.n());
        let to = spread.poly(ring, &shape.extended());
        self.switching(Part::Descent, &from, &to)
    }

    fn switching(&mut self, part: Part, from: &SecretPoly, to: &SecretPoly) -> SwitchingKey {
        let (ring, shape) = part.shape(self.params);
        SwitchingKey::generate(
            ring,
            shape.expect("a switching key has a gadget"),
            from,
            to,
            self.params.p().value(),
            MaskSeed::new(&self.seed, part.index()),
            self.rng,
        )
    }

    fn last(&mut self, digest: &DigestSecret) -> SharedKey {
        let params = self.params;
        let secrets = digest.polys(&params.final_ring, params.final_shape.bodies());
        SharedKey::generate(
            &params.final_ring,
            params.final_shape,
            &self.small,
            &secrets,
            MaskSeed::new(&self.seed, Part::Final.index()),
            self.rng,
        )
    }

    fn encrypted(&mut self, part: Part, slots: &[u32]) -> Ciphertext {
        let params = self.params;
        let secret = self.large.poly(&params.ring, params.chain.basis(0));
        encrypt_symmetric(
            &params.ring,
            &params.plain,
            &params.chain,
            0,
            &secret,
            slots,
            MaskSeed::new(&self.seed, part.index()),
            self.rng,
        )
    }
}

/// Returns `[s | -s | s | ...]` in both slot rows, with s padded with zeros to the ring's dimension, so that a
/// rotation by i aligns s with row i of the clue's matrix. Range: coefficients above -p and below p.
fn packed_secret(params: &Params, secret: &[i64]) -> Vec<u32> {
    let p = params.p().value() as i64;
    let n = params.spec().clue.n;
    let half = params.slots() / 2;
    (0..params.slots())
        .map(|slot| {
            let column = slot % half;
            let sign = 1 - 2 * (column / n % 2) as i64;
            let value = secret.get(column % n).map_or(0, |s| s * sign);
            (value + ((value >> 63) & p)) as u32
        })
        .collect()
}

/// Returns `w` over the columns of both slot rows. Each residue occupies as many columns as there are baby
/// steps, so that a giant step moves to the next residue.
fn packed_offset(params: &Params, w: &[u32; OFFSET_LEN]) -> Vec<u32> {
    let (half, baby) = (params.slots() / 2, params.spec().baby);
    let column = |slot| slot % half;
    (0..params.slots())
        .map(|slot| w[column(slot) / baby % OFFSET_LEN])
        .collect()
}
