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
    /// Rotation by one slot, large ring.
    Step,
    /// Rotation by a giant step, large ring.
    Giant,
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
    /// An encrypted clue secret, by number.
    Secret(u32),
    /// To the ring of digests, with shared masks.
    Final,
    /// The encrypted `w` of an address with bound clues.
    Offset,
}

impl Part {
    /// The parts of a key for clues of a kind.
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

    /// The index of the part's masks.
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

    /// The automorphism of a rotation's part; `None` for others.
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

    /// The part's ring and gadget; `None` where the part is no [`SwitchingKey`].
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

    /// Bytes of the part's bodies, each residue at the width of its prime.
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

/// What the detector needs: switching keys and the encrypted clue secrets. It contains no secret in the clear.
pub struct DetectionKey {
    /// Names the key; unrelated to the address's name.
    pub id: [u8; 16],
    /// The seed of all masks.
    pub seed: [u8; 32],
    /// Rotation by one slot.
    pub step: GaloisKey,
    /// Rotation by a giant step.
    pub giant: GaloisKey,
    /// Relinearisation.
    pub product: SwitchingKey,
    /// Ring switching.
    pub descent: SwitchingKey,
    /// Rotation by one slot of the small ring.
    pub turn: GaloisKey,
    /// Row swap of the small ring.
    pub swap: GaloisKey,
    /// Merging, by level ([`Params::merge_levels`]).
    pub merge: Vec<GaloisKey>,
    /// At level 0: each clue secret, `[s | -s | s | ...]` in both slot rows.
    pub secrets: Vec<Ciphertext>,
    /// To the ring of digests.
    pub last: SharedKey,
    /// The `w` of an address with bound clues, at level 0: in both slot rows, column z holds `w[z / baby mod 8]`.
    /// With it a detector takes bound clues and no others.
    pub offset: Option<Ciphertext>,
}

impl DetectionKey {
    /// Which clues a detector with this key takes.
    pub fn clues(&self) -> ClueKind {
        match self.offset {
            Some(_) => ClueKind::Bound,
            None => ClueKind::Plain,
        }
    }

    /// Bytes that a key for clues of a kind takes where it is sent: one seed and all bodies.
    pub fn bytes(params: &Params, clues: ClueKind) -> u64 {
        let parts = Part::all(params, clues).into_iter();
        32 + parts.map(|part| part.bytes(params)).sum::<u64>()
    }
}
