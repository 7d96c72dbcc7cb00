//! Compression alone: the rows that an encrypted index marks, as power sums in few ciphertexts.
//!
//! Given are blocks of as many rows as the large ring has slots, for each block an encrypted index that is 1 in the
//! slots of rows that are wanted and 0 in all others, and for each row symbols modulo p in the clear: first 1, then
//! the row's node, then its values. A query's answer is made in this way; benchmarks and tests pass indices of
//! their own ([`encrypt_index`]).

use crate::keys::{EvaluationKey, random};
use crate::progress::{Progress, check_stopped};
use crate::times::{Stage, Times};
use crate::{Params, SecretKey, ServerError};
use omr_codec::{DecodeError, Solver};
use omr_compress::{
    CodeTables, Codes, Finisher, Images, Keys, PackedCiphertext, PackedError, Phases, Plaintexts,
    Round, Setting, Sums, SumsShape,
};
use omr_protocol::sophomr::INDEX_SYMBOLS;
use omr_rlwe::{Descent, Rlwe, encrypt, mask};
use rand_core::CryptoRng;

/// A server's side.
pub struct Compressor<'a> {
    params: &'a Params,
    shape: SumsShape,
    tables: CodeTables,
    keys: Keys<'a>,
    descent: Descent<'a>,
}

/// One block.
pub struct Batch<'a> {
    /// The block's number in its group, below the number of batches of the code.
    pub number: usize,
    /// For each slot the number of the row that lies there.
    pub rows: &'a [u32],
    /// The index in ciphertexts of the small ring, as [`Compressor::descend`] makes them.
    pub index: &'a [Rlwe],
    /// By symbol, then by row: as many as there are slots, 0 where there is no row.
    pub columns: &'a [Vec<u32>],
}

impl<'a> Compressor<'a> {
    /// For sums of this shape.
    pub fn new(params: &'a Params, shape: SumsShape, key: &'a EvaluationKey) -> Self {
        Self {
            params,
            shape,
            tables: CodeTables::new(params.compression()),
            keys: key.compression(params),
            descent: Descent {
                large: &params.ring,
                small: &params.small,
                key: &key.descent,
            },
        }
    }

    fn setting(&self) -> Setting<'a> {
        self.params.compression()
    }

    /// Ring switching: an index at the last level into ciphertexts of the small ring.
    pub fn descend(&self, index: &Rlwe) -> Vec<Rlwe> {
        let params = self.params;
        self.descent.apply(index, params.small_basis(), params.p())
    }

    /// Sums of nothing yet, by round and ciphertext.
    pub fn sums(&self) -> Vec<Sums<'a>> {
        let positions = self.shape.positions();
        positions
            .map(|(_, ct)| Sums::new(self.setting(), self.shape.symbols_of(ct).len()))
            .collect()
    }

    /// Adds a block.
    ///
    /// Errors: `Stopped`.
    ///
    /// Panics: when a batch does not have the lengths that its fields state.
    pub fn add(
        &self,
        sums: &mut [Sums],
        batch: &Batch,
        times: &Times,
        progress: &dyn Progress,
    ) -> Result<(), ServerError> {
        let (setting, shape) = (self.setting(), self.shape);
        let go_on = || !progress.is_stopped();
        let rounds: Vec<Vec<Codes>> = times.of(Stage::Codes, || {
            let scale = self.params.scale(self.params.last_level());
            let round = |round| Round::new(setting, shape, round, batch.number, scale);
            let mut images = [Images::new(self.keys, batch.index, shape.rounds() > 1)];
            let codes = |round| self.tables.codes(setting, &round, &mut images, &go_on);
            let rounds = (0..shape.rounds()).map(round).map(codes);
            rounds.collect::<Option<_>>().ok_or(ServerError::Stopped)
        })?;
        times.of(Stage::Symbols, || {
            let order = self.tables.classes().order(setting.small_plain, batch.rows);
            for ct in 0..shape.ciphertexts() {
                let first = shape.symbols_of(ct).start;
                for run in shape.runs(ct) {
                    check_stopped(progress)?;
                    let mut plaintexts = Plaintexts::new(setting, shape, run.len());
                    let some = &batch.columns[run.clone()];
                    let some: Vec<&[u32]> = some.iter().map(Vec::as_slice).collect();
                    plaintexts.encode(setting, &order, &some);
                    let to = run.start - first..run.end - first;
                    for (round, codes) in rounds.iter().flatten().enumerate() {
                        let place = round * shape.ciphertexts() + ct;
                        sums[place].add(codes, &plaintexts, to.clone());
                    }
                }
            }
            Ok(())
        })
    }

    /// Packs the sums of a group.
    pub fn finish(&self, sums: Vec<Sums>) -> Vec<PackedCiphertext> {
        self.send(self.pack(sums))
    }

    /// The ciphertexts of the small ring that hold the sums of a group, in order.
    pub(crate) fn pack(&self, sums: Vec<Sums>) -> impl Iterator<Item = Rlwe> {
        let pack = |sums: Sums| sums.pack(self.shape, self.keys.merge);
        sums.into_iter().map(pack)
    }

    /// Returns the packed ciphertexts in the form that is sent.
    pub(crate) fn send(&self, packed: impl Iterator<Item = Rlwe>) -> Vec<PackedCiphertext> {
        let mut finisher = Finisher::new(self.setting().packing, self.keys.last, self.shape);
        packed.for_each(|packed| finisher.push(&packed));
        finisher.finish()
    }
}

/// An index as queries leave it, at the last level. `slots`: 1 where the row is wanted, else 0.
///
/// Panics: unless there is one for each slot.
pub fn encrypt_index(
    params: &Params,
    secret: &SecretKey,
    slots: &[u32],
    rng: &mut impl CryptoRng,
) -> Rlwe {
    let (ring, p, level) = (&params.ring, params.p(), params.last_level());
    let basis = params.chain.basis(level);
    let scaled = |&slot: &u32| p.mul(slot.into(), params.scale(level)) as u32;
    let scaled: Vec<u32> = slots.iter().map(scaled).collect();
    let message = ring.lift_plain(&params.plain.encode(&scaled), p.value() as u32, basis);
    let c1 = mask(ring, basis, &random(rng), &[0]);
    let secret = secret.large(params).poly(ring, basis);
    Rlwe::new(encrypt(ring, &secret, &message, p.value(), &c1, rng), c1)
}

/// The sums of a group, by symbol and exponent. Errors: ciphertexts of another shape.
pub fn decrypt(
    params: &Params,
    secret: &SecretKey,
    shape: SumsShape,
    packed: &[PackedCiphertext],
) -> Result<Vec<Vec<u32>>, PackedError> {
    Phases::new(params.compression().packing.last(), secret.last(params)).sums(shape, packed)
}

/// A row that was marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// The block in its group.
    pub batch: usize,
    /// The slot in the block.
    pub slot: usize,
    /// The row's symbols behind 1 and node.
    pub symbols: Vec<u32>,
}

/// Recovers the rows that the sums of `batches` batches add up.
///
/// Errors: sums that no set of at most `bound` rows has.
pub fn marked(
    params: &Params,
    batches: usize,
    bound: usize,
    sums: &[Vec<u32>],
) -> Result<Vec<Marked>, DecodeError> {
    let (nodes, slots) = (&params.nodes, params.slots());
    // Sums of x^e for e < bound, and with the last of x^(e+1) those for e = bound.
    let mut powers = sums[0].clone();
    powers.extend(sums[1].last());
    let mut search = nodes.search(&powers, bound)?;
    let all: Vec<u32> = (0..slots as u32).collect();
    for batch in 0..batches {
        search.batch(batch, &all);
    }
    let support = search.finish();
    let found = support.count()?;
    let solver = Solver::new(nodes.field(), support.nodes(), bound);
    let columns = sums[INDEX_SYMBOLS..]
        .iter()
        .map(|sums| solver.solve(sums))
        .collect::<Result<Vec<Vec<u32>>, _>>()?;
    let row = |i: usize| {
        let label = support.labels()[i] as usize;
        Marked {
            batch: label / slots,
            slot: label % slots,
            symbols: columns.iter().map(|column| column[i]).collect(),
        }
    };
    Ok((0..found).map(row).collect())
}
