//! The payloads of a section as plaintexts, prepared for all recipients.

use crate::fetch::{Fetch, Places};
use omr_ring::AlignedVec;
use omr_ring::parallel::*;

/// The number of residues of a plaintext that are read together.
pub(crate) const PIECE: usize = 512;

/// Stands for a place without a message.
const NONE: u32 = u32::MAX;

/// The encoded symbols of a section's messages: for each symbol and row a plaintext, as residues modulo the primes of
/// sums, in 4 bytes each.
pub struct Prepared {
    symbols: usize,
    rows: usize,
    /// The residues of a piece, and the pieces of a plaintext.
    piece: usize,
    pieces: usize,
    /// Symbol by symbol: by prime, piece and row.
    words: Vec<Vec<u32>>,
}

impl Prepared {
    /// Encodes the symbols of a section's messages.
    ///
    /// Shape: `values` has `symbols` residues modulo p for each message, message by message, of at most as many messages
    /// as have places. Panics: for other lengths.
    pub fn new(fetch: &Fetch, places: &Places, symbols: usize, values: &[u32]) -> Self {
        let messages = values.len() / symbols;
        assert_eq!(values.len(), messages * symbols, "symbols of each message");
        assert!(messages <= places.messages(), "messages with places");
        let (ring, sums, rows) = (&fetch.ring, fetch.sums(), fetch.spec().rows);
        let at_slots = message_at_slots(fetch, places, messages);
        let n = ring.n();
        let piece = PIECE.min(n);
        let p = fetch.p().value() as u32;
        let encode = |symbol: usize| {
            let mut words = vec![0; sums.len() * n * rows];
            let (mut slots, mut coefficients) = (vec![0; n], vec![0; n]);
            let (mut scratch, mut residues) = (AlignedVec::zeroed(n), AlignedVec::zeroed(n));
            for (row, of_row) in at_slots.chunks(n).enumerate() {
                for (slot, &message) in slots.iter_mut().zip(of_row) {
                    let value = values.get(message as usize * symbols + symbol);
                    *slot = if message == NONE {
                        0
                    } else {
                        value.copied().unwrap_or(0)
                    };
                }
                fetch
                    .plain
                    .encode_into(&slots, &mut scratch, &mut coefficients);
                for (limb, &id) in sums.ids().iter().enumerate() {
                    let kernels = ring.kernels();
                    kernels.lift_centered(ring.modulus(id), &mut residues, &coefficients, p);
                    kernels.ntt_forward(ring.table(id), &mut residues);
                    for (at, part) in residues.chunks(piece).enumerate() {
                        let first = ((limb * (n / piece) + at) * rows + row) * piece;
                        let to = words[first..first + piece].iter_mut();
                        to.zip(part).for_each(|(word, &x)| *word = x as u32);
                    }
                }
            }
            words
        };
        Self {
            words: (0..symbols).into_par_iter().map(encode).collect(),
            symbols,
            rows,
            piece,
            pieces: n / piece,
        }
    }

    /// Returns the number of symbols of a message.
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// Returns the memory that the plaintexts of a section take, in bytes.
    pub fn bytes_of(fetch: &Fetch, symbols: usize) -> usize {
        4 * symbols * fetch.spec().rows * fetch.sums().len() * fetch.spec().n
    }

    /// Iterates over the rows of a piece of a symbol.
    pub(crate) fn rows(
        &self,
        symbol: usize,
        limb: usize,
        piece: usize,
    ) -> impl Iterator<Item = &[u32]> {
        let size = self.rows * self.piece;
        let first = (limb * self.pieces + piece) * size;
        self.words[symbol][first..first + size].chunks(self.piece)
    }
}

/// Returns for each row and slot the number of the message there, or [`NONE`].
fn message_at_slots(fetch: &Fetch, places: &Places, messages: usize) -> Vec<u32> {
    let (n, spec) = (fetch.spec().n, fetch.spec());
    let positions = fetch.positions();
    let mut slot_of = vec![0; n];
    for (slot, [bucket, position]) in fetch.slot_places().into_iter().enumerate() {
        slot_of[bucket * positions + position] = slot;
    }
    let mut out = vec![NONE; spec.rows * n];
    for message in 0..messages {
        for place in places.of(message) {
            let slot = slot_of[place.bucket * positions + place.position];
            out[place.row * n + slot] = message as u32;
        }
    }
    out
}
