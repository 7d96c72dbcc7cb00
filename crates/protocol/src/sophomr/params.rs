//! SophOMR's part of a parameter set: [`ParamsSpec`] (public, unchecked) and [`Params`] (checked, ready to use).

mod chain;
mod final_ring;
mod lower;
mod outline;
mod recipient;
mod rings;
mod spec;
mod terminals;

pub use chain::tail_bits;
pub use final_ring::{FinalNoise, FinalRingSpec};
pub use outline::Outline;
pub use recipient::RecipientParams;
pub use rings::{FrontEnd, Rings, RingsSpec};
pub use spec::ParamsSpec;

use super::key::KeyPlace;
use crate::params::{ClueParams, ParamsError, SetSpec};
use omr_opening::Opening;
use omr_ring::Kernels;
use std::ops::Deref;
use std::sync::Arc;

/// A checked parameter set of SophOMR with its rings, moduli and key shapes. It dereferences to [`Rings`], which are a
/// part of it.
pub struct Params {
    spec: ParamsSpec,
    rings: Rings,
    /// Parameters of the clues that the detector accepts.
    pub clue: Arc<ClueParams>,
    /// Packing and opening of clues.
    pub opening: Opening,
    /// This process's memory, for detection keys.
    key_place: KeyPlace,
}

impl Params {
    /// Returns SophOMR's part of the published set of this name, on the best kernels of this CPU.
    ///
    /// Errors: `Unknown`; `NoEngine` if the set has no SophOMR.
    pub fn named(name: &str) -> Result<Arc<Self>, ParamsError> {
        let spec = SetSpec::named(name)?.into_sophomr()?;
        Ok(Arc::new(Self::new(spec, Kernels::detect())?))
    }

    /// Returns this process's memory as the place of keys.
    pub fn key_place(&self) -> &KeyPlace {
        &self.key_place
    }

    /// Checks a specification and derives its modulus chain from the noise model.
    ///
    /// Errors: dimensions that do not fit; keys or clues below 128 bits of security, unless the set is marked insecure.
    pub fn new(spec: ParamsSpec, kernels: &'static Kernels) -> Result<Self, ParamsError> {
        spec.check()?;
        let rings = Rings::new(&spec.rings(), &spec.front_end()?, kernels)?;
        let clue = ClueParams::new(spec.name, spec.clue.clone(), kernels)?;
        let opening = Opening::new(spec.clue_shape(), spec.opening.clone(), &rings.plain)?;
        let (large, small) = (rings.ring.clone(), rings.small.clone());
        Ok(Self {
            key_place: KeyPlace::new(large, small, opening.packing.clone()),
            opening,
            clue: Arc::new(clue),
            spec,
            rings,
        })
    }

    /// Returns for each kind of key: ring dimension, weight of the fixed-weight secret (`None`: uniform ternary) and
    /// log2 of the modulus of its RLWE samples.
    pub fn key_moduli(&self) -> Vec<(usize, Option<usize>, f64)> {
        self.rings.key_moduli(self.spec.weight)
    }

    /// Returns the specification.
    pub fn spec(&self) -> &ParamsSpec {
        &self.spec
    }

    /// Returns the residue b, for every coordinate, of a slot without a clue. With `a = 0` it is impertinent.
    pub fn nobody(&self) -> u32 {
        (self.spec.clue.modulus() / 2) as u32
    }

    /// Returns the number of slots of a baby step and of a giant step of the transform that opens clues.
    pub fn transform_steps(&self) -> [usize; 2] {
        self.opening.transform_steps()
    }
}

impl Deref for Params {
    type Target = Rings;

    fn deref(&self) -> &Rings {
        &self.rings
    }
}
