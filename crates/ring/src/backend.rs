//! The seam to memory that is not the processor's: where a ring's polynomials may lie, and what is done there.

use crate::Ring;
use crate::parallel::*;
use omr_kernels::NttTable;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use zeroize::Zeroize;

/// Executes operations on rows of a ring's polynomials in memory of its own, that of a graphics card.
///
/// A row has as many words as the ring's dimension, each a residue below its prime; primes go by their number in the
/// ring. Operations are done in the order of the calls, perhaps after the call has returned; [`Backend::read`] waits.
/// Every residue equals that of the ring's own operations.
///
/// Nothing here returns an error: from the first failure on a backend does nothing, and what is read is worthless, until
/// nobody watches it any more ([`Watch`]).
pub trait Backend: Send + Sync {
    /// A description of the device, for people.
    fn name(&self) -> String;

    /// Begins work whose failures somebody asks for.
    fn begin(&self);

    /// Ends such work. Failures are forgotten when there is no other.
    fn end(&self);

    /// The failure from which on nothing was done.
    fn failure(&self) -> Option<String>;

    /// Allocates memory for `words` words, of any content.
    fn take(&self, words: usize) -> u64;

    /// Gives memory back.
    fn give(&self, address: u64, words: usize);

    /// Overwrites all memory that was given back.
    fn wipe(&self);

    /// Writes bytes at an address. Those of words are in this process's order.
    fn write(&self, address: u64, bytes: &[u8]);

    /// Reads words at an address, after all that was asked before.
    fn read(&self, address: u64, words: &mut [u64]);

    /// Writes zeros at an address.
    fn clear(&self, address: u64, words: usize);

    /// Copies words that do not overlap.
    fn copy(&self, from: u64, to: u64, words: usize);

    /// Transforms rows to the evaluation domain.
    fn forward(&self, rows: &[RowTransform<'_>]);

    /// Transforms rows to the evaluation domain and adds sums to multiples of the transforms. A transform itself is lost
    /// unless the sum takes its place, and no sum may read it as a term.
    fn forward_sums(&self, rows: &[RowForwardSum<'_>]);

    /// Transforms rows to the coefficient domain and multiplies each by its weight.
    fn inverse(&self, rows: &[(RowTransform<'_>, u64)]);

    /// Makes sums of rows times factors.
    fn combine(&self, sums: &[RowSum<'_>]);

    /// Makes sums of products of rows.
    fn multiply(&self, sums: &[RowProducts<'_>]);

    /// Converts coefficients from some primes to others, each group of rows alike.
    fn convert(&self, numbers: &ConversionNumbers<'_>, groups: &[RowConversion<'_>]);

    /// Makes rows whose word i is word `index[i]` of another row, which may be longer. `key` is the name of the indices
    /// ([`places`]).
    fn permute(&self, key: usize, index: &[u32], rows: &[(At<'_>, At<'_>)]);

    /// Adds sums of products of rows in slot order, some of them turned.
    fn turned_products(&self, sums: &TurnedProducts<'_>);

    /// Writes polynomials with coefficients modulo p, lifted to `(-p/2, p/2]`, modulo the primes of rows.
    fn lift(&self, p: u32, polynomials: &[&[u32]], rows: &[RowLift<'_>]);

    /// Writes columns of a matrix with residues modulo p, lifted to `(-p/2, p/2]`, modulo the primes of rows. The matrix
    /// has as many rows as the ring's dimension and lies row by row; columns are the polynomials of [`RowLift`].
    fn lift_columns(&self, p: u32, matrix: &[u32], rows: &[RowLift<'_>]);

    /// Interpolates values modulo p and writes the polynomials, with coefficients lifted to `(-p/2, p/2]`, modulo the
    /// primes of rows.
    fn interpolate(&self, values: &Values<'_>, rows: &[RowLift<'_>]);

    /// Writes columns of matrices with packed residues modulo p, lifted to `(-p/2, p/2]`, modulo the primes of rows.
    /// Columns, matrix by matrix, are the polynomials of [`RowLift`].
    ///
    /// Panics: if a column or a row of residues is not there.
    fn unpack(&self, p: u32, bytes: &AwayBytes, packed: &PackedRows, rows: &[RowLift<'_>]);

    /// Fills rows with uniform residues.
    fn draw(&self, rows: &[RowStream<'_>]);
}

/// Names of places for [`Backend::permute`]. An automorphism's is its exponent, which is odd.
pub mod places {
    /// The name of the order of slots.
    pub const TO_SLOTS: usize = 0;
    /// The name of the order of the evaluation domain, in places of the order of slots.
    pub const FROM_SLOTS: usize = 2;

    /// Returns the name of every `step`-th place, for a power of two.
    pub(crate) fn split(step: usize) -> usize {
        4 + 2 * step.ilog2() as usize
    }
}

/// Watches over work on polynomials for as long as it lives: results are right if there was no failure by then.
pub struct Watch(Option<Arc<dyn Backend>>);

impl Watch {
    pub(crate) fn new(backend: Option<&Arc<dyn Backend>>) -> Self {
        if let Some(backend) = backend {
            backend.begin();
        }
        Self(backend.cloned())
    }

    /// The first failure of the backend since someone watches it.
    pub fn failure(&self) -> Option<String> {
        self.0.as_ref().and_then(|backend| backend.failure())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.iter().for_each(|backend| backend.end());
    }
}

/// Overwrites what was given back to a backend when this is dropped: who holds keys drops it after them.
pub struct Wiper(Option<Arc<dyn Backend>>);

impl Wiper {
    pub(crate) fn new(backend: Option<&Arc<dyn Backend>>) -> Self {
        Self(backend.cloned())
    }
}

impl Drop for Wiper {
    fn drop(&mut self) {
        self.0.iter().for_each(|backend| backend.wipe());
    }
}

/// A row of a prime that is read, and where its transform is written: the same place, or another row.
#[derive(Clone, Copy, Debug)]
pub struct RowTransform<'a> {
    /// The prime.
    pub prime: usize,
    /// Read.
    pub from: At<'a>,
    /// Written.
    pub to: At<'a>,
}

impl<'a> RowTransform<'a> {
    /// A row whose transform takes its place.
    pub const fn in_place(prime: usize, at: At<'a>) -> Self {
        Self {
            prime,
            from: at,
            to: at,
        }
    }
}

/// A row that is transformed to the evaluation domain, and the sum to which the transform's multiple is added.
#[derive(Clone, Debug)]
pub struct RowForwardSum<'a> {
    /// The row.
    pub transform: RowTransform<'a>,
    /// The factor of the transform, below the prime.
    pub factor: u64,
    /// The sum, modulo the same prime.
    pub sum: RowSum<'a>,
}

/// `to = constant + sum_i c_i row_i` modulo a prime; `to` may be one of the rows.
#[derive(Clone, Debug)]
pub struct RowSum<'a> {
    /// The prime.
    pub prime: usize,
    /// Written.
    pub to: At<'a>,
    /// Factors below the prime, with their rows.
    pub terms: Vec<(u64, At<'a>)>,
    /// Added to every word, below the prime.
    pub constant: u64,
}

/// `to = sum_i a_i b_i`, word by word, modulo a prime, on top of what stands there if it `adds`.
#[derive(Clone, Debug)]
pub struct RowProducts<'a> {
    /// The prime.
    pub prime: usize,
    /// Written.
    pub to: At<'a>,
    /// Rows to multiply: at most 16,384 pairs.
    pub pairs: Vec<(At<'a>, At<'a>)>,
    /// Whether the sum is added to what stands there.
    pub adds: bool,
}

/// The numbers of a conversion ([`Conversion`](crate::Conversion)).
#[derive(Clone, Copy, Debug)]
pub struct ConversionNumbers<'a> {
    /// One over each source prime.
    pub inverse: &'a [f64],
    /// The target primes.
    pub targets: &'a [usize],
    /// For each target a factor for each source row, then one for the number of times that the sum has wrapped around.
    pub coefficients: &'a [Vec<u64>],
}

/// Rows of all sources and of all targets of a conversion.
#[derive(Clone, Debug)]
pub struct RowConversion<'a> {
    /// Read.
    pub from: Vec<At<'a>>,
    /// Written.
    pub to: Vec<At<'a>>,
}

/// Sums of products of rows of two halves, which are the slot rows, in slot order. To word c of half r of the sums of a
/// symbol, the products of word c of half r of each term with word `c + i` of half `r xor sign` of the symbol's row for
/// the term's class are added, modulo a prime below 2^31.
#[derive(Clone, Debug)]
pub struct TurnedProducts<'a> {
    /// The prime.
    pub prime: usize,
    /// Number of turns i, from 0 on.
    pub turns: usize,
    /// Number of classes.
    pub classes: usize,
    /// Rows of the terms, each a body and a mask; the term of `sign` (0 or 1), turn i and a class is number
    /// `(sign turns + i) classes + class`.
    pub terms: Vec<[At<'a>; 2]>,
    /// Rows of the symbols, and their sums with bodies and masks.
    pub symbols: Vec<TurnedSymbol<'a>>,
}

/// The rows of a symbol, and its sums.
#[derive(Clone, Debug)]
pub struct TurnedSymbol<'a> {
    /// Read, by class.
    pub rows: Vec<At<'a>>,
    /// Written: the sums with bodies and those with masks.
    pub to: [At<'a>; 2],
}

/// A polynomial, by number, and the row that takes it modulo a prime.
#[derive(Clone, Copy, Debug)]
pub struct RowLift<'a> {
    /// The polynomial's number.
    pub polynomial: usize,
    /// The prime.
    pub prime: usize,
    /// Written.
    pub to: At<'a>,
}

/// Values modulo p of polynomials of a ring's dimension n: several polynomials for each column of values, column by
/// column.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    /// The transform modulo p in dimension n.
    pub table: &'a NttTable,
    /// Columns of one length, with residues modulo p.
    pub columns: &'a [&'a [u32]],
    /// For each polynomial of a column, and each of its n places in the evaluation domain, the place of the value in
    /// the column.
    pub order: &'a [u32],
}

impl Values<'_> {
    /// The number of polynomials.
    pub fn polynomials(&self) -> usize {
        self.columns.len() * self.of_column()
    }

    /// The number of polynomials of a column.
    pub fn of_column(&self) -> usize {
        self.order.len() / self.table.n()
    }
}

/// The rows of matrices whose residues are packed in bytes without gaps, least significant bit first. A packed x stands for
/// the residue `factor x + constant`, which is below its modulus.
#[derive(Clone, Debug)]
pub struct PackedRows {
    /// Bits of a residue: 1 to 32.
    pub bits: u32,
    /// Number of residues of a row.
    pub width: usize,
    /// The factor.
    pub factor: u32,
    /// The constant.
    pub constant: u32,
    /// Row by row, as many of each matrix as the ring's dimension; a row of zeros where there is none.
    pub rows: Vec<Option<PackedRow>>,
}

/// A row of packed residues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedRow {
    /// The byte with which the row begins.
    pub first: usize,
    /// Whether its residues are negated.
    pub is_negated: bool,
}

/// A row of uniform residues: the first words of a ChaCha20 stream from block 0 on that are below the prime, after each
/// word of the stream is cut to the prime's bits.
#[derive(Clone, Copy, Debug)]
pub struct RowStream<'a> {
    /// The prime.
    pub prime: usize,
    /// The stream's key. Its nonce is zero.
    pub key: [u8; 32],
    /// Written.
    pub to: At<'a>,
}

/// A place in a backend's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<'a> {
    address: u64,
    held: PhantomData<&'a Away>,
}

impl At<'_> {
    /// The address, as [`Backend::take`] gave it.
    pub fn address(self) -> u64 {
        self.address
    }

    /// The place this number of words further on, in the same buffer.
    pub(crate) fn ahead(self, words: usize) -> Self {
        Self {
            address: self.address + 8 * words as u64,
            ..self
        }
    }
}

/// Rows modulo one prime or another that lie one after another in the memory of a ring's backend, where they are
/// written and read in one transfer.
pub struct AwayRows {
    words: Away,
    n: usize,
}

impl AwayRows {
    /// Makes `rows` rows of any content, to be overwritten.
    ///
    /// Panics: if the ring has no backend.
    pub fn any(ring: &Ring, rows: usize) -> Self {
        let backend = ring.backend().expect("a ring with a backend");
        Self {
            words: Away::any(backend, rows * ring.n()),
            n: ring.n(),
        }
    }

    /// Makes rows with this content.
    ///
    /// Panics: as [`AwayRows::any`]; unless all rows have the ring's length.
    pub fn of(ring: &Ring, rows: &[&[u64]]) -> Self {
        let mut new = Self::any(ring, rows.len());
        assert!(
            rows.iter().all(|row| row.len() == new.n),
            "rows of the ring"
        );
        new.words.write(0, &rows.concat());
        new
    }

    /// The place of a row. Panics: past the end.
    pub fn at(&self, row: usize) -> At<'_> {
        self.words.at(row * self.n)
    }

    /// All residues, row by row.
    pub fn to_words(&self) -> Vec<u64> {
        let mut words = vec![0; self.words.words];
        self.words.read(0, &mut words);
        words
    }
}

/// Bytes that are written together, each piece by one of several threads: enough for a transfer at full speed, and few
/// enough to be copied to pinned memory.
const PIECE: usize = 2 << 20;

/// Bytes in the memory of a ring's backend.
pub struct AwayBytes {
    words: Away,
    bytes: usize,
}

impl AwayBytes {
    /// Writes bytes.
    ///
    /// Panics: if the ring has no backend.
    pub fn of(ring: &Ring, bytes: &[u8]) -> Self {
        let backend = ring.backend().expect("a ring with a backend");
        // Two halves of a word are read for each residue, and the last one may lie in the first of them.
        let words = Away::any(backend, bytes.len().div_ceil(8) + 1);
        let pieces: Vec<&[u8]> = bytes.chunks(PIECE).collect();
        (0..pieces.len()).into_par_iter().for_each(|number| {
            let at = words.at(number * PIECE / 8);
            backend.write(at.address(), pieces[number]);
        });
        Self {
            bytes: bytes.len(),
            words,
        }
    }

    /// The place of the first byte.
    pub fn at(&self) -> At<'_> {
        self.words.at(0)
    }

    /// The number of bytes.
    pub fn count(&self) -> usize {
        self.bytes
    }
}

/// Words in a backend's memory.
pub(crate) struct Away {
    backend: Arc<dyn Backend>,
    address: u64,
    words: usize,
}

impl Away {
    /// Words of any content.
    pub(crate) fn any(backend: &Arc<dyn Backend>, words: usize) -> Self {
        Self {
            backend: backend.clone(),
            address: backend.take(words),
            words,
        }
    }

    pub(crate) fn zeroed(backend: &Arc<dyn Backend>, words: usize) -> Self {
        let new = Self::any(backend, words);
        backend.clear(new.address, words);
        new
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The place of word `first`. Panics: past the end.
    pub(crate) fn at(&self, first: usize) -> At<'_> {
        assert!(first < self.words, "a word of the buffer");
        At {
            address: self.address + 8 * first as u64,
            held: PhantomData,
        }
    }

    /// Panics: past the end.
    pub(crate) fn write(&mut self, first: usize, words: &[u64]) {
        assert!(first + words.len() <= self.words, "words of the buffer");
        let address = self.address + 8 * first as u64;
        self.backend.write(address, bytemuck::cast_slice(words));
    }

    /// Panics: past the end.
    pub(crate) fn read(&self, first: usize, words: &mut [u64]) {
        assert!(first + words.len() <= self.words, "words of the buffer");
        self.backend.read(self.address + 8 * first as u64, words);
    }

    /// Copies words of another one. Panics: past either's end.
    pub(crate) fn copy(&mut self, first: usize, from: &Self, from_first: usize, words: usize) {
        let fits = first + words <= self.words && from_first + words <= from.words;
        assert!(fits, "words of both buffers");
        let at = |buffer: &Self, first: usize| buffer.address + 8 * first as u64;
        self.backend
            .copy(at(from, from_first), at(self, first), words);
    }
}

impl Clone for Away {
    fn clone(&self) -> Self {
        let mut new = Self::any(&self.backend, self.words);
        new.copy(0, self, 0, self.words);
        new
    }
}

impl Zeroize for Away {
    fn zeroize(&mut self) {
        self.backend.clear(self.address, self.words);
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        self.backend.give(self.address, self.words);
    }
}

impl fmt::Debug for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words of {}", self.words, self.backend.name())
    }
}
