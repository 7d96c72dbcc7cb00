//! Encryption with the secret or the public key, decryption, and the measurement of noise.

use crate::{Chain, Ciphertext, Plain};
use omr_ring::{
    Basis, Eval, Poly, Ring, centered_binomial, centered_f64, centered_mod, uniform_ternary,
};
use omr_rlwe::{MaskSeed, Rlwe, Secret, SecretPoly, decrypt_residues, encrypt, encrypt_rows};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// Encrypts slots with the secret key. The one mask is derived from `seed`, so that only the body needs to be
/// sent.
#[allow(clippy::too_many_arguments)]
pub fn encrypt_symmetric(
    ring: &Ring,
    plain: &Plain,
    chain: &Chain,
    level: usize,
    secret: &SecretPoly,
    slots: &[u32],
    seed: MaskSeed<'_>,
    rng: &mut impl CryptoRng,
) -> Ciphertext {
    let basis = chain.basis(level);
    let c0 = encrypt_body(ring, plain, secret, basis, slots, seed, rng);
    let c1 = seed.mask(ring, basis, &[]);
    Ciphertext::new(Rlwe::new(c0, c1), level, 1)
}

/// Returns the body of [`encrypt_symmetric`] over `basis`. It allocates no polynomial other than the message
/// and the body.
pub fn encrypt_body(
    ring: &Ring,
    plain: &Plain,
    secret: &SecretPoly,
    basis: &Basis,
    slots: &[u32],
    seed: MaskSeed<'_>,
    rng: &mut impl CryptoRng,
) -> Poly<Eval> {
    let p = plain.p().value();
    let mut coeffs = plain.encode(slots);
    let mut message = ring.lift_plain(&coeffs, p as u32, basis);
    coeffs.zeroize();
    let add = |id, row: &mut [u64]| {
        let m = ring.modulus(id);
        ring.kernels().add_assign(m, row, message.row_of(id));
    };
    let mask = |id, row: &mut [u64]| seed.mask_row(ring.modulus(id), &[], row);
    let body = encrypt_rows(ring, secret, basis, p, mask, add, rng);
    message.zeroize();
    body
}

/// A public key: an encryption of zero, so that anybody can encrypt.
pub struct PublicKey(Rlwe);

impl PublicKey {
    /// Makes the public key of `secret` for ciphertexts at `level`.
    pub fn generate(
        ring: &Ring,
        p: u64,
        chain: &Chain,
        level: usize,
        secret: &SecretPoly,
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let basis = chain.basis(level);
        let c1 = seed.mask(ring, basis, &[]);
        let zero = Poly::zero(ring, basis);
        Self(Rlwe::new(encrypt(ring, secret, &zero, p, &c1, rng), c1))
    }

    /// Encrypts slots.
    pub fn encrypt(
        &self,
        ring: &Ring,
        plain: &Plain,
        level: usize,
        slots: &[u32],
        rng: &mut impl CryptoRng,
    ) -> Ciphertext {
        let basis = self.0.basis();
        let p = plain.p().value();
        let small = |mut coeffs: Vec<i64>, factor: u64| -> Poly<Eval> {
            let mut poly = ring.forward(ring.lift_signed(&coeffs, basis));
            coeffs.zeroize();
            ring.scale_assign(&mut poly, |m| m.reduce(factor));
            poly
        };
        let mut blind = small(uniform_ternary(rng, ring.n()), 1);
        let mut c0 = small(centered_binomial(rng, ring.n()), p);
        let mut c1 = small(centered_binomial(rng, ring.n()), p);
        ring.mul_add_assign(&mut c0, &self.0.c0, &blind);
        ring.mul_add_assign(&mut c1, &self.0.c1, &blind);
        blind.zeroize();
        let mut coeffs = plain.encode(slots);
        let mut message = ring.lift_plain(&coeffs, p as u32, basis);
        coeffs.zeroize();
        ring.add_assign(&mut c0, &message);
        message.zeroize();
        Ciphertext::new(Rlwe::new(c0, c1), level, 1)
    }
}

/// The recipient's side: decrypts, and measures noise.
pub struct Decryptor<'a> {
    /// The ring.
    pub ring: &'a Ring,
    /// The slots.
    pub plain: &'a Plain,
    /// The secret key.
    pub secret: &'a Secret,
}

impl Decryptor<'_> {
    fn value(&self, ct: &Ciphertext) -> Poly<omr_ring::Coeff> {
        let secret = self.secret.poly(self.ring, ct.parts[0].basis());
        let pair = Rlwe::new(ct.parts[0].clone(), ct.parts[1].clone());
        decrypt_residues(self.ring, &pair, &secret)
    }

    /// Returns the slots.
    ///
    /// Panics: if the ciphertext is not relinearised.
    pub fn decrypt(&self, ct: &Ciphertext) -> Vec<u32> {
        assert_eq!(ct.parts.len(), 2, "a relinearised ciphertext");
        let p = self.plain.p();
        let unscale = p.inv(ct.scale);
        let slots = self
            .plain
            .decode(centered_mod(self.ring, self.value(ct), p));
        slots
            .iter()
            .map(|&x| p.mul(u64::from(x), unscale) as u32)
            .collect()
    }

    /// Returns the coefficients of the noise `v = m + p e`, as integers.
    pub fn noise(&self, ct: &Ciphertext) -> Vec<f64> {
        centered_f64(self.ring, &self.value(ct))
    }
}
