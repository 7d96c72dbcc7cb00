//! From pertinency to a digest: codes, payloads, sums, packing.

use super::{Detector, Run};
use crate::DetectorError;
use crate::error::check_len;
use crate::progress::check_stopped;
use crate::sophomr::encoder::{Encoder, KeptSymbols, Shape};
use crate::sophomr::payload::{MESSAGES_TOGETHER, SymbolWindow};
use omr_compress::{Codes, Finisher, Round, Sums};
use omr_protocol::Placement;
use omr_protocol::sophomr::{DigestPlan, packing};
use omr_rlwe::Rlwe;
use std::ops::Range;

/// Bytes of symbols held at a time; larger payloads are read in several passes.
const WINDOW_BYTES: usize = 1 << 30;

/// Bytes of payloads read at a time.
const PIECE_BYTES: usize = 64 << 20;

impl Detector {
    pub(super) fn compress(
        &self,
        run: &mut Run,
        group: usize,
        pertinent: &[(Vec<Rlwe>, u64)],
        finisher: &mut Finisher,
    ) -> Result<(), DetectorError> {
        let plan = run.plan;
        for round in 0..plan.rounds() {
            let codes = self.codes(run, round, pertinent);
            for window in self.windows(plan) {
                self.window(run, group, &codes, window, finisher)?;
            }
        }
        Ok(())
    }

    fn codes(&self, run: &mut Run, round: usize, pertinent: &[(Vec<Rlwe>, u64)]) -> Vec<Codes> {
        let (plan, params, progress) = (run.plan, &self.params, run.progress);
        let (setting, keys) = (params.compression(), self.key.compression(params));
        progress.stage("codes", (pertinent.len() * plan.width() / 2) as u64);
        run.stages.time("codes", || {
            let of_batch = |(batch, (small, scale)): (usize, &(Vec<Rlwe>, u64))| {
                let round = Round::new(setting, plan.sums(), round, (batch, *scale));
                self.tables
                    .codes(setting, keys, &round, small, &|n| progress.advance(n))
            };
            pertinent.iter().enumerate().map(of_batch).collect()
        })
    }

    /// The ciphertexts of a round in windows whose symbols fit memory.
    fn windows(&self, plan: &DigestPlan) -> Vec<Range<usize>> {
        let ciphertext_bytes = plan.stride() * self.params.slots() * size_of::<u32>();
        let together = (WINDOW_BYTES / ciphertext_bytes).max(1);
        (0..plan.ciphertexts())
            .step_by(together)
            .map(|start| start..(start + together).min(plan.ciphertexts()))
            .collect()
    }

    fn window(
        &self,
        run: &mut Run,
        group: usize,
        codes: &[Codes],
        window: Range<usize>,
        finisher: &mut Finisher,
    ) -> Result<(), DetectorError> {
        let (plan, params) = (run.plan, &self.params);
        let symbols = plan.symbols_of(window.start).start..plan.symbols_of(window.end - 1).end;
        let mut sums: Vec<Sums> = window
            .clone()
            .map(|ct| Sums::new(params.compression(), plan.symbols_of(ct).len()))
            .collect();
        run.progress
            .stage("payloads", (codes.len() * window.len()) as u64);
        let shape = Shape::new(params.compression(), plan);
        let mut scratch = None;
        for (i, (batch, codes)) in plan.group(group).zip(codes).enumerate() {
            let shared = self.shared(run, batch);
            let kept = KeptSymbols::new(shape, window.clone(), shared.as_ref());
            let values = match kept.is_complete() {
                true => None,
                false => Some(self.symbols(run, batch, i, symbols.clone())?),
            };
            let mut encoder = Encoder {
                shape,
                kept: &kept,
                window: values.as_ref(),
                shared: shared.as_ref(),
                scratch: &mut scratch,
            };
            for (ct, sums) in window.clone().zip(&mut sums) {
                run.stages.time("payloads", || encoder.add(codes, ct, sums));
                run.progress.advance(1);
                check_stopped(run.progress)?;
            }
        }
        run.progress.stage("packing", window.len() as u64);
        let progress = run.progress;
        let keys = self.key.compression(params);
        run.stages.time("packing", || {
            for sums in sums {
                finisher.push(&sums.pack(plan.sums(), keys));
                progress.advance(1);
            }
        });
        Ok(())
    }

    /// A window of symbols of a batch; payloads are read piece by piece.
    fn symbols(
        &self,
        run: &mut Run,
        batch: usize,
        batch_in_group: usize,
        symbols: Range<usize>,
    ) -> Result<SymbolWindow, DetectorError> {
        let params = &self.params;
        let (stages, seed) = (&mut run.stages, &run.seed);
        let mut window = stages.time("payloads", || {
            let placement = Placement::new(seed, batch, params.slots());
            SymbolWindow::new(
                params,
                self.tables.classes(),
                batch_in_group,
                &placement,
                symbols,
            )
        });
        let Some(bytes) = run.plan.payload_bytes() else {
            return Ok(window);
        };
        let messages = run.plan.batch(batch);
        let together = (PIECE_BYTES / bytes).next_multiple_of(MESSAGES_TOGETHER);
        for start in messages.clone().step_by(together) {
            let piece = start..(start + together as u64).min(messages.end);
            let payloads = stages.time("read", || run.source.payloads(piece.clone()));
            let payloads = payloads.map_err(DetectorError::Source)?;
            check_len(
                "payloads",
                bytes * (piece.end - piece.start) as usize,
                payloads.len(),
            )?;
            let first = (start - messages.start) as usize;
            stages.time("payloads", || {
                let fingerprints = run.fingerprints[batch].get(first..);
                let packing = packing(params.p().value(), bytes, run.plan.has_fingerprints())?;
                window.fill(
                    &packing,
                    (start, first),
                    &payloads,
                    fingerprints.unwrap_or_default(),
                )
            })?;
        }
        Ok(window)
    }
}
