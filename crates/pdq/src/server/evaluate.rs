//! Circuits on blocks: from selections to the encrypted index.

use super::select::Numbers;
use crate::Params;
use crate::plan::{Id, Op, Plan, Schedule, Step, spent};
use omr_bgv::{Ciphertext, EvalError, Evaluator, Stop};
use omr_ring::Poly;
use omr_rlwe::{Rlwe, SwitchingKey};
use rayon::prelude::*;
use std::borrow::Cow;

/// Products that are summed at a time: copies of their factors at a lower level are held until then.
const LOWERED: usize = 8;

/// One block.
pub(crate) struct Block<'a> {
    pub(crate) params: &'a Params,
    pub(crate) plan: &'a Plan,
    /// Relinearisation.
    pub(crate) product: &'a SwitchingKey,
    /// The rows that have values, by source.
    pub(crate) present: Present<'a>,
    /// Checked before each product.
    pub(crate) stop: Stop<'a>,
}

/// The form in which the presence of values is known.
#[derive(Clone, Copy)]
pub(crate) enum Present<'a> {
    /// Numbers of rows in the clear, by source; and which rows exist.
    Clear(&'a [Numbers], &'a [bool]),
    /// By source the encrypted indicator at the first level of values, where the circuit asks for it; and the
    /// indicator of rows that exist.
    Encrypted(&'a [Option<Ciphertext>], &'a [u32]),
}

/// The values of a block that are asked for still, by operation.
#[derive(Clone)]
pub(crate) struct Values {
    values: Vec<Option<Ciphertext>>,
    /// How many still ask for each.
    left: Vec<u32>,
}

impl Values {
    pub(crate) fn new(schedule: &Schedule) -> Self {
        Self {
            values: vec![None; schedule.uses.len()],
            left: schedule.uses.clone(),
        }
    }

    pub(crate) fn put(&mut self, id: Id, value: Ciphertext) {
        self.values[id] = Some(value);
    }

    fn at(&self, id: Id) -> &Ciphertext {
        let value = self.values[id].as_ref();
        value.expect("values stay until nothing asks for them")
    }

    /// The last value: the index, as it leaves the circuit.
    pub(crate) fn into_index(mut self) -> Ciphertext {
        let index = self.values.pop().flatten();
        index.expect("all steps were made")
    }
}

impl Block<'_> {
    fn evaluator(&self) -> Evaluator<'_> {
        Evaluator {
            stop: self.stop,
            ..self.params.evaluator()
        }
    }

    /// One step of the circuit, whose selections are there.
    pub(crate) fn advance(&self, step: &Step, values: &mut Values) -> Result<(), EvalError> {
        for wave in &step.waves {
            let made: Vec<(Id, Ciphertext)> = wave
                .par_iter()
                .map(|&id| Ok((id, self.value(values, id)?)))
                .collect::<Result<_, EvalError>>()?;
            for (id, value) in made {
                values.put(id, value);
            }
            for id in spent(&self.plan.circuit.ops, wave, &mut values.left) {
                values.values[id] = None;
            }
        }
        Ok(())
    }

    fn value(&self, values: &Values, id: Id) -> Result<Ciphertext, EvalError> {
        let level = self.plan.level(id);
        let at = |id: Id, level: usize| lowered(self.params, values.at(id), level);
        let evaluator = self.evaluator();
        match &self.plan.circuit.ops[id] {
            Op::Select { .. } => unreachable!("selections are given"),
            Op::Known { source, present } => self.known(*source, *present),
            Op::Complement { of, within } => self.complement(values.at(*of), *within),
            Op::Minus(a, b) => {
                let mut out = at(*a, level)?.into_owned();
                evaluator.sub_assign(&mut out, &*at(*b, level)?)?;
                Ok(out)
            }
            Op::Sum(terms) => {
                let mut out = at(terms[0], level)?.into_owned();
                for &term in &terms[1..] {
                    evaluator.add_assign(&mut out, &*at(term, level)?)?;
                }
                Ok(out)
            }
            Op::Dot(pairs) => {
                let mut out: Option<Ciphertext> = None;
                for some in pairs.chunks(LOWERED) {
                    let lower = |&(a, b): &(Id, Id)| Ok((at(a, level - 1)?, at(b, level - 1)?));
                    let factors: Vec<(Cow<Ciphertext>, Cow<Ciphertext>)> =
                        some.iter().map(lower).collect::<Result<_, EvalError>>()?;
                    let products: Vec<_> = factors.iter().map(|(a, b)| (&**a, &**b)).collect();
                    let sum = evaluator.dot(&products)?;
                    match &mut out {
                        Some(out) => evaluator.add_assign(out, &sum)?,
                        None => out = Some(sum),
                    }
                }
                let out = out.expect("a sum of products has some");
                evaluator.relinearise(&out, self.product, level)
            }
        }
    }

    fn encode(&self, rows: impl Iterator<Item = bool>) -> Vec<u32> {
        let mut values: Vec<u64> = rows.map(u64::from).collect();
        let mut coeffs = vec![0; values.len()];
        self.params.plain.interpolate_into(&mut values, &mut coeffs);
        coeffs
    }

    /// Where a source has values, or none. What the server knows needs no encryption.
    fn known(&self, source: usize, present: bool) -> Result<Ciphertext, EvalError> {
        let (params, level) = (self.params, self.plan.start + 1);
        let zero = || Poly::zero(&params.ring, params.chain.basis(level));
        let pair = Rlwe::new(zero(), zero());
        let mut out = Ciphertext::new(pair, level, params.scale(level));
        match self.present {
            Present::Clear(numbers, exists) => {
                let rows = numbers[source]
                    .iter()
                    .zip(exists)
                    .map(|(number, exists)| *exists && number.is_some() == present);
                let rows = self.encode(rows);
                self.evaluator().add_plain_assign(&mut out, &rows);
            }
            Present::Encrypted(sources, rows) => {
                let has_value = sources[source].as_ref().expect("asked for by the circuit");
                if present {
                    self.evaluator().add_assign(&mut out, has_value)?
                } else {
                    self.evaluator().add_plain_assign(&mut out, rows);
                    self.evaluator().sub_assign(&mut out, has_value)?;
                }
            }
        }
        Ok(out)
    }

    fn complement(&self, of: &Ciphertext, within: Option<usize>) -> Result<Ciphertext, EvalError> {
        let evaluator = self.evaluator();
        let mut out = of.clone();
        evaluator.neg_assign(&mut out);
        match (within, self.present) {
            (None, _) => evaluator.add_constant_assign(&mut out, 1),
            (Some(source), Present::Clear(numbers, _)) => {
                let present = self.encode(numbers[source].iter().map(Option::is_some));
                evaluator.add_plain_assign(&mut out, &present);
            }
            (Some(source), Present::Encrypted(sources, _)) => {
                let has_value = sources[source].as_ref().expect("asked for by the circuit");
                evaluator.add_assign(&mut out, &*lowered(self.params, has_value, of.level())?)?;
            }
        }
        Ok(out)
    }
}

/// Returns the slots of a ciphertext at a lower level, at that level's scale.
pub(crate) fn lowered<'a>(
    params: &Params,
    ct: &'a Ciphertext,
    level: usize,
) -> Result<Cow<'a, Ciphertext>, EvalError> {
    if ct.level() == level {
        return Ok(Cow::Borrowed(ct));
    }
    let (evaluator, p) = (params.evaluator(), params.p());
    let dropped = (ct.level()..level).fold(1, |all, at| p.mul(all, params.dropped(at)));
    let by = p.mul(p.mul(params.scale(level), dropped), p.inv(ct.scale()));
    let mut out = ct.clone();
    evaluator.mul_scalar_assign(&mut out, by);
    let pair = evaluator.into_level(out, level)?.into_pair();
    Ok(Cow::Owned(Ciphertext::new(
        pair,
        level,
        params.scale(level),
    )))
}
