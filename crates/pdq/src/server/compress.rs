//! Compression of the rows that an index marks: `omr-compress` with rows as symbols.

use super::Server;
use super::numbers::Layout;
use crate::keys::EvaluationKey;
use crate::{Plan, ServerError};
use omr_codec::Symbols;
use omr_compress::{
    CodeTables, Finisher, Keys, PackedCiphertext, Plaintexts, Round, Setting, Sums, SumsShape,
};
use omr_protocol::plan::{INDEX_SYMBOLS, checksum};
use omr_rlwe::Rlwe;
use omr_table::RowCodec;
use rayon::prelude::*;

pub(super) struct Compressor<'a> {
    server: &'a Server<'a>,
    shape: SumsShape,
    tables: CodeTables,
    keys: Keys<'a>,
    last: &'a omr_rlwe::SharedKey,
    codec: RowCodec,
    code: Symbols,
}

impl<'a> Compressor<'a> {
    pub(super) fn new(
        server: &'a Server,
        plan: &Plan,
        key: &'a EvaluationKey,
    ) -> Result<Self, ServerError> {
        let params = server.params;
        Ok(Self {
            server,
            shape: plan.sums(params),
            tables: CodeTables::new(params.compression()),
            keys: key.compression(params),
            last: &key.last,
            codec: RowCodec::new(server.table.schema(), &plan.shape.select)?,
            code: plan.pieces[0].code(params),
        })
    }

    fn setting(&self) -> Setting<'a> {
        self.server.params.compression()
    }

    fn layout(&self) -> Layout<'_> {
        Layout {
            params: self.server.params,
            table: self.server.table,
            seed: &self.server.placement,
        }
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
        let (params, setting, shape) = (self.server.params, self.setting(), self.shape);
        let placement = self.layout().placement(block);
        let columns = self.columns(batch, block)?;
        let order = self
            .tables
            .classes()
            .order(setting.small_plain, placement.messages());
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
    fn columns(&self, batch: usize, block: usize) -> Result<Vec<Vec<u32>>, ServerError> {
        let (params, layout) = (self.server.params, self.layout());
        let placement = layout.placement(block);
        let rows = layout.rows(block);
        let count = self.shape.symbols();
        let mut by_row = vec![0u32; rows.len() * count];
        by_row
            .par_chunks_mut(count)
            .zip(rows.clone().into_par_iter())
            .zip(placement.slots())
            .try_for_each_init(
                || vec![0; self.codec.bytes()],
                |bytes, ((symbols, row), &slot)| -> Result<(), ServerError> {
                    self.codec.encode(self.server.table, row, bytes)?;
                    symbols[0] = 1;
                    symbols[1] = params.nodes.node(batch, slot as usize);
                    let (body, sum) = symbols[INDEX_SYMBOLS..].split_at_mut(self.code.count());
                    self.code.pack(bytes, body)?;
                    sum.copy_from_slice(&checksum(row as u64, bytes, params.p().value()));
                    Ok(())
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

    /// Packs the sums of a group.
    pub(super) fn finish(&self, sums: Vec<Sums>) -> Vec<PackedCiphertext> {
        let mut finisher = Finisher::new(self.setting(), self.last, self.shape);
        for sums in sums {
            finisher.push(&sums.pack(self.shape, self.keys));
        }
        finisher.finish()
    }
}
