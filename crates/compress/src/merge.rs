//! Packing: the ciphertexts of several symbols become one.

use crate::keys::turn;
use crate::{MergeKeys, Packing, SumsShape};
use omr_ring::{Basis, Coeff, Eval, Poly, Ring, parallel};
use omr_rlwe::Rlwe;

/// Packs ciphertexts of symbols: the coefficients `0, stride, 2 stride, ...` of ciphertext i become `i, i + stride,
/// i + 2 stride, ...` of the one that comes out, multiplied by `stride`; the others are cancelled.
///
/// Panics: when there are none, more than [`SumsShape::stride`], or keys of a level are missing.
pub fn pack(packing: Packing, shape: SumsShape, keys: MergeKeys, symbols: Vec<Rlwe>) -> Rlwe {
    let mut parts: Vec<Option<Rlwe>> = symbols.into_iter().map(Some).collect();
    assert!(parts.len() <= shape.stride(), "one ciphertext's symbols");
    // A join with X^(2^i) has an odd part only if there are more than 2^i symbols.
    let (ring, basis) = (packing.small, packing.small_basis());
    let shifts = 0..parts.len().next_power_of_two().ilog2();
    parts.resize(shape.stride(), None);
    let merger = Merger {
        packing,
        keys,
        first_level: shape.width().trailing_zeros() + 1,
        monomials: shifts.map(|i| monomial(ring, &basis, 1 << i)).collect(),
    };
    merger.merge(parts).expect("at least one symbol")
}

/// Merges ciphertexts whose wanted coefficients lie at multiples of the stride (Chen, Dai, Kim,
/// Song 2021, stopped above the leaves): the automorphisms cancel all other coefficients.
struct Merger<'a> {
    packing: Packing<'a>,
    keys: MergeKeys<'a>,
    /// The key level of the first joins, of two symbols each.
    first_level: u32,
    /// `X^(2^i)`, as many as joins with an odd part need.
    monomials: Vec<Poly<Eval>>,
}

impl Merger<'_> {
    /// Merges parts, as many as a power of two; `None` where all of them are.
    fn merge(&self, parts: Vec<Option<Rlwe>>) -> Option<Rlwe> {
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
        self.join(even?, odd, self.first_level + levels - 1)
    }

    /// `E + X^k O + sigma(E - X^k O)`, `k = n' / 2^level`.
    fn join(&self, even: Rlwe, odd: Option<Rlwe>, level: u32) -> Option<Rlwe> {
        let (ring, p) = (self.packing.small, self.packing.p);
        let key = self.keys.key(level);
        let (mut sum, mut difference) = (even.clone(), even);
        if let Some(odd) = odd {
            let k = ring.n() >> level;
            let monomial = &self.monomials[k.ilog2() as usize];
            for (part, sum, difference) in [
                (odd.c0, &mut sum.c0, &mut difference.c0),
                (odd.c1, &mut sum.c1, &mut difference.c1),
            ] {
                let mut shifted = part;
                ring.mul_assign(&mut shifted, monomial);
                ring.add_assign(sum, &shifted);
                ring.sub_assign(difference, &shifted);
            }
        }
        let image = turn(ring, &difference, key, p);
        ring.add_assign(&mut sum.c0, &image.c0);
        ring.add_assign(&mut sum.c1, &image.c1);
        Some(sum)
    }
}

fn monomial(ring: &Ring, basis: &Basis, k: usize) -> Poly<Eval> {
    let mut poly = Poly::<Coeff>::zero(ring, basis);
    for limb in 0..basis.len() {
        poly.row_mut(limb)[k] = 1;
    }
    ring.forward(poly)
}
