//! The payloads of a page as plaintexts, prepared for all recipients.

use crate::fetch::{Fetch, Places};
use omr_compress::SumsShape;
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, WORD_LINE, place_words};
use std::ops::Range;

/// The number of symbols that are encoded before they are written to their places.
const SYMBOLS_TOGETHER: usize = 16;

/// The number of lines that are written together.
const LINES_TOGETHER: usize = 16;

/// The encoded symbols of a page's messages: for each symbol a plaintext, as residues modulo the primes of sums, in 4
/// bytes each.
pub struct Prepared {
    shape: SumsShape,
    /// The number of slots.
    n: usize,
    /// For each prime and each ciphertext of an answer the plaintexts of its symbols, as [`omr_ring::WordRows`] takes a
    /// term. All lie in one piece of memory, which is large enough for huge pages.
    words: AlignedVec,
}

impl Prepared {
    /// Encodes the symbols of a page's messages.
    ///
    /// Shape: `values` has `symbols` residues modulo p for each message, message by message, of at most as many messages
    /// as have places. Panics: for other lengths.
    pub fn new(fetch: &Fetch, places: &Places, symbols: usize, values: &[u32]) -> Self {
        let shape = fetch.answer_shape(symbols).expect("at least one symbol");
        let columns = Columns::new(fetch, places, symbols, values);
        let n = fetch.ring.n();
        let mut prepared = Self {
            shape,
            n,
            words: AlignedVec::zeroed(Self::bytes_of(fetch, symbols) / 8),
        };
        let mut rooms: Vec<Room> = (0..SYMBOLS_TOGETHER).map(|_| Room::new(fetch)).collect();
        for ciphertext in 0..shape.ciphertexts() {
            let own = shape.symbols_of(ciphertext);
            for first in own.clone().step_by(SYMBOLS_TOGETHER) {
                let together = own.end.min(first + SYMBOLS_TOGETHER) - first;
                let rooms = &mut rooms[..together];
                rooms
                    .par_iter_mut()
                    .enumerate()
                    .for_each(|(i, room)| columns.encode(fetch, first + i, room));
                for limb in 0..fetch.sums().len() {
                    let rows: Vec<&[u64]> = rooms.iter().map(|room| &room.rows[limb][..]).collect();
                    let range = prepared.range(limb, ciphertext);
                    let to = &mut prepared.words.halves_mut()[range];
                    place(to, own.len(), first - own.start, &rows);
                }
            }
        }
        prepared
    }

    /// Returns where the words of a ciphertext's symbols lie modulo one prime.
    fn range(&self, limb: usize, ciphertext: usize) -> Range<usize> {
        let own = self.shape.symbols_of(ciphertext);
        let first = limb * self.shape.symbols() * self.n;
        first + own.start * self.n..first + own.end * self.n
    }

    /// Returns the shape of an answer from this page.
    pub(crate) fn shape(&self) -> SumsShape {
        self.shape
    }

    /// Returns the memory that the plaintexts of a page take, in bytes.
    pub fn bytes_of(fetch: &Fetch, symbols: usize) -> usize {
        4 * symbols * fetch.sums().len() * fetch.spec().n
    }

    /// Returns the words modulo one prime of some lines of a ciphertext's symbols.
    pub(crate) fn lines(&self, limb: usize, ciphertext: usize, lines: Range<usize>) -> &[u32] {
        let line = self.shape.symbols_of(ciphertext).len() * WORD_LINE;
        let own = &self.words.halves()[self.range(limb, ciphertext)];
        &own[lines.start * line..lines.end * line]
    }
}

/// Writes the rows of symbols `first` and following to their places among those of `symbols`.
fn place(out: &mut [u32], symbols: usize, first: usize, rows: &[&[u64]]) {
    let places = WORD_LINE * LINES_TOGETHER;
    out.par_chunks_mut(places * symbols)
        .enumerate()
        .for_each(|(chunk, out)| {
            let range = chunk * places..chunk * places + out.len() / symbols;
            for (symbol, row) in (first..).zip(rows) {
                place_words(out, symbols, symbol, &[&row[range.clone()]]);
            }
        });
}

/// The memory in which a symbol is encoded.
struct Room {
    coefficients: Vec<u32>,
    /// The plaintext modulo each prime.
    rows: Vec<AlignedVec>,
}

impl Room {
    fn new(fetch: &Fetch) -> Self {
        let n = fetch.ring.n();
        let rows = fetch.sums().ids().iter();
        Self {
            coefficients: vec![0; n],
            rows: rows.map(|_| AlignedVec::zeroed(n)).collect(),
        }
    }
}

/// The symbols of a page, and the message in each place.
struct Columns {
    /// The number of values in a column: the messages, and a 0 for places without one.
    height: usize,
    /// The values of all messages, symbol by symbol.
    values: Vec<u32>,
    /// For each place of the evaluation domain the number of the message there.
    messages: Vec<u32>,
}

impl Columns {
    fn new(fetch: &Fetch, places: &Places, symbols: usize, values: &[u32]) -> Self {
        let count = values.len() / symbols;
        assert_eq!(values.len(), count * symbols, "symbols of each message");
        assert!(count <= places.messages(), "messages with places");
        let height = count + 1;
        let mut columns = vec![0; height * symbols];
        // A few columns at a time, so that their ends stay in the cache.
        for first in (0..symbols).step_by(SYMBOLS_TOGETHER) {
            let together = first..symbols.min(first + SYMBOLS_TOGETHER);
            for (message, row) in values.chunks(symbols).enumerate() {
                for symbol in together.clone() {
                    columns[symbol * height + message] = row[symbol];
                }
            }
        }
        Self {
            height,
            values: columns,
            messages: message_at_places(fetch, places, count),
        }
    }

    /// Writes the plaintext of a symbol.
    fn encode(&self, fetch: &Fetch, symbol: usize, room: &mut Room) {
        let (ring, p) = (&fetch.ring, fetch.p().value() as u32);
        let own = &self.values[symbol * self.height..][..self.height];
        let values = &mut room.rows[0];
        for (value, &message) in values.iter_mut().zip(&self.messages) {
            *value = own[message as usize].into();
        }
        fetch.plain.interpolate_into(values, &mut room.coefficients);
        for (row, &id) in room.rows.iter_mut().zip(fetch.sums().ids()) {
            let kernels = ring.kernels();
            kernels.lift_centered(ring.modulus(id), row, &room.coefficients, p);
            kernels.ntt_forward(ring.table(id), row);
        }
    }
}

/// Returns for each place of the evaluation domain the number of the message there; that after the last message if there
/// is none.
fn message_at_places(fetch: &Fetch, places: &Places, messages: usize) -> Vec<u32> {
    let positions = fetch.positions();
    let mut place_of = vec![0; fetch.spec().n];
    let in_domain = fetch.plain.order().positions();
    for ([bucket, position], &at) in fetch.slot_places().into_iter().zip(in_domain) {
        place_of[bucket * positions + position] = at as usize;
    }
    let mut out = vec![messages as u32; fetch.spec().n];
    for message in 0..messages {
        for place in places.of(message) {
            out[place_of[place.bucket * positions + place.position]] = message as u32;
        }
    }
    out
}
