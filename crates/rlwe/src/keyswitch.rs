//! Key-switching keys: their shapes, generation and single use.

use crate::{KeySwitch, MaskSeed, Masks, Rlwe, SecretPoly, SwitchInput, cipher};
use omr_ring::{Basis, Eval, Modulus, Poly, Ring, Switch};
use rand_core::CryptoRng;
use std::sync::Arc;

/// The gadget of a switching key: which primes the ciphertexts may use, how these are grouped in
/// digits, and the special primes (Gentry, Halevi, Smart 2012; hybrid key switching).
///
/// A digit is the part of a ciphertext modulo the primes of its group; the gadget factor of a
/// group is `P` modulo its own primes and 0 modulo the others, so that one key serves every
/// ciphertext modulus made of these primes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShape {
    digits: Vec<Basis>,
    special: Basis,
}

impl KeyShape {
    /// Groups `modulus` into `dnum` digits of consecutive primes. Panics: when `dnum` is 0.
    pub fn new(modulus: &Basis, dnum: usize, special: &Basis) -> Self {
        let size = modulus.len().div_ceil(dnum);
        let digits = modulus
            .ids()
            .chunks(size)
            .map(|ids| Basis::new(ids.iter().copied()));
        Self::of_digits(digits.collect(), special)
    }

    /// The gadget of these digits, which have no prime in common.
    pub fn of_digits(digits: Vec<Basis>, special: &Basis) -> Self {
        Self {
            digits,
            special: special.clone(),
        }
    }

    /// The groups.
    pub fn digits(&self) -> &[Basis] {
        &self.digits
    }

    /// The special primes.
    pub fn special(&self) -> &Basis {
        &self.special
    }

    /// The gadget for ciphertexts over `modulus` alone, with these of the special primes.
    pub fn lowered(&self, modulus: &Basis, special: &Basis) -> Self {
        let digits = self.digits.iter().map(|digit| digit.intersection(modulus));
        Self {
            digits: digits.filter(|digit| !digit.is_empty()).collect(),
            special: self.special.intersection(special),
        }
    }

    /// Whether it serves ciphertexts over `basis`.
    pub fn serves(&self, basis: &Basis) -> bool {
        let has = |id| self.digits.iter().any(|digit| digit.contains(id));
        basis.ids().iter().all(|&id| has(id))
    }

    /// All primes of the key: those of ciphertexts, then the special ones.
    pub fn extended(&self) -> Basis {
        self.digits
            .iter()
            .chain([&self.special])
            .fold(Basis::new([]), |all, b| all.union(b))
    }

    /// Words of the polynomials that one switch of `inputs` ciphertexts over `basis` works in at most, the longest
    /// first: its digits, then differences and results, body and mask of each.
    pub fn buffers(&self, ring: &Ring, basis: &Basis, inputs: usize) -> Vec<usize> {
        let all = basis.union(&self.special);
        let own = self.digits.iter().map(|digit| digit.intersection(basis));
        let raised = own.filter(|own| !own.is_empty()).map(|own| all.minus(&own));
        let mut lengths: Vec<usize> = raised
            .chain(std::iter::repeat_n(basis.clone(), 4))
            .map(|basis| Poly::<Eval>::words(ring.n(), &basis))
            .flat_map(|words| std::iter::repeat_n(words, inputs))
            .collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths
    }
}

/// Switches ciphertext parts from one secret to another: for each digit an encryption of
/// `gadget * s_from` under `s_to`.
pub struct SwitchingKey {
    shape: KeyShape,
    /// One a digit, as bodies.
    masks: Masks,
    bodies: Vec<Poly<Eval>>,
    /// Keys made from this one, for ciphertexts over ever fewer primes.
    lowered: Vec<SwitchingKey>,
}

/// Makes the bodies of a switching key one by one, for who writes them and keeps none.
pub struct BodyMaker<'a> {
    /// The ring of the secrets.
    pub ring: &'a Ring,
    /// The gadget of the key.
    pub shape: &'a KeyShape,
    /// The secret to switch from, over [`KeyShape::extended`].
    pub from: &'a SecretPoly,
    /// The secret to switch to, over the same primes.
    pub to: &'a SecretPoly,
    /// The plaintext modulus.
    pub p: u64,
}

impl BodyMaker<'_> {
    /// The bodies in their order, with the masks that [`SwitchingKey::masks`] draws from `seed`. Beside them no
    /// polynomial is made.
    pub fn bodies(
        &self,
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
    ) -> impl Iterator<Item = Poly<Eval>> {
        let basis = self.shape.extended();
        (0..self.shape.digits.len()).map(move |digit| {
            let mask = |id, row: &mut [u64]| {
                seed.mask_row(self.ring.modulus(id), &[digit as u64], row);
            };
            cipher::encrypt_rows(
                self.ring,
                self.to,
                &basis,
                self.p,
                mask,
                self.gadget(digit),
                rng,
            )
        })
    }

    /// The body of a digit with this mask.
    fn body(&self, digit: usize, mask: &Poly<Eval>, rng: &mut impl CryptoRng) -> Poly<Eval> {
        let copy = |id, row: &mut [u64]| row.copy_from_slice(mask.row_of(id));
        let gadget = self.gadget(digit);
        cipher::encrypt_rows(self.ring, self.to, mask.basis(), self.p, copy, gadget, rng)
    }

    /// Adds the message's row modulo a prime.
    fn gadget(&self, digit: usize) -> impl Fn(usize, &mut [u64]) + Send + Sync {
        let (ring, shape) = (self.ring, self.shape);
        move |id, row| {
            if shape.digits[digit].contains(id) {
                let m = ring.modulus(id);
                let factor = ring.product_mod(&shape.special, m);
                let from = self.from.row_of(id);
                ring.kernels().scale_add_assign(m, row, from, factor);
            }
        }
    }
}

impl SwitchingKey {
    /// Makes the key from `from` to `to` (both over [`KeyShape::extended`]). `p` is the plaintext
    /// modulus.
    pub fn generate(
        ring: &Ring,
        shape: &KeyShape,
        from: &SecretPoly,
        to: &SecretPoly,
        p: u64,
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let masks = Self::masks(ring, shape, seed);
        let maker = BodyMaker {
            ring,
            shape,
            from,
            to,
            p,
        };
        let bodies = masks
            .iter()
            .enumerate()
            .map(|(digit, mask)| maker.body(digit, mask, rng))
            .collect();
        Self::from_bodies(shape, bodies, masks)
    }

    /// Draws the masks of a key: the path of a mask is the number of its digit.
    pub fn masks(ring: &Ring, shape: &KeyShape, seed: MaskSeed<'_>) -> Masks {
        let extended = shape.extended();
        let digits = 0..shape.digits.len() as u64;
        let mask = |digit| seed.mask(ring, &extended, &[digit]);
        digits.map(mask).collect()
    }

    /// Rebuilds a key from its bodies and [`SwitchingKey::masks`].
    /// Panics: when there is not one body and one mask a digit.
    pub fn from_bodies(shape: &KeyShape, bodies: Vec<Poly<Eval>>, masks: Masks) -> Self {
        assert_eq!(bodies.len(), shape.digits.len(), "one body for each digit");
        assert_eq!(masks.len(), shape.digits.len(), "one mask for each digit");
        Self {
            shape: shape.clone(),
            masks,
            bodies,
            lowered: Vec::new(),
        }
    }

    /// This key with others made from it, of fewer special primes for ciphertexts over fewer primes: a switch takes the
    /// last one that serves its inputs. `shapes`: from [`KeyShape::lowered`], ever fewer primes.
    ///
    /// Noise of such a key: [`lowered_key`](crate::noise::NoiseModel::lowered_key) more than of a fresh one.
    pub fn with_lowered(self, ring: &Ring, shapes: &[KeyShape], p: &Modulus) -> Self {
        let lowered = shapes.iter().map(|shape| self.lower(ring, shape, p));
        Self {
            lowered: lowered.collect(),
            ..self
        }
    }

    /// Special primes that go divide the key: `P g s + p e` becomes `P' g s + p e'`.
    fn lower(&self, ring: &Ring, shape: &KeyShape, p: &Modulus) -> Self {
        let to = shape.extended();
        let from = to.union(&self.shape.special);
        let down = Switch::new(ring, &from, &to, p);
        let lower = |part: &Poly<Eval>| down.apply(ring, &part.restrict(&from));
        let serves = |digit: &Basis| shape.digits.iter().any(|own| digit.contains(own.ids()[0]));
        let parts = self
            .shape
            .digits
            .iter()
            .zip(self.parts())
            .filter(|(digit, _)| serves(digit));
        let lowered = parts.map(|(_, (body, mask))| (lower(body), lower(mask)));
        let (bodies, masks): (_, Vec<_>) = lowered.unzip();
        Self::from_bodies(shape, bodies, masks.into())
    }

    /// The key of fewest primes that serves ciphertexts over `basis`: itself where no other does.
    pub fn least(&self, basis: &Basis) -> &Self {
        let mut lowered = self.lowered.iter().rev();
        let found = lowered.find(|key| key.shape.serves(basis));
        found.unwrap_or(self)
    }

    /// The gadget of the key.
    pub fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// Whether both hold the same masks in memory.
    pub fn shares_masks_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.masks, &other.masks)
    }

    /// The bodies, one a digit, to be written out.
    pub fn bodies(&self) -> impl Iterator<Item = &Poly<Eval>> {
        self.bodies.iter()
    }

    /// The product of the special primes modulo `m`.
    pub fn special_mod(&self, ring: &Ring, m: &Modulus) -> u64 {
        ring.product_mod(&self.shape.special, m)
    }

    /// One a digit.
    pub(crate) fn digit_masks(&self) -> &[Poly<Eval>] {
        &self.masks
    }

    /// One a digit.
    pub(crate) fn digit_bodies(&self) -> &[Poly<Eval>] {
        &self.bodies
    }

    /// Body and mask of each digit.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&Poly<Eval>, &Poly<Eval>)> {
        self.bodies.iter().zip(&*self.masks)
    }

    /// Switches a ciphertext under `s_from` to `s_to`, same modulus, same message modulo p.
    pub fn switch(&self, ring: &Ring, ct: &Rlwe, p: &Modulus) -> Rlwe {
        let switch = KeySwitch {
            key: self,
            to: ct.basis(),
            image: None,
        };
        let input = SwitchInput {
            c: &ct.c1,
            add: [Some(&ct.c0), None],
        };
        let (mut out, _) = switch.apply(ring, &[input], p);
        out.remove(0)
    }
}
