//! Phases of module ciphertexts in slots.

use crate::inner::values_of_phases;
use crate::transform::coefficients;
use crate::{Narrowed, Opening};
use omr_bgv::{Ciphertext, EvalError, Evaluator, GaloisKey};

/// The keys of the turns that opening makes.
#[derive(Clone, Copy)]
pub struct OpeningKeys<'a> {
    /// Turns by one slot.
    pub step: &'a GaloisKey,
    /// Turns by a baby step of the transform ([`Opening::transform_steps`]).
    pub baby: &'a GaloisKey,
    /// Turns by a giant step of it.
    pub giant: &'a GaloisKey,
}

/// The encrypted secret turned by 0, 1, 2, ... slots. It belongs to the recipient and serves every batch.
pub struct Turned(Vec<Ciphertext>);

impl Turned {
    /// Turns an encryption of [`crate::secret_slots`], one step after another with one key.
    ///
    /// Errors: `Eval` where the ciphertext is not relinearised.
    pub fn new(
        ev: &Evaluator,
        opening: &Opening,
        secret: Ciphertext,
        step: &GaloisKey,
    ) -> Result<Self, EvalError> {
        let mut turned = vec![secret];
        for i in 1..opening.turns() {
            let next = ev.automorphism(&turned[i - 1], step)?;
            turned.push(next);
        }
        Ok(Self(turned))
    }

    pub(crate) fn steps(&self) -> &[Ciphertext] {
        &self.0
    }
}

/// The phases of a batch modulo p: slot `s` of ciphertext `c` holds coordinate `c` of the message at
/// [`Opening::place`] of `s`.
///
/// Shape: `packed` holds, coordinate by coordinate, all blocks in their order.
/// Noise: [`crate::slot_noise`]. Errors: `Eval` where ciphertexts do not fit the chain.
pub fn open(
    ev: &Evaluator,
    opening: &Opening,
    turned: &Turned,
    keys: &OpeningKeys<'_>,
    packed: &[Vec<Narrowed>],
) -> Result<Vec<Ciphertext>, EvalError> {
    let values = values_of_phases(ev, opening, turned, packed);
    coefficients(ev, opening, keys, values)
}
