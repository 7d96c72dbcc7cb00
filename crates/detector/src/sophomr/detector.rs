//! The detector of SophOMR: a recipient's key, ready to scan boards batch by batch.

use super::clues::ClueBatch;
use super::memory::MemoryPlan;
use super::opening;
use super::range;
use crate::bound_to::check_kind;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator};
use omr_compress::{CodeTables, Keys};
use omr_opening::Turned;
use omr_protocol::ClueKind;
use omr_protocol::sophomr::{DetectionKey, Params};
use omr_ring::{Reservation, Ring, Wiper};
use omr_rlwe::{Descent, Rlwe};
use std::sync::{Arc, OnceLock};

/// A detection key ready to scan boards. `Send + Sync`.
pub struct Detector {
    params: Arc<Params>,
    /// The large ring, where the key's polynomials lie.
    ring: Ring,
    key: DetectionKey,
    /// Made by the first digest.
    tables: OnceLock<CodeTables>,
    /// Memory for digests of several batches, whose turned secrets stay during range checks. Taken by the first of them.
    several_batches: OnceLock<Reservation>,
    /// What digests work in, taken by the first. Dropped after all that returns to it.
    memory: OnceLock<Reservation>,
    /// Dropped after the key.
    _wiper: Wiper,
}

impl Detector {
    /// A detector for one recipient's key.
    ///
    /// Takes no memory but the key's: the first digest takes what digests work in from the system, about 2 GB at full
    /// size. All detectors work in the same memory; the last one that is dropped gives it back.
    pub fn new(params: Arc<Params>, key: DetectionKey) -> Self {
        let ring = params.ring.clone();
        Self::on(ring, params, key)
    }

    /// A detector that works where the polynomials of `ring`, the set's large ring, lie. Its key does.
    pub(super) fn on(ring: Ring, params: Arc<Params>, key: DetectionKey) -> Self {
        let shapes = &params.lowered_shapes;
        let key = DetectionKey {
            product: key.product.with_lowered(&ring, shapes, params.p()),
            ..key
        };
        Self {
            _wiper: ring.wiper(),
            ring,
            tables: OnceLock::new(),
            memory: OnceLock::new(),
            params,
            key,
            several_batches: OnceLock::new(),
        }
    }

    /// Takes the memory that digests work in from the system, once, as the first digest would.
    pub fn take_memory(&self) {
        self.memory.get_or_init(|| self.reserve(false));
    }

    /// Takes memory for digests of one batch or of several, whose turned secrets stay during range checks.
    fn reserve(&self, several_batches: bool) -> Reservation {
        if self.ring.backend().is_some() {
            return omr_ring::reserve(&[]);
        }
        MemoryPlan::new(&self.params, several_batches, rayon::current_num_threads()).reserve()
    }

    /// Takes the memory that digests of several batches work in beside that of one batch, once.
    pub(super) fn reserve_for_several_batches(&self) {
        self.several_batches.get_or_init(|| self.reserve(true));
    }

    /// The evaluator of the large ring.
    pub fn evaluator(&self) -> Evaluator<'_> {
        let params = &self.params;
        Evaluator {
            ring: &self.ring,
            plain: &params.plain,
            chain: &params.chain,
            stop: None,
        }
    }

    /// The distances of both coordinates of a batch of clues from the secrets that [`Detector::turned`] gives, at level 1.
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
    pub fn distances(
        &self,
        turned: Arc<Turned>,
        clues: &ClueBatch,
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        Ok(distances(&[self], turned, clues, progress)?.remove(0))
    }

    /// The pertinency vector, at the last level, from the one or two coordinates that [`Detector::distances`] gives.
    ///
    /// Errors: parameters that do not fit the circuit; stopped.   Panics: without coordinates.
    pub fn range_check(
        &self,
        d: &[Ciphertext],
        progress: &dyn Progress,
    ) -> Result<Ciphertext, DetectorError> {
        let stop = || progress.is_stopped();
        let ev = self.evaluator().stopped_by(&stop);
        range::check(&ev, &self.params, &self.key.product, d, progress)
    }

    /// The encrypted secrets that packed clues are opened from, turned by 0, 1, 2, ... slots: they serve every batch.
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
    pub fn turned(&self, progress: &dyn Progress) -> Result<Arc<Turned>, DetectorError> {
        turned_of(&[self], progress)
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

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What codes are made with.
    pub(super) fn tables(&self) -> &CodeTables {
        let make = || CodeTables::new(self.params.compression());
        self.tables.get_or_init(make)
    }

    /// The keys of compression.
    pub(super) fn compression_keys(&self) -> Keys<'_> {
        self.key.compression(&self.params)
    }

    /// The parts of a pertinency vector in the small ring, and what they are multiplied by.
    pub fn ring_switch(&self, pertinent: Ciphertext) -> (Vec<Rlwe>, u64) {
        let (params, scale) = (&self.params, pertinent.scale());
        let descent = Descent {
            large: &self.ring,
            small: &params.small,
            key: &self.key.descent,
        };
        let small = descent.apply(&pertinent.into_pair(), &params.small_basis(), params.p());
        (small, scale)
    }

    /// Where it works.
    pub(super) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The key.
    pub fn key(&self) -> &DetectionKey {
        &self.key
    }
}

/// The turned secrets of recipients whose keys have one seed of masks.
pub(super) fn turned_of(
    detectors: &[&Detector],
    progress: &dyn Progress,
) -> Result<Arc<Turned>, DetectorError> {
    let first = detectors[0];
    first.take_memory();
    let stop = || progress.is_stopped();
    let ev = first.evaluator().stopped_by(&stop);
    let (opening, keys) = (&first.params.opening, keys_of(detectors));
    Ok(Arc::new(opening::turned(&ev, opening, &keys, progress)?))
}

/// The distances of a batch of clues for each recipient, at level 1. Where the turned secrets of the last batch are given
/// away, their memory serves what follows.
pub(super) fn distances(
    detectors: &[&Detector],
    turned: Arc<Turned>,
    clues: &ClueBatch,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Ciphertext>>, DetectorError> {
    let first = detectors[0];
    let stop = || progress.is_stopped();
    let ev = first.evaluator().stopped_by(&stop);
    let keys = keys_of(detectors);
    opening::transform(&ev, &first.params, &keys, turned, clues, progress)
}

fn keys_of<'a>(detectors: &[&'a Detector]) -> Vec<&'a DetectionKey> {
    detectors.iter().map(|detector| &detector.key).collect()
}
