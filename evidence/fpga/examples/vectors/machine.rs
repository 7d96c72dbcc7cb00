//! The engine's memory and tables for a ring and its rotation keys.

use crate::image::{Image, Op, OpKind, Test};
use omr_bgv::GaloisKey;
use omr_ring::{Automorphism, Basis, Modulus, Poly, Ring};
use omr_rlwe::{KeyShape, SwitchingKey, mask};
use std::collections::BTreeMap;

/// The number of bits of a residue in the hardware.
pub(crate) const WIDTH: u32 = 50;

/// The number of words of 17 bits in the Montgomery factor.
const WORDS: u32 = WIDTH.div_ceil(17);

/// Returns `x 2^51` modulo q.
fn montgomery(m: &Modulus, x: u64) -> u64 {
    m.mul(x, m.reduce(1 << (17 * WORDS)))
}

/// Returns `x 2^68` modulo q, the form of coefficients in lanes of sums.
fn summed(m: &Modulus, x: u64) -> u64 {
    m.mul(montgomery(m, x), m.reduce(1 << 17))
}

/// A key in the form of the hardware's configuration.
pub(crate) struct Key<'a> {
    pub(crate) shape: &'a KeyShape,
    pub(crate) key: &'a SwitchingKey,
    /// The seed of the masks; `index` is their index.
    pub(crate) seed: [u8; 32],
    pub(crate) index: u64,
    /// The number of slots that the key rotates by.
    pub(crate) steps: usize,
}

/// An image under construction. Limbs are allocated in order.
pub(crate) struct Machine<'a> {
    ring: &'a Ring,
    p: &'a Modulus,
    /// The primes of ciphertexts.
    pub(crate) basis: Basis,
    next: usize,
    twiddles: BTreeMap<usize, usize>,
    pub(crate) image: Image,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(set: &str, ring: &'a Ring, p: &'a Modulus, basis: &Basis) -> Self {
        Self {
            ring,
            p,
            basis: basis.clone(),
            next: 0,
            twiddles: BTreeMap::new(),
            image: Image {
                set: set.to_owned(),
                n: ring.n(),
                config: Vec::new(),
                primes: Vec::new(),
                constants: Vec::new(),
                limbs: BTreeMap::new(),
                tests: Vec::new(),
            },
        }
    }

    /// Allocates limbs for `count` rows and returns the first.
    pub(crate) fn reserve(&mut self, count: usize) -> usize {
        let first = self.next;
        self.next += count;
        first
    }

    /// Writes rows to new limbs and returns the first.
    pub(crate) fn put<'r>(&mut self, rows: impl IntoIterator<Item = &'r [u64]>) -> usize {
        let first = self.next;
        for row in rows {
            self.image.limbs.insert(self.next, row.to_vec());
            self.next += 1;
        }
        first
    }

    /// Writes a polynomial in Montgomery form to new limbs and returns the first.
    pub(crate) fn put_factor<D>(&mut self, poly: &Poly<D>) -> usize {
        let rows: Vec<Vec<u64>> = poly
            .basis()
            .ids()
            .iter()
            .map(|&id| {
                let m = self.ring.modulus(id);
                poly.row_of(id).iter().map(|&x| montgomery(m, x)).collect()
            })
            .collect();
        self.put(rows.iter().map(Vec::as_slice))
    }

    pub(crate) fn configure(&mut self, at: usize, value: usize) {
        self.image.config.push((at, value as u64));
    }

    pub(crate) fn test(
        &mut self,
        name: &'static str,
        ops: Vec<Op>,
        expected: Vec<(usize, Vec<u64>)>,
    ) {
        self.image.tests.push(Test {
            name,
            ops,
            expected,
        });
    }

    /// Returns the first limb of the factors of the forward transform. The factors of the inverse transform,
    /// halved, follow.
    fn twiddles(&mut self, id: usize) -> usize {
        if let Some(&limb) = self.twiddles.get(&id) {
            return limb;
        }
        let (m, psi) = (self.ring.modulus(id), self.ring.table(id).psi());
        let half = m.inv(2);
        let table = |root: u64, factor: u64| -> Vec<u64> {
            let n = self.ring.n();
            let mut row = vec![0; n];
            let mut power = montgomery(m, factor);
            for i in 0..n {
                row[i.reverse_bits() >> (usize::BITS - n.trailing_zeros())] = power;
                power = m.mul(power, root);
            }
            row
        };
        let rows = [table(psi, 1), table(m.inv(psi), half)];
        let limb = self.put(rows.iter().map(Vec::as_slice));
        self.twiddles.insert(id, limb);
        limb
    }

    /// Appends the constants of the conversion from `from` to `to` and returns the position of the first.
    /// Sources are multiplied by `in_scale` in addition to their weight, results by `out_scale`.
    fn conversion(
        &mut self,
        from: &Basis,
        to: &Basis,
        in_scale: impl Fn(&Modulus) -> u64,
        out_scale: impl Fn(&Modulus) -> u64,
    ) -> usize {
        let (ring, at) = (self.ring, self.image.constants.len());
        let others = |id: usize| Basis::new(from.ids().iter().copied().filter(|&j| j != id));
        for &id in from.ids() {
            let m = ring.modulus(id);
            let weight = m.mul(m.inv(ring.product_mod(&others(id), m)), in_scale(m));
            let shift = WIDTH - (u64::BITS - m.value().leading_zeros());
            let inverse = ((1u128 << 100) / (u128::from(m.value()) << shift)) as u64;
            self.image
                .constants
                .push([montgomery(m, weight), inverse | u64::from(shift) << 56]);
        }
        for &id in to.ids() {
            let m = ring.modulus(id);
            let scale = out_scale(m);
            for &j in from.ids() {
                let rest = m.mul(scale, ring.product_mod(&others(j), m));
                let entry = [montgomery(m, rest), summed(m, rest)];
                self.image.constants.push(entry);
            }
            let last = m.neg(m.mul(scale, ring.product_mod(from, m)));
            let entry = [montgomery(m, last), summed(m, last)];
            self.image.constants.push(entry);
        }
        at
    }

    /// Loads a key as number `number`.
    pub(crate) fn load_key(&mut self, number: usize, key: &Key) {
        let ring = self.ring;
        let special = key.shape.special().clone();
        let all = self.basis.union(&special);
        assert_eq!(
            all,
            key.shape.extended(),
            "keys over the ciphertexts' primes"
        );
        let first_prime = self.image.primes.len();
        for &id in all.ids() {
            let m = ring.modulus(id);
            let unit = if special.contains(id) {
                0
            } else {
                montgomery(m, m.inv(ring.product_mod(&special, m)))
            };
            let twiddles = self.twiddles(id) as u64;
            let entry = [m.value(), unit, twiddles];
            let at = self.image.primes.len();
            self.image.primes.push((at, entry));
        }
        let parts = self.put([]);
        for (d, body) in key.key.bodies().enumerate() {
            let c1 = mask(ring, &all, &key.seed, &[key.index, d as u64]);
            self.put_factor(body);
            self.put_factor(&c1);
        }
        let p = *self.p;
        let division = self.conversion(
            &special,
            &self.basis.clone(),
            |m| m.inv(m.reduce(p.value())),
            |m| m.reduce(p.value()),
        );
        let digits = key.shape.digits();
        let raises: Vec<usize> = digits
            .iter()
            .map(|own| self.conversion(own, &all.minus(own), |_| 1, |_| 1))
            .collect();
        let g = Automorphism::rotation(ring.n(), key.steps);
        let values = [
            self.basis.len(),
            special.len(),
            digits.len(),
            digits[0].len(),
            first_prime,
            parts,
            division,
            g,
            key.steps,
        ];
        for (i, &value) in values.iter().chain(&raises).enumerate() {
            self.configure(16 * number + i, value);
        }
    }

    /// Allocates the limbs that rotations use, for the largest of the keys.
    pub(crate) fn reserve_work(&mut self, shapes: &[&KeyShape]) {
        let most = |f: fn(&KeyShape) -> usize| shapes.iter().map(|s| f(s)).max().unwrap_or(0);
        let special = most(|s| s.special().len());
        let digits = most(|s| s.digits().len());
        let limbs = self.basis.len();
        let sizes = [limbs, digits * (limbs + special), 2, 2 * special, 2 * limbs];
        for (i, size) in sizes.into_iter().enumerate() {
            let at = self.reserve(size);
            self.configure(32 + i, at);
        }
    }

    /// Writes both parts of a ciphertext to new limbs and returns the first.
    pub(crate) fn put_ciphertext(&mut self, ct: &omr_bgv::Ciphertext) -> usize {
        self.put(ct.parts().iter().flat_map(Poly::rows))
    }

    /// Returns operations on each limb of both parts: `op(prime, limb of 2 L)`.
    pub(crate) fn each_limb(&self, op: impl Fn(usize, usize) -> Op) -> Vec<Op> {
        let limbs = self.basis.len();
        (0..2 * limbs).map(|i| op(i % limbs, i)).collect()
    }

    /// Returns the limbs of a ciphertext that is expected from limb `at` on.
    pub(crate) fn expect(at: usize, ct: &omr_bgv::Ciphertext) -> Vec<(usize, Vec<u64>)> {
        let rows = ct.parts().iter().flat_map(Poly::rows);
        rows.enumerate()
            .map(|(i, row)| (at + i, row.to_vec()))
            .collect()
    }

    /// Returns the rotation of the ciphertext at `src` with key `number`.
    pub(crate) fn rotation(number: usize, src: usize, dst: usize) -> Op {
        Op::new(OpKind::Rot).prime(number).a(src, 0).to(dst)
    }
}

/// Returns the key of a rotation by `steps` slots.
pub(crate) fn key_of<'a>(key: &'a GaloisKey, seed: [u8; 32], index: u64, steps: usize) -> Key<'a> {
    Key {
        shape: key.switching_key().shape(),
        key: key.switching_key(),
        seed,
        index,
        steps,
    }
}
