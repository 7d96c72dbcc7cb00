//! InstantOMR: each message gets its verdict when it comes, and sums that a digest can be made of at
//! any time.

mod away;
mod clue;
mod cpu;
mod layers;
mod line;
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
use line::{Line, Lot};
use omr_protocol::ClueKind;
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_tfhe::{Lwe, RingCipher};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Digits of accumulators in the first layer and in the second.
const FIRST_DIGITS: u32 = 1;
const SECOND_DIGITS: u32 = 2;

/// A detection key ready to look at messages. `Send + Sync`.
///
/// What it adds up decodes the same, wherever it works. In exact integers ([`InstantDetector::exact`],
/// [`InstantDetector::away`]) it is the same bytes everywhere; in double precision ([`InstantDetector::new`]) not on every
/// machine.
pub struct InstantDetector {
    params: Arc<InstantParams>,
    key: Arc<InstantKey>,
    evaluation: Evaluation,
}

/// Verdicts on messages, in their order.
pub struct Verdicts {
    /// A ciphertext each: its message is a constant, a step of the sums where all coordinates hit, else
    /// 0.
    pub verdicts: Vec<RingCipher>,
    /// The fingerprints of bound clues; none of plain ones.
    pub fingerprints: Vec<u32>,
    /// Clues that did not parse and counted as impertinent.
    pub unusable: usize,
}

impl InstantDetector {
    /// A detector for one recipient's key. Takes 67 MB beside the key's 134 at full size, and as much again
    /// from the first message on whose second layer is in double precision.
    pub fn new(params: Arc<InstantParams>, key: InstantKey) -> Self {
        Self {
            evaluation: Evaluation::Rounded(Rounded::new(&params, &key)),
            params,
            key: Arc::new(key),
        }
    }

    /// A detector that works in exact integers throughout: slower, and less noise.
    pub fn exact(params: Arc<InstantParams>, key: InstantKey) -> Self {
        Self {
            params,
            key: Arc::new(key),
            evaluation: Evaluation::Exact,
        }
    }

    /// A detector whose layers are evaluated elsewhere, where its key was brought. Results are those of
    /// [`InstantDetector::exact`].
    pub fn away(params: Arc<InstantParams>, key: InstantKey, layers: Box<dyn Layers>) -> Self {
        Self {
            params,
            key: Arc::new(key),
            evaluation: Evaluation::Away(layers),
        }
    }

    /// The same key here, in exact integers: what goes on after a failure elsewhere adds up to the same bytes.
    #[must_use]
    pub fn here(&self) -> Self {
        Self {
            params: self.params.clone(),
            key: self.key.clone(),
            evaluation: Evaluation::Exact,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<InstantParams> {
        &self.params
    }

    /// The name of the key.
    pub fn key_id(&self) -> [u8; 16] {
        self.key.id
    }

    /// Which clues it takes.
    pub fn clues(&self) -> ClueKind {
        self.key.clues()
    }

    /// Checks that a board's clues, by their length, are not of the other kind.
    ///
    /// Errors: `ClueKind`.
    pub fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        check_kind(&self.params.clue, self.clues(), clue_bytes)
    }

    /// The verdicts on clues of `clue_bytes` laid one after another. Several at a time read the key
    /// once; all threads take part. `to` is looked at where the detector takes bound clues. Of the clues
    /// numbered `doubles` the second layer is in double precision, unless the detector is exact: see
    /// [`InstantParams::in_double_precision`].
    ///
    /// Errors: `Engine`, where layers are evaluated elsewhere.
    ///
    /// Panics: when clues, or payloads that clues are bound to, have 0 bytes, or `doubles` goes past the
    /// last clue.
    pub fn verdicts(
        &self,
        clues: &[u8],
        clue_bytes: usize,
        to: &BoundTo,
        doubles: Range<usize>,
        stages: &mut Stages,
    ) -> Result<Verdicts, DetectorError> {
        let lot = Lot {
            first: 0,
            clues: self.read_clues(clues, clue_bytes, to, stages),
            payloads: Cow::default(),
            doubles,
        };
        let judged = Line::alone(self, lot, &Quiet)?;
        stages.add(&judged.stages);
        Ok(judged.found)
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
            Some(key) => Clues::bound(params, clues, clue_bytes, (key, to)),
        })
    }

    fn run(&self) -> Run<'_> {
        Run {
            params: &self.params,
            key: &self.key,
            evaluation: &self.evaluation,
        }
    }

    /// For each message: how many of its coordinates hit, ready for the second layer.
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
