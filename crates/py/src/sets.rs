//! Published parameter sets.

use crate::fault::Fault;
use crate::pickle::{Pickled, as_fields};
use omr_protocol::ParamSet;
use omr_protocol::params::SetSpec;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The sets in use: their tables are large, and all objects of one set share them.
static SETS: Mutex<BTreeMap<&'static str, Weak<ParamSet>>> = Mutex::new(BTreeMap::new());

/// Returns the set of this name: the one in use, or a new one.
///
/// Errors: `Params`.
pub(crate) fn set(name: &str) -> Result<Arc<ParamSet>, Fault> {
    let made = ParamSet::named(name)?;
    let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(set) = sets.get(made.name()).and_then(Weak::upgrade) {
        return Ok(set);
    }
    let made = Arc::new(made);
    sets.insert(made.name(), Arc::downgrade(&made));
    Ok(made)
}

/// The properties of a parameter set.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct ParameterSet {
    /// The name of the set, as `params` takes it.
    name: String,
    /// The estimated security in bits.
    security_bits: f64,
    /// Whether the set is for tests alone.
    insecure: bool,
    /// The engines for which the set has detection keys.
    engines: Vec<String>,
}

#[pymethods]
impl ParameterSet {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["name", "security_bits", "insecure", "engines"])
    }

    fn __repr__(&self) -> String {
        let bits = if self.insecure {
            "insecure, for tests".to_owned()
        } else {
            format!("{:.1} bits", self.security_bits)
        };
        format!("<omr.ParameterSet {}: {bits}>", self.name)
    }
}

/// Returns all published parameter sets.
#[pyfunction]
pub(crate) fn parameter_sets() -> Vec<ParameterSet> {
    let of = |spec: SetSpec| ParameterSet {
        name: spec.name.to_owned(),
        security_bits: spec.security_bits(),
        insecure: spec.insecure,
        engines: spec
            .engines()
            .into_iter()
            .map(|kind| crate::detector::name(kind).to_owned())
            .collect(),
    };
    SetSpec::published().into_iter().map(of).collect()
}
