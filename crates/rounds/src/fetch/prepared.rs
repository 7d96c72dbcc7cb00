//! The payloads of a page as plaintexts, prepared for all recipients.

use crate::fetch::{Fetch, Places};
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, WORD_LINE, place_words};

/// Stands for a place without a message.
const NONE: u32 = u32::MAX;

/// The number of symbols that are encoded before they are written to their places.
const SYMBOLS_TOGETHER: usize = 16;

/// The number of lines that are written together.
const LINES_TOGETHER: usize = 16;

/// The encoded symbols of a page's messages: for each symbol a plaintext, as residues modulo the primes of sums, in 4
/// bytes each.
pub struct Prepared {
    symbols: usize,
    /// For each prime the plaintexts of all symbols, interleaved as [`omr_ring::WordRows`] takes them.
    words: Vec<AlignedVec>,
}

impl Prepared {
    /// Encodes the symbols of a page's messages.
    ///
    /// Shape: `values` has `symbols` residues modulo p for each message, message by message, of at most as many messages
    /// as have places. Panics: for other lengths.
    pub fn new(fetch: &Fetch, places: &Places, symbols: usize, values: &[u32]) -> Self {
        let messages = values.len() / symbols;
        assert_eq!(values.len(), messages * symbols, "symbols of each message");
        assert!(messages <= places.messages(), "messages with places");
        let n = fetch.ring.n();
        let at_slots = message_at_slots(fetch, places, messages);
        let limbs = fetch.sums().len();
        let mut words: Vec<AlignedVec> = (0..limbs)
            .map(|_| AlignedVec::zeroed(n * symbols / 2))
            .collect();
        for first in (0..symbols).step_by(SYMBOLS_TOGETHER) {
            let together = first..symbols.min(first + SYMBOLS_TOGETHER);
            let encoded: Vec<Vec<AlignedVec>> = together
                .clone()
                .into_par_iter()
                .map(|symbol| encode(fetch, &at_slots, symbols, symbol, values))
                .collect();
            for (limb, to) in words.iter_mut().enumerate() {
                let lines = LINES_TOGETHER.min(n / WORD_LINE);
                to.halves_mut()
                    .par_chunks_mut(lines * symbols * WORD_LINE)
                    .enumerate()
                    .for_each(|(chunk, out)| {
                        let from = chunk * lines * WORD_LINE;
                        for (symbol, of_symbol) in together.clone().zip(&encoded) {
                            let part = &of_symbol[limb][from..from + lines * WORD_LINE];
                            place_words(out, symbols, symbol, &[part]);
                        }
                    });
            }
        }
        Self { symbols, words }
    }

    /// Returns the number of symbols of a message.
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// Returns the memory that the plaintexts of a page take, in bytes.
    pub fn bytes_of(fetch: &Fetch, symbols: usize) -> usize {
        4 * symbols * fetch.sums().len() * fetch.spec().n
    }

    /// Returns the words of some lines modulo one prime.
    pub(crate) fn lines(&self, limb: usize, lines: std::ops::Range<usize>) -> &[u32] {
        let line = self.symbols * WORD_LINE;
        &self.words[limb].halves()[lines.start * line..lines.end * line]
    }
}

/// Returns the plaintext of a symbol modulo each prime.
fn encode(
    fetch: &Fetch,
    at_slots: &[u32],
    symbols: usize,
    symbol: usize,
    values: &[u32],
) -> Vec<AlignedVec> {
    let (ring, p) = (&fetch.ring, fetch.p().value() as u32);
    let n = ring.n();
    let (mut slots, mut coefficients) = (vec![0; n], vec![0; n]);
    let mut scratch = AlignedVec::zeroed(n);
    for (slot, &message) in slots.iter_mut().zip(at_slots) {
        if message != NONE {
            *slot = values[message as usize * symbols + symbol];
        }
    }
    fetch
        .plain
        .encode_into(&slots, &mut scratch, &mut coefficients);
    let plaintext = |&id: &usize| {
        let mut residues = AlignedVec::zeroed(n);
        let kernels = ring.kernels();
        kernels.lift_centered(ring.modulus(id), &mut residues, &coefficients, p);
        kernels.ntt_forward(ring.table(id), &mut residues);
        residues
    };
    fetch.sums().ids().iter().map(plaintext).collect()
}

/// Returns for each slot the number of the message there, or [`NONE`].
fn message_at_slots(fetch: &Fetch, places: &Places, messages: usize) -> Vec<u32> {
    let (n, positions) = (fetch.spec().n, fetch.positions());
    let mut slot_of = vec![0; n];
    for (slot, [bucket, position]) in fetch.slot_places().into_iter().enumerate() {
        slot_of[bucket * positions + position] = slot;
    }
    let mut out = vec![NONE; n];
    for message in 0..messages {
        for place in places.of(message) {
            let slot = slot_of[place.bucket * positions + place.position];
            out[slot] = message as u32;
        }
    }
    out
}
