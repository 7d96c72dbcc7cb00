//! The making of a digest: batch by batch from clues to pertinency, then group by group from pertinency to sums.

mod compress;
mod payloads;

use super::Detector;
use super::clues::ClueBatch;
use super::detector::{distances, turned_of};
use crate::error::check_len;
use crate::runs::runs;
use crate::source::kept_hashes;
use crate::{BoundTo, DetectorError, MessageSource, Progress, Stages};
use omr_bgv::Ciphertext;
use omr_compress::Finisher;
use omr_opening::Turned;
use omr_protocol::clue::HashesOf;
use omr_protocol::sophomr::{Digest, DigestPlan, FinalKey, Params, Partial, PartialError};
use omr_protocol::{ClueKind, DigestHeader, Mismatch, Placement, SEED_BYTES, Sealing, hex};
use omr_rlwe::{Rlwe, SharedKey};
use payloads::KeptPayloads;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A digest with statistics.
pub struct Output {
    /// The digest.
    pub digest: Digest,
    /// Seconds of each stage.
    pub stages: Stages,
    /// Number of clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

/// A part of a digest with statistics.
pub struct PartialOutput {
    /// The part.
    pub partial: Partial,
    /// Seconds of each stage.
    pub stages: Stages,
    /// Number of clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

/// The digest that parts belong to.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The plan, with messages, bound and payload size.
    pub plan: &'a DigestPlan,
    /// The board.
    pub board_id: [u8; 16],
    /// The sealing of payloads.
    pub sealing: Sealing,
    /// The random seed of the messages' places, drawn after they were posted (docs/security/failures.md). All parts have the same
    /// seed.
    pub seed: [u8; SEED_BYTES],
}

/// Largest number of recipients in one run, whose bodies, some 0.5 GB each at full size, must fit memory.
pub const TOGETHER: usize = 8;

impl Detector {
    /// Makes the digest of the plan's messages. `seed` determines their places; it must be random, and drawn after the
    /// messages were posted: see docs/security/failures.md.
    ///
    /// Errors: those of the source; `ClueKind` if clues are of another kind than the key accepts.
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

    /// Makes the digest from `partial`, which must have the sums of all its batches.
    ///
    /// Errors: those of [`finish`].
    pub fn finish(&self, partial: &Partial) -> Result<Digest, DetectorError> {
        let key = self.key();
        check_all(&key.id, partial)?;
        Ok(finished(self.params(), &key.last, partial))
    }

    /// Returns whether one run can make digests for both: their keys have one seed of masks and one kind of clues.
    pub fn is_served_with(&self, other: &Detector) -> bool {
        self.params().name() == other.params().name()
            && self.clues() == other.clues()
            && self.key().masks == other.key().masks
            && self.rings().large.shares_place_with(&other.rings().large)
    }
}

/// Makes the digest from `partial`, which must have the sums of all its batches, as [`Detector::finish`] does, with
/// only a part of the key.
///
/// Errors: `Partial` if the sums are for another key or incomplete.
pub fn finish(params: &Params, key: &FinalKey, partial: &Partial) -> Result<Digest, DetectorError> {
    check_all(&key.id, partial)?;
    Ok(finished(params, &key.last, partial))
}

/// Checks that the sums are complete and for this key.
fn check_all(key: &[u8; 16], partial: &Partial) -> Result<(), DetectorError> {
    let found = &partial.header().key_id;
    if key != found {
        let of = Mismatch::new(hex(key), hex(found));
        return Err(PartialError::Other { what: "key", of }.into());
    }
    Ok(partial.check_complete()?)
}

fn finished(params: &Params, last: &SharedKey, partial: &Partial) -> Digest {
    let (packing, header) = (params.compression().packing, partial.header());
    let mut finisher = Finisher::new(packing, last, header.plan.sums());
    let all = partial.sums().values().flatten();
    all.for_each(|packed| finisher.push(packed));
    Digest {
        header: header.clone(),
        ciphertexts: finisher.finish(),
    }
}

/// Makes digests of the plan's messages for several recipients, in their order. One run makes digests for up to
/// [`TOGETHER`] recipients that [share masks](Detector::is_served_with) and does the work that does not depend on the
/// recipient once; each of its digests has the seconds of the whole run.
///
/// Errors: those of [`Detector::digest`].   Panics: if parameter sets differ.
pub fn digests(
    detectors: &[&Detector],
    source: &mut dyn MessageSource,
    plan: &DigestPlan,
    board_id: [u8; 16],
    sealing: Sealing,
    seed: [u8; SEED_BYTES],
    progress: &dyn Progress,
) -> Result<Vec<Output>, DetectorError> {
    let wanted = Wanted {
        plan,
        board_id,
        sealing,
        seed,
    };
    let parts = partials(detectors, source, &wanted, 0..plan.batches(), progress)?;
    let finish = |(detector, mut part): (&&Detector, PartialOutput)| {
        let stages = &mut part.stages;
        let digest = stages.time("packing", || {
            finished(detector.params(), &detector.key().last, &part.partial)
        });
        Output {
            digest,
            stages: part.stages,
            unusable_clues: part.unusable_clues,
        }
    };
    Ok(detectors.iter().zip(parts).map(finish).collect())
}

/// Makes the sums of some batches of a digest for several recipients, in their order, in runs as [`digests`] does. The
/// sums are [added](Partial::merge) to those that other processes make of all other batches, and [`Detector::finish`]
/// makes the digest.
///
/// Errors: those of [`Detector::digest`].
/// Panics: if parameter sets differ; unless `batches` are some of the plan's.
pub fn partials(
    detectors: &[&Detector],
    source: &mut dyn MessageSource,
    wanted: &Wanted,
    batches: Range<usize>,
    progress: &dyn Progress,
) -> Result<Vec<PartialOutput>, DetectorError> {
    let of_plan = !batches.is_empty() && batches.end <= wanted.plan.batches();
    assert!(of_plan, "batches of the plan");
    let mut outputs: Vec<Option<PartialOutput>> = detectors.iter().map(|_| None).collect();
    for detector in detectors {
        detector.check_board(source.clue_bytes())?;
        let name = detectors[0].params().name();
        assert_eq!(detector.params().name(), name, "one parameter set");
    }
    for places in runs(detectors, |first, other| first.is_served_with(other)) {
        let served: Vec<&Detector> = places.iter().map(|&i| detectors[i]).collect();
        let plan = wanted.plan;
        let header = DigestHeader {
            key_id: served[0].key().id,
            board_id: wanted.board_id,
            sealing: wanted.sealing,
            plan: plan.for_clues(served[0].params(), served[0].clues()),
            seed: wanted.seed,
        };
        let run = Run::new(served, source, &header, batches.clone(), progress);
        for (i, output) in places.into_iter().zip(run.partials()?) {
            outputs[i] = Some(output);
        }
    }
    Ok(outputs.into_iter().flatten().collect())
}

/// A pertinency vector in the small ring, and the factor by which it is scaled.
type Pertinency = (Vec<Rlwe>, u64);

/// The state of a run: its inputs and its results so far.
struct Run<'a> {
    /// The first detector. All have its parameters and accept clues of its kind.
    detector: &'a Detector,
    detectors: Vec<&'a Detector>,
    source: &'a mut dyn MessageSource,
    /// The header of the first recipient's digest. Those of others differ in the key's name.
    header: &'a DigestHeader,
    /// The batches that the run covers.
    batches: Range<usize>,
    progress: &'a dyn Progress,
    stages: Stages,
    unusable: usize,
    /// The fingerprints of bound clues: batch by batch from the first one on, message by message.
    fingerprints: Vec<Arc<[u32]>>,
    payloads: KeptPayloads,
}

impl<'a> Run<'a> {
    /// Makes a run. The header's plan must be for the kind of clues that the detectors accept.
    fn new(
        detectors: Vec<&'a Detector>,
        source: &'a mut dyn MessageSource,
        header: &'a DigestHeader,
        batches: Range<usize>,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            detector: detectors[0],
            detectors,
            source,
            header,
            batches,
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

    /// Makes the sums of each recipient.
    ///
    /// Errors: those of the source; `Stopped`; parameters that do not fit the circuit.
    fn partials(mut self) -> Result<Vec<PartialOutput>, DetectorError> {
        let (plan, batches) = (self.plan(), self.batches.clone());
        let rings = self.detector.rings();
        let watch = rings.watch();
        let result = self.pertinent();
        rings.check(&watch)?;
        let pertinent = result?;
        let mut sums: Vec<BTreeMap<usize, Vec<Rlwe>>> = Vec::new();
        sums.resize_with(self.detectors.len(), BTreeMap::new);
        for group in plan.group_of(batches.start)..=plan.group_of(batches.end - 1) {
            let result = self.compress(group, &pertinent);
            rings.check(&watch)?;
            for (sums, packed) in sums.iter_mut().zip(result?) {
                sums.insert(group, packed);
            }
        }
        let output = |(sums, detector): (_, &&Detector)| {
            let header = DigestHeader {
                key_id: detector.key().id,
                ..self.header.clone()
            };
            PartialOutput {
                partial: Partial::new(header, batches.clone(), sums),
                stages: self.stages.clone(),
                unusable_clues: self.unusable,
            }
        };
        Ok(sums.into_iter().zip(&self.detectors).map(output).collect())
    }

    /// Returns the pertinency vectors of the batches, by recipient.
    fn pertinent(&mut self) -> Result<Vec<Vec<Pertinency>>, DetectorError> {
        let (detectors, progress) = (self.detectors.clone(), self.progress);
        let batches = self.batches.clone();
        let stages = &mut self.stages;
        let detector = self.detector;
        stages.time("memory", || {
            detector.take_memory();
            if batches.len() > 1 {
                detector.reserve_for_several_batches();
            }
        });
        let mut turned = Some(stages.time("secrets", || turned_of(&detectors, progress))?);
        let mut pertinent: Vec<Vec<Pertinency>> = detectors.iter().map(|_| Vec::new()).collect();
        for batch in batches.clone() {
            // For the last batch the memory of the secrets is used again after the transform.
            let own = if batch + 1 == batches.end {
                turned.take()
            } else {
                turned.clone()
            };
            let d = self.distances(own.expect("turned secrets until the last batch"), batch)?;
            for ((d, detector), pertinent) in d.into_iter().zip(&detectors).zip(&mut pertinent) {
                pertinent.push(self.range_check(detector, &d)?);
            }
        }
        Ok(pertinent)
    }

    /// Computes a pertinency vector from the coordinates of a batch.
    fn range_check(
        &mut self,
        detector: &Detector,
        d: &[Ciphertext],
    ) -> Result<Pertinency, DetectorError> {
        let (stages, progress) = (&mut self.stages, self.progress);
        let pertinent = stages.time("range_check", || detector.range_check(d, progress))?;
        Ok(stages.time("ring_switch", || detector.ring_switch(pertinent)))
    }

    /// Returns the distances of a batch for each recipient.
    fn distances(
        &mut self,
        turned: Arc<Turned>,
        batch: usize,
    ) -> Result<Vec<Vec<Ciphertext>>, DetectorError> {
        let clues = self.read_clues(batch)?;
        self.unusable += clues.unusable();
        self.fingerprints.push(clues.fingerprints().clone());
        let (detectors, progress) = (&self.detectors, self.progress);
        let make = || distances(detectors, turned, &clues, progress);
        self.stages.time("opening", make)
    }

    /// Reads the clues of a batch and, for bound clues, their stored hashes or else their payloads.
    fn read_clues(&mut self, batch: usize) -> Result<ClueBatch, DetectorError> {
        let (detector, plan, header) = (self.detector, self.plan(), self.header);
        let (params, range) = (detector.params(), plan.batch(batch));
        let messages = (range.end - range.start) as usize;
        let source = &mut *self.source;
        let clues = self
            .stages
            .time("read", || source.clues(range.clone()))
            .map_err(DetectorError::Source)?;
        let clue_bytes = self.source.clue_bytes().max(1);
        check_len("clues", clue_bytes * messages, clues.len())?;
        let placement = || Placement::new(&header.seed, batch, params.slots());
        if detector.clues() == ClueKind::Plain {
            let parse = || ClueBatch::new(params, &placement(), clues, clue_bytes);
            return Ok(self.stages.time("clues", parse));
        }
        let source = &mut *self.source;
        let of = HashesOf::new(&params.clue, &header.board_id);
        let kept = || kept_hashes(source, of, range.clone());
        if let Some(hashes) = self.stages.time("read", kept)? {
            let to = BoundTo::kept(&header.board_id, &header.seed, &hashes);
            let parse = || ClueBatch::bound(params, &placement(), clues, clue_bytes, &to);
            return Ok(self.stages.time("clues", parse));
        }
        let payloads = self.read_payloads(range)?;
        let to = BoundTo::new(
            &header.board_id,
            &header.seed,
            &payloads,
            messages,
            plan.payload_bytes(),
        )?;
        let parse = || ClueBatch::bound(params, &placement(), clues, clue_bytes, &to);
        let clues = self.stages.time("clues", parse);
        if plan.payload_bytes().is_some() {
            self.payloads.keep(batch, payloads);
        }
        Ok(clues)
    }
}
