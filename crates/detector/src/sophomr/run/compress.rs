//! From pertinency to a digest: codes, payloads, sums, packing.

use super::{Pertinency, Run};
use crate::DetectorError;
use crate::error::check_len;
use crate::progress::check_stopped;
use crate::sophomr::encoder::{Encoder, Shape};
use crate::sophomr::payload::{MESSAGES_TOGETHER, SymbolWindow};
use omr_codec::Symbols;
use omr_compress::{Codes, Images, Round, Sums};
use omr_protocol::Placement;
use omr_protocol::sophomr::packing;
use omr_rlwe::Rlwe;
use std::ops::Range;

/// Largest length in bytes of the symbols in memory; larger payloads are read in several passes.
const WINDOW_BYTES: usize = 1 << 30;

/// Number of codes in memory, over all batches, recipients and rounds: 0.07 GB each at full size.
const CODES_TOGETHER: usize = 12;

/// The images that the codes of one batch are made of.
struct BatchImages<'a> {
    /// The factor by which the small ciphertexts are scaled.
    scale: u64,
    by_recipient: Vec<Images<'a>>,
}

/// Number of batches, of all recipients, whose images stay in memory for all rounds: 0.13 GB each at full size. Of more,
/// every round makes them again.
const IMAGES_TOGETHER: usize = 4;

/// The recipients and rounds whose sums are made together, because they take the same plaintexts.
struct Together {
    /// The first recipient, by number.
    first: usize,
    rounds: Range<usize>,
}

/// Bytes of payloads that are read at a time.
const PIECE_BYTES: usize = 64 << 20;

impl<'a> Run<'a> {
    /// Returns the packed sums of the batches of a group that this run covers, by recipient. `pertinent` has the
    /// pertinency vectors by recipient and batch.
    pub(super) fn compress(
        &mut self,
        group: usize,
        pertinent: &[Vec<Pertinency>],
    ) -> Result<Vec<Vec<Rlwe>>, DetectorError> {
        let (plan, batches) = (self.plan(), self.batches_of(group));
        let recipients = (CODES_TOGETHER / batches.len()).clamp(1, pertinent.len());
        let rounds = (CODES_TOGETHER / batches.len() / recipients).clamp(1, plan.rounds());
        let params = self.detector.params();
        let zero = Rlwe::zero(&params.small, &params.small_basis());
        let mut packed = vec![vec![zero; plan.sums().parts()]; pertinent.len()];
        for (chunk, of_chunk) in packed.chunks_mut(recipients).enumerate() {
            let first = chunk * recipients;
            let own = batches.start - self.batches.start..batches.end - self.batches.start;
            let of_group = pertinent[first..][..of_chunk.len()].iter();
            let of_group: Vec<&[Pertinency]> = of_group.map(|all| &all[own.clone()]).collect();
            let mut images = self.images(first, &of_group);
            for start in (0..plan.rounds()).step_by(rounds) {
                let together = Together {
                    first,
                    rounds: start..(start + rounds).min(plan.rounds()),
                };
                let codes = self.codes(group, &together, &mut images)?;
                for window in self.windows() {
                    self.window(group, &together, &codes, window, of_chunk)?;
                }
            }
        }
        for batch in batches {
            self.payloads.take(batch);
        }
        Ok(packed)
    }

    /// Returns the batches of a group that this run covers.
    fn batches_of(&self, group: usize) -> Range<usize> {
        let (all, own) = (self.plan().group(group), &self.batches);
        all.start.max(own.start)..all.end.min(own.end)
    }

    /// Prepares the images of a group's batches, for each recipient from number `first` on.
    fn images<'p>(&self, first: usize, pertinent: &[&'p [Pertinency]]) -> Vec<BatchImages<'p>>
    where
        'a: 'p,
    {
        let several = self.plan().rounds() > 1;
        let mut count = 0;
        let mut images = Vec::new();
        for batch in 0..pertinent[0].len() {
            let mut by_recipient = Vec::new();
            for (detector, batches) in self.detectors[first..].iter().zip(pertinent) {
                let keep = several && count < IMAGES_TOGETHER;
                let keys = detector.compression_keys();
                by_recipient.push(Images::new(keys, &batches[batch].0, keep));
                count += 1;
            }
            images.push(BatchImages {
                // All have one scale, because one circuit made them.
                scale: pertinent[0][batch].1,
                by_recipient,
            });
        }
        images
    }

    /// Makes the codes of a group's batches in some rounds: by batch, then by round and recipient.
    ///
    /// Errors: `Stopped`.
    fn codes(
        &mut self,
        group: usize,
        together: &Together,
        images: &mut [BatchImages],
    ) -> Result<Vec<Vec<Codes>>, DetectorError> {
        let (plan, progress) = (self.plan(), self.progress);
        let (setting, tables) = (self.detector.setting(), self.detector.tables());
        let before = self.batches_of(group).start - plan.group(group).start;
        let steps = images.len() * together.rounds.len() * plan.width() / 2;
        progress.stage("codes", steps as u64);
        self.stages.time("codes", || {
            let go_on = || {
                progress.advance(1);
                check_stopped(progress).is_ok()
            };
            let mut codes = Vec::new();
            for (batch, images) in (before..).zip(images) {
                let mut of_batch = Vec::new();
                for round in together.rounds.clone() {
                    let of_round = Round::new(setting, plan.sums(), round, batch, images.scale);
                    let recipients = &mut images.by_recipient;
                    let made = tables.codes(setting, &of_round, recipients, &go_on);
                    of_batch.extend(made.ok_or(DetectorError::Stopped)?);
                }
                codes.push(of_batch);
            }
            Ok(codes)
        })
    }

    /// Returns the ciphertexts of a round in windows whose symbols fit memory.
    fn windows(&self) -> Vec<Range<usize>> {
        let (plan, slots) = (self.plan(), self.detector.params().slots());
        let ciphertext_bytes = plan.stride() * slots * size_of::<u32>();
        let together = (WINDOW_BYTES / ciphertext_bytes).max(1);
        (0..plan.ciphertexts())
            .step_by(together)
            .map(|start| start..(start + together).min(plan.ciphertexts()))
            .collect()
    }

    /// Adds the packed sums of a window. Every batch is packed separately, so the digest's bytes do not depend on which
    /// batches a run covers.
    fn window(
        &mut self,
        group: usize,
        together: &Together,
        codes: &[Vec<Codes>],
        window: Range<usize>,
        packed: &mut [Vec<Rlwe>],
    ) -> Result<(), DetectorError> {
        let (plan, setting) = (self.plan(), self.detector.setting());
        let symbols = plan.symbols_of(window.start).start..plan.symbols_of(window.end - 1).end;
        let steps = (codes.len() * window.len()) as u64;
        self.progress.stage("payloads", steps);
        let shape = Shape::new(setting, plan);
        let mut scratch = None;
        let start = plan.group(group).start;
        for (batch, of_batch) in self.batches_of(group).zip(codes) {
            let values = self.symbols(batch, batch - start, symbols.clone())?;
            let mut encoder = Encoder {
                shape,
                window: &values,
                scratch: &mut scratch,
                progress: self.progress,
            };
            for ct in window.clone() {
                let count = plan.symbols_of(ct).len();
                let mut sums: Vec<Sums> =
                    of_batch.iter().map(|_| Sums::new(setting, count)).collect();
                self.stages
                    .time("payloads", || encoder.add(of_batch, ct, &mut sums))?;
                self.pack(together, ct, sums, packed)?;
                self.progress.advance(1);
            }
        }
        Ok(())
    }

    /// Packs a batch's sums of ciphertext `ct` of each round, by round and recipient, and adds them to the parts of their
    /// recipients.
    ///
    /// Errors: `Stopped`.
    fn pack(
        &mut self,
        together: &Together,
        ct: usize,
        sums: Vec<Sums>,
        packed: &mut [Vec<Rlwe>],
    ) -> Result<(), DetectorError> {
        let (plan, detectors) = (self.plan(), &self.detectors[together.first..]);
        let (ring, progress) = (&self.detector.params().small, self.progress);
        let mut sums = sums.into_iter();
        self.stages.time("packing", || {
            for round in together.rounds.clone() {
                let part = round * plan.ciphertexts() + ct;
                for (parts, detector) in packed.iter_mut().zip(detectors) {
                    check_stopped(progress)?;
                    let keys = detector.compression_keys().merge;
                    let own = sums.next().expect("sums of each round and recipient");
                    parts[part].add_assign(ring, &own.pack(plan.sums(), keys).here());
                }
            }
            Ok(())
        })
    }

    /// Makes a window of symbols of a batch.
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

    /// Returns whether the symbols of a batch are made more than once.
    fn uses_payloads_again(&self) -> bool {
        self.plan().rounds() * self.windows().len() > 1
    }

    /// Adds the payloads of a batch's messages from number `first` on.
    fn fill(
        &mut self,
        window: &mut SymbolWindow,
        batch: usize,
        first: usize,
        packing: &Symbols,
        payloads: &[u8],
    ) -> Result<(), DetectorError> {
        let start = self.plan().batch(batch).start + first as u64;
        let fingerprints = self.fingerprints[batch - self.batches.start]
            .get(first..)
            .unwrap_or_default();
        let fill = || window.fill(packing, start, first, payloads, fingerprints);
        self.stages.time("payloads", fill)
    }
}
