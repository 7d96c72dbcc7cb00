//! From pertinency to a digest: codes, payloads, sums, packing.

use super::{Pertinency, Run};
use crate::DetectorError;
use crate::error::check_len;
use crate::progress::check_stopped;
use crate::sophomr::encoder::{Encoder, KeptSymbols, Shape};
use crate::sophomr::payload::{MESSAGES_TOGETHER, SymbolWindow};
use omr_codec::Symbols;
use omr_compress::{Codes, Finisher, Round, Sums};
use omr_protocol::Placement;
use omr_protocol::sophomr::packing;
use std::ops::Range;

/// Bytes of symbols held at a time; larger payloads are read in several passes.
const WINDOW_BYTES: usize = 1 << 30;

/// Bytes of payloads read at a time.
const PIECE_BYTES: usize = 64 << 20;

impl Run<'_> {
    /// Adds the sums of a group's batches to the digest.
    pub(super) fn compress(
        &mut self,
        group: usize,
        pertinent: &[Pertinency],
        finisher: &mut Finisher,
    ) -> Result<(), DetectorError> {
        let plan = self.plan();
        for round in 0..plan.rounds() {
            let codes = self.codes(round, pertinent);
            for window in self.windows() {
                self.window(group, &codes, window, finisher)?;
            }
        }
        for batch in plan.group(group) {
            self.payloads.take(batch);
        }
        Ok(())
    }

    fn codes(&mut self, round: usize, pertinent: &[Pertinency]) -> Vec<Codes> {
        let (plan, detector, progress) = (self.plan(), self.detector, self.progress);
        let (setting, keys) = (detector.params().compression(), detector.compression_keys());
        progress.stage("codes", (pertinent.len() * plan.width() / 2) as u64);
        self.stages.time("codes", || {
            let of_batch = |(batch, (small, scale)): (usize, &Pertinency)| {
                let round = Round::new(setting, plan.sums(), round, (batch, *scale));
                let tables = detector.tables();
                tables.codes(setting, keys, &round, small, &|n| progress.advance(n))
            };
            pertinent.iter().enumerate().map(of_batch).collect()
        })
    }

    /// The ciphertexts of a round in windows whose symbols fit memory.
    fn windows(&self) -> Vec<Range<usize>> {
        let (plan, slots) = (self.plan(), self.detector.params().slots());
        let ciphertext_bytes = plan.stride() * slots * size_of::<u32>();
        let together = (WINDOW_BYTES / ciphertext_bytes).max(1);
        (0..plan.ciphertexts())
            .step_by(together)
            .map(|start| start..(start + together).min(plan.ciphertexts()))
            .collect()
    }

    fn window(
        &mut self,
        group: usize,
        codes: &[Codes],
        window: Range<usize>,
        finisher: &mut Finisher,
    ) -> Result<(), DetectorError> {
        let (plan, setting) = (self.plan(), self.detector.params().compression());
        let symbols = plan.symbols_of(window.start).start..plan.symbols_of(window.end - 1).end;
        let mut sums: Vec<Sums> = window
            .clone()
            .map(|ct| Sums::new(setting, plan.symbols_of(ct).len()))
            .collect();
        let steps = (codes.len() * window.len()) as u64;
        self.progress.stage("payloads", steps);
        let shape = Shape::new(setting, plan);
        let mut scratch = None;
        for (i, (batch, codes)) in plan.group(group).zip(codes).enumerate() {
            let shared = self.shared(batch);
            let kept = KeptSymbols::new(shape, window.clone(), shared.as_ref());
            let values = match kept.is_complete() {
                true => None,
                false => Some(self.symbols(batch, i, symbols.clone())?),
            };
            let mut encoder = Encoder {
                shape,
                kept: &kept,
                window: values.as_ref(),
                shared: shared.as_ref(),
                scratch: &mut scratch,
            };
            for (ct, sums) in window.clone().zip(&mut sums) {
                self.stages
                    .time("payloads", || encoder.add(codes, ct, sums));
                self.progress.advance(1);
                check_stopped(self.progress)?;
            }
        }
        self.pack(sums, finisher);
        Ok(())
    }

    fn pack(&mut self, sums: Vec<Sums>, finisher: &mut Finisher) {
        let (plan, progress) = (self.plan(), self.progress);
        progress.stage("packing", sums.len() as u64);
        let keys = self.detector.compression_keys();
        self.stages.time("packing", || {
            for sums in sums {
                finisher.push(&sums.pack(plan.sums(), keys));
                progress.advance(1);
            }
        });
    }

    /// A window of symbols of a batch.
    fn symbols(
        &mut self,
        batch: usize,
        batch_in_group: usize,
        symbols: Range<usize>,
    ) -> Result<SymbolWindow, DetectorError> {
        let (detector, plan, seed) = (self.detector, self.plan(), &self.header.seed);
        let params = detector.params();
        let mut window = self.stages.time("payloads", || {
            let placement = Placement::new(seed, batch, params.slots());
            let classes = detector.tables().classes();
            SymbolWindow::new(params, classes, batch_in_group, &placement, symbols)
        });
        let Some(bytes) = plan.payload_bytes() else {
            return Ok(window);
        };
        let packing = packing(params.p().value(), bytes, plan.has_fingerprints())?;
        match self.payloads.take(batch) {
            Some(payloads) => {
                self.fill(&mut window, batch, 0, &packing, &payloads)?;
                self.payloads.keep(batch, payloads);
            }
            None => self.fill_from_source(&mut window, batch, &packing, bytes)?,
        }
        Ok(window)
    }

    /// Reads the payloads of a batch piece by piece.
    fn fill_from_source(
        &mut self,
        window: &mut SymbolWindow,
        batch: usize,
        packing: &Symbols,
        bytes: usize,
    ) -> Result<(), DetectorError> {
        let messages = self.plan().batch(batch);
        let together = (PIECE_BYTES / bytes).next_multiple_of(MESSAGES_TOGETHER);
        for start in messages.clone().step_by(together) {
            let piece = start..(start + together as u64).min(messages.end);
            let expected = bytes * (piece.end - piece.start) as usize;
            let payloads = self.read_payloads(piece.clone())?;
            check_len("payloads", expected, payloads.len())?;
            let first = (start - messages.start) as usize;
            self.fill(window, batch, first, packing, &payloads)?;
            if piece == messages && self.uses_payloads_again() {
                self.payloads.keep(batch, payloads);
            }
        }
        Ok(())
    }

    /// Whether the symbols of a batch are made more than once.
    fn uses_payloads_again(&self) -> bool {
        self.plan().rounds() * self.windows().len() > 1
    }

    /// Fills in the payloads of a batch's messages from number `first` on.
    fn fill(
        &mut self,
        window: &mut SymbolWindow,
        batch: usize,
        first: usize,
        packing: &Symbols,
        payloads: &[u8],
    ) -> Result<(), DetectorError> {
        let start = self.plan().batch(batch).start + first as u64;
        let fingerprints = self.fingerprints[batch].get(first..).unwrap_or_default();
        let fill = || window.fill(packing, (start, first), payloads, fingerprints);
        self.stages.time("payloads", fill)
    }
}
