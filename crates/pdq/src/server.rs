//! The server of a table in the clear: evaluates queries whose constants it cannot read.

#[cfg(test)]
mod clear_tests;
mod constants;
mod evaluate;
mod flood;
mod hidden;
#[cfg(test)]
mod noise_tests;
mod numbers;
mod select;
#[cfg(test)]
mod steps_tests;
mod symbols;
#[cfg(test)]
mod tests;

use crate::compress::{Batch, Compressor};
use crate::keys::EvaluationKey;
use crate::plan::Schedule;
use crate::progress::{Progress, check_stopped};
use crate::{
    Answer, EncryptedQuery, Params, Plan, QueryFileError, QueryHead, ServerError, Stage, Times,
};
pub(crate) use constants::Constants;
pub(crate) use evaluate::{Block, Present, Values, lowered};
pub use flood::flood;
use hidden::Hidden;
pub(crate) use numbers::Layout;
use omr_compress::Sums;
use omr_protocol::Mismatch;
use omr_rlwe::Rlwe;
use omr_table::Table;
use rand_core::CryptoRng;
use rayon::prelude::*;
use select::Numbers;
pub(crate) use select::{digits, masks};
use symbols::RowSymbols;

/// A table and a client's key.
pub struct Server<'a> {
    /// The parameters.
    pub params: &'a Params,
    /// The table.
    pub table: &'a Table,
    /// The seed of where rows lie in their blocks: drawn once for a table. Clients see it. With two-sided privacy it is
    /// not used: rows lie elsewhere for each answer.
    pub placement: [u8; 32],
}

impl<'a> Server<'a> {
    /// Returns a server of a table; the seed `placement` determines the places of its rows.
    pub const fn new(params: &'a Params, table: &'a Table, placement: [u8; 32]) -> Self {
        Self {
            params,
            table,
            placement,
        }
    }

    /// The plan of a query that arrived. Errors: another schema than the table's; those of [`Plan::new`].
    pub fn plan(&self, head: &QueryHead) -> Result<Plan, QueryFileError> {
        let schema = self.table.schema();
        head.expect_schema(schema)?;
        Ok(Plan::new(self.params, schema, &head.shape, head.bound)?)
    }

    /// Reads a query's file. Errors: those of [`EncryptedQuery::from_bytes`] and [`Server::plan`].
    pub fn read(&self, bytes: &[u8]) -> Result<(EncryptedQuery, Plan), QueryFileError> {
        EncryptedQuery::from_bytes(self.params, bytes, |head| self.plan(head))
    }

    /// Answers a query. The computation and its time depend on the plan and the table, not on the constants.
    ///
    /// In a parameter set with two-sided privacy ([`Plan::two_sided`]) a client that follows the protocol learns from
    /// the answer which rows match, in random order and without their numbers; if more rows match than the bound, only
    /// their number (in each group). [`Flooding`](crate::Flooding) describes how the rest is hidden; the computation then
    /// depends on the plan alone. In other sets the noise and the masks of an answer may reveal more of the table.
    ///
    /// `rng`: one seed is drawn with two-sided privacy; it must be fit for secrets.
    /// Errors: a key other than the query's, or without the encryption of zero that flooding takes; `Stopped`.
    pub fn answer(
        &self,
        query: &EncryptedQuery,
        plan: &Plan,
        key: &EvaluationKey,
        rng: &mut impl CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Answer, ServerError> {
        self.answer_timed(query, plan, key, rng, progress, &Times::new())
    }

    /// Answers a query as [`Server::answer`] does, and adds the times of its stages to `times`.
    pub fn answer_timed(
        &self,
        query: &EncryptedQuery,
        plan: &Plan,
        key: &EvaluationKey,
        rng: &mut impl CryptoRng,
        progress: &dyn Progress,
        times: &Times,
    ) -> Result<Answer, ServerError> {
        expect_key(key, &query.key_id)?;
        let compressor = Compressor::new(self.params, plan.sums(self.params), key);
        let symbols = RowSymbols::new(self, plan)?;
        let hidden = self.hidden(plan, rng);
        let flooding = self.flooding(hidden.as_ref(), key)?;
        let run = Run {
            layout: self.layout(hidden.as_ref()),
            plan,
            schedule: Schedule::new(self.params, plan),
            key,
            compressor: &compressor,
            symbols: &symbols,
            times,
        };
        let mut groups = Vec::new();
        run.groups(query, progress, &mut |group, sums| {
            let packed = compressor.pack(sums).enumerate();
            let hide = |(ct, mut packed)| {
                if let Some(flooding) = &flooding {
                    flooding.hide(self.params, group, ct, &mut packed);
                }
                packed
            };
            groups.push(times.of(Stage::Packing, || compressor.send(packed.map(hide))));
        })?;
        Ok(Answer {
            key_id: key.id,
            placement: (!self.params.two_sided()).then_some(self.placement),
            groups,
        })
    }
}

impl Server<'_> {
    fn hidden(&self, plan: &Plan, rng: &mut impl CryptoRng) -> Option<Hidden> {
        let places = plan.blocks * self.params.slots();
        self.params.two_sided().then(|| Hidden::new(places, rng))
    }

    fn layout<'b>(&'b self, hidden: Option<&'b Hidden>) -> Layout<'b> {
        Layout {
            params: self.params,
            table: self.table,
            seed: &self.placement,
            hidden,
        }
    }

    /// Returns the seed, key and bits of flooding; `None` without two-sided privacy.
    fn flooding<'b>(
        &self,
        hidden: Option<&'b Hidden>,
        key: &'b EvaluationKey,
    ) -> Result<Option<Flood<'b>>, ServerError> {
        let (Some(hidden), Some(bits)) = (hidden, self.params.flooding()) else {
            return Ok(None);
        };
        let zero = key.zero.as_ref().ok_or(ServerError::PublicKey)?;
        Ok(Some(Flood { hidden, zero, bits }))
    }
}

/// The inputs of flooding.
struct Flood<'a> {
    hidden: &'a Hidden,
    zero: &'a Rlwe,
    bits: u32,
}

impl Flood<'_> {
    /// Hides the information on the table in the noise and the mask of ciphertext `ct` of a group.
    fn hide(&self, params: &Params, group: usize, ct: usize, packed: &mut Rlwe) {
        let mut rng = self.hidden.flood(group, ct);
        flood::flood(params, self.zero, self.bits, packed, &mut rng);
    }
}

/// Errors: `Key` unless the key has this name.
pub(crate) fn expect_key(key: &EvaluationKey, id: &[u8; 16]) -> Result<(), QueryFileError> {
    if key.id == *id {
        Ok(())
    } else {
        Err(QueryFileError::Key(Mismatch::new(
            omr_protocol::hex(&key.id),
            omr_protocol::hex(id),
        )))
    }
}

struct Run<'a> {
    layout: Layout<'a>,
    plan: &'a Plan,
    schedule: Schedule,
    key: &'a EvaluationKey,
    compressor: &'a Compressor<'a>,
    symbols: &'a RowSymbols<'a>,
    times: &'a Times,
}

impl<'a> Run<'a> {
    /// Calls `take` with the sums of each group, one after another.
    fn groups(
        &self,
        query: &EncryptedQuery,
        progress: &dyn Progress,
        take: &mut dyn FnMut(usize, Vec<Sums<'a>>),
    ) -> Result<(), ServerError> {
        let (params, plan) = (self.layout.params, self.plan);
        let mut constants = Constants::new(params, query, plan, self.key);
        let mut sums = None;
        for pass in self.schedule.passes(plan) {
            let blocks: Vec<usize> = pass.collect();
            for (&block, index) in
                blocks
                    .iter()
                    .zip(self.indices(&mut constants, &blocks, progress)?)
            {
                check_stopped(progress)?;
                let group = plan.group_of(params, block);
                let of_group = plan.blocks_of(params, group);
                let sums_of_group = sums.get_or_insert_with(|| self.compressor.sums());
                let number = block - of_group.start;
                self.add(sums_of_group, number, block, &index, progress)?;
                progress.blocks(block + 1, plan.blocks);
                if block + 1 == of_group.end {
                    sums.take().into_iter().for_each(|sums| take(group, sums));
                }
            }
        }
        Ok(())
    }

    /// Adds block `block`, number `number` of its group.
    fn add(
        &self,
        sums: &mut [Sums<'a>],
        number: usize,
        block: usize,
        index: &Rlwe,
        progress: &dyn Progress,
    ) -> Result<(), ServerError> {
        let times = self.times;
        let index = times.of(Stage::Descent, || self.compressor.descend(index));
        let places = self.layout.places(block);
        let columns = times.of(Stage::Symbols, || {
            self.symbols.columns(&self.layout, number, block, &places)
        })?;
        let batch = Batch {
            number,
            rows: &places.order,
            index: &index,
            columns: &columns,
        };
        self.compressor.add(sums, &batch, times, progress)
    }

    /// The index of each block of a pass, at the last level.
    fn indices(
        &self,
        constants: &mut Constants,
        blocks: &[usize],
        progress: &dyn Progress,
    ) -> Result<Vec<Rlwe>, ServerError> {
        let (params, plan, layout) = (self.layout.params, self.plan, self.layout);
        let stop = || progress.is_stopped();
        let exists: Vec<Vec<bool>> = blocks.iter().map(|&block| layout.exists(block)).collect();
        let numbers: Vec<Vec<Numbers>> = self.times.of(Stage::Selections, || {
            let numbers = blocks.par_iter().map(|&block| layout.numbers(plan, block));
            numbers.collect()
        });
        let some: Vec<Block> = numbers
            .iter()
            .zip(&exists)
            .map(|(numbers, exists)| Block {
                params,
                plan,
                product: &self.key.product,
                present: Present::Clear(numbers, exists),
                stop: Some(&stop),
            })
            .collect();
        let mut values = vec![Values::new(&self.schedule); blocks.len()];
        for step in &self.schedule.steps {
            self.times
                .of(Stage::Expansion, || constants.provide(step, progress))?;
            let together = self.schedule.together;
            let numbers = numbers.chunks(together).zip(some.chunks(together));
            for ((numbers, some), values) in numbers.zip(values.chunks_mut(together)) {
                check_stopped(progress)?;
                self.times.of(Stage::Selections, || {
                    select::select(
                        params,
                        constants,
                        &step.selections,
                        numbers,
                        values,
                        progress,
                    )
                })?;
                self.times.of(Stage::Products, || {
                    let all = some.par_iter().zip(values);
                    all.try_for_each(|(block, values)| block.advance(step, values))
                })?;
            }
            constants.forget(step);
        }
        let index = |values: Values| {
            let index = values.into_index();
            let index = lowered(params, &index, params.last_level())?;
            Ok(index.into_owned().into_pair())
        };
        self.times.of(Stage::Products, || {
            values.into_par_iter().map(index).collect()
        })
    }
}
