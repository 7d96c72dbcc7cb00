//! Phases of module ciphertexts in slots.

use crate::inner::values_of_phases;
use crate::transform::coefficients;
use crate::{Narrowed, Opening};
use omr_bgv::{Ciphertext, EvalError, Evaluator, GaloisKey};
use omr_ring::{Eval, Poly, Switch};
use omr_rlwe::{Bodies, Rlwe, SharedRlwe, SharedTurn};

/// The keys of the turns that opening makes, of one or more recipients. Those of one kind were made with one seed.
pub struct OpeningKeys<'a> {
    /// Turns by a baby step of the transform ([`Opening::transform_steps`]).
    pub baby: Vec<&'a GaloisKey>,
    /// Turns by a giant step of it.
    pub giant: Vec<&'a GaloisKey>,
}

impl OpeningKeys<'_> {
    pub(crate) fn baby(&self) -> SharedTurn<'_> {
        turn(&self.baby)
    }

    pub(crate) fn giant(&self) -> SharedTurn<'_> {
        turn(&self.giant)
    }

    /// Returns an encryption of zero with `bodies` raised bodies.
    pub(crate) fn zero(&self, ev: &Evaluator, bodies: usize) -> SharedRlwe<Eval> {
        let basis = ev.chain.basis(0);
        let raised = basis.union(self.giant[0].switching_key().shape().special());
        SharedRlwe {
            mask: Poly::zero(ev.ring, basis),
            bodies: (0..bodies).map(|_| Poly::zero(ev.ring, &raised)).collect(),
        }
    }
}

fn turn<'a>(keys: &[&'a GaloisKey]) -> SharedTurn<'a> {
    SharedTurn {
        keys: keys.iter().map(|key| key.switching_key()).collect(),
        image: keys[0].automorphism(),
    }
}

/// The encrypted secrets of one or more recipients turned by 0, 1, 2, ... slots. They serve every batch.
pub struct Turned(Vec<SharedRlwe<Eval>>);

impl Turned {
    /// Turns encryptions of [`crate::secret_slots`], one step after another with each recipient's key.
    ///
    /// Shape: `secrets` are at level 0 and scale 1, `step` the keys of turns by one slot; both of all recipients, made
    /// with one seed. Errors: `Stopped`. Panics: without any, or where their numbers differ.
    pub fn new(
        ev: &Evaluator,
        opening: &Opening,
        secrets: SharedRlwe<Eval>,
        step: &[&GaloisKey],
    ) -> Result<Self, EvalError> {
        let (turn, mut turned) = (turn(step), vec![secrets]);
        for i in 1..opening.turns() {
            ev.go_on()?;
            let last = std::slice::from_ref(&turned[i - 1]);
            turned.extend(turn.apply(ev.ring, last, Bodies::Divided, ev.plain.p()));
        }
        Ok(Self(turned))
    }

    pub(crate) fn steps(&self) -> &[SharedRlwe<Eval>] {
        &self.0
    }
}

/// The values of the phases of a batch: what [`open`] begins with. Nothing after it needs the turned secrets.
pub struct PhaseValues(Vec<SharedRlwe<Eval>>);

impl PhaseValues {
    /// Shape: `packed` holds, coordinate by coordinate, all blocks in their order. Errors: `Stopped`.
    pub fn new(
        ev: &Evaluator,
        opening: &Opening,
        turned: &Turned,
        keys: &OpeningKeys<'_>,
        packed: &[Vec<Narrowed>],
    ) -> Result<Self, EvalError> {
        let by_a_point = keys.baby();
        values_of_phases(ev, opening, turned, &by_a_point, packed).map(Self)
    }
}

/// The phases of a batch modulo p, for each recipient one ciphertext a coordinate: slot `s` of ciphertext `c` holds
/// coordinate `c` of the message at [`Opening::place`] of `s`.
///
/// Noise: [`crate::slot_noise`] before the switch to level `to`. Errors: `Exhausted` where there is no such level;
/// `Stopped`.
pub fn open(
    ev: &Evaluator,
    opening: &Opening,
    keys: &OpeningKeys<'_>,
    values: PhaseValues,
    to: usize,
) -> Result<Vec<Vec<Ciphertext>>, EvalError> {
    ev.expect_level(to)?;
    let (ring, p) = (ev.ring, ev.plain.p());
    let opened = coefficients(ev, opening, keys, values.0)?;
    let down = Switch::new(ring, ev.chain.basis(0), ev.chain.basis(to), p);
    let raised = opened[0].bodies[0].basis();
    // Divides the bodies by the special primes as well.
    let bodies = Switch::new(ring, raised, ev.chain.basis(to), p);
    let mut recipients: Vec<Vec<Ciphertext>> = keys.giant.iter().map(|_| Vec::new()).collect();
    for ct in opened {
        ev.go_on()?;
        let mask = down.apply(ring, &ct.mask);
        for (body, cts) in ct.bodies.iter().zip(&mut recipients) {
            let pair = Rlwe::new(bodies.apply(ring, body), mask.clone());
            cts.push(Ciphertext::new(pair, to, down.factor()));
        }
    }
    Ok(recipients)
}
