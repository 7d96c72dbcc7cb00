//! The server of an encrypted table.

use super::{EncryptedTable, mask_index};
use crate::keys::EvaluationKey;
use crate::plan::{Id, Op, Schedule};
use crate::progress::{Progress, go_on};
use crate::server::{Block, Present, Values, expand, expect_key};
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
            constants: expand(self.params, query, plan, key)
                .into_iter()
                .map(|pair| Ciphertext::new(pair, plan.start, self.params.leaf_scale(plan.start)))
                .collect(),
        };
        let mut groups = Vec::new();
        for group in 0..plan.groups(self.params) {
            let mut marked = Vec::new();
            for block in plan.blocks_of(self.params, group) {
                marked.push(run.block(block, marked.len(), progress)?);
                progress.blocks(block + 1, plan.blocks);
            }
            groups.push(run.compress(&marked));
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
    constants: Vec<Ciphertext>,
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
        let pair = Rlwe {
            c0: body.clone(),
            c1: mask(&self.params.ring, basis, &self.table.seed, &index),
        };
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

    fn select(&self, block: usize, id: Id) -> Result<Ciphertext, EvalError> {
        let Op::Select {
            source,
            digit,
            table,
        } = self.plan.circuit.ops[id]
        else {
            unreachable!("no selection");
        };
        let first = self.plan.circuit.tables[table].first;
        let masks = self.masks(block, source, digit);
        let pairs: Vec<_> = masks.iter().zip(&self.constants[first..]).collect();
        let evaluator = self.params.evaluator();
        let relinearise = |sum| evaluator.relinearise(&sum, &self.key.product, self.plan.start + 1);
        evaluator.dot(&pairs).and_then(relinearise)
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

    /// The marked symbols of a block, the index and its nodes first, in ciphertexts of the small ring.
    fn block(
        &self,
        block: usize,
        batch: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Rlwe>>, ServerError> {
        let (params, circuit) = (self.params, &self.plan.circuit);
        let asked = |source: usize| {
            circuit.ops.iter().any(|op| match op {
                Op::Known { source: of, .. } => *of == source,
                Op::Complement { within, .. } => *within == Some(source),
                _ => false,
            })
        };
        let present = (0..circuit.sources.len())
            .map(|source| {
                asked(source)
                    .then(|| self.present(block, source))
                    .transpose()
            })
            .collect::<Result<Vec<_>, EvalError>>()?;
        let placement = Placement::new(&self.table.placement, block, params.slots());
        let rows = self.rows(&placement, block);
        let evaluate = Block {
            params,
            plan: self.plan,
            product: &self.key.product,
            present: Present::Encrypted(&present, &rows),
        };
        let mut values = Values::new(&self.schedule);
        for step in &self.schedule.steps {
            go_on(progress)?;
            let selected = step.selections.par_iter();
            let selected = selected.map(|&id| Ok((id, self.select(block, id)?)));
            for (id, selected) in selected.collect::<Result<Vec<_>, EvalError>>()? {
                values.put(id, selected);
            }
            evaluate.advance(step, &mut values)?;
        }
        let index = values.into_index();
        let last = params.last_level();
        let before = evaluate.lowered(&index, last - 1)?;
        let mut marked = vec![
            self.descend(evaluate.lowered(&before, last)?.into_owned()),
            self.descend(self.nodes(&before, batch)?),
        ];
        let symbols = self.symbols()?;
        let products = symbols
            .into_par_iter()
            .map(|at| {
                let body = &self.table.blocks[block].symbols[at];
                let index = mask_index(block, true, at);
                let symbol = self.ciphertext(body, index, last - 1, params.scale(last - 1));
                let product = params
                    .evaluator()
                    .mul(&before, &symbol, &self.key.product)?;
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
        let mut finisher = Finisher::new(setting, &self.key.last, shape);
        let scale = params.scale(params.last_level());
        for round in 0..shape.rounds() {
            let functionals: Vec<Functionals> = (0..marked.len())
                .map(|batch| {
                    let round = Round::new(setting, shape, round, (batch, scale));
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
                finisher.push(&pack(setting, shape, keys, sums));
            }
        }
        finisher.finish()
    }
}
