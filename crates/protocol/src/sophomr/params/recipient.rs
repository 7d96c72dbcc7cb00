//! The part of a parameter set that recipients need.

use super::RingsSpec;
use crate::ParamsError;
use crate::sophomr::{BODY_BITS, MASK_BITS};
use omr_codec::Nodes;
use omr_compress::FinalRing;
use omr_ring::{Kernels, Modulus, Ring};
use omr_rlwe::SharedShape;
use std::sync::Arc;

/// The parameters that determine the shape of a digest and with which it is decoded. They are a part of
/// [`super::Params`] that is made in milliseconds, without the tables of the large ring.
pub struct RecipientParams {
    name: &'static str,
    p: Modulus,
    slots: usize,
    small_n: usize,
    /// The ring of digests, of one prime.
    pub final_ring: Arc<Ring>,
    /// Shape of the key to the ring of digests.
    pub final_shape: SharedShape,
    /// Nodes of the sparse-recovery code.
    pub nodes: Nodes,
}

impl RecipientParams {
    /// Makes the recipient's parameters.
    ///
    /// Errors: dimensions that do not fit.
    pub(crate) fn new(spec: &RingsSpec, kernels: &'static Kernels) -> Result<Self, ParamsError> {
        spec.check()?;
        Ok(Self {
            name: spec.name,
            p: Modulus::new(spec.p).map_err(omr_ring::RingError::from)?,
            slots: spec.n,
            small_n: spec.small_n,
            final_ring: Arc::new(spec.final_ring.ring(kernels)?),
            final_shape: spec.final_ring.shape(spec.small_n),
            nodes: Nodes::new(spec.p as u32, spec.n)?,
        })
    }

    /// Returns the set's versioned name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the plaintext modulus.
    pub fn p(&self) -> &Modulus {
        &self.p
    }

    /// Returns the number of messages in a batch, which is the number of slots of the large ring.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the dimension of the small ring, in which sums are computed.
    pub fn small_n(&self) -> usize {
        self.small_n
    }

    /// Returns the ring with its packing, in which digests are decrypted.
    pub fn last(&self) -> FinalRing {
        FinalRing {
            ring: self.final_ring.clone(),
            shape: self.final_shape,
            p: self.p,
            mask_bits: MASK_BITS,
            body_bits: BODY_BITS,
        }
    }
}
