//! Pickling: objects that are files travel as their files, values as their fields, and secrets are refused.

use crate::fault::Fault;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// The pickled form of an object: a function, and the arguments with which it returns an equal object.
pub(crate) type Pickled<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// Pickles an object as its file, which `from_bytes` of its class reads. That is a class method, since pickle finds no
/// static method by its name.
///
/// Errors: those of Python.
pub(crate) fn as_file<'py, T: PyTypeInfo>(file: Bound<'py, PyBytes>) -> PyResult<Pickled<'py>> {
    let class = file.py().get_type::<T>();
    Ok((
        class.getattr("from_bytes")?,
        (file,).into_pyobject(class.py())?,
    ))
}

/// Pickles a value as its fields, in the order of the constructor.
///
/// Errors: those of Python.
pub(crate) fn as_fields<'py, T>(of: &Bound<'py, T>, fields: &[&str]) -> PyResult<Pickled<'py>> {
    let of = of.as_any();
    let values: Vec<_> = fields
        .iter()
        .map(|field| of.getattr(*field))
        .collect::<PyResult<_>>()?;
    Ok((of.get_type().into_any(), PyTuple::new(of.py(), values)?))
}

/// Refuses to pickle an object. `way` is how the other process gets one.
///
/// Errors: `Pickle`.
pub(crate) fn refused(way: &'static str) -> Result<(), Fault> {
    Err(Fault::Pickle(way))
}
