//! Compression of the rows that an index marks: `omr-compress` with rows as symbols.

use super::flood::flood;
use super::hidden::Hidden;
use super::numbers::{Layout, Places};
use crate::keys::EvaluationKey;
use crate::{Plan, ServerError, lock, plan};
use omr_codec::Symbols;
use omr_compress::{
    CodeTables, Finisher, Keys, PackedCiphertext, Plaintexts, Round, Setting, Sums, SumsShape,
};
use omr_protocol::plan::{INDEX_SYMBOLS, checksum, packing};
use omr_rlwe::Rlwe;
use omr_table::RowCodec;
use rayon::prelude::*;

/// What flooding takes.
#[derive(Clone, Copy)]
struct Flood<'a> {
    hidden: &'a Hidden,
    zero: &'a Rlwe,
    bits: u32,
}

pub(super) struct Compressor<'a> {
    layout: Layout<'a>,
    shape: SumsShape,
    tables: CodeTables,
    keys: Keys<'a>,
    last: &'a omr_rlwe::SharedKey,
    flood: Option<Flood<'a>>,
    codec: RowCodec,
    code: Symbols,
}

impl<'a> Compressor<'a> {
    pub(super) fn new(
        layout: Layout<'a>,
        plan: &Plan,
        key: &'a EvaluationKey,
    ) -> Result<Self, ServerError> {
        let (params, table) = (layout.params, layout.table);
        let zero = key.zero.as_ref();
        let flood = match (layout.hidden, params.flooding()) {
            (Some(hidden), Some(bits)) => Some(Flood {
                hidden,
                zero: zero.ok_or(ServerError::PublicKey)?,
                bits,
            }),
            _ => None,
        };
        Ok(Self {
            layout,
            flood,
            shape: plan.sums(params),
            tables: CodeTables::new(params.compression()),
            keys: key.compression(params),
            last: &key.last,
            codec: RowCodec::new(table.schema(), &plan.shape.select)?,
            code: packing(params.p().value(), plan.row_bytes, false)?,
        })
    }

    fn setting(&self) -> Setting<'a> {
        self.layout.params.compression()
    }

    /// Sums of nothing yet, by round and ciphertext.
    pub(super) fn sums(&self) -> Vec<Sums<'a>> {
        let positions = self.shape.positions();
        positions
            .map(|(_, ct)| Sums::new(self.setting(), self.shape.symbols_of(ct).len()))
            .collect()
    }

    /// Adds block `block`, number `batch` of its group, from its index.
    pub(super) fn add(
        &self,
        sums: &mut [Sums],
        batch: usize,
        block: usize,
        small: &[Rlwe],
    ) -> Result<(), ServerError> {
        let (params, setting, shape) = (self.layout.params, self.setting(), self.shape);
        let places = self.layout.places(block);
        let columns = self.columns(batch, block, &places)?;
        let order = self
            .tables
            .classes()
            .order(setting.small_plain, &places.order);
        let rounds: Vec<_> = (0..shape.rounds())
            .map(|round| {
                let scale = params.scale(params.last_level());
                let round = Round::new(setting, shape, round, (batch, scale));
                self.tables
                    .codes(setting, self.keys, &round, small, &|_| {})
            })
            .collect();
        for ct in 0..shape.ciphertexts() {
            let first = shape.symbols_of(ct).start;
            for run in shape.runs(ct) {
                let mut plaintexts = Plaintexts::new(setting, shape, run.len());
                let some: Vec<&[u32]> = columns[run.clone()].iter().map(Vec::as_slice).collect();
                plaintexts.encode(setting, &order, &some);
                let to = run.start - first..run.end - first;
                for (round, codes) in rounds.iter().enumerate() {
                    let place = round * shape.ciphertexts() + ct;
                    sums[place].add(codes, &plaintexts, to.clone());
                }
            }
        }
        Ok(())
    }

    /// The symbols of a block's rows, one column each.
    fn columns(
        &self,
        batch: usize,
        block: usize,
        places: &Places,
    ) -> Result<Vec<Vec<u32>>, ServerError> {
        let params = self.layout.params;
        let rows = &places.rows;
        let count = self.shape.symbols();
        let mut by_row = vec![0u32; rows.len() * count];
        by_row
            .par_chunks_mut(count)
            .zip(rows)
            .zip(&places.slots)
            .try_for_each_init(
                || vec![0; self.codec.bytes()],
                |bytes, ((symbols, &row), &slot)| -> Result<(), ServerError> {
                    symbols[0] = 1;
                    symbols[1] = params.nodes.node(batch, slot as usize);
                    self.codec.encode(self.layout.table, row, bytes)?;
                    let label = self.layout.label(row, (block, slot));
                    self.payload(bytes, label, &mut symbols[INDEX_SYMBOLS..])
                },
            )?;
        let column = |symbol: usize| {
            let mut column = vec![0; params.slots()];
            for (value, symbols) in column.iter_mut().zip(by_row.chunks(count)) {
                *value = symbols[symbol];
            }
            column
        };
        Ok((0..count).into_par_iter().map(column).collect())
    }

    /// The symbols of a row's bytes and their checksum; with two-sided privacy its key, and these under its mask.
    fn payload(&self, bytes: &[u8], label: u64, out: &mut [u32]) -> Result<(), ServerError> {
        let params = self.layout.params;
        let (key, symbols) = out.split_at_mut(plan::locks(params));
        let (body, sum) = symbols.split_at_mut(self.code.count());
        self.code.pack(bytes, body)?;
        sum.copy_from_slice(&checksum(label, bytes, params.p().value()));
        if let Some(hidden) = self.layout.hidden {
            key.copy_from_slice(&hidden.key(params, label));
            lock::lock(key, label, params.p(), symbols);
        }
        Ok(())
    }

    /// Packs the sums of a group: the ciphertexts of the small ring, in order.
    pub(super) fn pack(&self, sums: Vec<Sums>) -> impl Iterator<Item = Rlwe> {
        let pack = |sums: Sums| sums.pack(self.shape, self.keys);
        sums.into_iter().map(pack)
    }

    /// Hides what the noise of ciphertext `ct` of a group, and its mask, tell of the table, where the set is for that.
    pub(super) fn flood(&self, packed: &mut Rlwe, group: usize, ct: usize) {
        if let Some(Flood { hidden, zero, bits }) = self.flood {
            let mut rng = hidden.flood(group, ct);
            flood(self.layout.params, zero, bits, packed, &mut rng);
        }
    }

    /// What is sent of the sums of a group.
    pub(super) fn finish(&self, group: usize, sums: Vec<Sums>) -> Vec<PackedCiphertext> {
        let mut finisher = Finisher::new(self.setting(), self.last, self.shape);
        for (ct, mut packed) in self.pack(sums).enumerate() {
            self.flood(&mut packed, group, ct);
            finisher.push(&packed);
        }
        finisher.finish()
    }
}
