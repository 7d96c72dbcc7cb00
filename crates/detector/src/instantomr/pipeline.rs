//! Messages that are looked at together, from their clues to their verdicts.

use super::clue::Clues;
use super::layers::Layer;
use super::{InstantDetector, Verdicts};
use crate::progress::check_stopped;
use crate::{DetectorError, Progress, Stages};
use omr_tfhe::RingCipher;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// Messages whose clues were read.
pub(super) struct Lot<'a> {
    /// The first one's index.
    pub(super) first: u64,
    pub(super) clues: Clues,
    /// Their payloads, where the session needs them.
    pub(super) payloads: Cow<'a, [u8]>,
    /// Those whose second layer may be in double precision, by their number.
    pub(super) doubles: Range<usize>,
}

/// Messages that were looked at.
pub(super) struct Judged<'a> {
    pub(super) first: u64,
    pub(super) payloads: Cow<'a, [u8]>,
    pub(super) found: Verdicts,
    /// Where the time went.
    pub(super) stages: Stages,
}

/// A lot with a layer that was begun.
struct Begun<'a> {
    lot: Lot<'a>,
    layer: Layer,
    stages: Stages,
}

/// Lots under way. Where layers are evaluated elsewhere, the first one of a lot is asked for before the second one of the
/// lot before, so that there always is something to do there: results of a lot come when the second one after it is given.
#[derive(Default)]
pub(super) struct Line<'a> {
    first: Option<Begun<'a>>,
    second: Option<Begun<'a>>,
}

impl<'a> Line<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.second.is_none()
    }

    /// Takes a lot, or none where there are no more, and gives one that has come through. None that is under way does after
    /// an error.
    ///
    /// Errors: `Engine`, `Stopped`.
    pub(super) fn take(
        &mut self,
        detector: &InstantDetector,
        lot: Option<Lot<'a>>,
        progress: &dyn Progress,
    ) -> Result<Option<Judged<'a>>, DetectorError> {
        let alone = |lot| Self::alone(detector, lot, progress);
        if detector.evaluation.is_away() {
            self.step(detector, lot)
        } else {
            lot.map(alone).transpose()
        }
    }

    /// Takes a lot all the way.
    ///
    /// Errors: `Engine`, `Stopped`.
    pub(super) fn alone(
        detector: &InstantDetector,
        lot: Lot<'a>,
        progress: &dyn Progress,
    ) -> Result<Judged<'a>, DetectorError> {
        let first = Begun::first(detector, lot)?;
        let (first, hits) = first.done(detector, "first_layer")?;
        check_stopped(progress)?;
        first.second(detector, &hits)?.judged(detector)
    }

    fn step(
        &mut self,
        detector: &InstantDetector,
        lot: Option<Lot<'a>>,
    ) -> Result<Option<Judged<'a>>, DetectorError> {
        let before = self.first.take();
        let before = before.map(|begun| begun.done(detector, "first_layer"));
        let before = before.transpose()?;
        let first = lot.map(|lot| Begun::first(detector, lot));
        self.first = first.transpose()?;
        let second = before.map(|(begun, hits)| begun.second(detector, &hits));
        let through = std::mem::replace(&mut self.second, second.transpose()?);
        through.map(|begun| begun.judged(detector)).transpose()
    }
}

impl<'a> Begun<'a> {
    /// Begins the first layer.
    fn first(detector: &InstantDetector, lot: Lot<'a>) -> Result<Self, DetectorError> {
        let mut stages = Stages::default();
        let run = detector.run();
        let layer = stages.time("first_layer", || run.hits(&lot.clues.coordinates))?;
        Ok(Self { lot, layer, stages })
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

    /// Begins the second layer, with what the first one gave.
    fn second(
        mut self,
        detector: &InstantDetector,
        hits: &[RingCipher],
    ) -> Result<Self, DetectorError> {
        let (run, doubles) = (detector.run(), self.lot.doubles.clone());
        let sums = self.stages.time("switch", || detector.switched(hits));
        let all = || run.all_hit(&sums, doubles);
        self.layer = self.stages.time("second_layer", all)?;
        Ok(self)
    }

    /// Waits for the second layer.
    fn judged(self, detector: &InstantDetector) -> Result<Judged<'a>, DetectorError> {
        let (
            Self {
                lot, mut stages, ..
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
            fingerprints: lot.clues.fingerprints,
            unusable: lot.clues.unusable,
        };
        Ok(Judged {
            first: lot.first,
            payloads: lot.payloads,
            found,
            stages,
        })
    }
}
