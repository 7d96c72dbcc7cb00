//! Keys for SophOMR's detector.

use crate::digest_secret::DigestSecret;
use crate::identity::random;
use crate::{SecretKey, identity};
use omr_bgv::{GaloisKey, encrypt_symmetric};
use omr_opening::{
    ModuleSecret, NarrowKey, PackingKey, packing_secret, secret_slots, sparse_secret,
};
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::sophomr::{
    DetectionKey, EncryptedSecret, Epoch, OpeningKey, Params, Part, merge_levels,
};
use omr_protocol::{ClueKey, ClueKind};
use omr_ring::Ring;
use omr_rlwe::{KeyShape, Secret, SecretPoly, SharedKey, SwitchingKey};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// The three keys of a recipient.
pub struct Keys {
    /// Stays with her.
    pub secret: SecretKey,
    /// Her public address, for senders.
    pub clue: ClueKey,
    /// For the detector she hires.
    pub detection: DetectionKey,
}

/// Makes a recipient's keys for SophOMR, for clues of a kind, with masks of her own.
pub fn keygen(params: &Params, clues: ClueKind, rng: &mut impl CryptoRng) -> Keys {
    new_keys(params, clues, None, rng).0
}

/// Makes a recipient's keys for SophOMR, for clues of a kind; in sets that open clues, with the masks of an epoch.
pub fn keygen_in_epoch(
    params: &Params,
    clues: ClueKind,
    epoch: &Epoch,
    rng: &mut impl CryptoRng,
) -> Keys {
    new_keys(params, clues, Some(epoch), rng).0
}

/// A recipient's keys for SophOMR, and the large ring's secret, for measuring noise.
#[cfg(feature = "measure")]
pub fn keygen_with_large_secret(
    params: &Params,
    clues: ClueKind,
    rng: &mut impl CryptoRng,
) -> (Keys, Secret) {
    new_keys(params, clues, None, rng)
}

fn new_keys(
    params: &Params,
    clues: ClueKind,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> (Keys, Secret) {
    let (secret, clue) = identity(&params.clue, clues, rng);
    let (detection, large) = detection_key_and_secret(params, &secret, epoch, rng);
    let keys = Keys {
        secret,
        clue,
        detection,
    };
    (keys, large)
}

/// The SophOMR detector's key for a secret, for clues of its kind. The secrets of the large and the small ring
/// are forgotten: nobody needs them again.
///
/// In sets that open clues its masks are those of `epoch`, or of her own: a detector serves recipients with the masks of
/// one epoch together.
pub fn detection_key(
    params: &Params,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> DetectionKey {
    detection_key_and_secret(params, secret, epoch, rng).0
}

/// Adds what a detector takes off bound clues: with it a key takes them and no others.
fn add_offset(
    params: &Params,
    key: &mut DetectionKey,
    address: &ClueKey,
    large: &Secret,
    rng: &mut impl CryptoRng,
) {
    let s = large.poly(&params.ring, params.chain.basis(0));
    let slots = packed_offset(params, &address.offset(&params.clue));
    key.offset = Some(encrypt_symmetric(
        &params.ring,
        &params.plain,
        &params.chain,
        0,
        &s,
        &slots,
        (&key.seed, Part::Offset.index()),
        rng,
    ));
}

fn detection_key_and_secret(
    params: &Params,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> (DetectionKey, Secret) {
    let clue = vec![secret.clue_secret().coeffs()];
    let offset;
    let w: &[i64] = match &secret.address {
        Some(address) => {
            offset = address.offset(&params.clue).map(i64::from);
            &offset
        }
        None => &[],
    };
    let masks = epoch.map(|epoch| epoch.masks(params.name()));
    let of = (clue, w, masks);
    let (mut key, large) = key_and_secret(params, secret.detection_id, of, &secret.digest, rng);
    if params.opening.is_some() {
        return (key, large);
    }
    if let Some(address) = &secret.address {
        add_offset(params, &mut key, address, &large, rng);
    }
    (key, large)
}

/// A detection key of this name for clue secrets of any scheme, and the large ring's secret, for measuring noise. The
/// small ring's secret is forgotten.
///
/// Shape:  `clue`: as many secrets as the circuit has, each of at most the clue ring's dimension.
/// Range:  coefficients above -p and below p.
pub fn detection_key_of(
    params: &Params,
    id: [u8; 16],
    clue: Vec<&[i64]>,
    digest: &DigestSecret,
    rng: &mut impl CryptoRng,
) -> (DetectionKey, Secret) {
    key_and_secret(params, id, (clue, &[], None), digest, rng)
}

/// [`detection_key_of`] clue secrets and of what packing takes off bound clues, with masks of this seed or her own.
fn key_and_secret(
    params: &Params,
    id: [u8; 16],
    (clue, w, masks): (Vec<&[i64]>, &[i64], Option<[u8; 32]>),
    digest: &DigestSecret,
    rng: &mut impl CryptoRng,
) -> (DetectionKey, Secret) {
    let spec = params.spec();
    let small = Secret::uniform_ternary(rng, spec.small_n);
    let large = Secret::fixed_weight(rng, spec.n, spec.weight, spec.embedding_bound);
    let bodies = params.final_shape.bodies();
    let packed = params.opening.as_ref().map(|opening| Packed {
        packing: packing_secret(opening, rng),
        sparse: sparse_secret(opening, rng),
        w,
    });
    let secrets = Secrets {
        clue,
        packed,
        large: &large,
        small: &small,
        last: digest.polys(&params.final_ring, bodies),
    };
    let key = make(params, (id, masks), &secrets, rng);
    drop(secrets);
    (key, large)
}

/// `[s | -s | s | ...]` in both slot rows, s padded with zeros to the ring's dimension: row i of the clue's matrix
/// is then met by turning. Range: coefficients above -p and below p.
fn packed_secret(params: &Params, secret: &[i64]) -> Vec<u32> {
    let p = params.p().value() as i64;
    let n = params.spec().clue.n;
    let half = params.slots() / 2;
    (0..params.slots())
        .map(|slot| {
            let column = slot % half;
            let sign = 1 - 2 * (column / n % 2) as i64;
            let value = secret.get(column % n).map_or(0, |s| s * sign);
            (value + ((value >> 63) & p)) as u32
        })
        .collect()
}

/// `w` over the columns of both slot rows, each residue for as many columns as there are baby steps: a giant
/// step then brings the next residue.
fn packed_offset(params: &Params, w: &[u32; OFFSET_LEN]) -> Vec<u32> {
    let (half, baby) = (params.slots() / 2, params.spec().baby);
    let column = |slot| slot % half;
    (0..params.slots())
        .map(|slot| w[column(slot) / baby % OFFSET_LEN])
        .collect()
}

/// What the keys of packing and opening hide beside the clue secret.
struct Packed<'a> {
    packing: ModuleSecret,
    sparse: ModuleSecret,
    w: &'a [i64],
}

/// What a detection key hides, ring by ring.
struct Secrets<'a> {
    clue: Vec<&'a [i64]>,
    packed: Option<Packed<'a>>,
    large: &'a Secret,
    small: &'a Secret,
    last: Vec<SecretPoly>,
}

struct Maker<'a, R> {
    params: &'a Params,
    secrets: &'a Secrets<'a>,
    seed: [u8; 32],
    masks: [u8; 32],
    rng: &'a mut R,
}

impl<R: CryptoRng> Maker<'_, R> {
    fn p(&self) -> u64 {
        self.params.p().value()
    }

    fn shape(&self, part: Part) -> (&Ring, &KeyShape, &Secret) {
        let (ring, shape) = part.shape(self.params);
        let secret = if std::ptr::eq(ring, &self.params.ring) {
            self.secrets.large
        } else {
            self.secrets.small
        };
        (ring, shape.expect("a switching key has a gadget"), secret)
    }

    fn galois(&mut self, part: Part) -> GaloisKey {
        let p = self.p();
        let (ring, shape, secret) = self.shape(part);
        let s = secret.poly(ring, &shape.extended());
        let g = part
            .exponent(self.params)
            .expect("a Galois key has an exponent");
        let (ring, shape) = part.shape(self.params);
        let shape = shape.expect("a switching key has a gadget");
        let at = (part.seed(&self.seed, &self.masks), part.index());
        GaloisKey::generate(ring, shape, &s, g, p, at, self.rng)
    }

    fn opening(&mut self) -> Option<OpeningKey> {
        let (params, secrets) = (self.params, self.secrets);
        let (opening, packed) = (params.opening.as_ref()?, secrets.packed.as_ref()?);
        let at = |part: Part| part.index();
        Some(OpeningKey {
            baby: self.galois(Part::Baby),
            packing: PackingKey::generate(
                opening,
                secrets.clue[0],
                packed.w,
                &packed.packing,
                (&self.masks, at(Part::Packing)),
                self.rng,
            ),
            narrow: NarrowKey::generate(
                opening,
                &packed.packing,
                &packed.sparse,
                (&self.masks, at(Part::Narrow)),
                self.rng,
            ),
        })
    }

    fn product(&mut self) -> SwitchingKey {
        let (ring, shape) = (&self.params.ring, &self.params.product_shape);
        let s = self.secrets.large.poly(ring, &shape.extended());
        let square = s.product(ring, &s);
        let index = Part::Product.index();
        SwitchingKey::generate(
            ring,
            shape,
            &square,
            &s,
            self.p(),
            &self.seed,
            index,
            self.rng,
        )
    }

    fn descent(&mut self) -> SwitchingKey {
        let (ring, shape) = (&self.params.ring, &self.params.descent_shape);
        let extended = shape.extended();
        let from = self.secrets.large.poly(ring, &extended);
        let step = ring.n() / self.params.small.n();
        let to = self.secrets.small.spread(step).poly(ring, &extended);
        let index = Part::Descent.index();
        SwitchingKey::generate(
            ring,
            shape,
            &from,
            &to,
            self.p(),
            &self.seed,
            index,
            self.rng,
        )
    }

    fn last(&mut self) -> SharedKey {
        let (params, secrets) = (self.params, self.secrets);
        SharedKey::generate(
            &params.final_ring,
            params.final_shape,
            secrets.small,
            &secrets.last,
            (&self.seed, Part::Final.index()),
            self.rng,
        )
    }
}

fn make(
    params: &Params,
    (id, masks): ([u8; 16], Option<[u8; 32]>),
    secrets: &Secrets,
    rng: &mut impl CryptoRng,
) -> DetectionKey {
    let seed = random(rng);
    let masks = match (&params.opening, masks) {
        (None, _) => seed,
        (Some(_), Some(masks)) => masks,
        (Some(_), None) => random(rng),
    };
    let s = secrets.large.poly(&params.ring, params.chain.basis(0));
    let mut encrypted = |(i, secret): (u32, &&[i64])| {
        let mut slots = match (&params.opening, &secrets.packed) {
            (Some(opening), Some(packed)) => secret_slots(opening, &packed.sparse),
            _ => packed_secret(params, secret),
        };
        let at = (&masks, Part::Secret(i).index());
        let ct = encrypt_symmetric(
            &params.ring,
            &params.plain,
            &params.chain,
            0,
            &s,
            &slots,
            at,
            rng,
        );
        slots.zeroize();
        EncryptedSecret::from(ct)
    };
    let encrypted_secrets = (0..).zip(&secrets.clue).map(&mut encrypted).collect();
    drop(s);
    let mut make = Maker {
        params,
        secrets,
        seed,
        masks,
        rng,
    };
    DetectionKey {
        id,
        seed,
        masks,
        step: make.galois(Part::Step),
        giant: make.galois(Part::Giant),
        opening: make.opening(),
        product: make.product(),
        descent: make.descent(),
        turn: make.galois(Part::Turn),
        swap: make.galois(Part::Swap),
        merge: merge_levels(params)
            .map(|level| make.galois(Part::Merge(level)))
            .collect(),
        secrets: encrypted_secrets,
        last: make.last(),
        offset: None,
    }
}
