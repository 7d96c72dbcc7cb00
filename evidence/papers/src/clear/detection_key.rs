//! The key of a detector with an affine transform.

use super::Params;
use omr_bgv::{Ciphertext, GaloisKey};
use omr_compress::KeyUse;
use omr_protocol::ClueKind;
use omr_protocol::frame::packed_len;
use omr_ring::{Automorphism, Basis, Ring};
use omr_rlwe::{KeyShape, SharedKey, SwitchingKey};

/// The parts of a detection key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rotation by one slot, in the large ring.
    Step,
    /// Rotation by a giant step, in the large ring.
    Giant,
    /// Relinearisation, in the large ring.
    Product,
    /// Switching from the large ring to the small ring.
    Descent,
    /// Rotation by one slot, in the small ring.
    Turn,
    /// Swap of the slot rows, in the small ring.
    Swap,
    /// The automorphism `X -> X^(2^l + 1)` of the small ring, which merges packed ciphertexts at level `l`.
    Merge(u32),
    /// An encrypted clue secret, by its number.
    Secret(u32),
    /// Switching to the ring of digests, with shared masks.
    Final,
    /// The encrypted `w` of an address with bound clues.
    Offset,
}

impl Part {
    /// Returns the parts of a key for clues of one kind.
    pub fn all(params: &Params, clues: ClueKind) -> Vec<Part> {
        let mut parts = vec![Part::Step, Part::Giant, Part::Product, Part::Descent];
        parts.extend([Part::Turn, Part::Swap]);
        parts.extend(params.merge_levels().map(Part::Merge));
        parts.extend((0..params.circuit().secrets as u32).map(Part::Secret));
        parts.push(Part::Final);
        if clues == ClueKind::Bound {
            parts.push(Part::Offset);
        }
        parts
    }

    /// Returns the index of the part's masks.
    pub fn index(self) -> u64 {
        match self {
            Part::Step => 0,
            Part::Giant => 1,
            Part::Product => 2,
            Part::Descent => 3,
            Part::Turn => 4,
            Part::Swap => 5,
            Part::Final => 6,
            Part::Offset => 7,
            Part::Merge(level) => 16 + u64::from(level),
            Part::Secret(number) => 48 + u64::from(number),
        }
    }

    /// Returns the exponent of a rotation's automorphism; `None` for other parts.
    pub fn exponent(self, params: &Params) -> Option<usize> {
        let (large, small) = (params.ring.n(), params.small.n());
        match self {
            Part::Step => Some(Automorphism::rotation(large, 1)),
            Part::Giant => Some(Automorphism::rotation(large, params.giant_step())),
            Part::Turn => Some(KeyUse::Turn.exponent(small)),
            Part::Swap => Some(KeyUse::Swap.exponent(small)),
            Part::Merge(level) => Some(KeyUse::Merge(level).exponent(small)),
            _ => None,
        }
    }

    /// Returns the part's ring and gadget; the gadget is `None` if the part is not a [`SwitchingKey`].
    pub fn shape(self, params: &Params) -> (&Ring, Option<&KeyShape>) {
        match self {
            Part::Step => (&params.ring, Some(&params.step_shape)),
            Part::Giant => (&params.ring, Some(&params.giant_shape)),
            Part::Product => (&params.ring, Some(&params.product_shape)),
            Part::Descent => (&params.ring, Some(&params.descent_shape)),
            Part::Secret(_) | Part::Offset => (&params.ring, None),
            Part::Final => (&params.final_ring, None),
            Part::Turn | Part::Swap | Part::Merge(_) => (&params.small, Some(&params.small_shape)),
        }
    }

    /// Returns the length of the part's bodies in bytes. Each residue has the width of its prime.
    fn bytes(self, params: &Params) -> u64 {
        let (ring, shape) = self.shape(params);
        let (basis, count): (Basis, usize) = match (self, shape) {
            (_, Some(shape)) => (shape.extended(), shape.digits().len()),
            (Part::Final, None) => {
                let shape = &params.final_shape;
                (ring.everything(), shape.rows() * shape.bodies())
            }
            (_, None) => (params.chain.basis(0).clone(), 1),
        };
        let row =
            |&id: &usize| packed_len(ring.n(), ring.modulus(id).bits()).expect("rows fit memory");
        let rows: usize = basis.ids().iter().map(row).sum();
        (rows * count) as u64
    }
}

/// The key of a detector: switching keys and the encrypted clue secrets. It contains no secret in the clear.
pub struct DetectionKey {
    /// The name of the key, unrelated to the name of the address.
    pub id: [u8; 16],
    /// The seed of all masks.
    pub seed: [u8; 32],
    /// Rotation by one slot.
    pub step: GaloisKey,
    /// Rotation by a giant step.
    pub giant: GaloisKey,
    /// Relinearisation.
    pub product: SwitchingKey,
    /// Switching from the large ring to the small ring.
    pub descent: SwitchingKey,
    /// Rotation by one slot of the small ring.
    pub turn: GaloisKey,
    /// Swap of the slot rows of the small ring.
    pub swap: GaloisKey,
    /// Automorphisms that merge ciphertexts, by level ([`Params::merge_levels`]).
    pub merge: Vec<GaloisKey>,
    /// The clue secrets, each as `[s | -s | s | ...]` in both slot rows, at level 0.
    pub secrets: Vec<Ciphertext>,
    /// Switching to the ring of digests.
    pub last: SharedKey,
    /// The `w` of an address with bound clues, at level 0: in both slot rows, column z contains `w[z / baby mod
    /// 8]`. A detector with it accepts bound clues only.
    pub offset: Option<Ciphertext>,
}

impl DetectionKey {
    /// Returns the kind of clues that a detector with this key accepts.
    pub fn clues(&self) -> ClueKind {
        match self.offset {
            Some(_) => ClueKind::Bound,
            None => ClueKind::Plain,
        }
    }

    /// Returns the bytes of a key for clues of one kind as it is sent: one seed and all bodies.
    pub fn bytes(params: &Params, clues: ClueKind) -> u64 {
        let parts = Part::all(params, clues).into_iter();
        32 + parts.map(|part| part.bytes(params)).sum::<u64>()
    }
}
