//! Limits of the number of pertinent messages that a digest may be made for.

use crate::instantomr::InstantSpec;
use crate::params::SetSpec;
use crate::request::MAX_BOUND;
use crate::{PlanError, Scheme};
use omr_codec::CUBIC_BOUND;

impl InstantSpec {
    /// The largest bound of InstantOMR's digests and sessions.
    pub const LARGEST_BOUND: usize = if CUBIC_BOUND < MAX_BOUND {
        CUBIC_BOUND
    } else {
        MAX_BOUND
    };
}

impl SetSpec {
    /// Returns the largest bound of digests and sessions of a scheme under this parameter set: one that every engine of
    /// the scheme supports.
    ///
    /// Errors: `NoEngine` if the set lacks one of the scheme's engines.
    pub fn largest_bound(&self, scheme: Scheme) -> Result<usize, PlanError> {
        let limits: Option<Vec<usize>> = scheme
            .engines()
            .iter()
            .map(|&engine| self.engine_bound(engine, scheme))
            .collect();
        limits
            .unwrap_or_default()
            .into_iter()
            .min()
            .ok_or(PlanError::NoEngine {
                set: self.name,
                scheme,
            })
    }

    /// Checks a bound when a user enters it, before any request is made.
    ///
    /// Errors: `NoEngine` if the set lacks one of the scheme's engines; `SetBound` if the bound is outside
    /// `1..=largest_bound`.
    pub fn check_bound(&self, scheme: Scheme, bound: usize) -> Result<(), PlanError> {
        let limit = self.largest_bound(scheme)?;
        if (1..=limit).contains(&bound) {
            return Ok(());
        }
        Err(PlanError::SetBound {
            set: self.name,
            scheme,
            limit,
            found: bound,
        })
    }
}
