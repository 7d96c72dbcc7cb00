//! The server of a table in the clear: evaluates queries whose constants it cannot read.

#[cfg(test)]
mod clear_tests;
mod evaluate;
#[cfg(test)]
mod noise_tests;
mod numbers;
mod select;
mod symbols;

use crate::compress::{Batch, Compressor};
use crate::keys::EvaluationKey;
use crate::query::{ciphertexts, constants_of};
use crate::{
    Answer, EncryptedQuery, Params, Plan, QueryFileError, QueryHead, ServerError, Stage, Times, hex,
};
pub(crate) use evaluate::{Block, Present};
pub(crate) use numbers::Layout;
use omr_bgv::Expander;
use omr_rlwe::Rlwe;
use omr_table::{Schema, Table};
use rayon::prelude::*;
use select::Numbers;
pub(crate) use select::masks;
use symbols::RowSymbols;

/// Most bytes of selections held at a time.
const SELECTIONS_BYTES: usize = 1 << 30;

/// A table and a client's key.
pub struct Server<'a> {
    /// The parameters.
    pub params: &'a Params,
    /// The table.
    pub table: &'a Table,
    /// The seed of where rows lie in their blocks: drawn once for a table.
    pub placement: [u8; 32],
}

/// How far an answer is: blocks done, of blocks.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl Server<'_> {
    /// The plan of a query that arrived. Errors: another schema than the table's; those of [`Plan::new`].
    pub fn plan(&self, head: &QueryHead) -> Result<Plan, QueryFileError> {
        let schema = self.table.schema();
        expect_schema(schema, head)?;
        Ok(Plan::new(self.params, schema, &head.shape, head.bound)?)
    }

    /// Reads a query's file. Errors: those of [`EncryptedQuery::from_bytes`] and [`Server::plan`].
    pub fn read(&self, bytes: &[u8]) -> Result<(EncryptedQuery, Plan), QueryFileError> {
        EncryptedQuery::from_bytes(self.params, bytes, |head| self.plan(head))
    }

    /// Answers a query. What is computed, and for how long, depends on the plan and the table, not on the constants.
    ///
    /// Errors: a key other than the query's.
    pub fn answer(
        &self,
        query: &EncryptedQuery,
        plan: &Plan,
        key: &EvaluationKey,
        progress: Progress,
    ) -> Result<Answer, ServerError> {
        self.answer_timed(query, plan, key, progress, &Times::new())
    }

    /// As [`Server::answer`], telling where the time goes.
    pub fn answer_timed(
        &self,
        query: &EncryptedQuery,
        plan: &Plan,
        key: &EvaluationKey,
        progress: Progress,
        times: &Times,
    ) -> Result<Answer, ServerError> {
        expect_key(key, &query.key_id)?;
        let constants = times.of(Stage::Expansion, || expand(self.params, query, plan, key));
        let compressor = Compressor::new(self.params, plan.sums(self.params), key);
        let symbols = RowSymbols::new(self, plan)?;
        let run = Run {
            server: self,
            plan,
            key,
            constants: &constants,
            times,
        };
        let layout = run.layout();
        let together = run.blocks_together();
        let mut groups = Vec::new();
        for group in 0..plan.groups(self.params) {
            let blocks = plan.blocks_of(self.params, group);
            let mut sums = compressor.sums();
            for first in blocks.clone().step_by(together) {
                let some: Vec<usize> = (first..(first + together).min(blocks.end)).collect();
                for (&block, index) in some.iter().zip(run.indices(&some)?) {
                    let index = times.of(Stage::Descent, || compressor.descend(&index));
                    let number = block - blocks.start;
                    let columns =
                        times.of(Stage::Symbols, || symbols.columns(&layout, number, block))?;
                    let placement = layout.placement(block);
                    let batch = Batch {
                        number,
                        rows: placement.messages(),
                        index: &index,
                        columns: &columns,
                    };
                    compressor.add(&mut sums, &batch, times);
                    progress(block + 1, plan.blocks);
                }
            }
            groups.push(times.of(Stage::Packing, || compressor.finish(sums)));
        }
        Ok(Answer {
            key_id: key.id,
            placement: self.placement,
            groups,
        })
    }
}

/// Errors: unless the query was made for this schema.
pub(crate) fn expect_schema(schema: &Schema, head: &QueryHead) -> Result<(), QueryFileError> {
    let expected = schema.fingerprint();
    match head.schema == expected {
        true => Ok(()),
        false => Err(QueryFileError::Schema {
            expected: hex(&expected[..8]),
            found: hex(&head.schema[..8]),
        }),
    }
}

/// Errors: unless the key is the one of this name.
pub(crate) fn expect_key(key: &EvaluationKey, id: &[u8; 16]) -> Result<(), QueryFileError> {
    match key.id == *id {
        true => Ok(()),
        false => Err(QueryFileError::Key {
            expected: hex(&key.id),
            found: hex(id),
        }),
    }
}

/// A query's constants, one ciphertext each.
pub(crate) fn expand(
    params: &Params,
    query: &EncryptedQuery,
    plan: &Plan,
    key: &EvaluationKey,
) -> Vec<Rlwe> {
    let basis = params.chain.basis(plan.start);
    let expander = Expander::new(&params.ring, basis, params.p(), key.expand.iter().collect());
    (0..ciphertexts(plan))
        .flat_map(|i| {
            let ct = query.ciphertext(params, plan, i);
            expander.constants(ct, constants_of(plan, i).len())
        })
        .collect()
}

struct Run<'a> {
    server: &'a Server<'a>,
    plan: &'a Plan,
    key: &'a EvaluationKey,
    constants: &'a [Rlwe],
    times: &'a Times,
}

impl Run<'_> {
    fn blocks_together(&self) -> usize {
        let params = self.server.params;
        let ciphertext = 2 * params.chain.basis(self.plan.start).len() * params.spec().n * 8;
        let of_block = self.plan.circuit.ops.len() * ciphertext;
        (SELECTIONS_BYTES / of_block).clamp(1, 16)
    }

    fn layout(&self) -> Layout<'_> {
        Layout {
            params: self.server.params,
            table: self.server.table,
            seed: &self.server.placement,
        }
    }

    /// The index of each block, at the last level.
    fn indices(&self, blocks: &[usize]) -> Result<Vec<Rlwe>, ServerError> {
        let (params, plan) = (self.server.params, self.plan);
        let layout = self.layout();
        let exists: Vec<Vec<bool>> = blocks.iter().map(|&block| layout.exists(block)).collect();
        let (numbers, selected) = self.times.of(Stage::Selections, || {
            let numbers = blocks.par_iter().map(|&block| layout.numbers(plan, block));
            let numbers: Vec<Vec<Numbers>> = numbers.collect();
            let selected = select::select(params, plan, self.constants, &numbers);
            (numbers, selected)
        });
        let index = |((selected, numbers), exists): ((Vec<_>, &Vec<Numbers>), &Vec<bool>)| {
            let block = Block {
                params,
                plan,
                product: &self.key.product,
                present: Present::Clear(numbers, exists),
            };
            let index = block.index(selected)?;
            let index = block.lowered(&index, params.last_level())?;
            Ok(index.into_owned().into_pair())
        };
        self.times.of(Stage::Products, || {
            let blocks = selected.into_par_iter().zip(&numbers).zip(&exists);
            blocks.map(index).collect()
        })
    }
}
