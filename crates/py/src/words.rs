//! The words of a recipient.

use crate::fault::Fault;
use omr_client::os_rng;
use pyo3::prelude::*;
use zeroize::Zeroizing;

/// The 24 words from which a recipient's keys are made. They are wiped when it is dropped, and no `repr` shows them.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Words {
    pub(crate) inner: omr_client::Words,
}

#[pymethods]
impl Words {
    #[staticmethod]
    fn generate() -> Self {
        Self {
            inner: omr_client::Words::generate(&mut os_rng()),
        }
    }

    #[staticmethod]
    fn parse(text: String) -> PyResult<Self> {
        let text = Zeroizing::new(text);
        let inner = omr_client::Words::parse(&text).map_err(Fault::from)?;
        Ok(Self { inner })
    }

    /// Returns the words in their order.
    fn each(&self) -> Vec<&'static str> {
        self.inner.each().collect()
    }

    fn __repr__(&self) -> &'static str {
        "<omr.Words>"
    }
}
