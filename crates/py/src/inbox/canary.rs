//! Letters to oneself; their absence shows that a detector leaves letters out.

use crate::pickle::{Pickled, as_fields};
use omr_mail::CanaryState;
use pyo3::prelude::*;

/// A letter to oneself; its absence shows that a detector leaves letters out.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct Canary {
    /// The time when it was made, in seconds since 1970.
    made: u64,
    /// The index of the canary on the board, once it is known.
    index: Option<u64>,
    /// The state of the canary: whether it is on the board, and whether a fetch brought it back.
    state: String,
    /// Start and end of the messages whose digest lacks it.
    missing_from: Option<(u64, u64)>,
}

#[pymethods]
impl Canary {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["made", "index", "state", "missing_from"])
    }

    fn __repr__(&self) -> String {
        let index = self
            .index
            .map_or(String::new(), |index| format!(" {index}"));
        format!("<omr.Canary{index}: {}>", self.state)
    }
}

impl From<omr_mail::Canary> for Canary {
    fn from(canary: omr_mail::Canary) -> Self {
        Self {
            made: canary.made,
            index: canary.index,
            state: match canary.state {
                CanaryState::Posting => "posting",
                CanaryState::Posted => "posted",
                CanaryState::Returned => "returned",
                CanaryState::Missing => "missing",
                CanaryState::Gone => "gone",
            }
            .to_owned(),
            missing_from: canary.missing_from.map(|range| (range.start, range.end)),
        }
    }
}
