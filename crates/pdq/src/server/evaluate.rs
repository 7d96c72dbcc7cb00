//! Circuits on blocks: from selections to the encrypted index.

use super::select::Numbers;
use crate::Params;
use crate::plan::{Id, Op, Plan};
use omr_bgv::{Ciphertext, EvalError, Evaluator};
use omr_ring::Poly;
use omr_rlwe::{Rlwe, SwitchingKey};

/// One block.
pub(super) struct Block<'a> {
    pub(super) params: &'a Params,
    pub(super) plan: &'a Plan,
    /// Relinearisation.
    pub(super) product: &'a SwitchingKey,
    /// By source.
    pub(super) numbers: &'a [Numbers],
}

impl Block<'_> {
    fn evaluator(&self) -> Evaluator<'_> {
        self.params.evaluator()
    }

    /// The index of the block at the last level. `selected`: by operation.
    pub(super) fn index(&self, selected: Vec<Option<Ciphertext>>) -> Result<Ciphertext, EvalError> {
        let mut values: Vec<Ciphertext> = Vec::with_capacity(selected.len());
        for (id, given) in selected.into_iter().enumerate() {
            let value = match given {
                Some(value) => value,
                None => self.value(&values, id)?,
            };
            values.push(value);
        }
        let index = values.pop().expect("a circuit has a value");
        self.lowered(&index, self.params.last_level())
    }

    fn value(&self, values: &[Ciphertext], id: Id) -> Result<Ciphertext, EvalError> {
        let level = self.plan.level(id);
        let at = |id: Id, level: usize| self.lowered(&values[id], level);
        let evaluator = self.evaluator();
        match &self.plan.circuit.ops[id] {
            Op::Select { .. } => unreachable!("selections are given"),
            Op::Known { source, present } => Ok(self.known(*source, *present)),
            Op::Complement { of, within } => self.complement(&values[*of], *within),
            Op::Minus(a, b) => {
                let mut out = at(*a, level)?;
                evaluator.sub_assign(&mut out, &at(*b, level)?)?;
                Ok(out)
            }
            Op::Sum(terms) => {
                let mut out = at(terms[0], level)?;
                for &term in &terms[1..] {
                    evaluator.add_assign(&mut out, &at(term, level)?)?;
                }
                Ok(out)
            }
            Op::Dot(pairs) => {
                let product = |&(a, b): &(Id, Id)| -> Result<Ciphertext, EvalError> {
                    evaluator.tensor(&at(a, level - 1)?, &at(b, level - 1)?)
                };
                let mut out = product(&pairs[0])?;
                for pair in &pairs[1..] {
                    evaluator.add_assign(&mut out, &product(pair)?)?;
                }
                evaluator.relinearise(&out, self.product, level)
            }
        }
    }

    /// The same slots at a lower level, at the scale of that level.
    fn lowered(&self, ct: &Ciphertext, level: usize) -> Result<Ciphertext, EvalError> {
        let (params, p) = (self.params, self.params.p());
        let mut out = ct.clone();
        while out.level() < level {
            let next = out.level() + 1;
            let dropped = params.dropped(out.level());
            let by = p.mul(p.mul(params.scale(next), dropped), p.inv(out.scale()));
            self.evaluator().mul_scalar_assign(&mut out, by);
            let pair = self.evaluator().at_level(&out, next)?.into_pair();
            out = Ciphertext::new(pair, next, params.scale(next));
        }
        Ok(out)
    }

    fn indicator(&self, source: usize, present: bool) -> Vec<u32> {
        let mut values: Vec<u64> = self.numbers[source]
            .iter()
            .map(|number| u64::from(number.is_some() == present))
            .collect();
        let mut coeffs = vec![0; values.len()];
        self.params.plain.interpolate_into(&mut values, &mut coeffs);
        coeffs
    }

    /// What the server knows needs no encryption.
    fn known(&self, source: usize, present: bool) -> Ciphertext {
        let (params, level) = (self.params, self.plan.start + 1);
        let zero = || Poly::zero(&params.ring, params.chain.basis(level));
        let pair = Rlwe {
            c0: zero(),
            c1: zero(),
        };
        let mut out = Ciphertext::new(pair, level, params.scale(level));
        self.evaluator()
            .add_plain_assign(&mut out, &self.indicator(source, present));
        out
    }

    fn complement(&self, of: &Ciphertext, within: Option<usize>) -> Result<Ciphertext, EvalError> {
        let mut out = of.clone();
        self.evaluator().neg_assign(&mut out);
        match within {
            Some(source) => {
                let present = self.indicator(source, true);
                self.evaluator().add_plain_assign(&mut out, &present);
            }
            None => self.evaluator().add_constant_assign(&mut out, 1),
        }
        Ok(out)
    }
}
