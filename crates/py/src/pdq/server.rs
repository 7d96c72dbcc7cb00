//! Requests rows of a server's tables.

use super::keys::Keys;
use super::query::Query;
use super::rows::Rows;
use super::table::Schema;
use crate::fault::Fault;
use crate::running::{Watch, run};
use omr_binding::Network;
use omr_disk::temporary::{Access, temporary};
use omr_pdq::Public;
use omr_remote::{Endpoint, Stage};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A connection to a server of tables (`omr pdq serve`). `proxy` is as in `omr.Client`.
#[pyclass(frozen, module = "omr.pdq")]
pub(crate) struct Server {
    url: String,
    client: omr_remote::Client,
    network: Network,
}

#[pymethods]
impl Server {
    #[new]
    #[pyo3(signature = (url, token=None, *, ca=None, proxy=None))]
    fn new(
        url: String,
        token: Option<String>,
        ca: Option<PathBuf>,
        proxy: Option<&str>,
    ) -> PyResult<Self> {
        let endpoint = Endpoint {
            token,
            ca_certificate: ca.map(std::fs::read).transpose()?,
            ..Endpoint::new(url.clone())
        };
        let network = Network::new(proxy).map_err(Fault::from)?;
        let client = network.connect(endpoint).map_err(Fault::from)?;
        Ok(Self {
            url,
            client,
            network,
        })
    }

    /// Returns the names of the tables.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let listed = run(py, &None, None, |watch| {
            Ok(self.network.wait(watch, self.client.tables())?)
        })?;
        Ok(listed.tables.into_iter().map(|table| table.name).collect())
    }

    /// Returns the public part of a table.
    fn schema(&self, py: Python<'_>, table: &str) -> PyResult<Schema> {
        run(py, &None, None, |watch| {
            let json = self.network.wait(watch, self.client.schema(table))?;
            let public = Public::from_json(&json)?;
            Ok(Schema { public })
        })
    }

    /// Uploads an evaluation key's file, unless the server has it. Returns the key's hash, which links all queries with
    /// it.
    fn register<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
        let (hash, _) = run(py, &None, None, |watch| {
            let upload = self.client.upload_evaluation_key(&path);
            Ok(self.network.wait(watch, upload)?)
        })?;
        Ok(PyBytes::new(py, &hash))
    }

    /// Requests the rows of a query. Without the hash of a registered key a new key is made and uploaded.
    #[pyo3(signature = (keys, query, *, key=None, progress=None))]
    fn ask(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, Keys>,
        query: &Bound<'_, Query>,
        key: Option<&[u8]>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        let key = key.map(crate::client::hash_of).transpose()?;
        let (keys, query) = (keys.get(), query.get());
        run(py, &None, progress, |watch| {
            let hash = match key {
                Some(hash) => hash,
                None => self.send_key(keys, watch)?,
            };
            let shown = |stage| match stage {
                Stage::Waiting => watch.at("waiting", 0, 1),
                Stage::Blocks(done, blocks) => watch.at("answer", done, blocks),
            };
            let bytes = query.bytes().to_vec().into();
            let asked = self.client.query(query.table(), hash, bytes, shown);
            query.decoded(&self.network.wait(watch, asked)?)
        })
    }

    fn __repr__(&self) -> String {
        format!("<omr.pdq.Server {}>", self.url)
    }
}

impl Server {
    fn send_key(&self, keys: &Keys, watch: &Watch) -> Result<[u8; 32], Fault> {
        watch.at("key", 0, 1);
        let (params, secret) = (&keys.inner.params, &keys.inner.key);
        let key = secret.evaluation_key(params, &mut omr_client::os_rng());
        let mut file = temporary(&std::env::temp_dir(), Access::Private)?;
        key.write(
            params,
            std::io::BufWriter::with_capacity(1 << 20, file.as_file_mut()),
        )?;
        let upload = self.client.upload_evaluation_key(file.path());
        Ok(self.network.wait(watch, upload)?.0)
    }
}
