//! InstantOMR: each message gets its verdict when it comes, and sums that a digest can be made of at
//! any time.

mod clue;
mod cpu;
mod session;

pub use clue::coordinates;
pub use cpu::CpuEngine;
pub use session::{CutError, Session, Share};

use crate::bound_to::check_kind;
use crate::{BoundTo, DetectorError, Stages};
use clue::Clues;
use omr_protocol::ClueKind;
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_tfhe::{FourierKey, Lwe, RingCipher, Rotation};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Digits of accumulators in the second layer; the first has one.
const SECOND_DIGITS: u32 = 2;

/// A detection key ready to look at messages. `Send + Sync`.
pub struct InstantDetector {
    params: Arc<InstantParams>,
    key: InstantKey,
    /// The bootstrapping key's first digit.
    first: FourierKey,
    /// Both digits, once they are needed.
    second: OnceLock<FourierKey>,
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
            first: FourierKey::new(&params.ring, &key.bootstrap, 1),
            second: OnceLock::new(),
            params,
            key,
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
    /// numbered `doubles` the second layer is in double precision: see
    /// [`InstantParams::in_double_precision`].
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
    ) -> Verdicts {
        let params = &self.params;
        let clues = stages.time("clues", || match &self.key.offset {
            None => Clues::new(params, clues, clue_bytes),
            Some(key) => Clues::bound(params, clues, clue_bytes, (key, to)),
        });
        let hits = stages.time("first_layer", || self.hits(&clues.coordinates));
        let sums = stages.time("switch", || self.sums_of_hits(&hits));
        let all = stages.time("second_layer", || self.all_hit(&sums, doubles));
        let (ring, trace) = (&self.params.ring, &self.key.trace);
        let verdicts = stages.time("trace", || {
            let traced = all.into_par_iter().map(|ct| trace.apply(ring, ct));
            traced.collect()
        });
        Verdicts {
            verdicts,
            fingerprints: clues.fingerprints,
            unusable: clues.unusable,
        }
    }

    /// For each coordinate: whether it lies in the window.
    fn hits(&self, coordinates: &[Lwe]) -> Vec<RingCipher> {
        let (ring, [window, _]) = (&self.params.ring, self.params.windows());
        let start = coordinates.iter();
        let start = start.map(|ct| Rotation::new(ring, ct, window)).collect();
        self.first.rotate(ring, start)
    }

    /// For each message: how many of its coordinates hit, ready for the second layer.
    fn sums_of_hits(&self, hits: &[RingCipher]) -> Vec<Lwe> {
        let (ring, small) = (&self.params.ring, &self.params.small);
        let (m, turn) = (ring.modulus(0), 2 * ring.n() as u64);
        let (block, _) = self.params.blocks();
        let of_message = |hits: &[RingCipher]| {
            let mut sum = Lwe::extract(m, &hits[0]);
            for hit in &hits[1..] {
                sum.add_assign(m, &Lwe::extract(m, hit));
            }
            let narrow = sum.switch(ring.q(), small.q());
            let switched = self.key.switch.switch(small, &narrow);
            switched.switch_blocks(small.q(), turn, block)
        };
        hits.par_chunks(self.params.coordinates())
            .map(of_message)
            .collect()
    }

    /// For each message: whether all coordinates hit; in double precision those numbered `doubles`.
    fn all_hit(&self, sums: &[Lwe], doubles: Range<usize>) -> Vec<RingCipher> {
        let (ring, [_, window]) = (&self.params.ring, self.params.windows());
        let start = |sums: &[Lwe]| {
            let start = sums.iter().map(|ct| Rotation::new(ring, ct, window));
            start.collect()
        };
        let key = &self.key.bootstrap;
        let exact = |sums| key.rotate(ring, SECOND_DIGITS, start(sums));
        let mut all = exact(&sums[..doubles.start]);
        if !doubles.is_empty() {
            let floats = || self.first.with_digits(ring, key, SECOND_DIGITS);
            let floats = self.second.get_or_init(floats);
            all.extend(floats.rotate(ring, start(&sums[doubles.clone()])));
        }
        all.extend(exact(&sums[doubles.end..]));
        all
    }
}
