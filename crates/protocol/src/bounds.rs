//! How many pertinent messages a digest can be asked for: one answer for every check.

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
    /// The largest bound of digests and sessions of a scheme with this set's keys: what every engine of the
    /// scheme serves.
    ///
    /// Errors: `NoEngine` where the set lacks one of them.
    pub fn largest_bound(&self, scheme: Scheme) -> Result<usize, PlanError> {
        let of_engine = |&engine| self.engine_bound(engine, scheme);
        let limits: Option<Vec<usize>> = scheme.engines().iter().map(of_engine).collect();
        let least = limits.and_then(|limits| limits.into_iter().min());
        least.ok_or(PlanError::NoEngine {
            set: self.name,
            scheme,
        })
    }

    /// Checks a bound where it is typed, so that nothing is asked for that no engine serves.
    ///
    /// Errors: `NoEngine`; `SetBound` outside `1..=largest_bound`.
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
