//! Payloads as plaintexts: one symbol of all messages of a batch at a time.

use crate::DetectorError;
use omr_codec::Symbols;
use omr_protocol::sophomr::{CHECKSUM_SYMBOLS, INDEX_SYMBOLS, Params, checksum};
use omr_protocol::{Placement, SlotClasses};
use omr_ring::Blocks;
use rayon::prelude::*;
use std::ops::Range;

/// A window of symbols of one batch, symbol by symbol and message by message. Readers of slots go through the
/// placement, so that messages can be written beside their neighbours.
pub(crate) struct SymbolWindow {
    symbols: Range<usize>,
    /// For each class, in the order of the small evaluation domain, the message in it.
    order: Vec<u32>,
    /// One column for each symbol, in halves of words.
    values: Blocks,
}

/// Number of messages whose symbols are made together.
pub(crate) const MESSAGES_TOGETHER: usize = 256;

/// Number of messages whose symbols are transposed together: one cache line of a column.
const LINE: usize = 16;

impl SymbolWindow {
    /// Makes a window with the index symbols among `symbols`; [`SymbolWindow::fill`] adds those of payloads.
    pub(crate) fn new(
        params: &Params,
        classes: &SlotClasses,
        batch_in_group: usize,
        placement: &Placement,
        symbols: Range<usize>,
    ) -> Self {
        let slots = params.slots();
        let mut values = Blocks::zeroed(symbols.len(), slots / 2);
        for (row, symbol) in values.halves_mut().zip(symbols.clone()).take(INDEX_SYMBOLS) {
            for (&slot, value) in placement.slots().iter().zip(row) {
                match symbol {
                    0 => *value = 1,
                    1 => *value = params.nodes.node(batch_in_group, slot as usize),
                    _ => {}
                }
            }
        }
        Self {
            symbols,
            order: classes.order(&params.small_plain, placement.messages()),
            values,
        }
    }

    /// Adds the symbols of payloads, which follow one another in `payloads`. The first payload is that of message
    /// `message`, number `first` of the batch (a multiple of [`MESSAGES_TOGETHER`]). There are as many fingerprints, or
    /// none if the packing has none.
    ///
    /// Errors: a payload size that the code does not support.
    pub(crate) fn fill(
        &mut self,
        code: &Symbols,
        message: u64,
        first: usize,
        payloads: &[u8],
        fingerprints: &[u32],
    ) -> Result<(), DetectorError> {
        let bytes = code.payload_bytes();
        let all = INDEX_SYMBOLS + code.count() + CHECKSUM_SYMBOLS;
        let (low, high) = (
            self.symbols.start.max(INDEX_SYMBOLS),
            self.symbols.end.min(all),
        );
        if low >= high {
            return Ok(());
        }
        let skip = low - INDEX_SYMBOLS;
        let body = low - self.symbols.start;
        let mut columns: Vec<_> = self
            .values
            .halves_mut()
            .skip(body)
            .take(high - low)
            .map(|column| column[first..].chunks_mut(MESSAGES_TOGETHER))
            .collect();
        let mut tasks = Vec::new();
        for chunk in payloads.chunks(MESSAGES_TOGETHER * bytes) {
            let parts: Vec<&mut [u32]> = columns.iter_mut().filter_map(Iterator::next).collect();
            let number = tasks.len() * MESSAGES_TOGETHER;
            let of_chunk = fingerprints.get(number..).unwrap_or_default();
            tasks.push((message + number as u64, chunk, of_chunk, parts));
        }
        let coder = Coder {
            code,
            with_checksum: high > all - CHECKSUM_SYMBOLS,
        };
        tasks
            .into_par_iter()
            .try_for_each(|(first, chunk, of_chunk, mut parts)| {
                coder.columns(first, chunk, of_chunk, skip, &mut parts)
            })
    }

    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(crate) fn column(&self, symbol: usize) -> &[u32] {
        self.values.halves(symbol - self.symbols.start)
    }
}

/// An encoder of payloads as symbols.
struct Coder<'a> {
    code: &'a Symbols,
    with_checksum: bool,
}

impl Coder<'_> {
    /// Writes the symbols from `skip` on of messages `first`, `first + 1`, ..., one column for each symbol.
    fn columns(
        &self,
        first: u64,
        payloads: &[u8],
        fingerprints: &[u32],
        skip: usize,
        columns: &mut [&mut [u32]],
    ) -> Result<(), DetectorError> {
        let bytes = self.code.payload_bytes();
        let count = self.code.count() + CHECKSUM_SYMBOLS;
        let mut rows = vec![0u32; LINE * count];
        for (line, chunk) in payloads.chunks(LINE * bytes).enumerate() {
            let start = line * LINE;
            let messages = chunk.len() / bytes;
            let each = chunk.chunks_exact(bytes).zip(rows.chunks_mut(count));
            for (i, (payload, row)) in each.enumerate() {
                let fingerprint = fingerprints.get(start + i).copied().unwrap_or(0);
                self.symbols(first + (start + i) as u64, payload, fingerprint, row)?;
            }
            for (symbol, column) in columns.iter_mut().enumerate() {
                for (i, value) in column[start..start + messages].iter_mut().enumerate() {
                    *value = rows[i * count + skip + symbol];
                }
            }
        }
        Ok(())
    }

    fn symbols(
        &self,
        message: u64,
        payload: &[u8],
        fingerprint: u32,
        row: &mut [u32],
    ) -> Result<(), DetectorError> {
        let (body, sum) = row.split_at_mut(self.code.count());
        self.code.pack_marked(payload, fingerprint, body)?;
        if self.with_checksum {
            sum.copy_from_slice(&checksum(message, payload, self.code));
        }
        Ok(())
    }
}
