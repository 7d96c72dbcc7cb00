//! The constants of a query, expanded when they are asked for.

use crate::keys::EvaluationKey;
use crate::plan::{Plan, Step};
use crate::progress::{Progress, check_stopped};
use crate::query::constants_of;
use crate::{EncryptedQuery, Params, ServerError};
use omr_bgv::{Ciphertext, Expander};

/// The expanded constants that are held in memory.
pub(crate) struct Constants<'a> {
    params: &'a Params,
    query: &'a EncryptedQuery,
    plan: &'a Plan,
    expander: Expander<'a>,
    /// By place in the tables of the circuit.
    held: Vec<Option<Ciphertext>>,
}

impl<'a> Constants<'a> {
    /// Returns the constants of a query, none of them expanded yet.
    pub(crate) fn new(
        params: &'a Params,
        query: &'a EncryptedQuery,
        plan: &'a Plan,
        key: &'a EvaluationKey,
    ) -> Self {
        let (basis, keys) = (params.chain.basis(plan.start), key.expand.iter().collect());
        Self {
            params,
            query,
            plan,
            expander: Expander::new(&params.ring, basis, params.p(), keys),
            held: vec![None; plan.circuit.constants()],
        }
    }

    /// The plan of the query.
    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Expands what a step asks for first. Errors: `Stopped`.
    pub(crate) fn provide(
        &mut self,
        step: &Step,
        progress: &dyn Progress,
    ) -> Result<(), ServerError> {
        for &i in &step.expand {
            let places = constants_of(self.plan, i);
            // Those that are kept are there from the pass before.
            if self.held[places.start].is_some() {
                continue;
            }
            check_stopped(progress)?;
            let (level, scale) = (self.plan.start, self.params.leaf_scale(self.plan.start));
            let ct = self.query.ciphertext(self.params, self.plan, i);
            let expanded = self.expander.first_constants(ct, places.len());
            for (held, pair) in self.held[places].iter_mut().zip(expanded) {
                *held = Some(Ciphertext::new(pair, level, scale));
            }
        }
        Ok(())
    }

    /// Drops what no step asks for behind this one.
    pub(crate) fn forget(&mut self, step: &Step) {
        for places in &step.forget {
            self.held[places.clone()].fill(None);
        }
    }

    /// One that the step asks for.
    pub(crate) fn at(&self, place: usize) -> &Ciphertext {
        let held = self.held[place].as_ref();
        held.expect("constants stay until no step asks for them")
    }
}
