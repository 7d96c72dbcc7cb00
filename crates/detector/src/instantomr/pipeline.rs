//! Scanning of chunks of messages, from their clues to their verdicts.

use super::clue::Clues;
use super::layers::Layer;
use super::{InstantDetector, Verdicts};
use crate::progress::check_stopped;
use crate::{DetectorError, Progress, Stages};
use omr_tfhe::RingCipher;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// A chunk: messages whose clues have been read.
pub(super) struct Chunk<'a> {
    /// The index of the first message.
    pub(super) first: u64,
    pub(super) clues: Clues,
    /// The payloads, if the session needs them.
    pub(super) payloads: Cow<'a, [u8]>,
    /// The numbers of messages whose second layer may be in double precision.
    pub(super) doubles: Range<usize>,
}

/// A chunk that has been scanned.
pub(super) struct Scanned<'a> {
    pub(super) first: u64,
    pub(super) payloads: Cow<'a, [u8]>,
    pub(super) found: Verdicts,
    /// Seconds of each stage.
    pub(super) stages: Stages,
}

/// A chunk with a layer that was begun.
struct InFlight<'a> {
    chunk: Chunk<'a>,
    layer: Layer,
    stages: Stages,
}

/// Chunks that are being scanned. If layers are evaluated on a device, the first layer of a chunk is queued before the
/// second layer of the previous chunk, so that the device is never idle. The result of a chunk is returned two chunks
/// later.
#[derive(Default)]
pub(super) struct Pipeline<'a> {
    first: Option<InFlight<'a>>,
    second: Option<InFlight<'a>>,
}

impl<'a> Pipeline<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.second.is_none()
    }

    /// Adds a chunk, or none if there are no more, and returns a chunk that has been scanned. After an error, all
    /// chunks in the pipeline are lost.
    ///
    /// Errors: `Engine`, `Stopped`.
    pub(super) fn take(
        &mut self,
        detector: &InstantDetector,
        chunk: Option<Chunk<'a>>,
        progress: &dyn Progress,
    ) -> Result<Option<Scanned<'a>>, DetectorError> {
        if detector.evaluation.is_away() {
            return self.step(detector, chunk);
        }
        match chunk {
            Some(next) => Self::alone(detector, next, progress).map(Some),
            None => Ok(None),
        }
    }

    /// Scans a chunk completely.
    ///
    /// Errors: `Engine`, `Stopped`.
    pub(super) fn alone(
        detector: &InstantDetector,
        chunk: Chunk<'a>,
        progress: &dyn Progress,
    ) -> Result<Scanned<'a>, DetectorError> {
        let (first, hits) = InFlight::first(detector, chunk)?.done(detector, "first_layer")?;
        check_stopped(progress)?;
        first.second(detector, &hits)?.scanned(detector)
    }

    fn step(
        &mut self,
        detector: &InstantDetector,
        chunk: Option<Chunk<'a>>,
    ) -> Result<Option<Scanned<'a>>, DetectorError> {
        let done = match self.first.take() {
            Some(in_flight) => Some(in_flight.done(detector, "first_layer")?),
            None => None,
        };
        self.first = match chunk {
            Some(next) => Some(InFlight::first(detector, next)?),
            None => None,
        };
        let second = match done {
            Some((in_flight, hits)) => Some(in_flight.second(detector, &hits)?),
            None => None,
        };
        match std::mem::replace(&mut self.second, second) {
            Some(in_flight) => in_flight.scanned(detector).map(Some),
            None => Ok(None),
        }
    }
}

impl<'a> InFlight<'a> {
    /// Begins the first layer.
    fn first(detector: &InstantDetector, chunk: Chunk<'a>) -> Result<Self, DetectorError> {
        let mut stages = Stages::default();
        let run = detector.run();
        let layer = stages.time("first_layer", || run.hits(&chunk.clues.coordinates))?;
        Ok(Self {
            chunk,
            layer,
            stages,
        })
    }

    /// Waits for the layer that was begun.
    fn done(
        mut self,
        detector: &InstantDetector,
        stage: &'static str,
    ) -> Result<(Self, Vec<RingCipher>), DetectorError> {
        let layer = std::mem::replace(&mut self.layer, Layer::Here(Vec::new()));
        let cts = self.stages.time(stage, || detector.run().done(layer))?;
        Ok((self, cts))
    }

    /// Begins the second layer from the results of the first.
    fn second(
        mut self,
        detector: &InstantDetector,
        hits: &[RingCipher],
    ) -> Result<Self, DetectorError> {
        let (run, doubles) = (detector.run(), self.chunk.doubles.clone());
        let sums = self.stages.time("switch", || detector.switched(hits));
        let all = || run.all_hit(&sums, doubles);
        self.layer = self.stages.time("second_layer", all)?;
        Ok(self)
    }

    /// Waits for the second layer.
    fn scanned(self, detector: &InstantDetector) -> Result<Scanned<'a>, DetectorError> {
        let (
            Self {
                chunk, mut stages, ..
            },
            all,
        ) = self.done(detector, "second_layer")?;
        let (ring, trace) = (&detector.params.ring, &detector.key.trace);
        let traced = |ct| trace.apply(ring, ct);
        let verdicts = if detector.evaluation.is_away() {
            all
        } else {
            stages.time("trace", || all.into_par_iter().map(traced).collect())
        };
        let found = Verdicts {
            verdicts,
            fingerprints: chunk.clues.fingerprints,
            unusable: chunk.clues.unusable,
        };
        Ok(Scanned {
            first: chunk.first,
            payloads: chunk.payloads,
            found,
            stages,
        })
    }
}
