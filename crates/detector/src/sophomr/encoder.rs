//! Encoding of symbols as plaintexts, as they are needed.

use crate::progress::check_stopped;
use crate::sophomr::payload::SymbolWindow;
use crate::{DetectorError, Progress};
use omr_compress::{Codes, Plaintexts, SYMBOLS_TOGETHER, Setting, Sums, SumsShape};
use omr_protocol::sophomr::DigestPlan;

/// The shape in which the symbols of a digest are encoded.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    setting: Setting<'a>,
    sums: SumsShape,
}

impl<'a> Shape<'a> {
    pub(crate) fn new(setting: Setting<'a>, plan: &DigestPlan) -> Self {
        Self {
            setting,
            sums: plan.sums(),
        }
    }

    fn room(self, symbols: usize) -> Plaintexts {
        Plaintexts::new(self.setting, self.sums, symbols)
    }
}

/// An encoder of the plaintexts of one batch.
pub(crate) struct Encoder<'a> {
    pub(crate) shape: Shape<'a>,
    pub(crate) window: &'a SymbolWindow,
    /// Working memory, which is used again because fresh pages are expensive.
    pub(crate) scratch: &'a mut Option<Plaintexts>,
    /// The observer that may stop the work.
    pub(crate) progress: &'a dyn Progress,
}

impl Encoder<'_> {
    /// Adds the products with each of some codes to its own sums of a ciphertext's symbols.
    ///
    /// Errors: `Stopped`.
    pub(crate) fn add<'a>(
        &mut self,
        codes: &[Codes],
        ciphertext: usize,
        sums: &mut [Sums<'a>],
    ) -> Result<(), DetectorError> {
        let (shape, window) = (self.shape, self.window);
        let first = shape.sums.symbols_of(ciphertext).start;
        let most = shape.sums.stride().min(shape.sums.symbols());
        let plaintexts = self
            .scratch
            .get_or_insert_with(|| shape.room(SYMBOLS_TOGETHER.min(most)));
        for run in shape.sums.runs(ciphertext) {
            let columns: Vec<&[u32]> = run.clone().map(|symbol| window.column(symbol)).collect();
            plaintexts.encode(shape.setting, window.order(), &columns);
            let to = run.start - first..run.end - first;
            for (codes, sums) in codes.iter().zip(sums.iter_mut()) {
                check_stopped(self.progress)?;
                sums.add(codes, plaintexts, to.clone());
            }
        }
        Ok(())
    }
}
