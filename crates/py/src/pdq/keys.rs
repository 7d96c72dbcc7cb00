//! The keys of a person who makes queries: a secret, and the key that a table's owner needs.

use super::query::Query;
use super::table::{Schema, Table};
use crate::fault::{Fault, header_of};
use crate::files::{Given, protection, save};
use crate::pickle::{Pickled, as_file, refused};
use crate::running::run;
use omr_client::locked::{Passphrase, lock, unlock};
use omr_client::os_rng;
use omr_disk::temporary::Access;
use omr_pdq::{EncryptedHead, EncryptedTable, Hosted, Params, SecretKey};
use omr_protocol::frame::{FrameError, Kind, Opened};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The name of the secret's file, as in the command.
const SECRET_KEY: &str = "pdq-secret.key";
const EVALUATION_KEY: &str = "pdq-evaluation.key";
/// The name of the default parameter set.
const DEFAULT: &str = "pdq-v1";

/// The secret of a person who makes queries. It is wiped when the object is deleted.
#[pyclass(frozen, module = "omr.pdq")]
pub(crate) struct Keys {
    pub(super) inner: Arc<Secret>,
}

/// The part of the keys that queries keep.
pub(super) struct Secret {
    pub(super) params: Arc<Params>,
    pub(super) key: SecretKey,
}

/// The key with which a table's owner answers queries; it contains no secret. `bytes(key)` is the key's file.
#[pyclass(frozen, module = "omr.pdq")]
pub(crate) struct EvaluationKey {
    pub(super) params: Arc<Params>,
    pub(super) key: omr_pdq::EvaluationKey,
}

#[pymethods]
impl Keys {
    /// Returns new keys of a parameter set.
    #[staticmethod]
    #[pyo3(signature = (params=DEFAULT))]
    fn generate(py: Python<'_>, params: &str) -> PyResult<Self> {
        let inner = run(py, &None, None, |_| {
            let params = Params::named(params)?;
            let (key, _) = SecretKey::generate(&params, &mut os_rng());
            Ok(Arc::new(Secret { params, key }))
        })?;
        Ok(Self { inner })
    }

    /// Returns the secret of the file `pdq-secret.key` in a folder, as `omr pdq keygen` writes it.
    #[staticmethod]
    #[pyo3(signature = (folder, *, passphrase=None))]
    fn load(py: Python<'_>, folder: PathBuf, passphrase: Option<String>) -> PyResult<Self> {
        let passphrase = passphrase.map(Zeroizing::new);
        let inner = run(py, &None, None, |_| {
            let file = Given::Path(folder.join(SECRET_KEY)).small()?;
            let header = header_of(&file, &[Kind::PdqSecretKey, Kind::Locked])?;
            let file = match (header.kind, passphrase) {
                (Kind::Locked, None) => return Err(Fault::NoPassphrase),
                (Kind::Locked, Some(text)) => {
                    unlock(Kind::PdqSecretKey, &file, &Passphrase::new(text)?)?
                }
                _ => file,
            };
            let params = Params::named(&header.params_id)?;
            let key = SecretKey::from_bytes(&params, &file)?;
            Ok(Arc::new(Secret { params, key }))
        })?;
        Ok(Self { inner })
    }

    /// Writes `pdq-secret.key`, for the owner alone, and `pdq-evaluation.key` into a folder. `passphrase` and `plain`
    /// are those of `omr.Identity.save`.
    #[pyo3(signature = (folder, *, passphrase=None, plain=false, overwrite=false))]
    fn save(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        passphrase: Option<String>,
        plain: bool,
        overwrite: bool,
    ) -> PyResult<()> {
        let passphrase = protection(passphrase, plain)?;
        run(py, &None, None, |_| {
            let Secret { params, key } = &*self.inner;
            let mut bytes = key.to_bytes(params)?;
            if let Some(text) = passphrase {
                bytes = lock(Kind::PdqSecretKey, &bytes, &Passphrase::new(text)?)?.into();
            }
            omr_disk::create_folders(&folder)?;
            save(
                &folder.join(SECRET_KEY),
                Access::Private,
                overwrite,
                |file| Ok(file.write_all(&bytes)?),
            )?;
            let evaluation = key.evaluation_key(params, &mut os_rng());
            let path = folder.join(EVALUATION_KEY);
            save(&path, Access::Private, overwrite, |file| {
                let mut out = BufWriter::with_capacity(1 << 20, file);
                evaluation.write(params, &mut out)?;
                Ok(out.flush()?)
            })
        })
    }

    /// The name of the parameter set.
    #[getter]
    fn params(&self) -> &'static str {
        self.inner.params.name()
    }

    /// Returns the key for a table's owner, another one at each call.
    fn evaluation_key(&self, py: Python<'_>) -> PyResult<EvaluationKey> {
        run(py, &None, None, |_| {
            let Secret { params, key } = &*self.inner;
            Ok(EvaluationKey {
                params: params.clone(),
                key: key.evaluation_key(params, &mut os_rng()),
            })
        })
    }

    /// Encrypts a question. If more rows match than `bound`, or the `LIMIT`, or 16, only their number can be decoded.
    #[pyo3(signature = (schema, sql, *, bound=None))]
    fn query(
        &self,
        py: Python<'_>,
        schema: &Bound<'_, Schema>,
        sql: &str,
        bound: Option<u64>,
    ) -> PyResult<Query> {
        let public = schema.get().public.clone();
        run(py, &None, None, |_| {
            Query::new(self.inner.clone(), public, sql, bound)
        })
    }

    /// Encrypts a table, so that the server that answers cannot read it; `prefixes` are the lengths that `LIKE` may
    /// use.
    #[pyo3(signature = (table, *, prefixes=Vec::new(), depth=None, progress=None))]
    fn encrypt_table(
        &self,
        py: Python<'_>,
        table: &Bound<'_, Table>,
        prefixes: Vec<usize>,
        depth: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let table = table.get();
        let hosted = run(py, &None, progress, |watch| {
            let Hosted::Clear { table, .. } = &table.hosted else {
                return Err(Fault::NoTable("an encrypted one".into()));
            };
            let Secret { params, key } = &*self.inner;
            let mut head = EncryptedHead::new(params, table.schema(), &prefixes);
            head.depth = depth.unwrap_or(head.depth);
            let report = |done: usize, all: usize| watch.at("encrypt", done as u64, all as u64);
            let table = EncryptedTable::encrypt(params, table, head, key, &mut os_rng(), &report)?;
            let params = params.clone();
            Ok(Hosted::Encrypted { params, table })
        })?;
        Ok(Table { hosted })
    }

    fn __reduce__(&self) -> Result<(), Fault> {
        refused("pass the path of a folder, which `save` writes and `Keys.load` reads")
    }

    fn __repr__(&self) -> String {
        format!("<omr.pdq.Keys {}>", self.params())
    }
}

#[pymethods]
impl EvaluationKey {
    /// Returns the key in a file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, key: Given) -> PyResult<Self> {
        run(py, &None, None, |_| {
            let opened = Opened::new::<FrameError>(key.reader()?, &[Kind::PdqKey])?;
            let params = Params::named(&opened.header.params_id)?;
            let key = omr_pdq::EvaluationKey::read(&params, opened.reader)?;
            Ok(Self { params, key })
        })
    }

    /// The name of the parameter set.
    #[getter]
    fn params(&self) -> &'static str {
        self.params.name()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let write = || {
            let mut bytes = Vec::new();
            self.key.write(&self.params, &mut bytes)?;
            Ok::<_, Fault>(bytes)
        };
        let bytes = py.detach(write)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        as_file::<Self>(self.__bytes__(py)?)
    }

    fn __repr__(&self) -> String {
        format!("<omr.pdq.EvaluationKey {}>", self.params())
    }
}
