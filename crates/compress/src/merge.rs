//! Packing: the ciphertexts of several symbols become one.

use crate::keys::turn_all;
use crate::{MergeKeys, Packing, SumsShape};
use omr_ring::parallel::*;
use omr_ring::{Basis, Eval, Poly, Ring, Switch};
use omr_rlwe::{Bodies, Rlwe, SharedRlwe};

/// Packs ciphertexts of symbols: the coefficients `0, stride, 2 stride, ...` of ciphertext i become `i, i + stride,
/// i + 2 stride, ...` of the one that comes out; the others are cancelled. Joins multiply by `stride`, which is divided
/// by before, so that noise does not grow.
///
/// Panics: when there are none, more than [`SumsShape::stride`], or keys of a level are missing.
pub fn pack(packing: Packing, shape: SumsShape, keys: MergeKeys, mut symbols: Vec<Rlwe>) -> Rlwe {
    let (ring, p) = (packing.small, packing.p);
    ring.scale_all_assign(&mut all_mut(&mut symbols), |m| {
        m.inv(m.reduce(shape.stride() as u64))
    });
    let images = |cts: &[Rlwe], level| turn_all(ring, cts, keys.key(level), p);
    merged(ring, &packing.small_basis(), shape, symbols, images)
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
    let images = |cts: &[SharedRlwe<Eval>], level| -> Vec<SharedRlwe<Eval>> {
        let turn = keys.key(level).shared_turn(&basis);
        let image = |ct| {
            turn.apply(ring, std::slice::from_ref(ct), Bodies::Raised, p)
                .remove(0)
        };
        cts.par_iter().map(image).collect()
    };
    let first = symbols.first().expect("at least one symbol");
    let all = first.bodies[0].basis().clone();
    let SharedRlwe { mask, bodies } = merged(ring, &all, shape, symbols, images);
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

/// Merges ciphertexts whose wanted coefficients lie at multiples of the stride (Chen, Dai, Kim, Song 2021, stopped above
/// the leaves): the automorphisms cancel all other coefficients. `images` returns the images of ciphertexts by the key of
/// a level; `all` are the primes of polynomials with most primes.
fn merged<C: Ciphertext>(
    ring: &Ring,
    all: &Basis,
    shape: SumsShape,
    mut symbols: Vec<C>,
    images: impl Fn(&[C], u32) -> Vec<C>,
) -> C {
    let mut room = shape.stride();
    assert!(symbols.len() <= room, "one ciphertext's symbols");
    let mut level = shape.width().trailing_zeros() + 1;
    while room > 1 {
        room /= 2;
        let odd = symbols.split_off(symbols.len().min(room));
        symbols = joined(ring, all, symbols, odd, level, &images);
        level += 1;
    }
    symbols.pop().expect("at least one symbol")
}

/// Returns `E + X^k O + sigma(E - X^k O)`, `k = n' / 2^level`, of pairs of ciphertexts; of E alone where there are fewer
/// O. The sum is the difference and `2 X^k O`.
fn joined<C: Ciphertext>(
    ring: &Ring,
    all: &Basis,
    even: Vec<C>,
    odd: Vec<C>,
    level: u32,
    images: impl Fn(&[C], u32) -> Vec<C>,
) -> Vec<C> {
    let k = ring.n() >> level;
    let add_multiples = |to: &mut [C], factor: i64| {
        if odd.is_empty() {
            return;
        }
        let monomial = ring.monomial(all, k, factor);
        let mut to = all_mut(&mut to[..odd.len()]);
        ring.mul_add_all_assign(&mut to, &all_of(&odd), &monomial);
    };
    let mut differences = even;
    add_multiples(&mut differences, -1);
    let mut joined = images(&differences, level);
    ring.add_all_assign(&mut all_mut(&mut joined), &all_of(&differences));
    add_multiples(&mut joined, 2);
    joined
}

fn all_of<C: Ciphertext>(cts: &[C]) -> Vec<&Poly<Eval>> {
    cts.iter().flat_map(C::polys).collect()
}

fn all_mut<C: Ciphertext>(cts: &mut [C]) -> Vec<&mut Poly<Eval>> {
    cts.iter_mut().flat_map(C::polys_mut).collect()
}

/// A ciphertext as its polynomials.
trait Ciphertext: Send + Sync {
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
