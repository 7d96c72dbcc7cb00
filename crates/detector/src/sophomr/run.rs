//! One digest in the making: batch by batch from clues to pertinency, then group by group from pertinency to sums.

mod compress;
mod payloads;

use super::Detector;
use super::affine::{Kept, Matrix};
use super::cache::{BatchKey, Part, PartKey, SharedBatch};
use super::clues::ClueBatch;
use super::detector::Steps;
use crate::error::check_len;
use crate::source::kept_hashes;
use crate::{BoundTo, DetectorError, MessageSource, Progress, Stages};
use omr_bgv::Ciphertext;
use omr_compress::Finisher;
use omr_protocol::clue::HashesOf;
use omr_protocol::sophomr::{Digest, DigestPlan};
use omr_protocol::{ClueKind, DigestHeader, Placement, SEED_BYTES, Sealing};
use omr_rlwe::Rlwe;
use payloads::KeptPayloads;
use std::sync::Arc;

/// A digest and how it came about.
pub struct Output {
    /// The digest.
    pub digest: Digest,
    /// Seconds by stage.
    pub stages: Stages,
    /// Clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

impl Detector {
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
        let header = DigestHeader {
            key_id: self.key().id,
            board_id,
            sealing,
            plan: plan.for_clues(self.params(), self.clues()),
            seed,
        };
        Run::new(self, source, &header, progress).digest()
    }
}

/// A pertinency vector in the small ring, and what it is multiplied by.
type Pertinency = (Vec<Rlwe>, u64);

/// What a digest is made of and what has come of it so far.
struct Run<'a> {
    detector: &'a Detector,
    source: &'a mut dyn MessageSource,
    header: &'a DigestHeader,
    progress: &'a dyn Progress,
    stages: Stages,
    unusable: usize,
    /// Of bound clues: batch by batch, message by message.
    fingerprints: Vec<Arc<[u32]>>,
    payloads: KeptPayloads,
}

impl<'a> Run<'a> {
    /// Nothing done yet. The header's plan must be for the clues that the detector takes.
    fn new(
        detector: &'a Detector,
        source: &'a mut dyn MessageSource,
        header: &'a DigestHeader,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            detector,
            source,
            header,
            progress,
            stages: Stages::default(),
            unusable: 0,
            fingerprints: Vec::new(),
            payloads: KeptPayloads::default(),
        }
    }

    fn plan(&self) -> &'a DigestPlan {
        &self.header.plan
    }

    /// Makes the digest.
    ///
    /// Errors: the source's; `Stopped`; parameters that do not fit the circuit.
    fn digest(mut self) -> Result<Output, DetectorError> {
        let (detector, plan) = (self.detector, self.plan());
        let pertinent = self.pertinent()?;
        let setting = detector.params().compression();
        let mut finisher = Finisher::new(setting, &detector.key().last, plan.sums());
        for group in 0..plan.groups() {
            self.compress(group, &pertinent[plan.group(group)], &mut finisher)?;
        }
        let ciphertexts = self.stages.time("packing", || finisher.finish());
        Ok(Output {
            digest: Digest {
                header: self.header.clone(),
                ciphertexts,
            },
            stages: self.stages,
            unusable_clues: self.unusable,
        })
    }

    /// The pertinency vectors of all batches.
    fn pertinent(&mut self) -> Result<Vec<Pertinency>, DetectorError> {
        let (detector, progress) = (self.detector, self.progress);
        let batches = self.plan().batches();
        let stages = &mut self.stages;
        if batches > 1 {
            stages.time("memory", || detector.reserve_for_several_batches());
        }
        let steps = stages.time("baby_steps", || detector.kept_or_new_steps(progress))?;
        let mut pertinent = Vec::with_capacity(batches);
        for batch in 0..batches - 1 {
            let d = self.affine(&steps, batch)?;
            pertinent.push(self.range_check(&d)?);
        }
        let d = self.affine(&steps, batches - 1)?;
        // Their memory serves the last range check.
        drop(steps);
        pertinent.push(self.range_check(&d)?);
        Ok(pertinent)
    }

    /// A pertinency vector from the coordinates of a batch.
    fn range_check(&mut self, d: &[Ciphertext]) -> Result<Pertinency, DetectorError> {
        let (detector, progress) = (self.detector, self.progress);
        let stages = &mut self.stages;
        let pertinent = stages.time("range_check", || detector.range_check(d, progress))?;
        Ok(stages.time("ring_switch", || detector.ring_switch(pertinent)))
    }

    /// [`Detector::affine`] of a batch, with what the cache has of it.
    fn affine(&mut self, steps: &Steps, batch: usize) -> Result<Vec<Ciphertext>, DetectorError> {
        let detector = self.detector;
        let shared = self.shared(batch);
        let kept = shared.as_ref();
        let kept = kept.map(|shared| Kept::new(detector.params(), shared));
        let kept = kept.unwrap_or_default();
        let (coordinates, clues) = match kept.instead_of_clues() {
            Some(coordinates) => (coordinates, None),
            None => {
                let clues = self.read_clues(batch)?;
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
        self.unusable += coordinates.unusable;
        self.fingerprints.push(coordinates.fingerprints.clone());
        let matrix = Matrix {
            coordinates: &coordinates,
            clues: clues.as_ref(),
            kept: &kept,
            shared: shared.as_ref(),
        };
        let progress = self.progress;
        let transform = || detector.transform(steps, &matrix, progress);
        self.stages.time("affine", transform)
    }

    /// A batch in the cache, if there is one.
    fn shared(&self, batch: usize) -> Option<SharedBatch<'a>> {
        // What packing makes of clues is the recipient's own.
        if self.source.is_private() || self.detector.params().opening.is_some() {
            return None;
        }
        self.detector.cache()?.batch(BatchKey {
            params: self.detector.params().name(),
            board_id: self.header.board_id,
            seed: self.header.seed,
            number: batch,
            messages: self.plan().batch(batch),
            bound: self.detector.clues() == ClueKind::Bound,
        })
    }

    /// Reads the clues of a batch, and what they are bound to: kept hashes, else payloads.
    fn read_clues(&mut self, batch: usize) -> Result<ClueBatch, DetectorError> {
        let (detector, plan, header) = (self.detector, self.plan(), self.header);
        let (params, range) = (detector.params(), plan.batch(batch));
        let messages = (range.end - range.start) as usize;
        let source = &mut *self.source;
        let clues = self.stages.time("read", || source.clues(range.clone()));
        let clues = clues.map_err(DetectorError::Source)?;
        let clue_bytes = self.source.clue_bytes().max(1);
        check_len("clues", clue_bytes * messages, clues.len())?;
        let placement = || Placement::new(&header.seed, batch, params.slots());
        if detector.clues() == ClueKind::Plain {
            let parse = || ClueBatch::new(params, &placement(), clues, clue_bytes);
            return Ok(self.stages.time("clues", parse));
        }
        let at = (&header.board_id, &header.seed);
        let source = &mut *self.source;
        let of = HashesOf::new(&params.clue, &header.board_id);
        let kept = || kept_hashes(source, of, range.clone());
        if let Some(hashes) = self.stages.time("read", kept)? {
            let to = BoundTo::kept(at, &hashes);
            let parse = || ClueBatch::bound(params, &placement(), clues, clue_bytes, &to);
            return Ok(self.stages.time("clues", parse));
        }
        let payloads = self.read_payloads(range)?;
        let to = BoundTo::new(at, &payloads, messages, plan.payload_bytes())?;
        let parse = || ClueBatch::bound(params, &placement(), clues, clue_bytes, &to);
        let clues = self.stages.time("clues", parse);
        if plan.payload_bytes().is_some() {
            self.payloads.keep(batch, payloads);
        }
        Ok(clues)
    }
}
