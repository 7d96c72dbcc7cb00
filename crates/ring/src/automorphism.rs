//! The order of plaintext slots, and automorphisms as permutations of evaluation rows.

use crate::{Backend, BlockPermutation, Eval, Poly, Ring, permuted_away};

/// The evaluation point of each plaintext slot, for a power-of-two ring.
///
/// Slot `(row, column)` of the 2 x n/2 matrix of slots lies at the root with exponent
/// `(-1)^row * 5^column` modulo 2n (Halevi and Shoup's hypercube for powers of two).
pub struct SlotOrder {
    n: usize,
    position: Vec<u32>,
    slot: Vec<u32>,
}

impl SlotOrder {
    /// The order for dimension `n`.
    pub fn new(n: usize) -> Self {
        let mask = 2 * n - 1;
        let mut position = vec![0; n];
        let mut exponent = 1usize;
        for column in 0..n / 2 {
            position[column] = position_of(exponent, n);
            position[column + n / 2] = position_of(2 * n - exponent, n);
            exponent = (exponent * 5) & mask;
        }
        let mut slot = vec![0; n];
        for (s, &at) in position.iter().enumerate() {
            slot[at as usize] = s as u32;
        }
        Self { n, position, slot }
    }

    /// The index, in the evaluation domain, of each slot (row 0, then row 1).
    pub fn positions(&self) -> &[u32] {
        &self.position
    }

    /// The slot at each index of the evaluation domain.
    pub fn slots(&self) -> &[u32] {
        &self.slot
    }

    /// The slot at an index of the evaluation domain.
    pub fn slot(&self, position: usize) -> usize {
        self.slot[position] as usize
    }

    /// The exponent `e` of the root `psi^e` where slot `i` lies.
    pub fn exponent(&self, slot: usize) -> usize {
        exponent_at(self.position[slot] as usize, self.n)
    }
}

/// The exponent of the root at evaluation index `j`: `2 brv(j) + 1`.
fn exponent_at(j: usize, n: usize) -> usize {
    let bits = n.trailing_zeros();
    2 * (j.reverse_bits() >> (usize::BITS - bits)) + 1
}

fn position_of(exponent: usize, n: usize) -> u32 {
    let bits = n.trailing_zeros();
    ((exponent >> 1).reverse_bits() >> (usize::BITS - bits)) as u32
}

/// The automorphism `X -> X^g`, `g` odd, as a permutation of evaluation rows.
#[derive(Clone, Debug)]
pub struct Automorphism {
    g: usize,
    index: Vec<u32>,
    blocks: Option<BlockPermutation>,
}

impl Automorphism {
    /// `X -> X^g` in dimension `n`. Panics: when `g` is even.
    pub fn new(n: usize, g: usize) -> Self {
        assert!(g % 2 == 1, "an automorphism's exponent is odd");
        let mask = 2 * n - 1;
        let index: Vec<u32> = (0..n)
            .map(|j| position_of((exponent_at(j, n) * (g & mask)) & mask, n))
            .collect();
        Self {
            g: g & mask,
            blocks: BlockPermutation::new(&index),
            index,
        }
    }

    /// The exponent of the rotation of slot rows to the left by `steps`: `5^steps` modulo 2n.
    pub fn rotation(n: usize, steps: usize) -> usize {
        let mask = 2 * n - 1;
        (0..steps % (n / 2)).fold(1, |g, _| (g * 5) & mask)
    }

    /// The exponent that swaps the two slot rows.
    pub fn row_swap(n: usize) -> usize {
        2 * n - 1
    }

    /// The exponent `g`.
    pub fn exponent(&self) -> usize {
        self.g
    }

    /// The permutation: for each evaluation index of the image, the index that it is read from.
    pub fn indices(&self) -> &[u32] {
        &self.index
    }

    /// The image of `a`.
    pub fn apply(&self, ring: &Ring, a: &Poly<Eval>) -> Poly<Eval> {
        let mut out = Poly::scratch(ring, a.basis());
        if let Some(backend) = ring.backend() {
            let from = std::slice::from_ref(a);
            return self.apply_away(&**backend, from, vec![out]).remove(0);
        }
        ring.each_row(&mut out, |id, row| self.apply_row(ring, row, a.row_of(id)));
        out
    }

    /// The images of polynomials in a backend's memory. They take the place of `to`, as many polynomials over the same
    /// basis.
    pub fn apply_away(
        &self,
        backend: &dyn Backend,
        from: &[Poly<Eval>],
        to: Vec<Poly<Eval>>,
    ) -> Vec<Poly<Eval>> {
        permuted_away(backend, self.g, &self.index, from, to)
    }

    /// One row of the image.
    pub fn apply_row(&self, ring: &Ring, out: &mut [u64], row: &[u64]) {
        match &self.blocks {
            Some(blocks) => ring.kernels().permute(out, row, blocks),
            None => ring.kernels().gather(out, row, &self.index),
        }
    }
}
