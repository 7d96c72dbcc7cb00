//! Module LWE over a ring of one prime: several masks, and one body for each recipient whose keys share them.

use omr_ring::{AlignedVec, Eval, Poly, Ring};
use omr_rlwe::{Secret, SecretPoly, encrypt_with, mask};
use zeroize::Zeroize;

/// Ciphertexts of several recipients, with as many masks as their module has ranks: `body + sum_l mask_l s_l` is message
/// plus noise under each one's secret. Coefficients.
#[derive(Clone, Debug)]
pub struct ModuleCipher {
    /// The masks, which depend on the seed of the keys alone.
    pub masks: Vec<AlignedVec>,
    /// One body for each recipient.
    pub bodies: Vec<AlignedVec>,
}

/// The secret of a module: one polynomial for each rank. Wiped when dropped.
#[derive(Clone)]
pub struct ModuleSecret(pub Vec<Secret>);

impl ModuleSecret {
    /// The polynomials in the evaluation domain.
    pub(crate) fn polys(&self, ring: &Ring) -> Vec<SecretPoly> {
        let basis = ring.everything();
        self.0.iter().map(|part| part.poly(ring, &basis)).collect()
    }

    /// The phase of a ciphertext of a recipient, by number, modulo `q`, by schoolbook, as coefficients in `(-q/2, q/2]`.
    /// Time: variable; for measuring.
    #[cfg(feature = "measure")]
    pub fn phase(&self, q: u64, ct: &ModuleCipher, recipient: usize) -> Vec<i64> {
        let body = &ct.bodies[recipient];
        let n = body.len();
        let mut sums: Vec<i128> = body.iter().map(|&x| x.into()).collect();
        for (part, mask) in self.0.iter().zip(&ct.masks) {
            for (i, &s) in part.coeffs().iter().enumerate().filter(|(_, s)| **s != 0) {
                for (y, &x) in mask.iter().enumerate() {
                    let sign = if y + i < n { 1 } else { -1 };
                    sums[(y + i) % n] += i128::from(s * sign) * i128::from(x);
                }
            }
        }
        let q = i128::from(q);
        let centred = |x: i128| match x.rem_euclid(q) {
            x if x > q / 2 => x - q,
            x => x,
        };
        sums.into_iter().map(|x| centred(x) as i64).collect()
    }
}

/// One row of a key in a module: an encryption in the evaluation domain.
pub(crate) struct Row {
    pub(crate) body: Poly<Eval>,
    pub(crate) masks: Vec<Poly<Eval>>,
}

impl Row {
    /// Encrypts `message` under a secret. Mask l comes from (`seed`, [`index`.., l]).
    pub(crate) fn encrypt(
        ring: &Ring,
        secret: &[SecretPoly],
        message: &Poly<Eval>,
        (seed, index): (&[u8; 32], [u64; 2]),
        noise: Vec<i64>,
    ) -> Self {
        let masks = Self::masks(ring, secret.len(), seed, index);
        let mut body = encrypt_with(ring, &secret[0], message, 1, &masks[0], noise);
        for (mask, part) in masks.iter().zip(secret).skip(1) {
            let mut product = mask.clone();
            ring.mul_assign(&mut product, part);
            ring.sub_assign(&mut body, &product);
            product.zeroize();
        }
        Self { body, masks }
    }

    /// The row with this body; its masks are drawn again.
    pub(crate) fn from_body(
        ring: &Ring,
        rank: usize,
        body: Poly<Eval>,
        (seed, index): (&[u8; 32], [u64; 2]),
    ) -> Self {
        Self {
            masks: Self::masks(ring, rank, seed, index),
            body,
        }
    }

    fn masks(ring: &Ring, rank: usize, seed: &[u8; 32], [a, b]: [u64; 2]) -> Vec<Poly<Eval>> {
        let basis = ring.everything();
        let each = 0..rank as u64;
        each.map(|l| mask(ring, &basis, seed, &[a, b, l])).collect()
    }
}

/// The rows of several keys whose masks are those of the first.
pub(crate) struct Rows<'a>(pub(crate) Vec<&'a [Row]>);

impl<'a> Rows<'a> {
    /// So many of the rows.
    pub(crate) fn range(&self, first: usize, count: usize) -> Self {
        Self(self.0.iter().map(|rows| &rows[first..][..count]).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0[0].is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0[0].len()
    }

    /// Masks and bodies.
    pub(crate) fn parts(&self) -> usize {
        self.0[0].first().map_or(0, |row| row.masks.len()) + self.0.len()
    }

    /// Masks, then the body of each key: the only row of residues of each.
    fn part(&self, i: usize) -> Vec<&'a [u64]> {
        let masks = self.0[0].first().map_or(0, |row| row.masks.len());
        match i.checked_sub(masks) {
            None => self.0[0].iter().map(|row| row.masks[i].row(0)).collect(),
            Some(key) => self.0[key].iter().map(|row| row.body.row(0)).collect(),
        }
    }
}

/// `sum_j a_j row_j` over the evaluation domain, added to `sums` (those of masks, then of each key's bodies).
///
/// Range: `a` holds factors. Scratch: two rows.
pub(crate) fn add_products(
    ring: &Ring,
    sums: &mut [AlignedVec],
    a: &[&[u64]],
    rows: &Rows<'_>,
    scratch: &mut [AlignedVec; 2],
) {
    let (k, m) = (ring.kernels(), ring.modulus(0));
    let mut first = 0;
    for sums in sums.chunks_mut(2) {
        let [x, y] = scratch;
        match sums {
            [sum] => {
                k.dot(m, x, a, &rows.part(first));
                k.add_assign(m, sum, x);
            }
            [sum, next] => {
                let lists = [rows.part(first), rows.part(first + 1)];
                k.dot_pair(m, [&mut x[..], &mut y[..]], a, [&lists[0], &lists[1]]);
                k.add_assign(m, sum, x);
                k.add_assign(m, next, y);
            }
            _ => unreachable!("chunks of at most two"),
        }
        first += 2;
    }
}
