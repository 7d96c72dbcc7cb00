//! The key of SophOMR's detector and its file format.

mod masks;
mod read;

pub(crate) use masks::KeptMasks;

use super::{Params, RecipientParams};
use crate::clue::OFFSET_LEN;
use crate::frame::{FrameHeader, FrameWriter, Kind};
use crate::key_file::{WriteBody, row_bytes, write_poly};
use crate::{ClueKind, DetectionKeyError};
use omr_bgv::{Ciphertext, GaloisKey};
use omr_compress::{KeyUse, Keys};
use omr_opening::{NarrowKey, PackingKey};
use omr_ring::{Automorphism, Basis, Eval, Poly, Ring};
use omr_rlwe::{KeyShape, Masks, Rlwe, SharedKey, SharedRlwe, SwitchingKey};
use std::io::Write;

/// The parts of a detection key in the order of the file. A part's number is the index of its first mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rotation by one slot, large ring.
    Step,
    /// Rotation by a giant step, large ring.
    Giant,
    /// Rotation by a baby step of the transform that opens clues, large ring.
    Baby,
    /// The encrypted clue secret, at one small prime. For an address with bound clues it includes the encrypted `w`.
    Packing,
    /// The switching key to the secret with which packed clues are opened.
    Narrow,
    /// Relinearisation, large ring.
    Product,
    /// The switching key to the small ring.
    Descent,
    /// Rotation by one slot, small ring.
    Turn,
    /// Swap of slot rows, small ring.
    Swap,
    /// `X -> X^(2^l + 1)`, small ring: merges packed ciphertexts.
    Merge(u32),
    /// The encryption of the secret with which packed clues are opened.
    Secret,
    /// The switching key to the ring of digests, with shared masks.
    Final,
}

impl Part {
    /// Returns the parts of a key, in the order of the file.
    pub fn all(params: &Params) -> Vec<Part> {
        let mut parts = vec![
            Part::Step,
            Part::Giant,
            Part::Product,
            Part::Descent,
            Part::Baby,
            Part::Packing,
            Part::Narrow,
            Part::Turn,
            Part::Swap,
        ];
        parts.extend(merge_levels(params).map(Part::Merge));
        parts.extend([Part::Secret, Part::Final]);
        parts
    }

    /// Returns the index of the part's first mask.
    pub fn index(self) -> u64 {
        match self {
            Part::Step => 0,
            Part::Giant => 1,
            Part::Product => 2,
            Part::Descent => 3,
            Part::Turn => 4,
            Part::Swap => 5,
            Part::Secret => 6,
            Part::Final => 7,
            Part::Baby => 9,
            Part::Packing => 10,
            Part::Narrow => 11,
            Part::Merge(level) => 16 + u64::from(level),
        }
    }

    /// Returns whether the part belongs to the stages up to the opened clues, whose masks are derived from
    /// [`DetectionKey::masks`].
    pub fn is_linear(self) -> bool {
        matches!(
            self,
            Part::Step | Part::Giant | Part::Baby | Part::Packing | Part::Narrow | Part::Secret
        )
    }

    /// Returns the seed of the part's masks: `own`, or `masks`, which several recipients may share.
    pub fn seed<'a>(self, own: &'a [u8; 32], masks: &'a [u8; 32]) -> &'a [u8; 32] {
        if self.is_linear() { masks } else { own }
    }

    /// Returns the exponent of the automorphism of the part's Galois key, if it has one.
    pub fn exponent(self, params: &Params) -> Option<usize> {
        match self {
            Part::Step => Some(Automorphism::rotation(params.ring.n(), 1)),
            Part::Giant => {
                let [_, giant] = params.transform_steps();
                Some(Automorphism::rotation(params.ring.n(), giant))
            }
            Part::Baby => {
                let [baby, _] = params.transform_steps();
                Some(Automorphism::rotation(params.ring.n(), baby))
            }
            Part::Turn => Some(KeyUse::Turn.exponent(params.small.n())),
            Part::Swap => Some(KeyUse::Swap.exponent(params.small.n())),
            Part::Merge(level) => Some(KeyUse::Merge(level).exponent(params.small.n())),
            _ => None,
        }
    }

    /// Returns the part's ring and gadget; no gadget if the part is no [`SwitchingKey`].
    pub fn shape(self, params: &Params) -> (&Ring, Option<&KeyShape>) {
        match self {
            Part::Step | Part::Baby => (&params.ring, Some(&params.step_shape)),
            Part::Giant => (&params.ring, Some(&params.giant_shape)),
            Part::Product => (&params.ring, Some(&params.product_shape)),
            Part::Descent => (&params.ring, Some(&params.descent_shape)),
            Part::Secret => (&params.ring, None),
            Part::Final => (&params.final_ring, None),
            Part::Packing => (&params.opening.packing, None),
            Part::Narrow => (&params.opening.narrow, None),
            _ => (&params.small, Some(&params.small_shape)),
        }
    }

    fn bodies(self, params: &Params, clues: ClueKind) -> (&Ring, Basis, usize) {
        match (self, self.shape(params)) {
            (_, (ring, Some(shape))) => (ring, shape.extended(), shape.digits().len()),
            (Part::Final, (ring, None)) => {
                let shape = &params.final_shape;
                (ring, ring.everything(), shape.rows() * shape.bodies())
            }
            (Part::Packing, (ring, None)) => {
                let bodies = params.opening.packing_bodies(extra_of(clues));
                (ring, ring.everything(), bodies)
            }
            (Part::Narrow, (ring, None)) => {
                (ring, ring.everything(), params.opening.narrow_bodies())
            }
            (_, (ring, None)) => (ring, params.chain.basis(0).clone(), 1),
        }
    }

    fn bytes(self, params: &Params, clues: ClueKind) -> u64 {
        let (ring, basis, count) = self.bodies(params, clues);
        let row = |&id: &usize| row_bytes(ring, id) as u64;
        basis.ids().iter().map(row).sum::<u64>() * count as u64
    }
}

/// Length in bytes of the two seeds at the beginning of a key's file.
const SEEDS_BYTES: u64 = 64;

/// Returns the number of values beside the secret's coefficients that packing subtracts from clues of a kind.
fn extra_of(clues: ClueKind) -> usize {
    match clues {
        ClueKind::Plain => 0,
        ClueKind::Bound => OFFSET_LEN,
    }
}

/// Returns the levels of merging that some width of digests may use.
pub fn merge_levels(params: &RecipientParams) -> std::ops::RangeInclusive<u32> {
    omr_compress::merge_levels(params.small_n(), omr_compress::MIN_WIDTH)
}

/// The parts of a key that only packing and opening of clues use.
pub struct OpeningKey {
    /// Rotation by a baby step of the transform.
    pub baby: GaloisKey,
    /// The encrypted clue secret.
    pub packing: PackingKey,
    /// The switching key to the secret with which packed clues are opened.
    pub narrow: NarrowKey,
}

/// The encryption, at level 0, of the secret with which packed clues are opened.
pub struct EncryptedSecret {
    body: Poly<Eval>,
    /// The ciphertext's only mask.
    masks: Masks,
}

impl EncryptedSecret {
    /// Returns the encryption as a ciphertext.
    pub fn to_ciphertext(&self) -> Ciphertext {
        let pair = Rlwe::new(self.body.clone(), self.masks[0].clone());
        Ciphertext::new(pair, 0, 1)
    }

    fn moved_to(&self, ring: &Ring) -> Self {
        Self {
            body: self.body.moved_to(ring),
            masks: self.masks.iter().map(|mask| mask.moved_to(ring)).collect(),
        }
    }

    /// Combines the encryptions of one or more recipients whose masks have one seed.
    ///
    /// Panics: if there is none.
    pub fn together(secrets: &[&Self]) -> SharedRlwe<Eval> {
        SharedRlwe {
            mask: secrets[0].masks[0].clone(),
            bodies: secrets.iter().map(|secret| secret.body.clone()).collect(),
        }
    }
}

/// Panics: if the scale is not 1, or the ciphertext is not fresh.
impl From<Ciphertext> for EncryptedSecret {
    fn from(ct: Ciphertext) -> Self {
        assert_eq!((ct.level(), ct.scale()), (0, 1), "a fresh encryption");
        let pair = ct.into_pair();
        Self {
            body: pair.c0,
            masks: [pair.c1].into(),
        }
    }
}

/// A detector's key: switching keys and an encrypted secret. It contains no secret in the clear.
pub struct DetectionKey {
    /// Random name of the key, unrelated to the address's name.
    pub id: [u8; 16],
    /// The seed of the recipient's own masks.
    pub seed: [u8; 32],
    /// The seed of the masks of all stages up to the opened clues ([`Part::is_linear`]). A detector runs these stages
    /// together for recipients with one seed.
    pub masks: [u8; 32],
    /// Rotation by one slot.
    pub step: GaloisKey,
    /// Rotation by a giant step.
    pub giant: GaloisKey,
    /// The parts for packing and opening.
    pub opening: OpeningKey,
    /// Relinearisation.
    pub product: SwitchingKey,
    /// Ring switching.
    pub descent: SwitchingKey,
    /// Rotation by one slot of the small ring.
    pub turn: GaloisKey,
    /// Row swap of the small ring.
    pub swap: GaloisKey,
    /// Merging, by level (see [`merge_levels`]).
    pub merge: Vec<GaloisKey>,
    /// The secret that packed clues are opened from ([`omr_opening::secret_slots`]), at level 0.
    pub secret: EncryptedSecret,
    /// To the ring of digests.
    pub last: SharedKey,
}

/// The part of a detection key that turns sums into a digest.
pub struct FinalKey {
    /// Name of the key.
    pub id: [u8; 16],
    /// The switching key to the ring of digests.
    pub last: SharedKey,
}

impl DetectionKey {
    fn header(params: &Params, id: [u8; 16]) -> FrameHeader {
        FrameHeader::new(Kind::DetectionKey, params.name(), id)
    }

    /// Returns the length in bytes of the body of the file of a key for clues of a kind.
    pub fn body_bytes(params: &Params, clues: ClueKind) -> u64 {
        let parts = Part::all(params).into_iter();
        SEEDS_BYTES + parts.map(|part| part.bytes(params, clues)).sum::<u64>()
    }

    /// Returns the length in bytes of the whole file of a key for clues of a kind.
    pub fn file_bytes_of(params: &Params, clues: ClueKind) -> u64 {
        Self::header(params, [0; 16]).file_len(Self::body_bytes(params, clues))
    }

    /// Returns the kind of clues that a detector with this key accepts.
    pub fn clues(&self) -> ClueKind {
        if self.opening.packing.extra() > 0 {
            ClueKind::Bound
        } else {
            ClueKind::Plain
        }
    }

    /// Returns the key with its parts of the large ring in the memory of `ring`'s polynomials.
    #[must_use]
    pub fn moved_to(self, ring: &Ring) -> Self {
        Self {
            step: self.step.moved_to(ring),
            giant: self.giant.moved_to(ring),
            product: self.product.moved_to(ring),
            descent: self.descent.moved_to(ring),
            secret: self.secret.moved_to(ring),
            opening: OpeningKey {
                baby: self.opening.baby.moved_to(ring),
                ..self.opening
            },
            ..self
        }
    }

    /// Returns the keys that compression uses.
    pub fn compression(&self, params: &Params) -> Keys<'_> {
        Keys {
            turn: &self.turn,
            swap: &self.swap,
            merge: &self.merge,
            first_merge: *merge_levels(params).start(),
            last: &self.last,
        }
    }

    /// Returns the length in bytes of the whole file.
    pub fn file_bytes(&self, params: &Params) -> u64 {
        Self::file_bytes_of(params, self.clues())
    }

    fn part(&self, part: Part, params: &Params) -> Vec<&Poly<Eval>> {
        match part {
            Part::Step => self.step.switching_key().bodies().collect(),
            Part::Giant => self.giant.switching_key().bodies().collect(),
            Part::Product => self.product.bodies().collect(),
            Part::Descent => self.descent.bodies().collect(),
            Part::Turn => self.turn.switching_key().bodies().collect(),
            Part::Swap => self.swap.switching_key().bodies().collect(),
            Part::Merge(level) => {
                let key = &self.merge[(level - merge_levels(params).start()) as usize];
                key.switching_key().bodies().collect()
            }
            Part::Baby => self.opening.baby.switching_key().bodies().collect(),
            Part::Packing => self.opening.packing.bodies().collect(),
            Part::Narrow => self.opening.narrow.bodies().collect(),
            Part::Secret => vec![&self.secret.body],
            Part::Final => self.last.bodies().collect(),
        }
    }

    /// Writes the file: the seeds, then the bodies with their exact number of bits.
    ///
    /// Errors: those of the writer.
    pub fn write(&self, params: &Params, out: impl Write) -> Result<(), DetectionKeyError> {
        let (seeds, clues) = ([self.seed, self.masks], self.clues());
        Self::write_bodies(params, self.id, seeds, clues, out, |part, write| {
            self.part(part, params).into_iter().try_for_each(write)
        })
    }

    /// Writes the file of a key whose bodies are made while they are written: `each` passes the bodies of a part to the
    /// given function. The seeds are those of [`DetectionKey::from_bodies`].
    ///
    /// Errors: those of the writer; `BodyLength` if `each` passes too few or too many.
    pub fn write_bodies(
        params: &Params,
        id: [u8; 16],
        seeds: [[u8; 32]; 2],
        clues: ClueKind,
        out: impl Write,
        mut each: impl FnMut(Part, &mut WriteBody) -> Result<(), DetectionKeyError>,
    ) -> Result<(), DetectionKeyError> {
        let [seed, masks] = seeds;
        let bytes = Self::body_bytes(params, clues);
        let mut frame = FrameWriter::new(out, &Self::header(params, id), bytes)?;
        frame.write_all(&seed)?;
        frame.write_all(&masks)?;
        for part in Part::all(params) {
            let (ring, ..) = part.shape(params);
            each(part, &mut |body| Ok(write_poly(ring, body, &mut frame)?))?;
        }
        frame.finish()?;
        Ok(())
    }
}
