//! The detector of SophOMR: a recipient's key, ready to scan boards batch by batch.

mod compress;

use crate::bound_to::check_kind;
use crate::error::check_len;
use crate::sophomr::affine::{self, BabySteps, Kept, Matrix};
use crate::sophomr::cache::{BatchKey, BoardCache, Part, PartKey, SharedBatch};
use crate::sophomr::clues::ClueBatch;
use crate::sophomr::memory::{Keeps, MemoryPlan};
use crate::sophomr::range;
use crate::{BoundTo, DetectorError, MessageSource, Progress, Stages};
use omr_bgv::{Ciphertext, Evaluator};
use omr_compress::{CodeTables, Finisher};
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan, Params};
use omr_protocol::{ClueKind, DigestHeader, Placement, SEED_BYTES, Sealing};
use omr_ring::Reservation;
use omr_rlwe::{Descent, Rlwe};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A detection key ready to scan boards. `Send + Sync`.
pub struct Detector {
    params: Arc<Params>,
    key: DetectionKey,
    tables: CodeTables,
    cache: Option<Arc<BoardCache>>,
    /// None: baby steps are not kept.
    baby_steps: Option<Mutex<Option<Arc<BabySteps>>>>,
    /// For digests of several batches: baby steps stay during range checks. Taken with the first of them.
    several_batches: OnceLock<Reservation>,
    /// What digests work in. Dropped after all that returns to it.
    memory: Reservation,
}

/// A digest and how it came about.
pub struct Output {
    /// The digest.
    pub digest: Digest,
    /// Seconds by stage.
    pub stages: Stages,
    /// Clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

struct Run<'a> {
    source: &'a mut dyn MessageSource,
    plan: &'a DigestPlan,
    board_id: [u8; 16],
    seed: [u8; SEED_BYTES],
    progress: &'a dyn Progress,
    stages: Stages,
    unusable: usize,
    /// Of bound clues: batch by batch, message by message.
    fingerprints: Vec<Arc<[u32]>>,
}

impl Detector {
    /// A detector for one recipient's key.
    ///
    /// Takes the memory that digests work in from the system, about 2 GB at full size. All detectors work in the same
    /// memory; the last one that is dropped gives it back.
    pub fn new(params: Arc<Params>, key: DetectionKey) -> Self {
        let nothing = Keeps {
            diagonals: false,
            baby_steps: false,
        };
        Self {
            tables: CodeTables::new(params.compression()),
            memory: reserve(&params, nothing),
            params,
            key,
            cache: None,
            baby_steps: None,
            several_batches: OnceLock::new(),
        }
    }

    /// With the memory that it takes with what it keeps by now.
    fn reserved(mut self) -> Self {
        self.memory = self.reserve(self.baby_steps.is_some());
        self.several_batches = OnceLock::new();
        self
    }

    /// Takes memory for digests; `baby_steps`: they stay during range checks.
    fn reserve(&self, baby_steps: bool) -> Reservation {
        let diagonals = self.cache.as_ref().is_some_and(|cache| cache.limit() > 0);
        let keeps = Keeps {
            diagonals,
            baby_steps,
        };
        reserve(&self.params, keeps)
    }

    /// Shares the work on a board's batches with other recipients' detectors. Digests share it if
    /// they are of the same range and seed: see [`BoardCache::seed`].
    pub fn with_cache(self, cache: Arc<BoardCache>) -> Self {
        let cache = Some(cache);
        Self { cache, ..self }.reserved()
    }

    /// Keeps the turned secret from one digest to the next, 1.7 GB at full size and 0.5 GB that digests
    /// work in otherwise, or makes it anew.
    pub fn keep_baby_steps(self, keep: bool) -> Self {
        let baby_steps = keep.then(Mutex::default);
        Self { baby_steps, ..self }.reserved()
    }

    /// Makes what digests keep between them, unless it is there.
    ///
    /// Errors: parameters that do not fit the circuit.
    pub fn prepare(&self, progress: &dyn Progress) -> Result<(), DetectorError> {
        if self.baby_steps.is_some() {
            self.kept_or_new_steps(progress)?;
        }
        Ok(())
    }

    fn kept_or_new_steps(&self, progress: &dyn Progress) -> Result<Arc<BabySteps>, DetectorError> {
        let place = self.baby_steps.as_ref();
        let lock = || place.map(|place| place.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(steps) = lock().and_then(|kept| kept.clone()) {
            return Ok(steps);
        }
        // Not under the lock: digests that wait for it would hold up the threads that do the work.
        let steps = Arc::new(self.baby_steps(progress)?);
        if let Some(mut kept) = lock() {
            *kept = Some(steps.clone());
        }
        Ok(steps)
    }

    /// The evaluator of the large ring.
    pub fn evaluator(&self) -> Evaluator<'_> {
        let params = &self.params;
        Evaluator {
            ring: &params.ring,
            plain: &params.plain,
            chain: &params.chain,
        }
    }

    /// The digest of the plan's messages. `seed` decides where they lie; it must be random, and
    /// drawn after the messages were posted: see SECURITY.md.
    ///
    /// Errors: the source's; `ClueKind` where clues are of another kind than the key takes.
    pub fn digest(
        &self,
        source: &mut dyn MessageSource,
        plan: &DigestPlan,
        board_id: [u8; 16],
        sealing: Sealing,
        seed: [u8; SEED_BYTES],
        progress: &dyn Progress,
    ) -> Result<Output, DetectorError> {
        self.check_board(source.clue_bytes())?;
        let plan = &plan.for_clues(&self.params, self.clues());
        let mut run = Run {
            source,
            plan,
            board_id,
            seed,
            progress,
            stages: Stages::default(),
            unusable: 0,
            fingerprints: Vec::new(),
        };
        // Kept steps have room beside them since they were asked for, and are not in the pool.
        if plan.batches() > 1 && self.baby_steps.is_none() {
            run.stages.time("memory", || {
                self.several_batches.get_or_init(|| self.reserve(true));
            });
        }
        let steps = run
            .stages
            .time("baby_steps", || self.kept_or_new_steps(progress))?;
        let mut steps = Some(steps);
        let mut pertinent = Vec::new();
        for batch in 0..plan.batches() {
            pertinent.push(self.pertinency(&mut run, &mut steps, batch)?);
        }
        let mut finisher = Finisher::new(self.params.compression(), &self.key.last, plan.sums());
        for group in 0..plan.groups() {
            let pertinent = &pertinent[plan.group(group)];
            self.compress(&mut run, group, pertinent, &mut finisher)?;
        }
        let ciphertexts = run.stages.time("packing", || finisher.finish());
        let header = DigestHeader {
            key_id: self.key.id,
            board_id,
            sealing,
            plan: plan.clone(),
            seed,
        };
        let digest = Digest {
            header,
            ciphertexts,
        };
        Ok(Output {
            digest,
            stages: run.stages,
            unusable_clues: run.unusable,
        })
    }

    /// `b - A s` for both coordinates of a batch of clues, at level 1.
    pub fn affine(
        &self,
        steps: &BabySteps,
        clues: &ClueBatch,
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        let matrix = Matrix {
            coordinates: clues.coordinates(),
            clues: Some(clues),
            kept: &Kept::default(),
            shared: None,
        };
        self.transform(steps, &matrix, progress)
    }

    /// The pertinency vector, at the last level, from the one or two coordinates that [`Detector::affine`] gives.
    ///
    /// Errors: parameters that do not fit the circuit; stopped.   Panics: without coordinates.
    pub fn range_check(
        &self,
        d: &[Ciphertext],
        progress: &dyn Progress,
    ) -> Result<Ciphertext, DetectorError> {
        range::check(&self.evaluator(), &self.params, &self.key, d, progress)
    }

    /// The turned secret, for [`Detector::affine`].
    pub fn baby_steps(&self, progress: &dyn Progress) -> Result<BabySteps, DetectorError> {
        BabySteps::new(&self.evaluator(), &self.params, &self.key, progress)
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

    fn transform(
        &self,
        steps: &BabySteps,
        matrix: &Matrix,
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        affine::transform(
            &self.evaluator(),
            &self.params,
            &self.key,
            steps,
            matrix,
            progress,
        )
    }

    /// A batch in the cache, if there is one.
    fn shared(&self, run: &Run, batch: usize) -> Option<SharedBatch<'_>> {
        if run.source.is_private() {
            return None;
        }
        self.cache.as_ref()?.batch(BatchKey {
            params: self.params.name(),
            board_id: run.board_id,
            seed: run.seed,
            number: batch,
            messages: run.plan.batch(batch),
            bound: self.key.offset.is_some(),
        })
    }

    fn pertinency(
        &self,
        run: &mut Run,
        steps: &mut Option<Arc<BabySteps>>,
        batch: usize,
    ) -> Result<(Vec<Rlwe>, u64), DetectorError> {
        let last = batch + 1 == run.plan.batches();
        let d = self.batch_affine(run, steps, batch)?;
        if last {
            // Their memory serves the range check.
            *steps = None;
        }
        let progress = run.progress;
        let pertinent = run
            .stages
            .time("range_check", || self.range_check(&d, progress))?;
        Ok(run
            .stages
            .time("ring_switch", || self.ring_switch(pertinent)))
    }

    /// The parts of a pertinency vector in the small ring, and what they are multiplied by.
    pub fn ring_switch(&self, pertinent: Ciphertext) -> (Vec<Rlwe>, u64) {
        let (params, scale) = (&self.params, pertinent.scale());
        let descent = Descent {
            large: &params.ring,
            small: &params.small,
            key: &self.key.descent,
        };
        let small = descent.apply(&pertinent.into_pair(), &params.small_basis(), params.p());
        (small, scale)
    }

    /// The key.
    pub fn key(&self) -> &DetectionKey {
        &self.key
    }

    /// [`Detector::affine`] of a batch, with what the cache has of it.
    fn batch_affine(
        &self,
        run: &mut Run,
        steps: &Option<Arc<BabySteps>>,
        batch: usize,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        let shared = self.shared(run, batch);
        let kept = shared
            .as_ref()
            .map(|shared| Kept::new(&self.params, shared));
        let kept = kept.unwrap_or_default();
        let (coordinates, clues) = match kept.instead_of_clues() {
            Some(coordinates) => (coordinates, None),
            None => {
                let clues = self.read_clues(run, batch)?;
                (clues.coordinates().clone(), Some(clues))
            }
        };
        let bytes = coordinates.bytes();
        let room = shared
            .as_ref()
            .and_then(|shared| shared.room(PartKey::Coordinates, bytes));
        if let Some(room) = room {
            room.fill(Part::Coordinates(coordinates.clone()));
        }
        run.unusable += coordinates.unusable;
        run.fingerprints.push(coordinates.fingerprints.clone());
        let matrix = Matrix {
            coordinates: &coordinates,
            clues: clues.as_ref(),
            kept: &kept,
            shared: shared.as_ref(),
        };
        let progress = run.progress;
        run.stages.time("affine", || match steps {
            Some(steps) => self.transform(steps, &matrix, progress),
            None => unreachable!("the last batch comes last"),
        })
    }

    /// Reads the clues of a batch.
    fn read_clues(&self, run: &mut Run, batch: usize) -> Result<ClueBatch, DetectorError> {
        let params = &self.params;
        let range = run.plan.batch(batch);
        let clues = run.stages.time("read", || run.source.clues(range.clone()));
        let clues = clues.map_err(DetectorError::Source)?;
        let clue_bytes = run.source.clue_bytes().max(1);
        check_len(
            "clues",
            clue_bytes * (range.end - range.start) as usize,
            clues.len(),
        )?;
        let messages = (range.end - range.start) as usize;
        let payloads = self.bound_to(run, range)?;
        let (seed, board_id) = (&run.seed, &run.board_id);
        let bytes = run.plan.payload_bytes();
        let to = payloads.as_ref();
        let to = to.map(|payloads| BoundTo::new((board_id, seed), payloads, messages, bytes));
        let to = to.transpose()?;
        Ok(run.stages.time("clues", || {
            let placement = Placement::new(seed, batch, params.slots());
            match &to {
                None => ClueBatch::new(params, &placement, clues, clue_bytes),
                Some(to) => ClueBatch::bound(params, &placement, clues, clue_bytes, to),
            }
        }))
    }

    /// The payloads that a batch's clues are bound to; none for plain clues.
    fn bound_to(&self, run: &mut Run, range: Range<u64>) -> Result<Option<Vec<u8>>, DetectorError> {
        if self.key.offset.is_none() {
            return Ok(None);
        }
        let payloads = run.stages.time("read", || run.source.payloads(range));
        payloads.map(Some).map_err(DetectorError::Source)
    }
}

fn reserve(params: &Params, keeps: Keeps) -> Reservation {
    MemoryPlan::new(params, keeps, rayon::current_num_threads()).reserve()
}
