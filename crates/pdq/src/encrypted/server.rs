//! The server of an encrypted table.

use super::{EncryptedTable, mask_index};
use crate::keys::EvaluationKey;
use crate::plan::{Id, Op, Schedule, Step};
use crate::progress::{Progress, check_stopped};
use crate::server::{Block, Constants, Present, Values, digits, expect_key, lowered};
use crate::{Answer, EncryptedQuery, Params, Plan, QueryFileError, QueryHead, ServerError};
use omr_bgv::{Ciphertext, EvalError};
use omr_compress::{
    CodeTables, Finisher, Functionals, PackedCiphertext, Round, encrypted_sum, pack,
};
use omr_protocol::Placement;
use omr_ring::{Eval, Poly};
use omr_rlwe::{Descent, Rlwe, mask};
use rayon::prelude::*;

/// An encrypted table and what is needed to answer.
pub struct EncryptedServer<'a> {
    /// The parameters.
    pub params: &'a Params,
    /// The table.
    pub table: &'a EncryptedTable,
}

impl EncryptedServer<'_> {
    /// The plan of a query that arrived. Errors: another schema than the table's; those of [`Plan::encrypted`].
    pub fn plan(&self, query: &QueryHead) -> Result<Plan, QueryFileError> {
        let head = &self.table.head;
        query.expect_schema(&head.schema)?;
        Ok(Plan::encrypted(
            self.params,
            head,
            &query.shape,
            query.bound,
        )?)
    }

    /// Reads a query's file. Errors: those of [`EncryptedQuery::from_bytes`] and [`EncryptedServer::plan`].
    pub fn read(&self, bytes: &[u8]) -> Result<(EncryptedQuery, Plan), QueryFileError> {
        EncryptedQuery::from_bytes(self.params, bytes, |head| self.plan(head))
    }

    /// Answers a query. What is computed, and for how long, depends on the plan alone.
    ///
    /// Errors: a key other than the query's and the table's; `Stopped`.
    pub fn answer(
        &self,
        query: &EncryptedQuery,
        plan: &Plan,
        key: &EvaluationKey,
        progress: &dyn Progress,
    ) -> Result<Answer, ServerError> {
        expect_key(key, &query.key_id)?;
        expect_key(key, &self.table.key_id)?;
        let run = Run {
            params: self.params,
            table: self.table,
            plan,
            schedule: Schedule::new(self.params, plan),
            key,
        };
        let mut constants = Constants::new(self.params, query, plan, key);
        let (mut groups, mut marked) = (Vec::new(), Vec::new());
        for pass in run.schedule.passes(plan) {
            let blocks: Vec<usize> = pass.collect();
            let indices = run.indices(&mut constants, &blocks, progress)?;
            for (&block, index) in blocks.iter().zip(&indices) {
                check_stopped(progress)?;
                marked.push(run.mark(block, marked.len(), index, progress)?);
                progress.blocks(block + 1, plan.blocks);
                let group = plan.group_of(self.params, block);
                if block + 1 == plan.blocks_of(self.params, group).end {
                    groups.push(run.compress(&std::mem::take(&mut marked)));
                }
            }
        }
        Ok(Answer {
            key_id: key.id,
            placement: Some(self.table.placement),
            groups,
        })
    }
}

struct Run<'a> {
    params: &'a Params,
    table: &'a EncryptedTable,
    plan: &'a Plan,
    schedule: Schedule,
    key: &'a EvaluationKey,
}

impl Run<'_> {
    fn ciphertext(
        &self,
        body: &Poly<Eval>,
        index: [u64; 3],
        level: usize,
        scale: u64,
    ) -> Ciphertext {
        let basis = self.params.chain.basis(level);
        let pair = Rlwe::new(
            body.clone(),
            mask(&self.params.ring, basis, &self.table.seed, &index),
        );
        Ciphertext::new(pair, level, scale)
    }

    /// All masks of a digit of a circuit's source.
    fn masks(&self, block: usize, source: usize, digit: usize) -> Vec<Ciphertext> {
        let source = &self.plan.circuit.sources[source];
        let head = &self.table.head;
        let place = head
            .place(&self.plan.shape, source)
            .expect("planned with this table");
        let first = head.first_masks().0[place] + digit * source.radix;
        (first..first + source.radix)
            .into_par_iter()
            .map(|at| {
                let body = &self.table.blocks[block].masks[at];
                self.ciphertext(body, mask_index(block, false, at), self.plan.start, 1)
            })
            .collect()
    }

    /// The selections of a step on a block. The masks of one digit are there at a time.
    fn select(
        &self,
        block: usize,
        constants: &Constants,
        step: &Step,
        values: &mut Values,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), EvalError> {
        let evaluator = self.params.evaluator().stopped_by(stop);
        let level = self.plan.start + 1;
        for digit in digits(self.plan, &step.selections) {
            let masks = self.masks(block, digit.source, digit.digit);
            let select = |&(id, first): &(Id, usize)| {
                let entries = (first..).map(|place| constants.at(place));
                let pairs: Vec<_> = masks.iter().zip(entries).collect();
                let sum = evaluator.dot(&pairs)?;
                Ok((id, evaluator.relinearise(&sum, &self.key.product, level)?))
            };
            let selected = digit.ops.par_iter().map(select);
            for (id, selected) in selected.collect::<Result<Vec<_>, EvalError>>()? {
                values.put(id, selected);
            }
        }
        Ok(())
    }

    /// Where a source has values: the sum of the masks of any digit.
    fn present(&self, block: usize, source: usize) -> Result<Ciphertext, EvalError> {
        let (params, evaluator) = (self.params, self.params.evaluator());
        let masks = self.masks(block, source, 0);
        let mut sum = masks[0].clone();
        for mask in &masks[1..] {
            evaluator.add_assign(&mut sum, mask)?;
        }
        evaluator.mul_scalar_assign(&mut sum, params.leaf_scale(self.plan.start));
        let level = self.plan.start + 1;
        let pair = evaluator.at_level(&sum, level)?.into_pair();
        Ok(Ciphertext::new(pair, level, params.scale(level)))
    }

    /// Where the sources have values, of those that the circuit asks for.
    fn presents(&self, block: usize) -> Result<Vec<Option<Ciphertext>>, EvalError> {
        let circuit = &self.plan.circuit;
        let asked = |source: usize| {
            circuit.ops.iter().any(|op| match op {
                Op::Known { source: of, .. } => *of == source,
                Op::Complement { within, .. } => *within == Some(source),
                _ => false,
            })
        };
        let present = |source| asked(source).then(|| self.present(block, source));
        (0..circuit.sources.len())
            .map(|source| present(source).transpose())
            .collect()
    }

    /// The index of each block of a pass, as it is before it is multiplied with symbols.
    fn indices(
        &self,
        constants: &mut Constants,
        blocks: &[usize],
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, ServerError> {
        let present: Vec<_> = blocks
            .iter()
            .map(|&block| {
                let placement = Placement::new(&self.table.placement, block, self.params.slots());
                Ok((self.presents(block)?, self.rows(&placement, block)))
            })
            .collect::<Result<_, EvalError>>()?;
        let stop = || progress.is_stopped();
        let evaluate: Vec<Block> = present
            .iter()
            .map(|(present, rows)| Block {
                params: self.params,
                plan: self.plan,
                product: &self.key.product,
                present: Present::Encrypted(present, rows),
                stop: Some(&stop),
            })
            .collect();
        let mut values = vec![Values::new(&self.schedule); blocks.len()];
        for step in &self.schedule.steps {
            constants.provide(step, progress)?;
            for ((&block, evaluate), values) in blocks.iter().zip(&evaluate).zip(&mut values) {
                check_stopped(progress)?;
                self.select(block, constants, step, values, &stop)?;
                evaluate.advance(step, values)?;
            }
            constants.forget(step);
        }
        let before = self.params.last_level() - 1;
        let index = |values: Values| {
            let index = values.into_index();
            Ok(lowered(self.params, &index, before)?.into_owned())
        };
        values.into_iter().map(index).collect()
    }

    /// The marked symbols of a block, its number in its group beside it: the index and its nodes first, in ciphertexts
    /// of the small ring.
    fn mark(
        &self,
        block: usize,
        batch: usize,
        index: &Ciphertext,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Rlwe>>, ServerError> {
        let params = self.params;
        let stop = || progress.is_stopped();
        let evaluator = params.evaluator().stopped_by(&stop);
        let last = params.last_level();
        let mut marked = vec![
            self.descend(lowered(params, index, last)?.into_owned()),
            self.descend(self.nodes(index, batch)?),
        ];
        let symbols = self.symbols()?;
        let products = symbols
            .into_par_iter()
            .map(|at| {
                let body = &self.table.blocks[block].symbols[at];
                let place = mask_index(block, true, at);
                let symbol = self.ciphertext(body, place, last - 1, params.scale(last - 1));
                let product = evaluator.mul(index, &symbol, &self.key.product)?;
                Ok(self.descend(product))
            })
            .collect::<Result<Vec<_>, EvalError>>()?;
        marked.extend(products);
        Ok(marked)
    }

    /// Rows that exist, encoded.
    fn rows(&self, placement: &Placement, block: usize) -> Vec<u32> {
        let left = self.table.head.schema.rows as usize - block * self.params.slots();
        let exists = |&row: &u32| u32::from((row as usize) < left);
        let slots: Vec<u32> = placement.messages().iter().map(exists).collect();
        self.params.plain.encode(&slots)
    }

    /// The index times the node of each slot.
    fn nodes(&self, index: &Ciphertext, batch: usize) -> Result<Ciphertext, EvalError> {
        let (params, p) = (self.params, self.params.p());
        let scale = params.scale(index.level());
        let node = |slot| p.mul(params.nodes.node(batch, slot).into(), scale) as u32;
        let nodes: Vec<u32> = (0..params.slots()).map(node).collect();
        let basis = params.chain.basis(index.level());
        let plain = params
            .ring
            .lift_plain(&params.plain.encode(&nodes), p.value() as u32, basis);
        let mut product = index.clone();
        params.evaluator().mul_plain_assign(&mut product, &plain);
        params.evaluator().at_level(&product, index.level() + 1)
    }

    /// Places of the symbols of the columns asked for.
    fn symbols(&self) -> Result<Vec<usize>, ServerError> {
        let firsts = self.table.head.first_symbols(self.params)?.0;
        let of_piece = |piece: &crate::plan::Piece| {
            let first = firsts[piece.columns[0]];
            first..first + piece.symbols(self.params)
        };
        Ok(self.plan.pieces.iter().flat_map(of_piece).collect())
    }

    fn descend(&self, ct: Ciphertext) -> Vec<Rlwe> {
        let params = self.params;
        let descent = Descent {
            large: &params.ring,
            small: &params.small,
            key: &self.key.descent,
        };
        descent.apply(&ct.into_pair(), params.small_basis(), params.p())
    }

    /// The sums of a group from the marked symbols of its blocks.
    fn compress(&self, marked: &[Vec<Vec<Rlwe>>]) -> Vec<PackedCiphertext> {
        let (params, setting) = (self.params, self.params.compression());
        let shape = self.plan.sums(params);
        let tables = CodeTables::new(setting);
        let keys = self.key.compression(params);
        let mut finisher = Finisher::new(setting.packing, &self.key.last, shape);
        let scale = params.scale(params.last_level());
        for round in 0..shape.rounds() {
            let functionals: Vec<Functionals> = (0..marked.len())
                .map(|batch| {
                    let round = Round::new(setting, shape, round, batch, scale);
                    tables.functionals(setting, &round)
                })
                .collect();
            for ct in 0..shape.ciphertexts() {
                let sum = |symbol: usize| {
                    let of_block = marked.iter().map(|symbols| &symbols[symbol][..]);
                    let batches: Vec<_> = functionals.iter().zip(of_block).collect();
                    encrypted_sum(setting, keys, &batches)
                };
                let sums = shape.symbols_of(ct).map(sum).collect();
                finisher.push(&pack(setting.packing, shape, keys.merge, sums));
            }
        }
        finisher.finish()
    }
}
