//! Recipients: a secret, an address, and the detection keys that are made from the secret.

mod found;

use crate::board::Board;
use crate::decoded::Decoded;
use crate::detector::engine;
use crate::fault::{Fault, check_params, header_of};
use crate::files::{Given, protection, save};
use crate::pickle::{Pickled, as_fields, refused};
use crate::rounds::{FetchQuery, Scan};
use crate::running::{Counted, Watch, run};
use crate::sets::set;
use crate::words::Words;
use found::{File, Files};
use omr_client::locked::{Passphrase, lock, unlock};
use omr_client::periods::{PERIODS_KEY, PeriodSecrets};
use omr_client::{SecretKey, identity, os_rng, write_detection_key};
use omr_detector::Progress;
use omr_disk::temporary::Access;
use omr_protocol::frame::Kind;
use omr_protocol::params::DEFAULT;
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKey, ClueKind, EngineKind, Mismatch, ParamSet, Sealing, hex};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use zeroize::Zeroizing;

/// The name of the secret's file in a recipient's folder, as in the command.
const SECRET_KEY: &str = "secret.key";
const CLUE_KEY: &str = "clue.key";

/// A recipient: a secret, an address for senders, and detection keys for detectors.
///
/// The secrets are wiped when the object is deleted, and no `repr` shows them.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Identity {
    set: Arc<ParamSet>,
    secret: SecretKey,
    address: Option<ClueKey>,
    /// The words that the keys are made from, unless they are random.
    words: Option<omr_client::Words>,
    /// The secrets of periods, to whose keys letters to an inbox are sealed.
    periods: Option<PeriodSecrets>,
}

/// A message, unopened; without a payload where the file has indices alone.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct Retrieved {
    /// The index of the message on its board.
    index: u64,
    /// The payload, sealed; None where the file has indices alone.
    payload: Option<Py<PyBytes>>,
}

#[pymethods]
impl Retrieved {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["index", "payload"])
    }

    fn __repr__(&self) -> String {
        format!("<omr.Retrieved message {}>", self.index)
    }
}

#[pymethods]
impl Identity {
    /// Returns a new recipient. `clues` is the kind of clues that the address accepts.
    #[staticmethod]
    #[pyo3(signature = (params=DEFAULT, *, clues="bound"))]
    fn generate(py: Python<'_>, params: &str, clues: &str) -> PyResult<Self> {
        Self::make(py, params, clues, None)
    }

    /// Returns the recipient of words, as `omr keygen --from-words`: the same secret, address and detection keys
    /// whenever and wherever. Other sets and kinds of clues have independent ones.
    #[staticmethod]
    #[pyo3(signature = (words, params=DEFAULT, *, clues="bound"))]
    fn from_words(
        py: Python<'_>,
        words: &Bound<'_, Words>,
        params: &str,
        clues: &str,
    ) -> PyResult<Self> {
        Self::make(py, params, clues, Some(words.get().inner.clone()))
    }

    /// Returns the recipient of a secret key's file. An address for plain clues cannot be derived from it.
    #[staticmethod]
    #[pyo3(signature = (secret, *, address=None, passphrase=None))]
    fn from_bytes(
        py: Python<'_>,
        secret: Given,
        address: Option<Given>,
        passphrase: Option<String>,
    ) -> PyResult<Self> {
        let passphrase = passphrase.map(Zeroizing::new);
        run(py, &None, None, |_| {
            Self::read(&secret, address.as_ref(), passphrase)
        })
    }

    /// Returns the recipient of the files `secret.key` and `clue.key` in a folder, as `omr keygen` writes them, with
    /// `periods.key`, if that is there, as in the home folder of an `Inbox`.
    #[staticmethod]
    #[pyo3(signature = (folder, *, passphrase=None))]
    fn load(py: Python<'_>, folder: PathBuf, passphrase: Option<String>) -> PyResult<Self> {
        let passphrase = passphrase.map(Zeroizing::new);
        run(py, &None, None, |_| {
            let address = folder.join(CLUE_KEY);
            let address = address.exists().then_some(Given::Path(address));
            let secret = Given::Path(folder.join(SECRET_KEY));
            let read = Self::read(&secret, address.as_ref(), passphrase)?;
            let periods = folder.join(PERIODS_KEY);
            if !periods.exists() {
                return Ok(read);
            }
            let file = Given::Path(periods).small()?;
            let periods = PeriodSecrets::from_file(&read.secret.storage_key(), &file)?;
            Ok(Self {
                periods: Some(periods),
                ..read
            })
        })
    }

    /// Writes the files `secret.key`, for the owner alone, and `clue.key` into a folder, with `periods.key` for keys of
    /// words and where `load` found it. The secret is under the passphrase; `plain=True` in its place writes the secret
    /// without one.
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
            let secret = self.secret_file(passphrase)?;
            let address = self.address_file()?;
            omr_disk::create_folders(&folder)?;
            let periods = self.periods.as_ref();
            let periods =
                periods.map(|secrets| secrets.to_file(&self.secret.storage_key(), &mut os_rng()));
            let mut files: Vec<(_, _, &[u8])> = vec![
                (SECRET_KEY, Access::Private, &secret),
                (CLUE_KEY, Access::Public, &address),
            ];
            files.extend(
                periods
                    .as_ref()
                    .map(|file| (PERIODS_KEY, Access::Private, &file[..])),
            );
            for (name, access, bytes) in files {
                save(&folder.join(name), access, overwrite, |file| {
                    Ok(file.write_all(bytes)?)
                })?;
            }
            Ok(())
        })
    }

    /// The name of the parameter set.
    #[getter]
    fn params(&self) -> &str {
        self.set.name()
    }

    /// The kind of clues that the address accepts: `bound` or `plain`.
    #[getter]
    fn clues(&self) -> &'static str {
        self.secret.clues().name()
    }

    /// The bytes of `clue.key`, the address for senders.
    #[getter]
    fn address<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.address_file()?))
    }

    /// Returns the bytes of `secret.key`, under a passphrase if one is given. Python may copy these bytes in memory.
    #[pyo3(signature = (*, passphrase=None))]
    fn secret_bytes<'py>(
        &self,
        py: Python<'py>,
        passphrase: Option<String>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let passphrase = passphrase.map(Zeroizing::new);
        let bytes = run(py, &None, None, |_| self.secret_file(passphrase))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns a detection key's file, for the set's first engine unless `engine` is given.
    ///
    /// With `board` it shares its masks with the keys that others make for this board in the same weeks, so that a
    /// detector serves them together.
    #[pyo3(signature = (engine=None, *, board=None, progress=None))]
    fn detection_key<'py>(
        &self,
        py: Python<'py>,
        engine: Option<&str>,
        board: Option<&Bound<'py, Board>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let wanted = self.wanted(engine, board)?;
        let key = run(py, &None, progress, |watch| {
            let bytes = self.key_bytes(wanted.engine)?;
            let mut key = Vec::with_capacity(bytes as usize);
            self.write_key(&wanted, watch, &mut key)?;
            Ok(key)
        })?;
        Ok(PyBytes::new(py, &key))
    }

    /// Writes a detection key's file piece by piece, for the owner alone.
    #[pyo3(signature = (path, engine=None, *, board=None, overwrite=false, progress=None))]
    fn save_detection_key(
        &self,
        py: Python<'_>,
        path: PathBuf,
        engine: Option<&str>,
        board: Option<&Bound<'_, Board>>,
        overwrite: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let wanted = self.wanted(engine, board)?;
        run(py, &None, progress, |watch| {
            save(&path, Access::Private, overwrite, |file| {
                self.write_key(&wanted, watch, file)
            })
        })
    }

    /// Encrypts a query for 56 messages of a scan, without those for which earlier queries ask.
    ///
    /// Ask after each scan, also if it has no message of the recipient: a detector sees whether a query comes, and
    /// nothing else. A scan that `has_payloads` needs none, and is refused.
    #[pyo3(signature = (scan, *earlier))]
    fn ask(
        &self,
        py: Python<'_>,
        scan: &Bound<'_, Scan>,
        earlier: Vec<Bound<'_, FetchQuery>>,
    ) -> PyResult<FetchQuery> {
        let scan = scan.get();
        let earlier: Vec<&FetchQuery> = earlier.iter().map(Bound::get).collect();
        Ok(py.detach(|| self.asked(scan, &earlier))?)
    }

    /// Returns the letters in files of one board. Pass all files with parts of a letter in one call, and each answer
    /// with its scan and its query. Letters to keys of periods open where `load` found `periods.key`.
    ///
    /// `sealing` is the expected sealing; without it, a board that does not seal causes an `UnsealedWarning`.
    #[pyo3(signature = (*files, sealing=None))]
    fn decode(
        &self,
        py: Python<'_>,
        files: Vec<File<'_>>,
        sealing: Option<&str>,
    ) -> PyResult<Decoded> {
        let sealing: Option<Sealing> = sealing.map(str::parse).transpose().map_err(Fault::from)?;
        let files = Files::new(&files);
        let unvouched = sealing.is_none() && files.are_unvouched();
        let (opened, unreadable) = py.detach(|| self.opened(&files, sealing))?;
        if unvouched && !opened.pertinent.is_empty() {
            warn(py)?;
        }
        Decoded::new(py, opened, &unreadable)
    }

    /// Returns the recipient's messages in files, unopened.
    ///
    /// They include messages that were made to test how the recipient reacts: do not reveal whether there are any.
    #[pyo3(signature = (*files))]
    fn retrieve(&self, py: Python<'_>, files: Vec<File<'_>>) -> PyResult<Vec<Retrieved>> {
        let files = Files::new(&files);
        let found = py.detach(|| self.found(&files))?;
        let retrieved = |one: omr_client::Retrieved| Retrieved {
            index: one.index,
            payload: one.payload.map(|bytes| PyBytes::new(py, &bytes).unbind()),
        };
        Ok(found.into_messages().into_iter().map(retrieved).collect())
    }

    fn __reduce__(&self) -> Result<(), Fault> {
        refused(
            "pass `secret_bytes(passphrase=...)` to `Identity.from_bytes`, or the path of a folder, which `save` writes",
        )
    }

    fn __repr__(&self) -> String {
        let id = hex(&self.secret.address_id);
        format!("<omr.Identity {id}: {}>", self.set.name())
    }
}

/// Warns that only the detector vouches for payloads.
///
/// Errors: the warning, where the program turns warnings into exceptions.
fn warn(py: Python<'_>) -> PyResult<()> {
    let category = py.import("omr.errors")?.getattr("UnsealedWarning")?;
    let message =
        c"the digest's board does not seal payloads, so the detector could have made them up: \
                    pass sealing= to say what you expect";
    PyErr::warn(py, &category, message, 1)
}

/// The engine of a detection key, and the epoch whose masks it has.
struct Wanted {
    engine: EngineKind,
    epoch: Option<Epoch>,
}

impl Identity {
    /// Makes the recipient of words, or a random one.
    ///
    /// Errors: `Kind`, `Params`.
    fn make(
        py: Python<'_>,
        params: &str,
        clues: &str,
        words: Option<omr_client::Words>,
    ) -> PyResult<Self> {
        let clues: ClueKind = clues.parse().map_err(Fault::from)?;
        let made = py.detach(|| {
            let set = set(params)?;
            let (secret, address) = match &words {
                Some(words) => words.identity(set.clue(), clues),
                None => identity(set.clue(), clues, &mut os_rng()),
            };
            let periods = words.as_ref().map(|words| words.periods(set.clue(), clues));
            Ok::<_, Fault>(Self {
                set,
                secret,
                address: Some(address),
                words,
                periods,
            })
        });
        Ok(made?)
    }

    /// Reads an identity.
    ///
    /// Errors: `Io`, `Frame`, `Params`, `Lock`, `NoPassphrase`, `Secret`, `Clue`, `OtherAddress`.
    fn read(
        secret: &Given,
        address: Option<&Given>,
        passphrase: Option<Zeroizing<String>>,
    ) -> Result<Self, Fault> {
        let mut bytes = secret.small()?;
        let header = header_of(&bytes, &[Kind::SecretKey, Kind::Locked])?;
        if header.kind == Kind::Locked {
            let passphrase = Passphrase::new(passphrase.ok_or(Fault::NoPassphrase)?)?;
            bytes = unlock(Kind::SecretKey, &bytes, &passphrase)?;
        }
        let set = set(&header.params_id)?;
        let secret = SecretKey::from_bytes(set.clue(), &bytes)?;
        let address = match address {
            None => secret.address().cloned(),
            Some(given) => Some(ClueKey::from_bytes(set.clue(), &given.small()?)?),
        };
        if let Some(found) = address.as_ref().map(|address| address.id)
            && found != secret.address_id
        {
            let ids = Mismatch::new(hex(&secret.address_id), hex(&found));
            return Err(Fault::OtherAddress(ids));
        }
        Ok(Self {
            set,
            secret,
            address,
            words: None,
            periods: None,
        })
    }

    fn secret_file(
        &self,
        passphrase: Option<Zeroizing<String>>,
    ) -> Result<Zeroizing<Vec<u8>>, Fault> {
        let bytes = self.secret.to_bytes(self.set.clue())?;
        let Some(passphrase) = passphrase else {
            return Ok(bytes);
        };
        let passphrase = Passphrase::new(passphrase)?;
        Ok(Zeroizing::new(lock(Kind::SecretKey, &bytes, &passphrase)?))
    }

    fn address_file(&self) -> Result<Vec<u8>, Fault> {
        let address = self.address.as_ref().ok_or(Fault::NoAddress)?;
        Ok(address.to_bytes(self.set.clue())?)
    }

    /// Returns the engine of this name, or the set's first engine.
    fn wanted(
        &self,
        word: Option<&str>,
        board: Option<&Bound<'_, Board>>,
    ) -> Result<Wanted, Fault> {
        let first = || self.set.spec().engines().first().copied();
        let engine = match word {
            Some(word) => engine(word)?,
            None => first().ok_or(Fault::NoKey)?,
        };
        let Some(board) = board.map(Bound::get) else {
            return Ok(Wanted {
                engine,
                epoch: None,
            });
        };
        check_params(self.set.name(), board.set.name())?;
        let epoch = Epoch::at(board.place.board_id, SystemTime::now());
        Ok(Wanted {
            engine,
            epoch: Some(epoch),
        })
    }

    fn key_bytes(&self, engine: EngineKind) -> Result<u64, Fault> {
        Ok(self.set.key_file_bytes(engine, self.secret.clues())?)
    }

    fn write_key(
        &self,
        wanted: &Wanted,
        watch: &Watch,
        inner: &mut (impl Write + Send),
    ) -> Result<(), Fault> {
        watch.stage("writing key", self.key_bytes(wanted.engine)?);
        let mut out = Counted { inner, watch };
        let mut rng = match &self.words {
            Some(words) => words.detection_rng(self.set.clue(), self.secret.clues()),
            None => os_rng(),
        };
        write_detection_key(
            &self.set,
            wanted.engine,
            &self.secret,
            wanted.epoch.as_ref(),
            &mut rng,
            &mut out,
        )?;
        Ok(())
    }
}
