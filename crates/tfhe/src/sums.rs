use crate::{RingCipher, RotationRing};
use omr_ring::AlignedVec;

/// Sums of ciphertexts, each times several plaintexts modulo p: what a digest is made of.
///
/// Addition is all that happens: sums over parts of a board add up, and can be read at any time.
#[derive(Clone, Debug)]
pub struct PlainSums {
    /// For each plaintext body and mask, in the evaluation domain.
    sums: Vec<[AlignedVec; 2]>,
}

/// Rows that products are made in.
pub struct PlainScratch {
    factors: [AlignedVec; 2],
    plaintext: AlignedVec,
}

impl PlainScratch {
    /// Rows of the ring's dimension.
    pub fn new(ring: &RotationRing) -> Self {
        let row = || AlignedVec::zeroed(ring.n());
        Self {
            factors: [row(), row()],
            plaintext: row(),
        }
    }
}

impl PlainSums {
    /// Sums over nothing, of `count` plaintexts each.
    pub fn new(ring: &RotationRing, count: usize) -> Self {
        let row = || AlignedVec::zeroed(ring.n());
        Self {
            sums: (0..count).map(|_| [row(), row()]).collect(),
        }
    }

    /// Adds `ct` times each plaintext: coefficient `i` of plaintext `j` is word `j n + i` of `values`,
    /// below `p` and taken in `(-p/2, p/2]`; what is missing at the end is 0.
    ///
    /// Panics: on more values than coefficients, or one that is not below `p`.
    pub fn add(
        &mut self,
        ring: &RotationRing,
        ct: &RingCipher,
        (values, p): (&[u32], u32),
        scratch: &mut PlainScratch,
    ) {
        let (k, m, table) = (ring.kernels(), ring.modulus(0), ring.table(0));
        assert!(
            values.len() <= self.sums.len() * ring.n(),
            "too many values"
        );
        assert!(values.iter().all(|&x| x < p), "values below {p}");
        let PlainScratch { factors, plaintext } = scratch;
        for (factor, row) in factors.iter_mut().zip([&ct.body, &ct.mask]) {
            factor.copy_from_slice(row);
            k.ntt_forward(table, factor);
        }
        for (sums, values) in self.sums.iter_mut().zip(values.chunks(ring.n())) {
            let (used, rest) = plaintext.split_at_mut(values.len());
            k.lift_centered(m, used, values, p);
            rest.fill(0);
            k.ntt_forward(table, plaintext);
            for (sum, factor) in sums.iter_mut().zip(&*factors) {
                k.mul_add_assign(m, sum, factor, plaintext);
            }
        }
    }

    /// Adds the sums over other messages. Panics: when the numbers of plaintexts differ.
    pub fn merge(&mut self, ring: &RotationRing, other: &Self) {
        assert_eq!(self.sums.len(), other.sums.len(), "numbers of plaintexts");
        for (sum, x) in self
            .sums
            .iter_mut()
            .flatten()
            .zip(other.sums.iter().flatten())
        {
            ring.kernels().add_assign(ring.modulus(0), sum, x);
        }
    }

    /// One ciphertext for each plaintext.
    pub fn ciphers(&self, ring: &RotationRing) -> Vec<RingCipher> {
        let back = |row: &AlignedVec| {
            let mut row = row.clone();
            ring.kernels().ntt_inverse(ring.table(0), &mut row);
            row
        };
        let cipher = |[body, mask]: &[AlignedVec; 2]| RingCipher {
            body: back(body),
            mask: back(mask),
        };
        self.sums.iter().map(cipher).collect()
    }
}
