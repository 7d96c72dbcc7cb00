//! Letters to oneself; their absence shows that a detector leaves letters out.

use omr_mail::CanaryState;
use pyo3::prelude::*;

/// The state of a canary.
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct Canary {
    made: u64,
    index: Option<u64>,
    state: &'static str,
    missing_from: Option<(u64, u64)>,
}

#[pymethods]
impl Canary {
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
            },
            missing_from: canary.missing_from.map(|range| (range.start, range.end)),
        }
    }
}
