//! Oblivious expansion (Angel, Chen, Laine, Setty 2018) of one ciphertext to one for each coefficient.

use crate::GaloisKey;
use omr_ring::parallel::*;
use omr_ring::{Basis, Eval, Modulus, Poly, Ring};
use omr_rlwe::Rlwe;

/// Splits ciphertexts level by level. A node of level i contains the coefficients whose number is congruent to
/// its own modulo `2^i`, at the positions that are multiples of `2^i`, multiplied by `2^i`. A node with one
/// coefficient is a constant.
pub struct Expander<'a> {
    ring: &'a Ring,
    p: &'a Modulus,
    keys: Vec<&'a GaloisKey>,
    /// `X^(-2^i)`.
    monomials: Vec<Poly<Eval>>,
}

impl<'a> Expander<'a> {
    /// Builds the expander of ciphertexts over `basis`. The key of level i is that of `X -> X^(n / 2^i + 1)`.
    ///
    /// Panics: if a key belongs to another automorphism.
    pub fn new(ring: &'a Ring, basis: &Basis, p: &'a Modulus, keys: Vec<&'a GaloisKey>) -> Self {
        for (i, key) in keys.iter().enumerate() {
            assert_eq!(key.exponent(), (ring.n() >> i) + 1, "the key of level {i}");
        }
        // X^(-k) = X^(2n - k).
        let inverse = |i: usize| ring.monomial(basis, 2 * ring.n() - (1 << i), 1);
        Self {
            monomials: (0..keys.len()).map(inverse).collect(),
            ring,
            p,
            keys,
        }
    }

    /// Returns the number of levels.
    pub fn levels(&self) -> usize {
        self.keys.len()
    }

    /// Returns both children of a node of level i, `ct + sigma(ct)` and `X^(-2^i) (ct - sigma(ct))`. The
    /// automorphism sigma, `X -> X^(n/2^i + 1)`, changes the sign of every other coefficient of the node.
    pub fn children(&self, ct: &Rlwe, level: usize) -> [Rlwe; 2] {
        let ring = self.ring;
        let image = self.keys[level]
            .apply(ring, &[(&ct.c0, &ct.c1)], self.p)
            .remove(0);
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

    /// Returns node `number` of `level` below a ciphertext.
    pub fn node(&self, ct: &Rlwe, level: usize, number: usize) -> Rlwe {
        (0..level).fold(ct.clone(), |node, i| {
            let [even, odd] = self.children(&node, i);
            match number >> i & 1 {
                0 => even,
                _ => odd,
            }
        })
    }

    /// Returns all nodes `deeper` levels below a node of `level`, depth first.
    pub fn below(&self, node: Rlwe, level: usize, deeper: usize) -> Vec<Rlwe> {
        let mut nodes = vec![node];
        for i in level..level + deeper {
            nodes = nodes.iter().flat_map(|ct| self.children(ct, i)).collect();
        }
        nodes
    }

    /// Calls `take` with every leaf below a node, depth first, so that memory holds one ciphertext for each
    /// level.
    pub fn leaves(&self, node: Rlwe, level: usize, take: &mut dyn FnMut(Rlwe)) {
        if level == self.levels() {
            return take(node);
        }
        let [even, odd] = self.children(&node, level);
        drop(node);
        self.leaves(even, level + 1, take);
        self.leaves(odd, level + 1, take);
    }

    /// Returns the first `count` coefficients as constants with `count - 1` key switches, coefficient j multiplied by
    /// `2^doublings(j, count)`. A node is split only if a coefficient below `count` is among those of its odd child.
    ///
    /// Let `2^l` be the least power of two that is not below `count`. All coefficients whose number modulo `2^l` is
    /// `count` or more must be 0. Coefficients `j + 2^l m` with `m > 0` need not be 0: each comes at position `2^l m`
    /// of the result j, with the factor of the constant.
    ///
    /// Panics: if `count` is 0, or if there is no key for one of the first `l` levels.
    pub fn first_constants(&self, ct: Rlwe, count: usize) -> Vec<Rlwe> {
        assert!(count > 0, "at least one constant");
        let mut nodes = vec![ct];
        for level in 0..count.next_power_of_two().ilog2() as usize {
            // Nodes whose child k + 2^level is not wanted stay as they are.
            let wanted = nodes.len().min(count - nodes.len());
            let unsplit = nodes.split_off(wanted);
            let (even, odd) = self.split(nodes, level);
            nodes = even;
            nodes.extend(unsplit);
            nodes.extend(odd);
        }
        nodes
    }

    /// Returns the even and the odd children of nodes of a level, in order. A node is dropped once its children are
    /// computed.
    fn split(&self, nodes: Vec<Rlwe>, level: usize) -> (Vec<Rlwe>, Vec<Rlwe>) {
        let pairs: Vec<[Rlwe; 2]> = nodes
            .into_par_iter()
            .map(|ct| self.children(&ct, level))
            .collect();
        pairs.into_iter().map(|[even, odd]| (even, odd)).unzip()
    }
}

/// Returns the number of times that [`Expander::first_constants`] doubles the constant `leaf` of `count`: the least `i`
/// with `count <= 2^i`, or one less where the last level does not split the leaf's node.
///
/// ```
/// use omr_bgv::doublings;
///
/// let of_five = [0, 1, 2, 3, 4].map(|leaf| doublings(leaf, 5));
/// assert_eq!(of_five, [3, 2, 2, 2, 3]);
/// assert_eq!(doublings(0, 1), 0);
/// ```
///
/// Panics: if `leaf` is not below `count`.
pub fn doublings(leaf: usize, count: usize) -> u32 {
    assert!(leaf < count, "leaf {leaf} of {count}");
    (0..count.next_power_of_two().ilog2())
        .filter(|level| leaf % (1 << level) + (1 << level) < count)
        .count() as u32
}
