//! Making the detector's key for two rounds.

use crate::SecretKey;
use crate::identity::public_random;
use crate::key_rng::{KeyContent, primes_of};
use chacha20::ChaCha20Rng;
use omr_bgv::GaloisKey;
use omr_opening::{ModuleSecret, PackingKey, packing_secret};
use omr_protocol::DetectionKeyError;
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::rounds::{RoundsKey, RoundsParams, RoundsPart};
use omr_protocol::sophomr::Epoch;
use omr_ring::{Eval, Poly};
use omr_rlwe::{BodyMaker, Secret, SecretPoly, SharedKey};
use omr_rounds::scan::switch_key;
use rand_core::CryptoRng;
use std::convert::Infallible;
use std::io::Write;

/// The name of the key's file in a recipient's folder.
const FILE: &str = "rounds.key";

/// A function that receives a body.
type Take<'a, E> = dyn FnMut(Poly<Eval>) -> Result<(), E> + 'a;

/// Makes the detector's key of a secret for two rounds, for the secret's kind of clues. The secret of packed clues is
/// dropped afterwards: it is not needed again.
///
/// The masks of the first round are those of `epoch`, or the recipient's own. A detector scans together for recipients
/// with the masks of one epoch. The key is derived from 32 bytes of `rng`, the masks and the secret, so a seed that is
/// used twice leads to the same key or to an independent one.
pub fn key(
    params: &RoundsParams,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> RoundsKey {
    let mut maker = Maker::new(params, secret, epoch, rng);
    let (id, seeds, clues) = (secret.rounds_id(), maker.seeds, secret.clues());
    let bodies = |part| -> Result<_, Infallible> {
        let mut bodies = Vec::new();
        maker.bodies::<Infallible>(part, &mut |body| {
            bodies.push(body);
            Ok(())
        })?;
        Ok(bodies)
    };
    let Ok(key) = RoundsKey::from_bodies(params, id, seeds, clues, bodies);
    key
}

/// Makes the key of [`key`] body by body and writes its file, in a fraction of the key's memory.
///
/// Errors: those of the writer.
pub fn write_key(
    params: &RoundsParams,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
    out: impl Write,
) -> Result<(), DetectionKeyError> {
    let mut maker = Maker::new(params, secret, epoch, rng);
    let (id, seeds, clues) = (secret.rounds_id(), maker.seeds, secret.clues());
    RoundsKey::write_bodies(params, id, seeds, clues, out, |part, write| {
        maker.bodies(part, &mut |body| write(&body))
    })
}

/// A maker of the bodies of a key.
struct Maker<'a> {
    params: &'a RoundsParams,
    secret: &'a SecretKey,
    /// The secret of packed clues, which is wiped when it is dropped.
    packing: ModuleSecret,
    /// The secret of queries.
    query: Secret,
    /// The seed of the recipient's own masks, and the seed of those that several keys may share.
    seeds: [[u8; 32]; 2],
    rng: ChaCha20Rng,
}

impl<'a> Maker<'a> {
    fn new(
        params: &'a RoundsParams,
        secret: &'a SecretKey,
        epoch: Option<&Epoch>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let masks = epoch.map(|shared| shared.masks(params.name()));
        let (scan, fetch) = (&params.scan, &params.fetch);
        let opening = scan.opening();
        let rings = [
            &opening.packing,
            &opening.narrow,
            scan.ring(),
            &fetch.ring,
            &fetch.final_ring,
        ];
        let content = KeyContent {
            file: FILE,
            set: params.name(),
            primes: primes_of(&rings),
            masks: masks.as_ref(),
            clue: &[secret.clue_secret().coeffs()],
            offset: offset(params, secret),
            digest: &secret.digest,
        };
        let mut generator = content.generator(rng);
        let packing = packing_secret(params.scan.opening(), &mut generator);
        let own = public_random(&mut generator);
        let shared = masks.unwrap_or_else(|| public_random(&mut generator));
        Self {
            query: secret.digest.query_secret(&params.fetch.ring),
            params,
            secret,
            packing,
            seeds: [own, shared],
            rng: generator,
        }
    }

    /// Makes the bodies of a part and passes each to `take`.
    ///
    /// Errors: those of `take`.
    fn bodies<E>(&mut self, part: RoundsPart, take: &mut Take<'_, E>) -> Result<(), E> {
        let params = self.params;
        let masks = part.mask_seed(&self.seeds);
        match part {
            RoundsPart::Packing => {
                let spec = params.clue.spec();
                // The factor from residues modulo q to residues modulo the clues' modulus.
                let step = (spec.modulus() / spec.q) as i64;
                let scaled = offset(params, self.secret)
                    .map(|residues| residues.map(|w| step * i64::from(w)));
                let extra = scaled.as_ref().map_or(&[][..], |values| &values[..]);
                PackingKey::make_bodies(
                    params.scan.opening(),
                    self.secret.clue_secret().coeffs(),
                    extra,
                    &self.packing,
                    masks,
                    &mut self.rng,
                    take,
                )
            }
            RoundsPart::Switch(rank) => {
                let scan = &params.scan;
                let digest = &self.secret.digest;
                let to = digest.scan_polys(scan.ring(), scan.spec().parts);
                let rng = &mut self.rng;
                let key = switch_key(scan, &self.packing, rank, &to, masks, rng);
                key.bodies().cloned().try_for_each(take)
            }
            RoundsPart::Product => {
                let s = self.query_poly();
                let square = s.product(&params.fetch.ring, &s);
                self.switching(part, &square, &s, take)
            }
            RoundsPart::Merge(level) => {
                let s = self.query_poly();
                let fetch = &params.fetch;
                let image = GaloisKey::preimage(&fetch.ring, &s, fetch.exponent(level));
                self.switching(part, &s, &image, take)
            }
            RoundsPart::Final => {
                let (ring, shape) = (&params.fetch.final_ring, params.fetch.final_shape());
                let to = self.secret.digest.answer_polys(ring, shape.bodies());
                let rng = &mut self.rng;
                let key = SharedKey::generate(ring, shape, &self.query, &to, masks, rng);
                key.bodies().cloned().try_for_each(take)
            }
        }
    }

    fn query_poly(&self) -> SecretPoly {
        let fetch = &self.params.fetch;
        self.query.poly(&fetch.ring, &fetch.shape.extended())
    }

    fn switching<E>(
        &mut self,
        part: RoundsPart,
        from: &SecretPoly,
        to: &SecretPoly,
        take: &mut Take<'_, E>,
    ) -> Result<(), E> {
        let fetch = &self.params.fetch;
        let maker = BodyMaker {
            ring: &fetch.ring,
            shape: &fetch.shape,
            from,
            to,
            p: fetch.p().value(),
        };
        maker
            .bodies(part.mask_seed(&self.seeds), &mut self.rng)
            .try_for_each(take)
    }
}

/// Returns the `w` of an address with bound clues.
fn offset(params: &RoundsParams, secret: &SecretKey) -> Option<[u32; OFFSET_LEN]> {
    let address = secret.address.as_ref();
    address.map(|key| key.offset(&params.clue))
}
