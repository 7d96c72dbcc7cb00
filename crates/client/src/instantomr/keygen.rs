//! Making keys for InstantOMR's detector.

use crate::identity::public_random;
use crate::key_rng::KeyContent;
use crate::secret_key::block_secret;
use crate::{MakeKeyError, SecretKey, SecretKeyError};
use chacha20::ChaCha20Rng;
use omr_protocol::instantomr::{InstantKey, InstantParams, OffsetKey, Part};
use omr_protocol::{ClueKey, EngineKind};
use omr_ring::{Eval, NarrowGaussian, Poly};
use omr_rlwe::{MaskSeed, Secret, SecretPoly, SharedKey};
use omr_tfhe::{BlockSecret, BootstrapMaker, LweSwitchKey, TraceKey};
use rand_core::CryptoRng;
use std::convert::Infallible;
use std::io::Write;
use zeroize::Zeroizing;

/// Makes InstantOMR's detection key of a secret, for the secret's kind of clues. The ring's secret is dropped
/// afterwards: it is not needed again.
///
/// Errors: `Coefficients` if the secret belongs to a set without InstantOMR.
pub fn detection_key(
    params: &InstantParams,
    secret: &SecretKey,
    rng: &mut impl CryptoRng,
) -> Result<InstantKey, SecretKeyError> {
    let mut maker = Maker::new(params, secret, rng)?;
    let (seed, offset) = (maker.seed, maker.offset());
    let next = |part| -> Result<_, Infallible> {
        let mut bodies = Vec::new();
        let mut keep = |body| {
            bodies.push(body);
            Ok(())
        };
        maker.bodies::<Infallible>(part, &mut keep)?;
        Ok(bodies)
    };
    let Ok(mut key) = InstantKey::from_bodies(params, secret.instant_id(), &seed, next);
    key.offset = offset.map(|bodies| OffsetKey::from_bodies(params, bodies, &seed));
    Ok(key)
}

/// Makes the key of [`detection_key`] body by body and writes its file, in a fraction of the key's memory.
///
/// Errors: `Secret`; those of the writer.
pub fn write_detection_key(
    params: &InstantParams,
    secret: &SecretKey,
    rng: &mut impl CryptoRng,
    out: impl Write,
) -> Result<(), MakeKeyError> {
    let mut maker = Maker::new(params, secret, rng)?;
    let (id, seed, offset) = (secret.instant_id(), maker.seed, maker.offset());
    InstantKey::write_bodies(params, id, &seed, offset.as_deref(), out, |part, write| {
        maker.bodies(part, &mut |body| write(&body))
    })?;
    Ok(())
}

/// A maker of the bodies of a key.
struct Maker<'a> {
    params: &'a InstantParams,
    secret: &'a SecretKey,
    clue: BlockSecret,
    ring_secret: Secret,
    /// The ring's secret, prepared for products.
    z: SecretPoly,
    seed: [u8; 32],
    rng: ChaCha20Rng,
}

impl<'a> Maker<'a> {
    /// Derives all randomness from 32 bytes of `rng`; see [`KeyContent::generator`].
    ///
    /// Errors: `Coefficients`.
    fn new(
        params: &'a InstantParams,
        secret: &'a SecretKey,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, SecretKeyError> {
        let (block, _) = params.blocks();
        let clue = block_secret(secret.instant_secret(), block);
        let ring = &params.ring;
        let content = KeyContent {
            file: EngineKind::Instantomr.key_name(),
            set: params.name(),
            primes: vec![ring.q(), params.small.q()],
            masks: None,
            clue: &[secret.instant_secret().coeffs()],
            offset: secret
                .address
                .as_ref()
                .map(|address| address.offset(&params.clue)),
            digest: &secret.digest,
        };
        let mut generator = content.generator(rng);
        let ring_secret = Secret::uniform_ternary(&mut generator, ring.n());
        Ok(Self {
            params,
            secret,
            clue: clue.ok_or(SecretKeyError::Coefficients)?,
            z: ring_secret.poly(ring, &ring.everything()),
            ring_secret,
            seed: public_random(&mut generator),
            rng: generator,
        })
    }

    /// Makes the bodies of a part and passes each to `take`.
    ///
    /// Errors: those of `take`.
    fn bodies<E>(
        &mut self,
        part: Part,
        take: &mut dyn FnMut(Poly<Eval>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (ring, spec, at) = (
            &self.params.ring,
            self.params.spec(),
            MaskSeed::new(&self.seed, part.index()),
        );
        let (noise, z) = (&self.params.noise, &self.z);
        match part {
            Part::Bootstrap => {
                let maker = BootstrapMaker {
                    ring,
                    gadget: self.params.bootstrap().gadget,
                    from: &self.clue,
                    to: z,
                    noise,
                };
                maker
                    .rows(at, &mut self.rng)
                    .try_for_each(|[body, _]| take(body))
            }
            Part::Switch => {
                let (small, errors) = (&self.params.small, &self.params.switch_noise);
                let (from, to) = (&self.ring_secret, &self.clue);
                let key =
                    LweSwitchKey::generate(small, spec.switch, from, to, at, errors, &mut self.rng);
                key.bodies().cloned().try_for_each(take)
            }
            Part::Trace => {
                let key = TraceKey::generate(ring, spec.trace, z, at, noise, &mut self.rng);
                key.bodies().cloned().try_for_each(take)
            }
            Part::Last => {
                let last = self.secret.digest.instant_polys(ring, spec.bodies);
                let shape = self.params.shared();
                let key =
                    SharedKey::generate(ring, shape, &self.ring_secret, &last, at, &mut self.rng);
                key.bodies().cloned().try_for_each(take)
            }
        }
    }

    /// Returns the bodies of the key's offset part, if the address is for bound clues.
    fn offset(&mut self) -> Option<Vec<u32>> {
        let address = self.secret.address.as_ref()?;
        Some(self.offset_of(address))
    }

    fn offset_of(&mut self, address: &ClueKey) -> Vec<u32> {
        let (clue, q) = (&self.params.clue, self.params.clue.q());
        let noise = NarrowGaussian::new(self.params.secret().sigma);
        let errors = Zeroizing::new(noise.sample(&mut self.rng, OffsetKey::samples(self.params)));
        let masks = OffsetKey::masks(self.params, &self.seed);
        let messages = OffsetKey::messages(self.params, &address.offset(clue));
        let body = |((mask, message), &error): ((Vec<u64>, u64), &i64)| {
            let products = mask
                .iter()
                .zip(self.secret.instant_secret().coeffs())
                .map(|(&x, &s)| x as i64 * s);
            // At most 1,024 residues of 22 bits do not overflow.
            let product: i64 = products.sum();
            q.add(message, q.from_i64(error - product)) as u32
        };
        let bodies = masks.into_iter().zip(messages).zip(errors.iter()).map(body);
        bodies.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity;
    use chacha20::ChaCha20Rng;
    use omr_protocol::{ClueKind, ParamSet};
    use rand_core::SeedableRng;

    #[test]
    fn a_key_is_written_body_by_body_as_it_is_made_at_once() {
        let set = ParamSet::named("insecure-tiny-hybrid-v4").unwrap();
        let params = set.instantomr().unwrap();
        for clues in [ClueKind::Plain, ClueKind::Bound] {
            let rng = || ChaCha20Rng::seed_from_u64(3);
            let (secret, _) = identity(set.clue(), clues, &mut rng());
            let (mut whole, mut file) = (Vec::new(), Vec::new());
            write_detection_key(params, &secret, &mut rng(), &mut file).unwrap();
            let key = detection_key(params, &secret, &mut rng()).unwrap();
            assert_eq!(key.clues(), clues);
            key.write(params, &mut whole).unwrap();
            assert!(file == whole, "{clues}");
            assert_eq!(file.len() as u64, InstantKey::file_bytes_of(params, clues));
        }
    }
}
