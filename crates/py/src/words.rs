//! The words of a recipient.

use crate::fault::Fault;
use crate::pickle::refused;
use omr_client::os_rng;
use pyo3::prelude::*;
use zeroize::Zeroizing;

/// 24 words of BIP-39, English list, from which a recipient's keys are made: the same ones with every later version.
///
/// Who has the words has the secret. Keep them on paper. They are wiped when the object is deleted, and no `repr` shows
/// them.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Words {
    pub(crate) inner: omr_client::Words,
}

#[pymethods]
impl Words {
    /// Returns new words.
    #[staticmethod]
    fn generate() -> Self {
        Self {
            inner: omr_client::Words::generate(&mut os_rng()),
        }
    }

    /// Reads words. Case, blanks, line ends and numbers between them do not matter. Words that make no keys raise
    /// `WordsError`, which repeats none of them.
    #[staticmethod]
    fn parse(text: String) -> PyResult<Self> {
        let text = Zeroizing::new(text);
        let inner = omr_client::Words::parse(&text).map_err(Fault::from)?;
        Ok(Self { inner })
    }

    /// Returns the words in their order, to be shown to their owner.
    fn each(&self) -> Vec<&'static str> {
        self.inner.each().collect()
    }

    fn __reduce__(&self) -> Result<(), Fault> {
        refused("write the words down, which `each` returns")
    }

    fn __repr__(&self) -> &'static str {
        "<omr.Words>"
    }
}
