//! The server of a table in the clear: evaluates queries whose constants it cannot read.

mod compress;
mod evaluate;
mod flood;
mod hidden;
mod numbers;
mod select;
#[cfg(test)]
mod tests;

use crate::keys::EvaluationKey;
use crate::query::{ciphertexts, constants_of};
use crate::{Answer, EncryptedQuery, Params, Plan, QueryFileError, QueryHead, ServerError, hex};
use compress::Compressor;
use evaluate::Block;
use hidden::Hidden;
use numbers::Layout;
use omr_bgv::Expander;
use omr_compress::Sums;
use omr_rlwe::{Descent, Rlwe};
use omr_table::Table;
use rand_core::CryptoRng;
use rayon::prelude::*;
use select::Numbers;

/// Most bytes of selections held at a time.
const SELECTIONS_BYTES: usize = 1 << 30;

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

/// How far an answer is: blocks done, of blocks.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl Server<'_> {
    /// The plan of a query that arrived. Errors: another schema than the table's; those of [`Plan::new`].
    pub fn plan(&self, head: &QueryHead) -> Result<Plan, QueryFileError> {
        let schema = self.table.schema();
        let expected = schema.fingerprint();
        if head.schema != expected {
            return Err(QueryFileError::Schema {
                expected: hex(&expected[..8]),
                found: hex(&head.schema[..8]),
            });
        }
        Ok(Plan::new(self.params, schema, &head.shape, head.bound)?)
    }

    /// Reads a query's file. Errors: those of [`EncryptedQuery::from_bytes`] and [`Server::plan`].
    pub fn read(&self, bytes: &[u8]) -> Result<(EncryptedQuery, Plan), QueryFileError> {
        EncryptedQuery::from_bytes(self.params, bytes, |head| self.plan(head))
    }

    /// Answers a query. What is computed, and for how long, depends on the plan and the table, not on the constants.
    ///
    /// In a parameter set with two-sided privacy ([`Plan::two_sided`]) a client who keeps to the protocol learns from
    /// the answer which rows match, in random order and without their numbers; of more rows than the bound only how many
    /// there are (in each group). The rest is hidden as [`Flooding`](crate::Flooding) says; what is computed then
    /// depends on the plan alone. In other sets the noise and the masks of an answer may tell her more of the table.
    ///
    /// `rng`: one seed is drawn with two-sided privacy; it must be fit for secrets.
    /// Errors: a key other than the query's, or without what flooding takes.
    pub fn answer(
        &self,
        query: &EncryptedQuery,
        plan: &Plan,
        key: &EvaluationKey,
        rng: &mut impl CryptoRng,
        progress: Progress,
    ) -> Result<Answer, ServerError> {
        self.check_key(query, key)?;
        let hidden = self.hidden(plan, rng);
        let layout = self.layout(hidden.as_ref());
        let constants = self.expand(query, plan, key);
        let compressor = Compressor::new(layout, plan, key)?;
        let run = Run {
            layout,
            plan,
            key,
            constants: &constants,
        };
        let groups = (0..plan.groups(self.params)).map(|group| {
            let sums = run.sums(group, &compressor, progress)?;
            Ok(compressor.finish(group, sums))
        });
        Ok(Answer {
            key_id: key.id,
            placement: (!self.params.two_sided()).then_some(self.placement),
            groups: groups.collect::<Result<_, ServerError>>()?,
        })
    }

    fn check_key(&self, query: &EncryptedQuery, key: &EvaluationKey) -> Result<(), ServerError> {
        if key.id != query.key_id {
            return Err(QueryFileError::Key {
                expected: hex(&key.id),
                found: hex(&query.key_id),
            }
            .into());
        }
        Ok(())
    }

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

    fn expand(&self, query: &EncryptedQuery, plan: &Plan, key: &EvaluationKey) -> Vec<Rlwe> {
        let (params, basis) = (self.params, self.params.chain.basis(plan.start));
        let expander = Expander::new(&params.ring, basis, params.p(), &key.expand);
        (0..ciphertexts(plan))
            .flat_map(|i| {
                let ct = query.ciphertext(params, plan, i);
                expander.constants(ct, constants_of(plan, i).len())
            })
            .collect()
    }
}

struct Run<'a> {
    layout: Layout<'a>,
    plan: &'a Plan,
    key: &'a EvaluationKey,
    constants: &'a [Rlwe],
}

impl<'a> Run<'a> {
    /// The sums of a group.
    fn sums<'c>(
        &self,
        group: usize,
        compressor: &'c Compressor<'a>,
        progress: Progress,
    ) -> Result<Vec<Sums<'c>>, ServerError> {
        let (together, plan) = (self.blocks_together(), self.plan);
        let blocks = plan.blocks_of(self.layout.params, group);
        let mut sums = compressor.sums();
        for first in blocks.clone().step_by(together) {
            let some: Vec<usize> = (first..(first + together).min(blocks.end)).collect();
            for (&block, small) in some.iter().zip(self.indices(&some)?) {
                compressor.add(&mut sums, block - blocks.start, block, &small)?;
                progress(block + 1, plan.blocks);
            }
        }
        Ok(sums)
    }

    fn blocks_together(&self) -> usize {
        let params = self.layout.params;
        let ciphertext = 2 * params.chain.basis(self.plan.start).len() * params.spec().n * 8;
        let of_block = self.plan.circuit.ops.len() * ciphertext;
        (SELECTIONS_BYTES / of_block).clamp(1, 16)
    }

    /// The index of each block, in ciphertexts of the small ring.
    fn indices(&self, blocks: &[usize]) -> Result<Vec<Vec<Rlwe>>, ServerError> {
        let (params, plan) = (self.layout.params, self.plan);
        let numbers: Vec<Vec<Numbers>> = blocks
            .par_iter()
            .map(|&block| self.layout.numbers(plan, block))
            .collect();
        let selected = select::select(params, plan, self.constants, &numbers);
        let descent = Descent {
            large: &params.ring,
            small: &params.small,
            key: &self.key.descent,
        };
        selected
            .into_par_iter()
            .zip(&numbers)
            .map(|(selected, numbers)| {
                let block = Block {
                    params,
                    plan,
                    product: &self.key.product,
                    numbers,
                };
                let index = block.index(selected)?.into_pair();
                Ok(descent.apply(&index, params.small_basis(), params.p()))
            })
            .collect()
    }
}
