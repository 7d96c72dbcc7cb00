//! Module LWE over a ring of one prime: several masks, and one body for each recipient whose keys share them.

use omr_ring::{AlignedVec, Eval, Poly, Ring};
use omr_rlwe::{MaskSeed, Masks, Secret, SecretPoly, encrypt_with};
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

/// The rows of a key in a module: encryptions in the evaluation domain, each of a body and as many masks as ranks.
pub(crate) struct KeyRows {
    /// Row by row.
    masks: Masks,
    bodies: Vec<Poly<Eval>>,
}

impl KeyRows {
    /// Draws the masks of `rows` rows: the path of mask l of row i is `[i, l]`.
    pub(crate) fn masks(ring: &Ring, rows: usize, rank: usize, seed: MaskSeed<'_>) -> Masks {
        let basis = ring.everything();
        let paths = (0..rows as u64).flat_map(|i| (0..rank as u64).map(move |l| [i, l]));
        paths.map(|path| seed.mask(ring, &basis, &path)).collect()
    }

    /// Encrypts a message with noise in each row under a secret.
    pub(crate) fn encrypt(
        ring: &Ring,
        secret: &[SecretPoly],
        masks: Masks,
        messages: impl Iterator<Item = (Poly<Eval>, Vec<i64>)>,
    ) -> Self {
        let rows = masks.chunks(secret.len()).zip(messages);
        let bodies =
            rows.map(|(masks, (message, noise))| body(ring, secret, masks, message, noise));
        Self {
            bodies: bodies.collect(),
            masks,
        }
    }

    /// The bodies of [`KeyRows::encrypt`] one by one; of the masks those of one row are there at a time.
    pub(crate) fn encrypted(
        ring: &Ring,
        secret: &[SecretPoly],
        seed: MaskSeed<'_>,
        messages: impl Iterator<Item = (Poly<Eval>, Vec<i64>)>,
    ) -> impl Iterator<Item = Poly<Eval>> {
        let basis = ring.everything();
        (0..).zip(messages).map(move |(row, (message, noise))| {
            let draw = |l| seed.mask(ring, &basis, &[row, l]);
            let masks: Vec<Poly<Eval>> = (0..secret.len() as u64).map(draw).collect();
            body(ring, secret, &masks, message, noise)
        })
    }

    /// Panics: when there are not as many masks for each body.
    pub(crate) fn new(rank: usize, bodies: Vec<Poly<Eval>>, masks: Masks) -> Self {
        assert_eq!(masks.len(), rank * bodies.len(), "masks of each body");
        Self { masks, bodies }
    }

    pub(crate) fn bodies(&self) -> &[Poly<Eval>] {
        &self.bodies
    }

    /// Returns the number of masks of a row.
    pub(crate) fn rank(&self) -> usize {
        self.masks.len() / self.bodies.len()
    }

    /// Row by row, the masks, then the body.
    pub(crate) fn all(&self) -> Vec<&[u64]> {
        let rows = self.masks.chunks(self.rank()).zip(&self.bodies);
        rows.flat_map(|(masks, body)| masks.iter().chain([body]))
            .map(|poly| poly.row(0))
            .collect()
    }
}

/// The body of an encryption of a message with noise, which is wiped.
fn body(
    ring: &Ring,
    secret: &[SecretPoly],
    masks: &[Poly<Eval>],
    mut message: Poly<Eval>,
    noise: Vec<i64>,
) -> Poly<Eval> {
    let mut body = encrypt_with(ring, &secret[0], &message, 1, &masks[0], noise);
    message.zeroize();
    for (mask, part) in masks.iter().zip(secret).skip(1) {
        let mut product = mask.clone();
        ring.mul_assign(&mut product, part);
        ring.sub_assign(&mut body, &product);
        product.zeroize();
    }
    body
}

/// Some of the rows of several keys whose masks are those of the first.
pub(crate) struct Rows<'a> {
    masks: &'a [Poly<Eval>],
    rank: usize,
    bodies: Vec<&'a [Poly<Eval>]>,
}

impl<'a> Rows<'a> {
    /// All rows. Panics: without a key.
    pub(crate) fn new(keys: impl Iterator<Item = &'a KeyRows>, rank: usize) -> Self {
        let keys: Vec<&KeyRows> = keys.collect();
        Self {
            masks: &keys[0].masks,
            rank,
            bodies: keys.iter().map(|key| &key.bodies[..]).collect(),
        }
    }

    /// Selects `count` rows, starting at row `first`.
    pub(crate) fn range(&self, first: usize, count: usize) -> Self {
        let of = |bodies: &&'a [Poly<Eval>]| &bodies[first..][..count];
        Self {
            masks: &self.masks[first * self.rank..][..count * self.rank],
            rank: self.rank,
            bodies: self.bodies.iter().map(of).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.bodies[0].len()
    }

    /// Returns the number of masks and bodies.
    pub(crate) fn parts(&self) -> usize {
        self.rank + self.bodies.len()
    }

    /// Masks, then the body of each key: the only row of residues of each.
    fn part(&self, i: usize) -> Vec<&'a [u64]> {
        match i.checked_sub(self.rank) {
            None => {
                let masks = self.masks.iter().skip(i).step_by(self.rank);
                masks.map(|mask| mask.row(0)).collect()
            }
            Some(key) => self.bodies[key].iter().map(|body| body.row(0)).collect(),
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
    scratch: [&mut AlignedVec; 2],
) {
    let (k, m) = (ring.kernels(), ring.modulus(0));
    let mut first = 0;
    let [x, y] = scratch;
    for sums in sums.chunks_mut(2) {
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

/// [`add_products`] for two lists of sums at once: `sum_j a_j row_j` is added to `next`, `sum_j a_j row_(j + 1)` to
/// `sums`. Every row is read once for both.
///
/// Shape: one row more than there are factors; `zero` is a row of zeros. Range: `a` holds factors. Scratch: four rows.
pub(crate) fn add_shifted_products(
    ring: &Ring,
    sums: &mut [AlignedVec],
    next: &mut [AlignedVec],
    a: &[&[u64]],
    zero: &[u64],
    rows: &Rows<'_>,
    scratch: &mut [AlignedVec; 4],
) {
    let (k, m) = (ring.kernels(), ring.modulus(0));
    let shifted: Vec<&[u64]> = std::iter::once(zero).chain(a.iter().copied()).collect();
    let own: Vec<&[u64]> = a.iter().copied().chain([zero]).collect();
    for first in (0..sums.len()).step_by(2) {
        let [w, x, y, z] = scratch;
        let list = rows.part(first);
        if first + 1 == sums.len() {
            k.dot(m, w, &shifted, &list);
            k.dot(m, x, &own, &list);
            k.add_assign(m, &mut sums[first], w);
            k.add_assign(m, &mut next[first], x);
            continue;
        }
        let lists = [&list[..], &rows.part(first + 1)];
        k.dot_square(m, [w, x, y, z], [&shifted, &own], lists);
        k.add_assign(m, &mut sums[first], w);
        k.add_assign(m, &mut sums[first + 1], x);
        k.add_assign(m, &mut next[first], y);
        k.add_assign(m, &mut next[first + 1], z);
    }
}
