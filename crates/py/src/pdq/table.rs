//! Tables, and their public schemas.

use super::keys::EvaluationKey;
use crate::buffer::Bytes;
use crate::capsule::batches;
use crate::fault::Fault;
use crate::files::{Given, save};
use crate::pickle::{Pickled, as_file, refused};
use crate::running::{Watch, run, threads};
use omr_client::os_rng;
use omr_disk::temporary::Access;
use omr_pdq::{Hosted, Public};
use omr_table::{
    Declared, Delimiter, ImportError, ImportOptions, MAX_SCHEMA_BYTES, import_batches, import_file,
};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use rand_core::Rng;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::path::PathBuf;

/// A table for private queries, in the clear or encrypted; the file of `omr pdq import`.
///
/// Types are inferred unless `types` declares them, such as `{"fare": "decimal(2)"}`. Nothing is rounded or cut without
/// a declared type or `truncate`. Content that may be a mistake, such as one `NA` that turns a column of numbers into
/// text, is reported as a `UserWarning`.
#[pyclass(frozen, module = "omr.pdq")]
pub(crate) struct Table {
    pub(super) hosted: Hosted,
}

#[pymethods]
impl Table {
    /// Returns a table from a file of comma-separated values, or with another `delimiter`.
    #[staticmethod]
    #[pyo3(signature = (path, *, name=None, columns=None, types=None, truncate=false, delimiter=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn from_csv(
        py: Python<'_>,
        path: PathBuf,
        name: Option<String>,
        columns: Option<Vec<String>>,
        types: Option<BTreeMap<String, String>>,
        truncate: bool,
        delimiter: Option<&str>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let name = name.or_else(|| stem.map(str::to_owned)).unwrap_or_default();
        let mut options = options(name, columns, types, truncate)?;
        let delimiter = delimiter.map(str::parse::<Delimiter>).transpose();
        let delimiter = delimiter.map_err(|error| Fault::Delimiter(error.to_string()))?;
        options.delimiter = delimiter.map(|delimiter| delimiter.0);
        let table = run(py, &None, progress, |watch| {
            let file = File::open(&path).map_err(ImportError::from)?;
            Ok(import_file(file, &options, &mut |now| report(watch, now))?)
        })?;
        warn(py, &table, &options)?;
        Ok(Self::of(table))
    }

    /// Returns a table from a data frame, or any object with `__arrow_c_stream__` or `__arrow_c_array__`.
    #[staticmethod]
    #[pyo3(signature = (data, name, *, columns=None, types=None, truncate=false, progress=None))]
    fn from_arrow(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        name: String,
        columns: Option<Vec<String>>,
        types: Option<BTreeMap<String, String>>,
        truncate: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = options(name, columns, types, truncate)?;
        let data = batches(data)?;
        let table = run(py, &None, progress, |watch| {
            let progress = &mut |now| report(watch, now);
            Ok(import_batches(
                &data.schema,
                &data.batches,
                &options,
                progress,
            )?)
        })?;
        warn(py, &table, &options)?;
        Ok(Self::of(table))
    }

    /// Reads the file of a table of either kind.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        run(py, &None, None, |_| {
            let hosted = Hosted::open(&path, random(), u64::MAX)?;
            Ok(Self { hosted })
        })
    }

    /// Writes the file of the table.
    #[pyo3(signature = (path, *, overwrite=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        run(py, &None, None, |_| match &self.hosted {
            // The content of a table in the clear is the owner's secret.
            Hosted::Clear { table, .. } => save(&path, Access::Private, overwrite, |file| {
                Ok(table.write(file)?)
            }),
            Hosted::Encrypted { params, table } => save(&path, Access::Public, overwrite, |file| {
                let out = std::io::BufWriter::with_capacity(1 << 20, file);
                Ok(table.write(params, out)?)
            }),
        })
    }

    /// The public part of the table.
    #[getter]
    fn schema(&self) -> Schema {
        Schema {
            public: self.hosted.public(),
        }
    }

    /// Whether the table is encrypted, so that its server cannot read it.
    #[getter]
    fn encrypted(&self) -> bool {
        matches!(self.hosted, Hosted::Encrypted { .. })
    }

    fn __len__(&self) -> usize {
        self.hosted.schema().rows as usize
    }

    /// Answers a query's file. This reveals neither the constants of the query nor the rows that match.
    #[pyo3(signature = (query, key, *, threads=None, progress=None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        query: Bytes,
        key: &Bound<'py, EvaluationKey>,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let key = key.get();
        let pool = self::threads(threads)?;
        let answer = run(py, &pool, progress, |watch| {
            let (query, plan) = self.hosted.read(&key.params, &query)?;
            let (params, hosted) = (&key.params, &self.hosted);
            Ok(hosted.answer(params, &query, &plan, &key.key, watch)?)
        })?;
        Ok(PyBytes::new(py, &answer))
    }

    fn __reduce__(&self) -> Result<(), Fault> {
        refused("pass the path of a table's file, which `save` writes and `Table.load` reads")
    }

    fn __repr__(&self) -> String {
        let schema = self.hosted.schema();
        format!("<omr.pdq.Table {}: {} rows>", schema.name, schema.rows)
    }
}

impl Table {
    fn of(table: omr_table::Table) -> Self {
        let placement = random();
        Self {
            hosted: Hosted::Clear { table, placement },
        }
    }
}

/// The public part of a table, which is all that queries need. `bytes(schema)` is the file of `omr pdq schema`.
#[pyclass(frozen, module = "omr.pdq")]
pub(crate) struct Schema {
    pub(super) public: Public,
}

#[pymethods]
impl Schema {
    /// Returns the schema in a file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, schema: Given) -> PyResult<Self> {
        // The schema of an encrypted table is followed by a list.
        let json = schema.up_to(2 * MAX_SCHEMA_BYTES as u64)?;
        let public = Public::from_json(&json).map_err(Fault::from)?;
        Ok(Self { public })
    }

    /// The name of the table.
    #[getter]
    fn name(&self) -> &str {
        &self.public.schema().name
    }

    /// The type of each column, as `types` declares it.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for column in &self.public.schema().columns {
            columns.set_item(&column.name, column.kind.to_string())?;
        }
        Ok(columns)
    }

    fn __len__(&self) -> usize {
        self.public.schema().rows as usize
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.public.to_json().as_bytes())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        as_file::<Self>(self.__bytes__(py))
    }

    fn __repr__(&self) -> String {
        let schema = self.public.schema();
        format!("<omr.pdq.Schema {}: {} rows>", schema.name, schema.rows)
    }
}

/// Returns the options of an import.
///
/// Errors: `Schema` for an unknown type.
fn options(
    name: String,
    columns: Option<Vec<String>>,
    types: Option<BTreeMap<String, String>>,
    truncate: bool,
) -> Result<ImportOptions, Fault> {
    let mut options = ImportOptions::new(name, random());
    let declared = |(name, kind): (String, String)| format!("{name}:{kind}").parse::<Declared>();
    let types = types.into_iter().flatten().map(declared);
    options.declared = types.collect::<Result<_, _>>()?;
    options.select = columns;
    options.truncate = truncate;
    Ok(options)
}

/// Warns of content of a table that may be a mistake.
fn warn(py: Python<'_>, table: &omr_table::Table, options: &ImportOptions) -> PyResult<()> {
    let category = py.get_type::<PyUserWarning>();
    for doubt in table.doubts(&options.declared) {
        // The text contains no zero bytes, since it is quoted.
        let text = CString::new(doubt.to_string()).unwrap_or_default();
        PyErr::warn(py, &category, &text, 1)?;
    }
    Ok(())
}

fn report(watch: &Watch, now: omr_table::Progress) {
    watch.at("import", now.done, now.total);
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    os_rng().fill_bytes(&mut bytes);
    bytes
}
