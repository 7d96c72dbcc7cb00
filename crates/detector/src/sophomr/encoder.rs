//! Symbols as plaintexts, encoded as they are needed or taken from a cache.

use crate::progress::check_stopped;
use crate::sophomr::cache::{Part, PartKey, SharedBatch};
use crate::sophomr::payload::SymbolWindow;
use crate::{DetectorError, Progress};
use omr_compress::{Codes, Plaintexts, SYMBOLS_TOGETHER, Setting, Sums, SumsShape};
use omr_protocol::sophomr::DigestPlan;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// How the symbols of a digest are encoded.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    setting: Setting<'a>,
    sums: SumsShape,
    payload_bytes: Option<usize>,
}

impl<'a> Shape<'a> {
    pub(crate) fn new(setting: Setting<'a>, plan: &DigestPlan) -> Self {
        Self {
            setting,
            sums: plan.sums(),
            payload_bytes: plan.payload_bytes(),
        }
    }

    fn key(self, symbols: Range<usize>) -> PartKey {
        PartKey::Payloads {
            bytes: self.payload_bytes,
            width: self.sums.width(),
            symbols,
        }
    }

    fn room(self, symbols: usize) -> Plaintexts {
        Plaintexts::new(self.setting, self.sums, symbols)
    }

    fn bytes(self, symbols: usize) -> usize {
        symbols * Plaintexts::words(self.setting, self.sums) * size_of::<u64>()
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
        let runs = ciphertexts.flat_map(|ct| shape.sums.runs(ct));
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
    /// Asked whether to go on.
    pub(crate) progress: &'a dyn Progress,
}

impl Encoder<'_> {
    /// Adds the batch's products to the sums of a ciphertext's symbols, for each recipient.
    ///
    /// Errors: `Stopped`.
    pub(crate) fn add<'a>(
        &mut self,
        codes: &[Codes],
        ciphertext: usize,
        sums: &mut [&mut Sums<'a>],
    ) -> Result<(), DetectorError> {
        let progress = self.progress;
        let first = self.shape.sums.symbols_of(ciphertext).start;
        for run in self.shape.sums.runs(ciphertext) {
            let to = run.start - first..run.end - first;
            self.with(run, |plaintexts| {
                for (codes, sums) in codes.iter().zip(sums.iter_mut()) {
                    check_stopped(progress)?;
                    sums.add(codes, plaintexts, to.clone());
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Calls `work` with the plaintexts of a run of [`SumsShape::runs`].
    ///
    /// Errors: those of `work`.
    fn with(
        &mut self,
        run: Range<usize>,
        work: impl FnOnce(&Plaintexts) -> Result<(), DetectorError>,
    ) -> Result<(), DetectorError> {
        if let Some(kept) = self.kept.runs.get(&run.start) {
            return work(kept);
        }
        let (shape, Some(window)) = (self.shape, self.window) else {
            unreachable!("symbols are read unless all are kept")
        };
        let bytes = shape.bytes(run.len());
        let key = shape.key(run.clone());
        let columns: Vec<&[u32]> = run.clone().map(|symbol| window.column(symbol)).collect();
        match self.shared.and_then(|shared| shared.room(key, bytes)) {
            Some(room) => {
                let mut plaintexts = shape.room(run.len());
                plaintexts.encode(shape.setting, window.order(), &columns);
                work(&plaintexts)?;
                room.fill(Part::Payloads(Arc::new(plaintexts)));
            }
            None => {
                let most = shape.sums.stride().min(shape.sums.symbols());
                let scratch = self
                    .scratch
                    .get_or_insert_with(|| shape.room(SYMBOLS_TOGETHER.min(most)));
                scratch.encode(shape.setting, window.order(), &columns);
                work(scratch)?;
            }
        }
        Ok(())
    }
}
