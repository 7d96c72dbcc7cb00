//! The key of SophOMR's detector and its file.

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

/// The parts of a detection key in the order of the file; the number is the mask's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rotation by one slot, large ring.
    Step,
    /// Rotation by a giant step, large ring.
    Giant,
    /// Rotation by a baby step of the transform that opens clues, large ring.
    Baby,
    /// The encrypted clue secret, at one small prime; of an address with bound clues with its `w`.
    Packing,
    /// To the secret that packed clues are opened from.
    Narrow,
    /// Relinearisation, large ring.
    Product,
    /// To the small ring.
    Descent,
    /// Rotation by one slot, small ring.
    Turn,
    /// Swap of slot rows, small ring.
    Swap,
    /// `X -> X^(2^l + 1)`, small ring: merges packed ciphertexts.
    Merge(u32),
    /// The encrypted secret that packed clues are opened from.
    Secret,
    /// To the ring of digests, with shared masks.
    Final,
}

impl Part {
    /// The parts of a key, in the order of the file.
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

    /// The index of its masks.
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

    /// Whether the part belongs to the stages from clues to opened clues, whose masks come from [`DetectionKey::masks`].
    pub fn is_linear(self) -> bool {
        matches!(
            self,
            Part::Step | Part::Giant | Part::Baby | Part::Packing | Part::Narrow | Part::Secret
        )
    }

    /// The seed of its masks: `own`, or `masks` that recipients have in common.
    pub fn seed<'a>(self, own: &'a [u8; 32], masks: &'a [u8; 32]) -> &'a [u8; 32] {
        if self.is_linear() { masks } else { own }
    }

    /// The automorphism it is for.
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

    /// Its ring and gadget; `None` where the part is no [`SwitchingKey`].
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

/// Bytes of the two seeds at the head of a key's file.
const SEEDS_BYTES: u64 = 64;

/// Values that packing takes off clues of a kind, beside the secret's.
fn extra_of(clues: ClueKind) -> usize {
    match clues {
        ClueKind::Plain => 0,
        ClueKind::Bound => OFFSET_LEN,
    }
}

/// Levels of merging that any digest width may need.
pub fn merge_levels(params: &RecipientParams) -> std::ops::RangeInclusive<u32> {
    omr_compress::merge_levels(params.small_n(), omr_compress::MIN_WIDTH)
}

/// The parts of a key that only packing and opening of clues use.
pub struct OpeningKey {
    /// Rotation by a baby step of the transform.
    pub baby: GaloisKey,
    /// The encrypted clue secret.
    pub packing: PackingKey,
    /// To the secret that packed clues are opened from.
    pub narrow: NarrowKey,
}

/// The encrypted secret that packed clues are opened from, at level 0.
pub struct EncryptedSecret {
    body: Poly<Eval>,
    /// The one mask.
    masks: Masks,
}

impl EncryptedSecret {
    /// As a ciphertext.
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

    /// Those of one or more recipients, whose masks come from one seed. Panics: without any.
    pub fn together(secrets: &[&Self]) -> SharedRlwe<Eval> {
        SharedRlwe {
            mask: secrets[0].masks[0].clone(),
            bodies: secrets.iter().map(|secret| secret.body.clone()).collect(),
        }
    }
}

/// Panics: of another scale than 1, or not relinearised.
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

/// What the detector needs: switching keys and an encrypted secret. It contains no secret in the clear.
pub struct DetectionKey {
    /// Names the key; unrelated to the address's name.
    pub id: [u8; 16],
    /// The seed of the masks that are the recipient's own.
    pub seed: [u8; 32],
    /// The seed of the masks up to the opened clues ([`Part::is_linear`]): recipients with the same one are served
    /// together.
    pub masks: [u8; 32],
    /// Rotation by one slot.
    pub step: GaloisKey,
    /// Rotation by a giant step.
    pub giant: GaloisKey,
    /// Packing and opening.
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

/// The part of a detection key that finishes digests whose sums are made.
pub struct FinalKey {
    /// Names the key.
    pub id: [u8; 16],
    /// To the ring of digests.
    pub last: SharedKey,
}

impl DetectionKey {
    fn header(params: &Params, id: [u8; 16]) -> FrameHeader {
        FrameHeader::new(Kind::DetectionKey, params.name(), id)
    }

    /// Bytes of the file's body of a key for clues of a kind.
    pub fn body_bytes(params: &Params, clues: ClueKind) -> u64 {
        let parts = Part::all(params).into_iter();
        SEEDS_BYTES + parts.map(|part| part.bytes(params, clues)).sum::<u64>()
    }

    /// Bytes of the whole file of a key for clues of a kind.
    pub fn file_bytes_of(params: &Params, clues: ClueKind) -> u64 {
        Self::header(params, [0; 16]).file_len(Self::body_bytes(params, clues))
    }

    /// Which clues a detector with this key takes.
    pub fn clues(&self) -> ClueKind {
        if self.opening.packing.extra() > 0 {
            ClueKind::Bound
        } else {
            ClueKind::Plain
        }
    }

    /// The key whose parts of the large ring lie where the polynomials of `ring` do.
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

    /// Those that compression takes.
    pub fn compression(&self, params: &Params) -> Keys<'_> {
        Keys {
            turn: &self.turn,
            swap: &self.swap,
            merge: &self.merge,
            first_merge: *merge_levels(params).start(),
            last: &self.last,
        }
    }

    /// Bytes of the whole file.
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

    /// Writes the file: the seeds, then the bodies at their exact width.
    ///
    /// Errors: those of the writer.
    pub fn write(&self, params: &Params, out: impl Write) -> Result<(), DetectionKeyError> {
        let (seeds, clues) = ([self.seed, self.masks], self.clues());
        Self::write_bodies(params, self.id, seeds, clues, out, |part, write| {
            self.part(part, params).into_iter().try_for_each(write)
        })
    }

    /// Writes the file of a key whose bodies are made as they are written: `each` gives those of a part to what writes
    /// them. Arguments as of [`DetectionKey::from_bodies`].
    ///
    /// Errors: those of the writer; `BodyLength` where `each` gives too few or too many.
    pub fn write_bodies(
        params: &Params,
        id: [u8; 16],
        [seed, masks]: [[u8; 32]; 2],
        clues: ClueKind,
        out: impl Write,
        mut each: impl FnMut(Part, &mut WriteBody) -> Result<(), DetectionKeyError>,
    ) -> Result<(), DetectionKeyError> {
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
