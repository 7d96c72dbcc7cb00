//! The detector of SophOMR: a recipient's key, ready to scan boards batch by batch.

use super::affine::{self, BabySteps, Kept, Matrix};
use super::cache::BoardCache;
use super::clues::ClueBatch;
use super::memory::{Keeps, MemoryPlan};
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
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Encrypted secrets turned by 0, 1, 2, ... slots, which serve every batch.
pub enum Steps {
    /// The clue secrets of a recipient.
    Affine(BabySteps),
    /// The secrets that packed clues are opened from, of one or more recipients.
    Opening(Turned),
}

/// A detection key ready to scan boards. `Send + Sync`.
pub struct Detector {
    params: Arc<Params>,
    /// The large ring, where the key's polynomials lie.
    ring: Ring,
    key: DetectionKey,
    /// Made by the first digest.
    tables: OnceLock<CodeTables>,
    cache: Option<Arc<BoardCache>>,
    /// None: baby steps are not kept.
    baby_steps: Option<Mutex<Option<Arc<Steps>>>>,
    /// For digests of several batches: baby steps stay during range checks. Taken with the first of them.
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
            cache: None,
            baby_steps: None,
            several_batches: OnceLock::new(),
        }
    }

    /// Without the memory that it took before it kept what it keeps by now.
    fn unreserved(mut self) -> Self {
        self.memory = OnceLock::new();
        self.several_batches = OnceLock::new();
        self
    }

    /// Takes the memory that digests work in from the system, once, as the first digest would.
    pub fn take_memory(&self) {
        self.memory
            .get_or_init(|| self.reserve(self.keeps_baby_steps()));
    }

    /// Takes memory for digests; `baby_steps`: they stay during range checks.
    fn reserve(&self, baby_steps: bool) -> Reservation {
        if self.ring.backend().is_some() {
            return omr_ring::reserve(&[]);
        }
        let diagonals = self.cache.as_ref().is_some_and(|cache| cache.limit() > 0);
        let keeps = Keeps {
            diagonals,
            baby_steps,
        };
        MemoryPlan::new(&self.params, keeps, rayon::current_num_threads()).reserve()
    }

    /// Takes the memory that digests of several batches work in beside that of one batch, once.
    pub(super) fn reserve_for_several_batches(&self) {
        // Kept baby steps have their room already.
        if !self.keeps_baby_steps() {
            self.several_batches.get_or_init(|| self.reserve(true));
        }
    }

    /// Shares the work on a board's batches with other recipients' detectors. Digests share it if
    /// they are of the same range and seed: see [`BoardCache::seed`].
    pub fn with_cache(self, cache: Arc<BoardCache>) -> Self {
        let cache = Some(cache);
        Self { cache, ..self }.unreserved()
    }

    /// Keeps the turned secret from one digest to the next, 1.7 GB at full size and 1.0 GB that digests
    /// work in otherwise, or makes it anew.
    pub fn keep_baby_steps(self, keep: bool) -> Self {
        let baby_steps = keep.then(Mutex::default);
        Self { baby_steps, ..self }.unreserved()
    }

    /// Makes what digests keep between them, unless it is there.
    ///
    /// Errors: parameters that do not fit the circuit.
    pub fn prepare(&self, progress: &dyn Progress) -> Result<(), DetectorError> {
        if self.keeps_baby_steps() {
            self.kept_or_new_steps(progress)?;
        }
        Ok(())
    }

    /// Whether the turned secret stays from one digest to the next.
    pub(super) fn keeps_baby_steps(&self) -> bool {
        self.baby_steps.is_some()
    }

    /// The turned secret, made unless it is kept.
    pub(super) fn kept_or_new_steps(
        &self,
        progress: &dyn Progress,
    ) -> Result<Arc<Steps>, DetectorError> {
        let place = self.baby_steps.as_ref();
        let lock = || place.map(|place| place.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(steps) = lock().and_then(|kept| kept.clone()) {
            return Ok(steps);
        }
        // Not under the lock: digests that wait for it would hold up the threads that do the work.
        let steps = self.baby_steps(progress)?;
        if let Some(mut kept) = lock() {
            *kept = Some(steps.clone());
        }
        Ok(steps)
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

    /// `b - A s` for both coordinates of a batch of clues, at level 1.
    pub fn affine(
        &self,
        steps: &Arc<Steps>,
        clues: &ClueBatch,
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        let matrix = Matrix {
            coordinates: clues.coordinates(),
            clues: Some(clues),
            kept: &Kept::default(),
            shared: None,
        };
        Ok(transform(&[self], steps.clone(), &matrix, progress)?.remove(0))
    }

    /// The pertinency vector, at the last level, from the one or two coordinates that [`Detector::affine`] gives.
    ///
    /// Errors: parameters that do not fit the circuit; stopped.   Panics: without coordinates.
    pub fn range_check(
        &self,
        d: &[Ciphertext],
        progress: &dyn Progress,
    ) -> Result<Ciphertext, DetectorError> {
        let stop = || progress.is_stopped();
        let ev = self.evaluator().stopped_by(&stop);
        range::check(&ev, &self.params, &self.key, d, progress)
    }

    /// The turned secret, for [`Detector::affine`].
    pub fn baby_steps(&self, progress: &dyn Progress) -> Result<Arc<Steps>, DetectorError> {
        self.take_memory();
        let stop = || progress.is_stopped();
        let ev = self.evaluator().stopped_by(&stop);
        let (params, key) = (&self.params, &self.key);
        Ok(Arc::new(match &params.opening {
            Some(opening) => Steps::Opening(opening::turned(&ev, opening, &[key], progress)?),
            None => Steps::Affine(BabySteps::new(&ev, params, key, progress)?),
        }))
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

    /// Where the work on a board's batches is shared.
    pub(super) fn cache(&self) -> Option<&BoardCache> {
        self.cache.as_deref()
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

/// The turned secrets of recipients whose keys have one seed of masks, kept or made anew.
pub(super) fn steps_of(
    detectors: &[&Detector],
    progress: &dyn Progress,
) -> Result<Arc<Steps>, DetectorError> {
    let first = detectors[0];
    match (detectors, &first.params.opening) {
        ([_, _, ..], Some(opening)) => {
            first.take_memory();
            let keys = keys_of(detectors);
            let stop = || progress.is_stopped();
            let ev = first.evaluator().stopped_by(&stop);
            let turned = opening::turned(&ev, opening, &keys, progress)?;
            Ok(Arc::new(Steps::Opening(turned)))
        }
        _ => first.kept_or_new_steps(progress),
    }
}

/// Multiplies the turned secrets with a batch's clues, for each recipient. Only sets that open clues take several.
pub(super) fn transform(
    detectors: &[&Detector],
    steps: Arc<Steps>,
    matrix: &Matrix,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Ciphertext>>, DetectorError> {
    let first = detectors[0];
    let stop = || progress.is_stopped();
    let (ev, params) = (first.evaluator().stopped_by(&stop), &first.params);
    match (&*steps, &params.opening) {
        (Steps::Opening(_), Some(opening)) => {
            let clues = matrix.clues;
            let clues = clues.expect("nothing is kept in place of packed clues");
            let keys = keys_of(detectors);
            opening::transform(&ev, params, (opening, &keys), steps, clues, progress)
        }
        (Steps::Affine(steps), None) => {
            let d = affine::transform(&ev, params, &first.key, steps, matrix, progress)?;
            Ok(vec![d])
        }
        _ => unreachable!("steps are of the detector's set"),
    }
}

fn keys_of<'a>(detectors: &[&'a Detector]) -> Vec<&'a DetectionKey> {
    detectors.iter().map(|detector| &detector.key).collect()
}
