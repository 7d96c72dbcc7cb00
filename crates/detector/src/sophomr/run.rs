//! One digest in the making: batch by batch from clues to pertinency, then group by group from pertinency to sums.

mod compress;
mod payloads;

use super::Detector;
use super::affine::{Kept, Matrix};
use super::cache::{BatchKey, Part, PartKey, SharedBatch};
use super::clues::ClueBatch;
use super::detector::{Steps, steps_of, transform};
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

/// Recipients that are served together at most: what their bodies take, some 0.5 GB each at full size, has to fit
/// memory.
pub const TOGETHER: usize = 8;

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
        let out = digests(&[self], source, plan, board_id, sealing, seed, progress);
        Ok(out?.remove(0))
    }

    /// Whether both are served together: keys whose masks come from one seed, for clues of one kind.
    pub fn is_served_with(&self, other: &Detector) -> bool {
        self.params().opening.is_some()
            && self.params().name() == other.params().name()
            && self.clues() == other.clues()
            && self.key().masks == other.key().masks
    }
}

/// Digests of the plan's messages for several recipients, in their order. Up to [`TOGETHER`] of those who
/// [share masks](Detector::is_served_with) are served by one run, which does for all of them what does not depend on
/// the recipient; its seconds are given with each of their digests.
///
/// Errors: as [`Detector::digest`]. Panics: when parameter sets differ.
pub fn digests(
    detectors: &[&Detector],
    source: &mut dyn MessageSource,
    plan: &DigestPlan,
    board_id: [u8; 16],
    sealing: Sealing,
    seed: [u8; SEED_BYTES],
    progress: &dyn Progress,
) -> Result<Vec<Output>, DetectorError> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, detector) in detectors.iter().enumerate() {
        detector.check_board(source.clue_bytes())?;
        let name = detectors[0].params().name();
        assert_eq!(detector.params().name(), name, "one parameter set");
        let fits = |group: &&mut Vec<usize>| {
            group.len() < TOGETHER && detectors[group[0]].is_served_with(detector)
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    let mut outputs: Vec<Option<Output>> = detectors.iter().map(|_| None).collect();
    for group in groups {
        let served: Vec<&Detector> = group.iter().map(|&i| detectors[i]).collect();
        let header = DigestHeader {
            key_id: served[0].key().id,
            board_id,
            sealing,
            plan: plan.for_clues(served[0].params(), served[0].clues()),
            seed,
        };
        let made = Run::new(served, source, &header, progress).digests()?;
        for (i, output) in group.into_iter().zip(made) {
            outputs[i] = Some(output);
        }
    }
    Ok(outputs.into_iter().flatten().collect())
}

/// A pertinency vector in the small ring, and what it is multiplied by.
type Pertinency = (Vec<Rlwe>, u64);

/// What digests are made of and what has come of them so far.
struct Run<'a> {
    /// The first of them: all have its parameters and take clues of its kind.
    detector: &'a Detector,
    detectors: Vec<&'a Detector>,
    source: &'a mut dyn MessageSource,
    /// Of the first recipient's digest; others differ in the key's name.
    header: &'a DigestHeader,
    progress: &'a dyn Progress,
    stages: Stages,
    unusable: usize,
    /// Of bound clues: batch by batch, message by message.
    fingerprints: Vec<Arc<[u32]>>,
    payloads: KeptPayloads,
}

impl<'a> Run<'a> {
    /// Nothing done yet. The header's plan must be for the clues that the detectors take.
    fn new(
        detectors: Vec<&'a Detector>,
        source: &'a mut dyn MessageSource,
        header: &'a DigestHeader,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            detector: detectors[0],
            detectors,
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

    /// Makes the digests, one for each recipient.
    ///
    /// Errors: the source's; `Stopped`; parameters that do not fit the circuit.
    fn digests(mut self) -> Result<Vec<Output>, DetectorError> {
        let plan = self.plan();
        let pertinent = self.pertinent()?;
        let setting = self.detector.params().compression();
        let finisher =
            |detector: &&'a Detector| Finisher::new(setting, &detector.key().last, plan.sums());
        let mut finishers: Vec<Finisher> = self.detectors.iter().map(finisher).collect();
        for group in 0..plan.groups() {
            self.compress(group, &pertinent, &mut finishers)?;
        }
        let ciphertexts: Vec<_> = self.stages.time("packing", || {
            finishers.into_iter().map(Finisher::finish).collect()
        });
        let output = |(ciphertexts, detector): (_, &&Detector)| Output {
            digest: Digest {
                header: DigestHeader {
                    key_id: detector.key().id,
                    ..self.header.clone()
                },
                ciphertexts,
            },
            stages: self.stages.clone(),
            unusable_clues: self.unusable,
        };
        Ok(ciphertexts
            .into_iter()
            .zip(&self.detectors)
            .map(output)
            .collect())
    }

    /// The pertinency vectors of all batches, recipient by recipient.
    fn pertinent(&mut self) -> Result<Vec<Vec<Pertinency>>, DetectorError> {
        let (detectors, progress) = (self.detectors.clone(), self.progress);
        let batches = self.plan().batches();
        let stages = &mut self.stages;
        let detector = self.detector;
        stages.time("memory", || {
            detector.take_memory();
            if batches > 1 {
                detector.reserve_for_several_batches();
            }
        });
        let steps = stages.time("baby_steps", || steps_of(&detectors, progress))?;
        let mut steps = Some(steps);
        let mut pertinent: Vec<Vec<Pertinency>> = detectors.iter().map(|_| Vec::new()).collect();
        for batch in 0..batches {
            // The memory of the last batch's serves what comes after the transform.
            let own = match batch + 1 == batches {
                true => steps.take(),
                false => steps.clone(),
            };
            let d = self.affine(own.expect("steps until the last batch"), batch)?;
            for ((d, detector), pertinent) in d.into_iter().zip(&detectors).zip(&mut pertinent) {
                pertinent.push(self.range_check(detector, &d)?);
            }
        }
        Ok(pertinent)
    }

    /// A pertinency vector from the coordinates of a batch.
    fn range_check(
        &mut self,
        detector: &Detector,
        d: &[Ciphertext],
    ) -> Result<Pertinency, DetectorError> {
        let (stages, progress) = (&mut self.stages, self.progress);
        let pertinent = stages.time("range_check", || detector.range_check(d, progress))?;
        Ok(stages.time("ring_switch", || detector.ring_switch(pertinent)))
    }

    /// [`Detector::affine`] of a batch for each recipient, with what the cache has of it.
    fn affine(
        &mut self,
        steps: Arc<Steps>,
        batch: usize,
    ) -> Result<Vec<Vec<Ciphertext>>, DetectorError> {
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
        let (detectors, progress) = (&self.detectors, self.progress);
        let transform = || transform(detectors, steps, &matrix, progress);
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
