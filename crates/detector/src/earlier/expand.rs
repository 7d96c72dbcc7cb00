//! Oblivious expansion (Angel, Chen, Laine, Setty 2018): one ciphertext becomes one for each coefficient.

use omr_bgv::GaloisKey;
use omr_protocol::Params;
use omr_protocol::detection_key::merge_levels;
use omr_ring::{Basis, Eval, Modulus, Poly, Ring};
use omr_rlwe::Rlwe;

/// Splits small ciphertexts level by level. A node of level i holds the coefficients that are its number
/// modulo `2^i`, in the places that are multiples of `2^i`, times `2^i`; leaves are constants.
pub(crate) struct Expander<'a> {
    ring: &'a Ring,
    p: &'a Modulus,
    /// By level of merging, from 1 on.
    keys: &'a [GaloisKey],
    /// `X^(-2^i)`.
    monomials: Vec<Poly<Eval>>,
}

impl<'a> Expander<'a> {
    /// `keys`: those of all [`merge_levels`] of a set with expansion.
    pub(crate) fn new(params: &'a Params, keys: &'a [GaloisKey]) -> Self {
        debug_assert_eq!(*merge_levels(params).start(), 1);
        let (ring, basis) = (&params.small, params.small_basis());
        let monomials =
            (0..ring.n().trailing_zeros()).map(|i| inverse_monomial(ring, &basis, 1 << i));
        Self {
            ring,
            p: params.p(),
            keys,
            monomials: monomials.collect(),
        }
    }

    /// How many levels there are.
    pub(crate) fn levels(&self) -> usize {
        self.monomials.len()
    }

    /// Both children of a node of level i, `ct + sigma(ct)` and `X^(-2^i) (ct - sigma(ct))`: sigma,
    /// `X -> X^(n'/2^i + 1)`, turns the sign of every other coefficient that the node has.
    pub(crate) fn children(&self, ct: &Rlwe, level: usize) -> [Rlwe; 2] {
        let ring = self.ring;
        // The key for X^(2^l + 1) stands at l - 1.
        let key = &self.keys[self.levels() - level - 1];
        let image = key.apply(ring, &[(&ct.c0, &ct.c1)], self.p).remove(0);
        let mut odd = ct.clone();
        ring.sub_assign(&mut odd.c0, &image.c0);
        ring.sub_assign(&mut odd.c1, &image.c1);
        ring.mul_assign(&mut odd.c0, &self.monomials[level]);
        ring.mul_assign(&mut odd.c1, &self.monomials[level]);
        let mut even = image;
        ring.add_assign(&mut even.c0, &ct.c0);
        ring.add_assign(&mut even.c1, &ct.c1);
        [even, odd]
    }

    /// Node `number` of `level` below a ciphertext.
    pub(crate) fn node(&self, ct: &Rlwe, level: usize, number: usize) -> Rlwe {
        (0..level).fold(ct.clone(), |node, i| {
            let [even, odd] = self.children(&node, i);
            match number >> i & 1 {
                0 => even,
                _ => odd,
            }
        })
    }

    /// All nodes `deeper` levels below a node of `level`, in the order of depth first.
    pub(crate) fn below(&self, node: Rlwe, level: usize, deeper: usize) -> Vec<Rlwe> {
        let mut nodes = vec![node];
        for i in level..level + deeper {
            nodes = nodes.iter().flat_map(|ct| self.children(ct, i)).collect();
        }
        nodes
    }

    /// Calls `take` with every leaf below a node, depth first, so that one ciphertext a level is held.
    pub(crate) fn leaves(&self, node: Rlwe, level: usize, take: &mut dyn FnMut(Rlwe)) {
        if level == self.levels() {
            return take(node);
        }
        let [even, odd] = self.children(&node, level);
        drop(node);
        self.leaves(even, level + 1, take);
        self.leaves(odd, level + 1, take);
    }
}

/// `X^-k = -X^(n - k)`.
fn inverse_monomial(ring: &Ring, basis: &Basis, k: usize) -> Poly<Eval> {
    let mut coeffs = vec![0; ring.n()];
    coeffs[ring.n() - k] = -1;
    ring.forward(ring.lift_signed(&coeffs, basis))
}
