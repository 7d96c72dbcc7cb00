//! Payloads as plaintexts: one symbol of all messages of a batch at a time.

use crate::DetectorError;
use omr_codec::Symbols;
use omr_protocol::plan::{CHECKSUM_SYMBOLS, INDEX_SYMBOLS, checksum};
use omr_protocol::{Params, Placement, SlotClasses};
use rayon::prelude::*;
use std::ops::Range;

/// A window of symbols of one batch: symbol by symbol, message by message. Slots read through the
/// placement, so that messages are written where their neighbours are.
pub(crate) struct SymbolWindow {
    symbols: Range<usize>,
    slots: usize,
    placement: Placement,
    values: Vec<u32>,
}

/// Messages whose symbols are made together, so that writes stay near each other.
pub(crate) const MESSAGES_TOGETHER: usize = 256;

impl SymbolWindow {
    /// The index symbols among `symbols`; those of payloads wait for [`SymbolWindow::fill`].
    pub(crate) fn new(
        params: &Params,
        batch_in_group: usize,
        placement: Placement,
        symbols: Range<usize>,
    ) -> Self {
        let slots = params.slots();
        let mut values = vec![0u32; symbols.len() * slots];
        for (row, symbol) in values
            .chunks_mut(slots)
            .zip(symbols.clone())
            .take(INDEX_SYMBOLS)
        {
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
            slots,
            placement,
            values,
        }
    }

    /// Takes the payloads of `bytes` bytes each that lie one after another in `payloads`, the
    /// first one that of message `message`, number `first` of the batch (a multiple of
    /// [`MESSAGES_TOGETHER`]).
    ///
    /// Errors: a payload size that the code does not take.
    pub(crate) fn fill(
        &mut self,
        params: &Params,
        bytes: usize,
        (message, first): (u64, usize),
        payloads: &[u8],
    ) -> Result<(), DetectorError> {
        let p = params.p().value();
        let code = Symbols::new(p as u32, bytes)?;
        let all = INDEX_SYMBOLS + code.count() + CHECKSUM_SYMBOLS;
        let (low, high) = (
            self.symbols.start.max(INDEX_SYMBOLS),
            self.symbols.end.min(all),
        );
        if low >= high {
            return Ok(());
        }
        let skip = low - INDEX_SYMBOLS;
        let body = (low - self.symbols.start) * self.slots;
        let mut rows: Vec<_> = self.values[body..]
            .chunks_mut(self.slots)
            .take(high - low)
            .map(|row| row[first..].chunks_mut(MESSAGES_TOGETHER))
            .collect();
        let mut tasks = Vec::new();
        for chunk in payloads.chunks(MESSAGES_TOGETHER * bytes) {
            let parts: Vec<&mut [u32]> = rows.iter_mut().filter_map(Iterator::next).collect();
            tasks.push((
                message + (tasks.len() * MESSAGES_TOGETHER) as u64,
                chunk,
                parts,
            ));
        }
        let with_checksum = high > INDEX_SYMBOLS + code.count();
        tasks
            .into_par_iter()
            .try_for_each(|(first, chunk, mut parts)| {
                let mut symbols = vec![0u32; code.count() + CHECKSUM_SYMBOLS];
                for (i, payload) in chunk.chunks_exact(bytes).enumerate() {
                    code.pack(payload, &mut symbols[..code.count()])?;
                    if with_checksum {
                        symbols[code.count()..].copy_from_slice(&checksum(
                            first + i as u64,
                            payload,
                            p,
                        ));
                    }
                    for (part, &value) in parts.iter_mut().zip(&symbols[skip..]) {
                        part[i] = value;
                    }
                }
                Ok(())
            })
    }

    fn row(&self, symbol: usize) -> &[u32] {
        let i = symbol - self.symbols.start;
        &self.values[i * self.slots..(i + 1) * self.slots]
    }

    /// The encoded plaintexts of a symbol, by class and limb, in slot order, each slot row followed
    /// by its own beginning, so that a rotation of up to `pad` slots is a shifted read.
    pub(crate) fn plaintexts(
        &self,
        params: &Params,
        classes: &SlotClasses,
        symbol: usize,
        pad: usize,
    ) -> Vec<Vec<u64>> {
        let (ring, plain, n) = (&params.small, &params.small_plain, params.small.n());
        let basis = params.small_basis();
        let half = n / 2;
        let (mut slots, mut coeffs) = (vec![0u32; n], vec![0u32; n]);
        let (mut scratch, mut row) = (vec![0u64; n], vec![0u64; n]);
        let mut out = Vec::with_capacity(classes.classes() * basis.len());
        for class in 0..classes.classes() {
            for (slot, &z) in slots.iter_mut().zip(classes.slots(class)) {
                *slot = self.row(symbol)[self.placement.messages()[z as usize] as usize];
            }
            plain.encode_into(&slots, &mut scratch, &mut coeffs);
            for limb in 0..basis.len() {
                let m = ring.modulus(limb);
                ring.kernels()
                    .lift_centered(m, &mut row, &coeffs, params.p().value() as u32);
                ring.kernels().ntt_forward(ring.table(limb), &mut row);
                let mut padded = vec![0u64; 2 * (half + pad)];
                ring.kernels()
                    .gather(&mut scratch, &row, plain.order().positions());
                for (target, source) in padded.chunks_mut(half + pad).zip(scratch.chunks(half)) {
                    target[..half].copy_from_slice(source);
                    target[half..].copy_from_slice(&source[..pad]);
                }
                out.push(padded);
            }
        }
        out
    }
}
