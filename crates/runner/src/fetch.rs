//! Fetches: the answers to the queries of a unit.

use crate::run::{Outcome, Ready};
use crate::{Failure, Made, Unit, Worker};
use omr_detector::rounds::{PreparedPage, RoundsDetector, answer_together};
use omr_detector::{DetectorError, MessageSource, Progress, Stages, Watching};
use omr_protocol::EngineKind;
use omr_protocol::rounds::{RoundsPlan, page_seeds};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

impl Worker<'_> {
    /// Answers the queries of jobs of a unit, in one pass over the prepared payloads.
    pub(crate) fn fetched(&self, unit: &Unit, ready: &[Ready]) -> Result<Vec<Outcome>, Failure> {
        let start = Instant::now();
        let params = self.set.rounds().map_err(Failure::new)?;
        let mut detectors = Vec::with_capacity(ready.len());
        for one in ready {
            detectors.push(one.engines.rounds().map_err(Failure::of)?);
        }
        let Some(first) = detectors.first() else {
            return Ok(Vec::new());
        };
        let (range, clues) = (unit.stride.range(), first.key().clues);
        let plan = RoundsPlan::new(params, range, unit.payload_bytes, clues);
        let plan = plan.map_err(Failure::new)?;
        let progress: Vec<Box<dyn Progress + Send>> = ready
            .iter()
            .map(|one| self.leases.progress(unit, one.job))
            .collect();
        let watching = Watching(progress.iter().map(|one| &**one as &dyn Progress).collect());
        let mut stages = Stages::default();
        let pages = self.prepared(unit, first, &plan, &watching, &mut stages)?;
        let pages: Vec<&PreparedPage> = pages.iter().map(|page| &**page).collect();
        let query = |one: &Ready| unit.queries.get(one.job).map(|query| &query[..]);
        let queries: Vec<&[u8]> = ready.iter().filter_map(query).collect();
        watching.stage("fetch", 0);
        let answers = stages.time("fetch", || answer_together(&detectors, &pages, &queries));
        self.leases.ran(unit, &stages);
        let seconds = start.elapsed().as_secs_f64();
        tracing::info!(seconds, "fetch");
        let file = |answer: Result<_, DetectorError>| {
            let made: omr_protocol::rounds::FetchAnswer = answer.map_err(Failure::of)?;
            let digest = made.to_bytes(params).map_err(Failure::new)?;
            Ok(Made { digest, seconds })
        };
        Ok(answers.into_iter().map(file).collect())
    }

    /// Returns the pages of a range. Those that are not in memory are prepared.
    fn prepared(
        &self,
        unit: &Unit,
        detector: &RoundsDetector,
        plan: &RoundsPlan,
        progress: &dyn Progress,
        stages: &mut Stages,
    ) -> Result<Vec<Arc<PreparedPage>>, Failure> {
        let (params, clues) = (detector.params(), detector.key().clues);
        let Some(secret) = unit.seed(EngineKind::Rounds, 0) else {
            return Err(Failure::Refused("expected a seed, found none".into()));
        };
        let bytes = PreparedPage::bytes_of(params, unit.payload_bytes, clues);
        let bytes = bytes.map_err(Failure::of)? as u64;
        let mut source = self.supplies.messages(unit);
        let (range, number) = (plan.range(), plan.pages());
        progress.stage("prepare", number.end - number.start);
        let mut pages = Vec::new();
        for (page, seed) in number.zip(page_seeds(&secret, plan)) {
            if progress.is_stopped() {
                return Err(Failure::Stopped);
            }
            let messages = plan.messages_of(page);
            let wanted = messages.start.max(range.start);
            let held = self.pages.held(page, &seed, wanted);
            let prepare = |source: &mut dyn MessageSource, messages: Range<u64>| {
                PreparedPage::new(
                    params,
                    source,
                    messages,
                    unit.board_id,
                    unit.payload_bytes,
                    clues,
                    seed,
                )
            };
            let found = match held {
                Some(held) => held,
                None => {
                    let mut made =
                        stages.time("prepare", || prepare(&mut *source, messages.clone()));
                    if matches!(made, Err(DetectorError::Source(_))) && messages.start < wanted {
                        // Messages at the beginning of the page may have expired.
                        let kept = wanted..messages.end;
                        made = stages.time("prepare", || prepare(&mut *source, kept));
                    }
                    let made = Arc::new(made.map_err(Failure::of)?);
                    self.pages.keep(&made, bytes);
                    made
                }
            };
            pages.push(found);
            progress.advance(1);
        }
        Ok(pages)
    }
}
