//! Questions, and the rows of their answers.

use super::keys::{Keys, Secret};
use super::rows::Rows;
use super::table::Schema;
use crate::fault::Fault;
use crate::files::Given;
use crate::pickle::refused;
use crate::running::run;
use omr_client::os_rng;
use omr_pdq::{Answer, Client, EncryptedQuery, Plan, Public};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The highest number of bytes of a query's or an answer's file.
const MOST_BYTES: u64 = 1 << 30;

/// An encrypted question. `bytes(query)` is the file for the table's owner.
#[pyclass(frozen, module = "omr.pdq")]
pub(crate) struct Query {
    secret: Arc<Secret>,
    public: Public,
    plan: Plan,
    bytes: Vec<u8>,
}

#[pymethods]
impl Query {
    /// Returns a query whose file was kept, to decode its answer.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        keys: &Bound<'_, Keys>,
        schema: &Bound<'_, Schema>,
        query: Given,
    ) -> PyResult<Self> {
        let secret = keys.get().inner.clone();
        let public = schema.get().public.clone();
        run(py, &None, None, |_| {
            let bytes = query.up_to(MOST_BYTES)?.to_vec();
            let params = &secret.params;
            let (_, plan) = EncryptedQuery::from_bytes(params, &bytes, |head| {
                head.expect_schema(public.schema())?;
                Ok(public.plan(params, &head.shape, head.bound)?)
            })?;
            Ok(Self {
                secret,
                public,
                plan,
                bytes,
            })
        })
    }

    /// The part of the query that the table's owner sees.
    #[getter]
    fn shape(&self) -> String {
        self.plan.shape.render(self.public.schema())
    }

    /// The largest number of rows for which an answer has room.
    #[getter]
    fn bound(&self) -> usize {
        self.plan.bound
    }

    /// The estimated seconds in which one thread of this machine would answer.
    #[getter]
    fn seconds(&self) -> f64 {
        let unit = self.secret.params.transform_seconds();
        self.plan.cost.seconds(unit)
    }

    /// The bytes of memory that answering takes, beside table and key.
    #[getter]
    fn memory_bytes(&self) -> u64 {
        self.plan.memory_bytes(&self.secret.params)
    }

    /// The size of an answer in bytes, without its header.
    #[getter]
    fn answer_bytes(&self) -> u64 {
        self.plan.cost.answer_bytes
    }

    /// Decodes the file of an answer.
    fn rows(&self, py: Python<'_>, answer: Given) -> PyResult<Rows> {
        run(py, &None, None, |_| {
            let answer = answer.up_to(MOST_BYTES)?;
            self.decoded(&answer)
        })
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __reduce__(&self) -> Result<(), Fault> {
        refused("pass `bytes(query)`, and its keys and its schema to `Query.from_bytes`")
    }

    fn __repr__(&self) -> String {
        format!("<omr.pdq.Query {:?}>", self.shape())
    }
}

impl Query {
    /// Makes a query.
    ///
    /// Errors: `Query`, `PdqPlan`.
    pub(super) fn new(
        secret: Arc<Secret>,
        public: Public,
        sql: &str,
        bound: Option<u64>,
    ) -> Result<Self, Fault> {
        let params = &secret.params;
        let (query, limit) = omr_table::Query::parse(sql, public.schema())?;
        let bound = omr_pdq::plan::bound(bound.or(limit))?;
        let plan = public.plan(params, &query.shape(), bound)?;
        let client = Client::new(params, public.schema(), &secret.key);
        let sent = client.encrypt(&query, &plan, &mut os_rng());
        let bytes = sent.to_bytes(params)?;
        Ok(Self {
            public,
            plan,
            bytes,
            secret,
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn table(&self) -> &str {
        &self.public.schema().name
    }

    /// Decodes an answer.
    ///
    /// Errors: `Answer`, `Rows`.
    pub(super) fn decoded(&self, answer: &[u8]) -> Result<Rows, Fault> {
        let Secret { params, key } = &*self.secret;
        let schema = self.public.schema();
        let answer = Answer::from_bytes(params, &self.plan, answer)?;
        let found = Client::new(params, schema, key).decode(&self.plan, &answer)?;
        Rows::new(found.of_columns(schema, &self.plan.shape.select))
    }
}
