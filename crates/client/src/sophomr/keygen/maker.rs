//! Making the bodies of a detection key, part by part.

use crate::digest_secret::DigestSecret;
use crate::identity::public_random;
use crate::key_rng::{KeyContent, primes_of};
use chacha20::ChaCha20Rng;
use omr_bgv::{GaloisKey, encrypt_body};
use omr_opening::{
    ModuleSecret, NarrowKey, PackingKey, packing_secret, secret_slots, sparse_secret,
};
use omr_protocol::EngineKind;
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::sophomr::{DetectionKey, Params, Part};
use omr_ring::{Eval, Poly, Ring};
use omr_rlwe::{BodyMaker, KeyShape, MaskSeed, Secret, SecretPoly, SharedKey};
use rand_core::CryptoRng;
use std::convert::Infallible;
use zeroize::Zeroize;

/// A function that receives a body.
pub(super) type Take<'a, E> = dyn FnMut(Poly<Eval>) -> Result<(), E> + 'a;

/// The secrets that a detection key encrypts.
pub(super) struct Hidden<'a> {
    /// The clue secret.
    pub(super) clue: &'a [i64],
    /// The `w` of an address with bound clues.
    pub(super) offset: Option<[u32; OFFSET_LEN]>,
    /// The secrets of digests.
    pub(super) digest: &'a DigestSecret,
}

/// A maker of the bodies of a key. It draws fresh secrets of all rings but that of digests, and wipes them when it is
/// dropped: they are not needed again.
pub(super) struct Maker<'a> {
    params: &'a Params,
    hidden: Hidden<'a>,
    /// The secret of packed clues.
    packing: ModuleSecret,
    /// The secret with which packed clues are opened.
    sparse: ModuleSecret,
    large: Secret,
    small: Secret,
    /// The seed of the recipient's own masks, and the seed of those that several keys may share.
    seeds: [[u8; 32]; 2],
    rng: ChaCha20Rng,
}

impl<'a> Maker<'a> {
    /// Uses `masks` as the seed of an epoch's masks, or draws one. All randomness is derived from 32 bytes of `rng`;
    /// see [`KeyContent::generator`].
    pub(super) fn new(
        params: &'a Params,
        hidden: Hidden<'a>,
        masks: Option<[u8; 32]>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let opening = &params.opening;
        let rings = [
            &params.ring,
            &params.final_ring,
            &opening.packing,
            &opening.narrow,
        ];
        let content = KeyContent {
            file: EngineKind::Sophomr.key_name(),
            set: params.name(),
            primes: primes_of(&rings),
            masks: masks.as_ref(),
            clue: &[hidden.clue],
            offset: hidden.offset,
            digest: hidden.digest,
        };
        let generator = content.generator(rng);
        Self::drawn_from(params, hidden, masks, generator)
    }

    /// Draws from a generator as it is. A generator must never be used again for a key with other masks.
    fn drawn_from(
        params: &'a Params,
        hidden: Hidden<'a>,
        masks: Option<[u8; 32]>,
        mut generator: ChaCha20Rng,
    ) -> Self {
        let rng = &mut generator;
        let spec = params.spec();
        let small = Secret::uniform_ternary(rng, spec.small_n);
        let large = Secret::fixed_weight(rng, spec.n, spec.weight, spec.embedding_bound);
        let packing = packing_secret(&params.opening, rng);
        let sparse = sparse_secret(&params.opening, rng);
        let seed = public_random(rng);
        let shared_seed = masks.unwrap_or_else(|| public_random(rng));
        Self {
            params,
            hidden,
            packing,
            sparse,
            large,
            small,
            seeds: [seed, shared_seed],
            rng: generator,
        }
    }

    /// Returns the seed of the recipient's own masks, and the seed of those that several keys may share.
    pub(super) fn seeds(&self) -> [[u8; 32]; 2] {
        self.seeds
    }

    /// Makes the whole key; also returns the large ring's secret, for measurements of noise.
    pub(super) fn key(mut self, id: [u8; 16]) -> (DetectionKey, Secret) {
        let (params, seeds) = (self.params, self.seeds);
        let bodies = |part| -> Result<_, Infallible> {
            let mut bodies = Vec::new();
            let mut keep = |body| {
                bodies.push(body);
                Ok(())
            };
            self.bodies::<Infallible>(part, &mut keep)?;
            Ok(bodies)
        };
        let Ok(key) = DetectionKey::from_bodies(params, id, seeds, bodies);
        (key, self.large)
    }

    /// Makes the bodies of a part and passes each to `take`.
    ///
    /// Errors: those of `take`.
    pub(super) fn bodies<E>(&mut self, part: Part, take: &mut Take<'_, E>) -> Result<(), E> {
        match part {
            Part::Product => {
                let (ring, shape, secret) = self.shape(part);
                let s = secret.poly(ring, &shape.extended());
                let square = s.product(ring, &s);
                self.switching(part, &square, &s, take)
            }
            Part::Descent => {
                let (ring, shape, secret) = self.shape(part);
                let from = secret.poly(ring, &shape.extended());
                let spread = self.small.spread(ring.n() / self.params.small.n());
                let to = spread.poly(ring, &shape.extended());
                self.switching(part, &from, &to, take)
            }
            Part::Packing => self.packing(take),
            Part::Narrow => self.narrow().bodies().cloned().try_for_each(take),
            Part::Final => self.last().bodies().cloned().try_for_each(take),
            Part::Secret => {
                let mut slots = secret_slots(&self.params.opening, &self.sparse);
                let body = self.encrypted(part, &slots);
                slots.zeroize();
                take(body)
            }
            _ => {
                let g = part
                    .exponent(self.params)
                    .expect("all other parts are Galois keys");
                let (ring, shape, secret) = self.shape(part);
                let s = secret.poly(ring, &shape.extended());
                let preimage = GaloisKey::preimage(ring, &s, g);
                self.switching(part, &s, &preimage, take)
            }
        }
    }

    /// Returns the seed of the masks of a part and their place. `seeds` contains the own seed and the common one.
    fn masks(seeds: &[[u8; 32]; 2], part: Part) -> MaskSeed<'_> {
        let [own, common] = seeds;
        MaskSeed::new(part.seed(own, common), part.index())
    }

    fn shape(&self, part: Part) -> (&'a Ring, &'a KeyShape, &Secret) {
        let params = self.params;
        let (ring, shape) = part.shape(params);
        let secret = if std::ptr::eq(ring, &params.ring) {
            &self.large
        } else {
            &self.small
        };
        (ring, shape.expect("a switching key has a gadget"), secret)
    }

    fn switching<E>(
        &mut self,
        part: Part,
        from: &SecretPoly,
        to: &SecretPoly,
        take: &mut Take<'_, E>,
    ) -> Result<(), E> {
        let (ring, shape, _) = self.shape(part);
        let p = self.params.p().value();
        let maker = BodyMaker {
            ring,
            shape,
            from,
            to,
            p,
        };
        maker
            .bodies(Self::masks(&self.seeds, part), &mut self.rng)
            .try_for_each(take)
    }

    fn packing<E>(&mut self, take: &mut Take<'_, E>) -> Result<(), E> {
        // The factor from residues modulo q to residues modulo the clues' modulus.
        let step = (self.params.spec().clue.modulus() / self.params.spec().clue.q) as i64;
        let offset = self
            .hidden
            .offset
            .map(|residues| residues.map(|w| step * i64::from(w)));
        let w: &[i64] = match &offset {
            Some(scaled) => scaled,
            None => &[],
        };
        PackingKey::make_bodies(
            &self.params.opening,
            self.hidden.clue,
            w,
            &self.packing,
            Self::masks(&self.seeds, Part::Packing),
            &mut self.rng,
            take,
        )
    }

    fn narrow(&mut self) -> NarrowKey {
        let opening = &self.params.opening;
        let masks = Self::masks(&self.seeds, Part::Narrow);
        NarrowKey::generate(opening, &self.packing, &self.sparse, masks, &mut self.rng)
    }

    fn last(&mut self) -> SharedKey {
        let params = self.params;
        let bodies = params.final_shape.bodies();
        let secrets = self.hidden.digest.polys(&params.final_ring, bodies);
        SharedKey::generate(
            &params.final_ring,
            params.final_shape,
            &self.small,
            &secrets,
            Self::masks(&self.seeds, Part::Final),
            &mut self.rng,
        )
    }

    fn encrypted(&mut self, part: Part, slots: &[u32]) -> Poly<Eval> {
        let params = self.params;
        let (ring, basis) = (&params.ring, params.chain.basis(0));
        let s = self.large.poly(ring, basis);
        encrypt_body(
            ring,
            &params.plain,
            &s,
            basis,
            slots,
            Self::masks(&self.seeds, part),
            &mut self.rng,
        )
    }
}

#[cfg(test)]
mod attack;
