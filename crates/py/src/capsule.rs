//! Arrow's C data interface in Python's capsules: tables of other libraries are read and rows are returned without
//! copying.
//!
//! Source: "The Arrow PyCapsule Interface".
#![expect(
    unsafe_code,
    reason = "capsules hold pointers to what C has structures for"
)]

use crate::fault::Fault;
use arrow::array::{RecordBatch, RecordBatchReader, StructArray};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// Record batches of one schema.
pub(crate) struct Batches {
    pub(crate) schema: Schema,
    pub(crate) batches: Vec<RecordBatch>,
}

/// Reads the batches of an object of another library: those of a stream, or one.
///
/// Errors: `TypeError` for an object without Arrow's interface; `Arrow`.
pub(crate) fn batches(of: &Bound<'_, PyAny>) -> PyResult<Batches> {
    if of.hasattr("__arrow_c_stream__")? {
        let capsule = of
            .call_method0("__arrow_c_stream__")?
            .cast_into::<PyCapsule>()?;
        let stream = stream(&capsule)?;
        let read = of.py().detach(|| read(stream));
        return Ok(read.map_err(Fault::from)?);
    }
    if of.hasattr("__arrow_c_array__")? {
        let pair = of
            .call_method0("__arrow_c_array__")?
            .cast_into::<PyTuple>()?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
        return Ok(one(&schema, &array)?);
    }
    let found = of.get_type().name()?;
    let expected = "an object with __arrow_c_stream__ or __arrow_c_array__";
    let text = format!("expected {expected}, such as a data frame, found {found}");
    Err(PyTypeError::new_err(text))
}

/// Returns record batches as a stream.
///
/// Errors: those of Python.
pub(crate) fn stream_of(
    py: Python<'_>,
    batches: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
}

/// Takes a stream out of its capsule, which contains a released one afterwards.
fn stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name holds a pointer to a valid `ArrowArrayStream`, which the interpreter's lock keeps
    // from others; its owner releases what it holds only if it was not moved out.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) })
}

fn read(stream: FFI_ArrowArrayStream) -> Result<Batches, ArrowError> {
    let reader = RecordBatchStreamReader::try_new(stream)?;
    let schema = reader.schema().as_ref().clone();
    let batches: Result<_, _> = reader.collect();
    Ok(Batches {
        schema,
        batches: batches?,
    })
}

/// Takes one batch out of its capsules.
fn one(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> Result<Batches, Fault> {
    let schema = schema
        .pointer_checked(Some(SCHEMA))
        .map_err(Fault::Python)?;
    let array = array.pointer_checked(Some(ARRAY)).map_err(Fault::Python)?;
    // SAFETY: capsules of these names hold pointers to a valid schema and a valid array of that schema, which the
    // interpreter's lock keeps from others.
    let converted = unsafe {
        let array = FFI_ArrowArray::from_raw(array.cast().as_ptr());
        from_ffi(array, schema.cast::<FFI_ArrowSchema>().as_ref())
    };
    let data = converted?;
    if !matches!(data.data_type(), arrow::datatypes::DataType::Struct(_)) {
        let found = data.data_type().to_string();
        return Err(Fault::NoTable(found));
    }
    let rows = StructArray::from(data);
    if arrow::array::Array::null_count(&rows) > 0 {
        return Err(Fault::NoTable("rows that are absent".into()));
    }
    let batch = RecordBatch::from(rows);
    Ok(Batches {
        schema: batch.schema().as_ref().clone(),
        batches: vec![batch],
    })
}
