//! Packing: the ciphertexts of several symbols become one.

use crate::keys::turn;
use crate::{MergeKeys, Packing, SumsShape};
use omr_ring::{Basis, Eval, Poly, Ring, Switch, parallel};
use omr_rlwe::{Bodies, Rlwe, SharedRlwe};

/// Packs ciphertexts of symbols: the coefficients `0, stride, 2 stride, ...` of ciphertext i become `i, i + stride,
/// i + 2 stride, ...` of the one that comes out; the others are cancelled. Joins multiply by `stride`, which is divided
/// by before, so that noise does not grow.
///
/// Panics: when there are none, more than [`SumsShape::stride`], or keys of a level are missing.
pub fn pack(packing: Packing, shape: SumsShape, keys: MergeKeys, mut symbols: Vec<Rlwe>) -> Rlwe {
    let (ring, p) = (packing.small, packing.p);
    for poly in symbols.iter_mut().flat_map(Ciphertext::polys_mut) {
        ring.scale_assign(poly, |m| m.inv(m.reduce(shape.stride() as u64)));
    }
    let image = |ct: &Rlwe, level| turn(ring, ct, keys.key(level), p);
    merged(ring, &packing.small_basis(), shape, symbols, image)
}

/// Packs ciphertexts as [`pack`] does, but multiplied by `stride`. Their bodies are raised ([`Bodies::Raised`]) and
/// divided by the special primes once, after all joins, so that a join takes six transforms in place of nine.
///
/// Shape: each ciphertext has one body, over the primes of [`raised_basis`]. Panics: as [`pack`].
pub fn pack_raised(
    packing: Packing,
    shape: SumsShape,
    keys: MergeKeys,
    symbols: Vec<SharedRlwe<Eval>>,
) -> Rlwe {
    let (ring, p, basis) = (packing.small, packing.p, packing.small_basis());
    let image = |ct: &SharedRlwe<Eval>, level| {
        let turn = keys.key(level).shared_turn(&basis);
        let inputs = std::slice::from_ref(ct);
        turn.apply(ring, inputs, Bodies::Raised, p).remove(0)
    };
    let first = symbols.first().expect("at least one symbol");
    let all = first.bodies[0].basis().clone();
    let SharedRlwe { mask, bodies } = merged(ring, &all, shape, symbols, image);
    Rlwe::new(
        Switch::new(ring, &all, &basis, p).apply(ring, &bodies[0]),
        mask,
    )
}

/// Returns the primes of raised bodies: those of a small ciphertext, and the special ones of the keys for it.
pub fn raised_basis(packing: Packing, keys: MergeKeys) -> Basis {
    let basis = packing.small_basis();
    let turn = keys.keys[0].shared_turn(&basis);
    basis.union(turn.keys[0].shape().special())
}

/// Merges the ciphertexts of symbols. `image` returns the image of a ciphertext by the key of a level; `all` are the
/// primes of polynomials with most primes.
fn merged<C: Ciphertext>(
    ring: &Ring,
    all: &Basis,
    shape: SumsShape,
    symbols: Vec<C>,
    image: impl Fn(&C, u32) -> C + Sync,
) -> C {
    let mut parts: Vec<Option<C>> = symbols.into_iter().map(Some).collect();
    assert!(parts.len() <= shape.stride(), "one ciphertext's symbols");
    // A join with X^(2^i) has an odd part only if there are more than 2^i symbols.
    let shifts = 0..parts.len().next_power_of_two().ilog2();
    parts.resize_with(shape.stride(), || None);
    let merger = Merger {
        ring,
        image,
        first_level: shape.width().trailing_zeros() + 1,
        monomials: shifts
            .map(|i| [-1, 2].map(|factor| ring.monomial(all, 1 << i, factor)))
            .collect(),
    };
    merger.merge(parts).expect("at least one symbol")
}

/// A ciphertext as its polynomials.
trait Ciphertext: Send {
    fn polys(&self) -> Vec<&Poly<Eval>>;
    fn polys_mut(&mut self) -> Vec<&mut Poly<Eval>>;
}

impl Ciphertext for Rlwe {
    fn polys(&self) -> Vec<&Poly<Eval>> {
        vec![&self.c0, &self.c1]
    }

    fn polys_mut(&mut self) -> Vec<&mut Poly<Eval>> {
        vec![&mut self.c0, &mut self.c1]
    }
}

impl Ciphertext for SharedRlwe<Eval> {
    fn polys(&self) -> Vec<&Poly<Eval>> {
        self.bodies.iter().chain([&self.mask]).collect()
    }

    fn polys_mut(&mut self) -> Vec<&mut Poly<Eval>> {
        self.bodies.iter_mut().chain([&mut self.mask]).collect()
    }
}

/// Merges ciphertexts whose wanted coefficients lie at multiples of the stride (Chen, Dai, Kim,
/// Song 2021, stopped above the leaves): the automorphisms cancel all other coefficients.
struct Merger<'a, F> {
    ring: &'a Ring,
    /// The image of a ciphertext by the key of a level.
    image: F,
    /// The key level of the first joins, of two symbols each.
    first_level: u32,
    /// `-X^(2^i)` and `2 X^(2^i)`, as many as joins with an odd part need.
    monomials: Vec<[Poly<Eval>; 2]>,
}

impl<F> Merger<'_, F> {
    /// Merges parts, as many as a power of two; `None` where all of them are.
    fn merge<C: Ciphertext>(&self, parts: Vec<Option<C>>) -> Option<C>
    where
        F: Fn(&C, u32) -> C + Sync,
    {
        if parts.len() == 1 {
            return parts.into_iter().next().expect("one part");
        }
        let levels = parts.len().trailing_zeros();
        let (mut even, mut odd) = (Vec::new(), Vec::new());
        for (i, part) in parts.into_iter().enumerate() {
            if i % 2 == 0 {
                even.push(part)
            } else {
                odd.push(part)
            }
        }
        let (even, odd) = parallel::join(|| self.merge(even), || self.merge(odd));
        Some(self.join(even?, odd, self.first_level + levels - 1))
    }

    /// `E + X^k O + sigma(E - X^k O)`, `k = n' / 2^level`. The sum is the difference and `2 X^k O`.
    fn join<C: Ciphertext>(&self, even: C, odd: Option<C>, level: u32) -> C
    where
        F: Fn(&C, u32) -> C,
    {
        let ring = self.ring;
        let k = ring.n() >> level;
        let mut difference = even;
        if let Some(odd) = &odd {
            let [negative, _] = &self.monomials[k.ilog2() as usize];
            for (difference, odd) in difference.polys_mut().into_iter().zip(odd.polys()) {
                ring.mul_add_assign(difference, odd, negative);
            }
        }
        let mut joined = (self.image)(&difference, level);
        for (joined, difference) in joined.polys_mut().into_iter().zip(difference.polys()) {
            ring.add_assign(joined, difference);
        }
        if let Some(odd) = &odd {
            let [_, twice] = &self.monomials[k.ilog2() as usize];
            for (joined, odd) in joined.polys_mut().into_iter().zip(odd.polys()) {
                ring.mul_add_assign(joined, odd, twice);
            }
        }
        joined
    }
}
