//! Symbols as plaintexts, encoded as they are needed or taken from a cache.

use crate::payload::{Plaintexts, SymbolWindow};
use crate::shared::{Part, PartKey, SharedBatch};
use omr_protocol::{DigestPlan, Params, SlotClasses};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Symbols encoded at a time: what a piece reads of them stays in the second-level cache too.
const SYMBOLS: usize = 32;

/// How the symbols of a digest are encoded.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    params: &'a Params,
    classes: &'a SlotClasses,
    plan: &'a DigestPlan,
}

impl<'a> Shape<'a> {
    pub(crate) fn new(params: &'a Params, classes: &'a SlotClasses, plan: &'a DigestPlan) -> Self {
        Self {
            params,
            classes,
            plan,
        }
    }

    /// The symbols of a ciphertext, as many as are encoded together at a time.
    pub(crate) fn runs(
        self,
        ciphertext: usize,
    ) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
        let symbols = self.plan.symbols_of(ciphertext);
        let starts = symbols.clone().step_by(SYMBOLS);
        starts.map(move |start| start..(start + SYMBOLS).min(symbols.end))
    }

    fn key(self, symbols: Range<usize>) -> PartKey {
        PartKey::Payloads {
            bytes: self.plan.payload_bytes(),
            pad: self.pad(),
            symbols,
        }
    }

    fn pad(self) -> usize {
        self.plan.width() / 2
    }

    fn room(self, symbols: usize) -> Plaintexts {
        Plaintexts::new(self.params, self.classes, symbols, self.pad())
    }

    fn bytes(self, symbols: usize) -> usize {
        symbols * Plaintexts::words(self.params, self.classes, self.pad()) * size_of::<u64>()
    }
}

/// What a cache has of a batch's symbols, by the first of a run. It stays there while this lives.
pub(crate) struct KeptSymbols {
    runs: HashMap<usize, Arc<Plaintexts>>,
    complete: bool,
}

impl KeptSymbols {
    /// Those of some ciphertexts.
    pub(crate) fn new(
        shape: Shape,
        ciphertexts: Range<usize>,
        shared: Option<&SharedBatch>,
    ) -> Self {
        let runs = ciphertexts.flat_map(|ct| shape.runs(ct));
        let known = |run: Range<usize>| {
            let plaintexts = shared?.payloads(&shape.key(run.clone()))?;
            Some((run.start, plaintexts))
        };
        let kept: HashMap<_, _> = runs.clone().filter_map(known).collect();
        Self {
            complete: kept.len() == runs.count(),
            runs: kept,
        }
    }

    /// Whether nothing is left to encode.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }
}

/// The plaintexts of one batch.
pub(crate) struct Encoder<'a> {
    pub(crate) shape: Shape<'a>,
    pub(crate) kept: &'a KeptSymbols,
    /// None: all are kept.
    pub(crate) window: Option<&'a SymbolWindow>,
    /// Where to keep what is encoded.
    pub(crate) shared: Option<&'a SharedBatch<'a>>,
    /// Memory for what is not kept; fresh pages are dear.
    pub(crate) scratch: &'a mut Option<Plaintexts>,
}

impl Encoder<'_> {
    /// Calls `work` with the plaintexts of a run of [`Shape::runs`].
    pub(crate) fn with(&mut self, run: Range<usize>, work: impl FnOnce(&Plaintexts)) {
        if let Some(kept) = self.kept.runs.get(&run.start) {
            return work(kept);
        }
        let (shape, Some(window)) = (self.shape, self.window) else {
            unreachable!("symbols are read unless all are kept")
        };
        let bytes = shape.bytes(run.len());
        let key = shape.key(run.clone());
        match self.shared.and_then(|shared| shared.room(key, bytes)) {
            Some(room) => {
                let mut plaintexts = shape.room(run.len());
                plaintexts.encode(shape.params, window, run.clone());
                work(&plaintexts);
                room.fill(Part::Payloads(Arc::new(plaintexts)));
            }
            None => {
                let scratch = self.scratch.get_or_insert_with(|| {
                    shape.room(SYMBOLS.min(shape.plan.stride()).min(shape.plan.symbols()))
                });
                scratch.encode(shape.params, window, run);
                work(scratch);
            }
        }
    }
}
