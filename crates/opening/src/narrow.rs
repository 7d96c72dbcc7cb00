//! The change to a sparse secret of lower rank, and to residues modulo p.

use crate::Opening;
use crate::module::{KeyRows, ModuleCipher, ModuleSecret, Rows, add_products};
use omr_ring::{AlignedVec, Eval, Poly, centered_binomial};
use omr_rlwe::{MaskSeed, Masks};
use rand_core::CryptoRng;

/// Encryptions of the packing secret times each unit of the gadget, under the sparse secret.
pub struct NarrowKey {
    /// For each polynomial of the packing secret, one row a digit.
    rows: KeyRows,
}

/// Module ciphertexts modulo p under sparse secrets.
#[derive(Clone, Debug)]
pub struct Narrowed(pub ModuleCipher);

impl NarrowKey {
    /// The key from the packing secret to the sparse one.
    pub fn generate(
        opening: &Opening,
        from: &ModuleSecret,
        to: &ModuleSecret,
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let (ring, gadget) = (&opening.narrow, opening.spec().gadget);
        let (from, to) = (from.polys(ring), to.polys(ring));
        let digits = from
            .iter()
            .flat_map(|part| (0..gadget.digits).map(move |i| (i, part)));
        let message = |(i, part): (u32, &omr_rlwe::SecretPoly)| {
            let mut message = Poly::clone(part);
            ring.scale_assign(&mut message, |m| gadget.unit(m, i));
            (message, centered_binomial(rng, ring.n()))
        };
        let masks = Self::masks(opening, seed);
        Self {
            rows: KeyRows::encrypt(ring, &to, masks, digits.map(message)),
        }
    }

    /// Draws the masks of a key.
    pub fn masks(opening: &Opening, seed: MaskSeed<'_>) -> Masks {
        let (rows, rank) = (opening.narrow_bodies(), opening.spec().rank);
        KeyRows::masks(&opening.narrow, rows, rank, seed)
    }

    /// Rebuilds a key from its bodies and [`NarrowKey::masks`].
    ///
    /// Panics: when there is not one body for each polynomial of the packing secret and each digit, or masks of others.
    pub fn from_bodies(opening: &Opening, bodies: Vec<Poly<Eval>>, masks: Masks) -> Self {
        let expected = opening.narrow_bodies();
        assert_eq!(bodies.len(), expected, "one body a digit");
        Self {
            rows: KeyRows::new(opening.spec().rank, bodies, masks),
        }
    }

    /// The bodies, to be written out.
    pub fn bodies(&self) -> impl Iterator<Item = &Poly<Eval>> {
        self.rows.bodies().iter()
    }
}

/// Switches packed messages to the sparse secrets and multiplies them by p over the packing modulus.
///
/// Shape: `keys` are of the recipients whose keys packed, in the same order. Panics: without a key.
pub fn narrow(opening: &Opening, keys: &[&NarrowKey], packed: &ModuleCipher) -> Narrowed {
    let (ring, spec) = (&opening.narrow, opening.spec());
    let (k, m) = (ring.kernels(), ring.modulus(0));
    let (q1, q2) = (opening.packing.modulus(0).value(), m.value());
    let row = || AlignedVec::zeroed(spec.n);
    let rows = Rows::new(keys.iter().map(|key| &key.rows), spec.rank);
    let mut digits: Vec<AlignedVec> = (0..rows.len()).map(|_| row()).collect();
    for (digits, mask) in digits
        .chunks_mut(spec.gadget.digits as usize)
        .zip(&packed.masks)
    {
        let mask = rescaled(mask, q1, q2);
        let mut rows: Vec<&mut [u64]> = digits.iter_mut().map(|digit| &mut digit[..]).collect();
        k.decompose(m, spec.gadget, &mut rows, &mask);
        for row in rows {
            k.ntt_factors(ring.table(0), row);
        }
    }
    let a: Vec<&[u64]> = digits.iter().map(|digit| &digit[..]).collect();
    let mut masks: Vec<AlignedVec> = (0..rows.parts()).map(|_| row()).collect();
    add_products(ring, &mut masks, &a, &rows, [&mut row(), &mut row()]);
    for sum in &mut masks {
        k.ntt_inverse(ring.table(0), sum);
    }
    let mut bodies = masks.split_off(spec.rank);
    for (body, packed) in bodies.iter_mut().zip(&packed.bodies) {
        k.add_assign(m, body, &rescaled(packed, q1, q2));
    }
    let p = opening.p().value();
    for row in masks.iter_mut().chain(&mut bodies) {
        *row = rescaled(row, q2, p);
    }
    Narrowed(ModuleCipher { masks, bodies })
}

/// Residues modulo `from`, times `to / from` and rounded, modulo `to`.
fn rescaled(row: &[u64], from: u64, to: u64) -> AlignedVec {
    let (from, to) = (u128::from(from), u128::from(to));
    let mut out = AlignedVec::zeroed(row.len());
    for (out, &x) in out.iter_mut().zip(row) {
        let rounded = (u128::from(x) * to + from / 2) / from;
        *out = if rounded == to { 0 } else { rounded as u64 };
    }
    out
}
