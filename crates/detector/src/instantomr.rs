//! InstantOMR's detector, which computes the verdict on each message when it arrives, and sums from which a digest can
//! be made at any time.

mod away;
mod clue;
mod cpu;
mod layers;
mod pipeline;
mod session;

pub use away::AwayEngine;
pub use clue::coordinates;
pub use cpu::CpuEngine;
pub use layers::{Coming, Layers, LayersEngine};
pub use session::{CutError, Session, Share};

use crate::bound_to::check_kind;
use crate::{BoundTo, DetectorError, Quiet, Stages};
use clue::Clues;
use layers::{Evaluation, Rounded, Run};
use omr_protocol::ClueKind;
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_tfhe::{Lwe, RingCipher};
use pipeline::{Chunk, Pipeline};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Digits of accumulators in the first layer.
const FIRST_DIGITS: u32 = 1;
const SECOND_DIGITS: u32 = 2;

/// A detection key that is ready to scan messages. It is `Send + Sync`.
///
/// Digests decode to the same messages wherever they are made. In exact arithmetic ([`InstantDetector::exact`],
/// [`InstantDetector::away`]) they also have the same bytes everywhere; in double precision ([`InstantDetector::new`])
/// bytes may differ between machines.
pub struct InstantDetector {
    params: Arc<InstantParams>,
    key: Arc<InstantKey>,
    evaluation: Evaluation,
}

/// Verdicts on messages, in their order.
pub struct Verdicts {
    /// One ciphertext per message. It encrypts a constant: a step of the sums if all coordinates are hits, otherwise 0.
    pub verdicts: Vec<RingCipher>,
    /// The fingerprints of bound clues; empty for plain clues.
    pub fingerprints: Vec<u32>,
    /// Number of clues that did not parse and counted as impertinent.
    pub unusable: usize,
}

impl InstantDetector {
    /// Makes a detector for one recipient's key. It takes 67 MB beside the key's 134 MB at full size, and 67 MB more
    /// from the first message on whose second layer is in double precision.
    pub fn new(params: Arc<InstantParams>, key: InstantKey) -> Self {
        Self {
            evaluation: Evaluation::Rounded(Rounded::new(&params, &key)),
            params,
            key: Arc::new(key),
        }
    }

    /// Makes a detector with exact arithmetic throughout, which is slower and adds less noise.
    pub fn exact(params: Arc<InstantParams>, key: InstantKey) -> Self {
        Self {
            params,
            key: Arc::new(key),
            evaluation: Evaluation::Exact,
        }
    }

    /// Makes a detector whose layers are evaluated on a device to which its key was loaded. Results are those of
    /// [`InstantDetector::exact`].
    pub fn away(params: Arc<InstantParams>, key: InstantKey, layers: Box<dyn Layers>) -> Self {
        Self {
            params,
            key: Arc::new(key),
            evaluation: Evaluation::Away(layers),
        }
    }

    /// Returns a detector for the same key on the processor, in exact arithmetic. After a device has failed, it
    /// computes sums with the same bytes.
    #[must_use]
    pub fn here(&self) -> Self {
        Self {
            params: self.params.clone(),
            key: self.key.clone(),
            evaluation: Evaluation::Exact,
        }
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Arc<InstantParams> {
        &self.params
    }

    /// Returns the name of the key.
    pub fn key_id(&self) -> [u8; 16] {
        self.key.id
    }

    /// Returns the kind of clues that the key accepts.
    pub fn clues(&self) -> ClueKind {
        self.key.clues()
    }

    /// Checks by the length of a board's clues that the key accepts them.
    ///
    /// Errors: `ClueKind`.
    pub fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        check_kind(&self.params.clue, self.clues(), clue_bytes)
    }

    /// Computes the verdicts on clues of `clue_bytes` bytes that follow one another. Several clues use the key
    /// together, on all threads. `to` is used only if the detector accepts bound clues. For clues with the numbers
    /// `doubles` the second layer is in double precision, unless the detector is exact: see
    /// [`InstantParams::in_double_precision`].
    ///
    /// Errors: `Engine`, if layers are evaluated on a device.
    ///
    /// Panics: if clues, or payloads that clues are bound to, have 0 bytes, or if `doubles` goes past the last clue.
    pub fn verdicts(
        &self,
        clues: &[u8],
        clue_bytes: usize,
        to: &BoundTo,
        doubles: Range<usize>,
        stages: &mut Stages,
    ) -> Result<Verdicts, DetectorError> {
        let chunk = Chunk {
            first: 0,
            clues: self.read_clues(clues, clue_bytes, to, stages),
            payloads: Cow::default(),
            doubles,
        };
        let scanned = Pipeline::alone(self, chunk, &Quiet)?;
        stages.add(&scanned.stages);
        Ok(scanned.found)
    }

    fn read_clues(
        &self,
        clues: &[u8],
        clue_bytes: usize,
        to: &BoundTo,
        stages: &mut Stages,
    ) -> Clues {
        let params = &self.params;
        stages.time("clues", || match &self.key.offset {
            None => Clues::new(params, clues, clue_bytes),
            Some(key) => Clues::bound(params, clues, clue_bytes, key, to),
        })
    }

    fn run(&self) -> Run<'_> {
        Run {
            params: &self.params,
            key: &self.key,
            evaluation: &self.evaluation,
        }
    }

    /// Returns for each message the number of its hits, switched to the second layer.
    fn switched(&self, hits: &[RingCipher]) -> Vec<Lwe> {
        let (ring, small) = (&self.params.ring, &self.params.small);
        let turn = 2 * ring.n() as u64;
        let (block, _) = self.params.blocks();
        let of_message = |hits: &RingCipher| {
            let narrow = Lwe::extract(ring.modulus(0), hits).switch(ring.q(), small.q());
            let switched = self.key.switch.switch(small, &narrow);
            switched.switch_blocks(small.q(), turn, block)
        };
        hits.par_iter().map(of_message).collect()
    }
}
