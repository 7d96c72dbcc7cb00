//! Clues of a block of messages as module ciphertexts, one for each coordinate.

use crate::Opening;
use crate::away::{AwayKey, pack_away};
use crate::module::{
    KeyRows, ModuleCipher, ModuleSecret, Rows, add_products, add_shifted_products,
};
use omr_ring::{AlignedVec, AwayBytes, Eval, NarrowGaussian, PackedRows, Poly, Ring};
use omr_rlwe::{MaskSeed, Masks};
use rand_core::CryptoRng;

/// Columns of clues that are transformed together: with their keys they stay in the second-level cache.
const TOGETHER: usize = 32;

/// Residues of a column that are written together: a cache line. Columns lie a power of two apart, and lines of all of them
/// would push each other out of the first-level cache.
const LINE: usize = 8;

/// The number of blocks that are best packed together: they share the reading of keys, and many threads still have work.
pub const BLOCKS_TOGETHER: usize = 8;

/// Encryptions of the clue secret's coefficients, and of what bound clues take off besides.
///
/// Row i holds coefficient `coordinates - 1 - i` of the secret in the negacyclic order in which coordinates meet
/// them: coordinate c of `a s` is `sum_j a_j s_(c - j)`, with `s_(t - clue_n) = -s_t`.
pub struct PackingKey {
    rows: KeyRows,
    /// The number of extra residues, which are subtracted from every coordinate alike.
    extra: usize,
    /// Copies of the rows in a backend's memory.
    away: Option<AwayKey>,
}

/// The clues of `n` messages. Their residues a are [`PackedRows`] for [`pack_placed`].
pub struct BlockOfClues<A = Vec<u32>> {
    /// `n` rows of `clue_n` residues a, below the clue modulus.
    pub a: A,
    /// Coordinate by coordinate, `n` residues b.
    pub b: Vec<Vec<u32>>,
    /// Coordinate by coordinate, `n` rows of residues that meet the key's extra values; empty where it has none.
    pub extra: Vec<Vec<u32>>,
}

impl PackingKey {
    /// The key for a clue secret.
    ///
    /// Shape: `clue` has `clue_n` coefficients -1, 0, 1; `extra` any number of residues modulo the clue modulus.
    /// Time: constant but for the lengths.
    pub fn generate(
        opening: &Opening,
        clue: &[i64],
        extra: &[i64],
        secret: &ModuleSecret,
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let ring = &opening.packing;
        let masks = Self::masks(opening, opening.packing_bodies(extra.len()), seed);
        let messages = messages(opening, clue, extra, rng);
        Self {
            rows: KeyRows::encrypt(ring, &secret.polys(ring), masks, messages),
            extra: extra.len(),
            away: None,
        }
    }

    /// Makes the bodies of [`PackingKey::generate`] one by one, for callers that write them and keep none.
    ///
    /// Errors: the errors of `take`.
    pub fn make_bodies<E>(
        opening: &Opening,
        clue: &[i64],
        extra: &[i64],
        secret: &ModuleSecret,
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
        take: &mut dyn FnMut(Poly<Eval>) -> Result<(), E>,
    ) -> Result<(), E> {
        let ring = &opening.packing;
        let messages = messages(opening, clue, extra, rng);
        KeyRows::encrypted(ring, &secret.polys(ring), seed, messages).try_for_each(take)
    }

    /// Draws the masks of a key with `bodies` bodies.
    pub fn masks(opening: &Opening, bodies: usize, seed: MaskSeed<'_>) -> Masks {
        KeyRows::masks(&opening.packing, bodies, opening.spec().packing_rank, seed)
    }

    /// Rebuilds a key from its bodies and [`PackingKey::masks`].
    ///
    /// Panics: when there are fewer bodies than the secret takes, or masks of another number of them.
    pub fn from_bodies(opening: &Opening, bodies: Vec<Poly<Eval>>, masks: Masks) -> Self {
        let extra = bodies.len().checked_sub(opening.packing_bodies(0));
        Self {
            extra: extra.expect("a body for each coefficient of the secret"),
            rows: KeyRows::new(opening.spec().packing_rank, bodies, masks),
            away: None,
        }
    }

    /// Returns the key with copies of its rows in the memory of the backend of `ring`, if it has one, which has the
    /// dimension and prime of the ring of packing. [`pack_placed`] works there.
    #[must_use]
    pub fn placed(self, ring: &Ring) -> Self {
        Self {
            away: ring.backend().map(|_| AwayKey::new(ring, &self.rows)),
            ..self
        }
    }

    /// Writes bytes to the backend's memory in which the key's rows are; `None` if they are the processor's.
    pub fn place(&self, bytes: &[u8]) -> Option<AwayBytes> {
        self.away.as_ref().map(|away| away.place(bytes))
    }

    /// The number of values beside those of the secret; keys for bound clues have some.
    pub fn extra(&self) -> usize {
        self.extra
    }

    /// The bodies, to be written out.
    pub fn bodies(&self) -> impl Iterator<Item = &Poly<Eval>> {
        self.rows.bodies().iter()
    }
}

/// Iterates over the messages of a packing key's bodies with their noise. The polynomials are zero: the encrypted value is
/// added to the noise.
fn messages(
    opening: &Opening,
    clue: &[i64],
    extra: &[i64],
    rng: &mut impl CryptoRng,
) -> impl Iterator<Item = (Poly<Eval>, Vec<i64>)> {
    let (ring, spec, shape) = (&opening.packing, opening.spec(), opening.clue());
    let errors = NarrowGaussian::new(spec.packing_sigma);
    let scale = opening.packing_scale() as i64;
    let (q, clue_q) = (ring.modulus(0).value(), shape.q);
    // Public, as all that is known of an address; rounded once, as it is large.
    let scaled = move |&w: &i64| ((i128::from(w) * i128::from(q)) / i128::from(clue_q)) as i64;
    let n = shape.n as i64;
    let of_secret = (0..opening.packing_bodies(0) as i64).map(move |i| {
        let t = shape.coordinates as i64 - 1 - i;
        if t >= 0 {
            clue[t as usize] * scale
        } else {
            -clue[(t + n) as usize] * scale
        }
    });
    let values = of_secret.chain(extra.iter().map(scaled));
    values.map(move |value: i64| {
        let mut noise = errors.sample(rng, ring.n());
        noise[0] -= value;
        (Poly::zero(ring, &ring.everything()), noise)
    })
}

/// Returns, for each block, one ciphertext for each coordinate: coefficient y of its phase is `b - (a s) - <extra>` of
/// message y, times the packing modulus over the clue modulus, under the secret of each key. Several blocks meet a part of
/// the keys' rows while it is in the second-level cache.
///
/// Shape: `keys` are those of one or more recipients, made with one seed; all have as many extra values.
/// Panics: without a key; when the clues are not those of a block.
pub fn pack(
    opening: &Opening,
    keys: &[&PackingKey],
    blocks: &[BlockOfClues],
) -> Vec<Vec<ModuleCipher>> {
    let (ring, spec, shape) = (&opening.packing, opening.spec(), opening.clue());
    for clues in blocks {
        assert_eq!(clues.a.len(), spec.n * shape.n, "a block of clues");
        assert_eq!(clues.b.len(), shape.coordinates, "coordinates");
    }
    let extra = keys[0].extra;
    let rows = Rows::new(keys.iter().map(|key| &key.rows), spec.packing_rank);
    let parts = rows.parts();
    // Block by block, for each coordinate the sums of masks, then of each key's bodies.
    let of_block = |_| -> Vec<AlignedVec> {
        let zero = |_| AlignedVec::zeroed(spec.n);
        (0..parts * shape.coordinates).map(zero).collect()
    };
    let mut all: Vec<Vec<AlignedVec>> = (0..blocks.len()).map(of_block).collect();
    let mut columns = Columns::new(opening);
    for first in (0..shape.n).step_by(TOGETHER) {
        let count = TOGETHER.min(shape.n - first);
        for (clues, sums) in blocks.iter().zip(&mut all) {
            let a = columns.of(&clues.a, shape.n, first, count);
            for (pair, of_pair) in sums.chunks_mut(2 * parts).enumerate() {
                // Coordinate c meets the rows from this one on for c = 0, from one row before for each further one.
                let from = first + shape.coordinates - 1 - 2 * pair;
                match of_pair.split_at_mut(parts) {
                    (one, []) => a.add_products(one, &rows.range(from, count)),
                    (one, next) => {
                        a.add_shifted_products(one, next, &rows.range(from - 1, count + 1));
                    }
                }
            }
        }
    }
    let own = rows.range(rows.len() - extra, extra);
    let mut out = Vec::with_capacity(blocks.len());
    for (clues, mut sums) in blocks.iter().zip(all) {
        for (of_coordinate, residues) in sums.chunks_mut(parts).zip(&clues.extra) {
            if !own.is_empty() {
                columns
                    .of(residues, own.len(), 0, own.len())
                    .add_products(of_coordinate, &own);
            }
        }
        for sum in &mut sums {
            ring.kernels().ntt_inverse(ring.table(0), sum);
        }
        out.push(ciphers(
            opening,
            &clues.b,
            keys.len(),
            &mut sums.into_iter(),
        ));
    }
    out
}

/// Returns what [`pack`] does, for clues whose residues a are packed in bytes of [`PackingKey::place`].
///
/// Shape: as [`pack`]. Panics: as [`pack`]; unless all keys are in one backend's memory.
pub fn pack_placed(
    opening: &Opening,
    keys: &[&PackingKey],
    bytes: &AwayBytes,
    blocks: &[BlockOfClues<PackedRows>],
) -> Vec<Vec<ModuleCipher>> {
    let (n, coordinates, extra) = (opening.spec().n, opening.clue().coordinates, keys[0].extra);
    for clues in blocks {
        assert_eq!(clues.a.rows.len(), n, "a block of clues");
        assert_eq!(clues.b.len(), coordinates, "coordinates");
        let of_extra: usize = clues.extra.iter().map(Vec::len).sum();
        assert_eq!(of_extra, n * coordinates * extra, "extra residues");
    }
    let own = keys.iter().map(|key| key.away.as_ref());
    let away: Option<Vec<&AwayKey>> = own.collect();
    let away = away.expect("keys in a backend's memory");
    if blocks.is_empty() {
        return Vec::new();
    }
    pack_away(opening, &away, extra, bytes, blocks)
}

/// Returns the ciphertexts of a block, coordinate by coordinate, from the next sums of products: those of masks, then of
/// the bodies of each of the recipients.
pub(crate) fn ciphers(
    opening: &Opening,
    b: &[Vec<u32>],
    recipients: usize,
    sums: &mut impl Iterator<Item = AlignedVec>,
) -> Vec<ModuleCipher> {
    let cipher = |b: &Vec<u32>| {
        let masks = sums.by_ref().take(opening.spec().packing_rank).collect();
        let mut bodies: Vec<AlignedVec> = sums.by_ref().take(recipients).collect();
        for body in &mut bodies {
            add_scaled(opening, body, b);
        }
        ModuleCipher { masks, bodies }
    };
    b.iter().map(cipher).collect()
}

/// `body += b q / clue_q`, rounded.
fn add_scaled(opening: &Opening, body: &mut [u64], b: &[u32]) {
    let m = opening.packing.modulus(0);
    let clue_q = u128::from(opening.clue().q);
    for (x, &b) in body.iter_mut().zip(b) {
        let scaled = (u128::from(b) * u128::from(m.value()) + clue_q / 2) / clue_q;
        *x = m.add(*x, m.reduce(scaled as u64));
    }
}

/// Columns of a block of residues, in the evaluation domain.
struct Columns<'a> {
    ring: &'a Ring,
    clue_q: u64,
    rows: Vec<AlignedVec>,
    zero: AlignedVec,
    scratch: [AlignedVec; 4],
    count: usize,
}

impl<'a> Columns<'a> {
    fn new(opening: &'a Opening) -> Self {
        let ring = &opening.packing;
        let row = || AlignedVec::zeroed(ring.n());
        Self {
            ring,
            clue_q: opening.clue().q,
            rows: (0..TOGETHER).map(|_| row()).collect(),
            zero: row(),
            scratch: [row(), row(), row(), row()],
            count: 0,
        }
    }

    /// `count` columns from `first` on of rows of `width` residues.
    fn of(&mut self, residues: &[u32], width: usize, first: usize, count: usize) -> &mut Self {
        let (q, clue_q) = (self.ring.modulus(0).value(), self.clue_q);
        // Centred: the errors of the key grow with the residues.
        let lift = |x: u64| x + if x > clue_q / 2 { q - clue_q } else { 0 };
        for (line, rows) in residues.chunks(LINE * width).enumerate() {
            for (x, column) in self.rows[..count].iter_mut().enumerate() {
                let places = column[LINE * line..].iter_mut();
                for (to, row) in places.zip(rows.chunks_exact(width)) {
                    *to = lift(row[first + x].into());
                }
            }
        }
        for column in &mut self.rows[..count] {
            self.ring.kernels().ntt_factors(self.ring.table(0), column);
        }
        self.count = count;
        self
    }

    fn add_products(&mut self, sums: &mut [AlignedVec], rows: &Rows<'_>) {
        let a: Vec<&[u64]> = self.rows[..self.count].iter().map(|row| &row[..]).collect();
        let [x, y, ..] = &mut self.scratch;
        add_products(self.ring, sums, &a, rows, [x, y]);
    }

    /// Adds products with the rows from the second one on to `sums`, and with those from the first one on to `next`.
    fn add_shifted_products(
        &mut self,
        sums: &mut [AlignedVec],
        next: &mut [AlignedVec],
        rows: &Rows<'_>,
    ) {
        let a: Vec<&[u64]> = self.rows[..self.count].iter().map(|row| &row[..]).collect();
        let (ring, zero, scratch) = (self.ring, &self.zero[..], &mut self.scratch);
        add_shifted_products(ring, sums, next, &a, zero, rows, scratch);
    }
}
