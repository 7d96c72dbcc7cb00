//! The client's secret and what the server needs of it.

mod file;
mod part;

pub use part::Part;

use crate::Params;
use crate::noise::EXPANSION_LEVELS;
use omr_bgv::GaloisKey;
use omr_compress::{Keys, MergeKeys};
use omr_marks::published;
use omr_ring::{Eval, Poly, Ring, Xof};
use omr_rlwe::{KeyShape, MaskSeed, Rlwe, Secret, SecretPoly, SharedKey, SwitchingKey, encrypt};
use rand_core::{CryptoRng, Rng};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of the seed that all secrets come from.
pub(crate) const SEED_BYTES: usize = 32;

/// A client's secret. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SecretKey {
    /// Names the pair of keys.
    pub id: [u8; 16],
    seed: [u8; SEED_BYTES],
}

/// The server's evaluation key: switching keys. It holds no secret.
pub struct EvaluationKey {
    /// Names the pair of keys.
    pub id: [u8; 16],
    /// The seed of all masks.
    pub seed: [u8; 32],
    /// Oblivious expansion, by level: `X -> X^(n / 2^i + 1)`.
    pub expand: Vec<GaloisKey>,
    /// Relinearisation.
    pub product: SwitchingKey,
    /// Ring switching.
    pub descent: SwitchingKey,
    /// Rotation by one slot of the small ring.
    pub turn: GaloisKey,
    /// Row swap of the small ring.
    pub swap: GaloisKey,
    /// Merging in the small ring, by level.
    pub merge: Vec<GaloisKey>,
    /// Switching from the small ring to the ring of answers.
    pub last: SharedKey,
    /// The small ring's public key, an encryption of zero: in sets with two-sided privacy.
    pub zero: Option<Rlwe>,
}

impl EvaluationKey {
    /// The keys that compression needs.
    pub(crate) fn compression(&self, params: &Params) -> Keys<'_> {
        Keys {
            turn: &self.turn,
            swap: &self.swap,
            merge: MergeKeys {
                keys: &self.merge,
                first_level: *part::merge_levels(params).start(),
            },
            last: &self.last,
        }
    }
}

impl SecretKey {
    /// A secret.
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        Self {
            id: published(random(rng)),
            seed: random(rng),
        }
    }

    /// A secret and the server's key.
    pub fn generate(params: &Params, rng: &mut impl CryptoRng) -> (Self, EvaluationKey) {
        let secret = Self::random(rng);
        let key = secret.evaluation_key(params, rng);
        (secret, key)
    }

    fn draw(&self, ring: &'static str, n: usize, index: u64) -> Secret {
        let mut stream = Xof::stream(ring, &self.seed, &[index]);
        Secret::uniform_ternary(&mut stream, n)
    }

    /// The large ring's secret: constants and tables come under it.
    pub(crate) fn large(&self, params: &Params) -> Secret {
        self.draw("omr pdq large secret v1", params.spec().n, 0)
    }

    /// The small ring's secret: what is compressed comes under it.
    pub(crate) fn small(&self, params: &Params) -> Secret {
        self.draw("omr pdq small secret v1", params.spec().small_n, 0)
    }

    /// The secrets of the ring of answers.
    pub(crate) fn last(&self, params: &Params) -> Vec<SecretPoly> {
        let ring = &params.final_ring;
        let secret = |i| self.draw("omr pdq answer secret v1", ring.n(), i as u64);
        let bodies = 0..params.final_shape.bodies();
        bodies
            .map(|i| secret(i).poly(ring, &ring.everything()))
            .collect()
    }

    /// The server's key, with masks and noise of its own.
    pub fn evaluation_key(&self, params: &Params, rng: &mut impl CryptoRng) -> EvaluationKey {
        let mut maker = Maker::new(self, params, rng);
        EvaluationKey {
            id: self.id,
            seed: maker.seed,
            expand: (0..EXPANSION_LEVELS as u32)
                .map(|level| maker.galois(Part::Expand(level)))
                .collect(),
            product: maker.product(),
            descent: maker.descent(),
            turn: maker.galois(Part::Turn),
            swap: maker.galois(Part::Swap),
            merge: part::merge_levels(params)
                .map(|level| maker.galois(Part::Merge(level)))
                .collect(),
            last: maker.last(self),
            zero: params.two_sided().then(|| maker.zero()),
        }
    }
}

pub(crate) fn random<const N: usize>(rng: &mut impl Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}

struct Maker<'a, R> {
    params: &'a Params,
    large: Secret,
    small: Secret,
    seed: [u8; 32],
    rng: &'a mut R,
}

impl<'a, R: CryptoRng> Maker<'a, R> {
    fn new(secret: &SecretKey, params: &'a Params, rng: &'a mut R) -> Self {
        Self {
            params,
            large: secret.large(params),
            small: secret.small(params),
            // Public: masks follow from it.
            seed: published(random(rng)),
            rng,
        }
    }

    /// Returns the polynomials of a part that the file contains.
    fn bodies(&mut self, part: Part, secret: &SecretKey) -> Vec<Poly<Eval>> {
        let of = |key: &SwitchingKey| key.bodies().cloned().collect();
        match part {
            Part::Product => of(&self.product()),
            Part::Descent => of(&self.descent()),
            Part::Final => self.last(secret).bodies().cloned().collect(),
            Part::Zero => vec![self.zero().c0],
            _ => of(self.galois(part).switching_key()),
        }
    }

    fn last(&mut self, secret: &SecretKey) -> SharedKey {
        let params = self.params;
        let to = secret.last(params);
        let masks = MaskSeed::new(&self.seed, Part::Final.index());
        let (ring, shape) = (&params.final_ring, params.final_shape);
        SharedKey::generate(ring, shape, &self.small, &to, masks, self.rng)
    }

    fn switching(
        &mut self,
        ring: &Ring,
        shape: &KeyShape,
        from: &SecretPoly,
        to: &SecretPoly,
        part: Part,
    ) -> SwitchingKey {
        let p = self.params.p().value();
        let masks = MaskSeed::new(&self.seed, part.index());
        SwitchingKey::generate(ring, shape, from, to, p, masks, self.rng)
    }

    fn galois(&mut self, part: Part) -> GaloisKey {
        let (ring, shape) = part.switching(self.params);
        let secret = match part {
            Part::Expand(_) => &self.large,
            _ => &self.small,
        };
        let s = secret.poly(ring, &shape.extended());
        let (g, p) = (part.exponent(self.params), self.params.p().value());
        let masks = MaskSeed::new(&self.seed, part.index());
        GaloisKey::generate(ring, shape, &s, g, p, masks, self.rng)
    }

    fn product(&mut self) -> SwitchingKey {
        let (ring, shape) = Part::Product.switching(self.params);
        let s = self.large.poly(ring, &shape.extended());
        let square = s.product(ring, &s);
        self.switching(ring, shape, &square, &s, Part::Product)
    }

    fn zero(&mut self) -> Rlwe {
        let (ring, basis) = (&self.params.small, self.params.small_basis());
        let secret = self.small.poly(ring, basis);
        let c1 = MaskSeed::new(&self.seed, Part::Zero.index()).mask(ring, basis, &[]);
        let zero = Poly::zero(ring, basis);
        let p = self.params.p().value();
        let c0 = encrypt(ring, &secret, &zero, p, &c1, self.rng);
        Rlwe::new(c0, c1)
    }

    fn descent(&mut self) -> SwitchingKey {
        let (ring, shape) = Part::Descent.switching(self.params);
        let extended = shape.extended();
        let step = ring.n() / self.params.spec().small_n;
        let from = self.large.poly(ring, &extended);
        let to = self.small.spread(step).poly(ring, &extended);
        self.switching(ring, shape, &from, &to, Part::Descent)
    }
}
