//! The client of a server: calls that wait, without the interpreter's lock.

use crate::buffer::Bytes;
use crate::digest::Digest;
use crate::fault::{Fault, check_params};
use crate::files::Given;
use crate::pickle::{Pickled, as_fields};
use crate::post::{Post, parts, writer};
use crate::rounds::{FetchAnswer, FetchQuery, Scan};
use crate::running::{Watch, run};
use crate::sets::set;
use omr_binding::{BindingError, Network};
use omr_client::os_rng;
use omr_protocol::{Mismatch, Scheme};
use omr_remote::v1::{self, CreateJobRequest, Job, JobState};
use omr_remote::{Endpoint, RemoteError, random_id};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The highest time for cancelling a job when the caller stops waiting.
const CANCEL: Duration = Duration::from_millis(500);

/// A connection to a server, made with the first call and again whenever it breaks. It is a context manager. Calls wait
/// for their answers.
///
/// Calls are repeated where the network fails, for a bounded time; none takes effect twice. `ca` is the file of the
/// certificate that signed the server's. `proxy` is a SOCKS5 proxy, `socks5h://host:port`, which also resolves the
/// server's name: no connection is made beside it.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Client {
    url: String,
    open: RwLock<Option<Arc<Connection>>>,
}

/// An open connection and the runtime of its calls.
pub(crate) struct Connection {
    pub(crate) inner: omr_remote::Client,
    network: Network,
}

/// A server's description of its board.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct BoardInfo {
    /// The 16 random bytes that name the board.
    board_id: Py<PyBytes>,
    /// The name of the parameter set.
    params: String,
    /// The way in which payloads are sealed.
    sealing: String,
    /// The size of each clue in bytes.
    clue_bytes: u32,
    /// The size of each payload in bytes.
    payload_bytes: u32,
    /// The number of messages on the board, including expired ones: the index of the next message.
    messages: u64,
    /// The index of the first message that has not expired.
    first: u64,
}

#[pymethods]
impl BoardInfo {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(
            slf,
            &[
                "board_id",
                "params",
                "sealing",
                "clue_bytes",
                "payload_bytes",
                "messages",
                "first",
            ],
        )
    }

    fn __repr__(&self) -> String {
        format!(
            "<omr.BoardInfo {}: {} messages>",
            self.params, self.messages
        )
    }
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (url, token=None, *, ca=None, proxy=None))]
    fn new(
        url: String,
        token: Option<String>,
        ca: Option<PathBuf>,
        proxy: Option<&str>,
    ) -> PyResult<Self> {
        let pem = ca.map(std::fs::read).transpose().map_err(Fault::from)?;
        let connection = Connection::new(&url, token, pem, proxy)?;
        Ok(Self {
            url,
            open: RwLock::new(Some(Arc::new(connection))),
        })
    }

    /// Ends the connection. Calls that wait for an answer get it first; later ones raise `ServerError`.
    fn close(&self, py: Python<'_>) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let connection = open.take();
        drop(open);
        py.detach(|| drop(connection));
    }

    /// Whether the client was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.server().is_err()
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().server()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    /// Returns the board's description, with its present length.
    fn board(&self, py: Python<'_>) -> PyResult<BoardInfo> {
        let server = self.server()?;
        let board = run(py, &None, None, |watch| {
            server.wait(watch, server.inner.board())
        })?;
        Ok(BoardInfo {
            board_id: PyBytes::new(py, &board.board_id).unbind(),
            params: board.params_id,
            sealing: board.sealing,
            clue_bytes: board.clue_bytes,
            payload_bytes: board.payload_bytes,
            messages: board.messages,
            first: board.first_index,
        })
    }

    /// Seals a letter to an address and posts its messages. Returns their indices.
    #[pyo3(signature = (to, data, *, name=None))]
    fn post(
        &self,
        py: Python<'_>,
        to: Given,
        data: Bytes,
        name: Option<PyBackedStr>,
    ) -> PyResult<Vec<u64>> {
        let to = to.small()?;
        let post = Post {
            to: &to,
            name: name.as_deref(),
            data: &data,
        };
        let server = self.server()?;
        run(py, &None, None, |watch| {
            let messages = sealed(&server.wait(watch, server.inner.board())?, &post)?;
            let posted = server.wait(watch, server.inner.post(messages))?;
            Ok(posted.ranges.into_iter().flatten().collect())
        })
    }

    /// Uploads a detection key's file and registers it under the token. Returns the key's hash, by which other calls
    /// name it.
    #[pyo3(signature = (path, *, progress=None))]
    fn register<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let server = self.server()?;
        let hash = run(py, &None, progress, |watch| {
            let report = |done, all| watch.at("uploading key", done, all);
            let hash = server.wait(watch, server.inner.upload_key(&path, report))?;
            server.wait(watch, server.inner.register_key(hash))?;
            Ok(hash)
        })?;
        Ok(PyBytes::new(py, &hash))
    }

    /// Revokes the registration of the key with this hash.
    fn revoke(&self, py: Python<'_>, key: &[u8]) -> PyResult<()> {
        let hash = hash_of(key)?;
        let server = self.server()?;
        run(py, &None, None, |watch| {
            server.wait(watch, server.inner.revoke_key(hash))
        })
    }

    /// Requests a digest with registered keys, given by their hashes, waits for it and downloads it.
    ///
    /// The requested ranges and their times must not depend on the content of digests: the server sees them.
    #[pyo3(signature = (*keys, bound=50, range=None, indices_only=false, scheme=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn digest(
        &self,
        py: Python<'_>,
        keys: Vec<Bytes>,
        bound: u32,
        range: Option<&Bound<'_, pyo3::types::PyRange>>,
        indices_only: bool,
        scheme: Option<&str>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Digest> {
        let scheme: Option<Scheme> = scheme.map(str::parse).transpose().map_err(Fault::from)?;
        if scheme == Some(Scheme::TwoRounds) {
            return Err(Fault::OnlyScans.into());
        }
        let range = range.map(crate::detector::bounds).transpose()?;
        let hashes: Vec<_> = keys
            .iter()
            .map(|key| hash_of(key))
            .collect::<Result<_, Fault>>()?;
        let server = self.server()?;
        run(py, &None, progress, |watch| {
            let board = server.wait(watch, server.inner.board())?;
            let range = range.unwrap_or(board.first_index..board.messages);
            let request = CreateJobRequest {
                key_hashes: hashes.iter().map(|hash| hash.to_vec().into()).collect(),
                bound,
                indices_only,
                scheme: scheme.map_or(0, |scheme| scheme.tag().into()),
                ..job(&range)
            };
            let digest = Digest::of_file(&server.made(watch, &request)?)?;
            check_params(&board.params_id, digest.set.name())?;
            let found = digest.response.request().range;
            checked(digest.response.board_id(), found, &board, &range)?;
            Ok(digest)
        })
    }

    /// Requests a scan with a registered key for two rounds, given by its hash.
    #[pyo3(signature = (key, *, range=None, progress=None))]
    fn scan(
        &self,
        py: Python<'_>,
        key: Bytes,
        range: Option<&Bound<'_, pyo3::types::PyRange>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Scan> {
        let range = range.map(crate::detector::bounds).transpose()?;
        let hash = hash_of(&key)?;
        let server = self.server()?;
        run(py, &None, progress, |watch| {
            let board = server.wait(watch, server.inner.board())?;
            let range = range.unwrap_or(board.first_index..board.messages);
            let request = in_two_rounds(&range, hash);
            let scan = Scan::of_file(&server.made(watch, &request)?)?;
            check_params(&board.params_id, scan.set.name())?;
            let header = &scan.scanned.header;
            checked(header.board_id, header.range.clone(), &board, &range)?;
            Ok(scan)
        })
    }

    /// Sends a query for messages of a scan, and downloads its answer.
    #[pyo3(signature = (key, query, *, progress=None))]
    fn fetch(
        &self,
        py: Python<'_>,
        key: Bytes,
        query: &Bound<'_, FetchQuery>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<FetchAnswer> {
        let (hash, query) = (hash_of(&key)?, query.get());
        let server = self.server()?;
        run(py, &None, progress, |watch| {
            let request = CreateJobRequest {
                query: query.bytes.clone().into(),
                ..in_two_rounds(&query.header.range, hash)
            };
            let answer = FetchAnswer::of_file(&server.made(watch, &request)?)?;
            check_params(query.set.name(), answer.set.name())?;
            answer.check(query)?;
            Ok(answer)
        })
    }

    fn __repr__(&self) -> String {
        format!("<omr.Client {}>", self.url)
    }
}

impl Client {
    /// Returns the connection.
    ///
    /// Errors: `ClientClosed`.
    fn server(&self) -> Result<Arc<Connection>, Fault> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or(Fault::ClientClosed)
    }
}

impl Connection {
    /// Returns a connection, which is made with the first call.
    ///
    /// Errors: `Remote`.
    pub(crate) fn new(
        url: &str,
        token: Option<String>,
        ca: Option<Vec<u8>>,
        proxy: Option<&str>,
    ) -> Result<Self, Fault> {
        let endpoint = Endpoint {
            token,
            ca_certificate: ca,
            ..Endpoint::new(url.to_owned())
        };
        let network = Network::new(proxy)?;
        let inner = network.connect(endpoint)?;
        Ok(Self { inner, network })
    }

    /// Waits for a call, until the caller stops it.
    ///
    /// Errors: those of the call; `Stopped`.
    pub(crate) fn wait<T>(
        &self,
        watch: &Watch,
        call: impl Future<Output = Result<T, RemoteError>>,
    ) -> Result<T, Fault> {
        Ok(self.network.wait(watch, call)?)
    }

    /// Returns the file of a digest. A job whose caller stops waiting is cancelled, as nobody else knows it.
    ///
    /// Errors: those of the calls; `Stopped`.
    fn made(&self, watch: &Watch, request: &CreateJobRequest) -> Result<Vec<u8>, Fault> {
        let job = self.wait(watch, self.inner.create_job(request))?;
        let file = self.wait(watch, self.awaited(watch, &job));
        if let Err(Fault::Binding(BindingError::Stopped)) = file {
            let start = Instant::now();
            let cancel = self.inner.cancel_job(&job.job_id);
            // A server that does not receive this call makes the digest in vain.
            self.network.until(|| start.elapsed() > CANCEL, cancel);
        }
        file
    }

    /// Returns the file of a job's digest, once it is made.
    async fn awaited(&self, watch: &Watch, job: &Job) -> Result<Vec<u8>, RemoteError> {
        let changed = |job: &Job| match job.state() {
            JobState::Queued => watch.at("waiting", 0, job.jobs_ahead),
            JobState::Running => watch.at(job.stage.clone(), job.stage_done, job.stage_total),
            _ => {}
        };
        self.inner.watch_job(&job.job_id, changed).await?;
        self.inner.fetch_digest(&job.job_id).await
    }
}

/// Returns the messages of a letter for a server's board.
///
/// Errors: `Board`, `Params`, `Frame`, `OtherParams`, `ClueKind`, `Letter`, `TooManyParts`.
fn sealed(board: &v1::Board, post: &Post) -> Result<Vec<v1::Message>, Fault> {
    let set = set(&board.params_id)?;
    let place = omr_mail::board_place(board)?;
    let kind = omr_mail::clue_kind(board, set.clue())?;
    let writer = writer(&set, kind, &place, post.to)?;
    let mut rng = os_rng();
    let message = |part: Vec<u8>| {
        let written = writer.message(&mut rng, &part)?;
        let (clue, payload) = (written.clue.into(), written.payload.into());
        Ok(v1::Message { clue, payload })
    };
    parts(&writer, post)?.into_iter().map(message).collect()
}

/// Returns a request for a digest of a range, by any scheme, without keys.
fn job(range: &Range<u64>) -> CreateJobRequest {
    CreateJobRequest {
        request_id: random_id().to_vec().into(),
        start: range.start,
        end: range.end,
        ..CreateJobRequest::default()
    }
}

/// Returns a request for a scan of a range.
fn in_two_rounds(range: &Range<u64>, key: [u8; 32]) -> CreateJobRequest {
    CreateJobRequest {
        key_hashes: vec![key.to_vec().into()],
        scheme: Scheme::TwoRounds.tag().into(),
        ..job(range)
    }
}

/// Checks that a digest or a scan is the requested one, by its board and its range.
///
/// Errors: `Remote` for another board or another range.
fn checked(
    id: [u8; 16],
    found: Range<u64>,
    board: &v1::Board,
    range: &Range<u64>,
) -> Result<(), Fault> {
    if id[..] != board.board_id[..] {
        let found = omr_protocol::hex(&id);
        return Err(RemoteError::answer("FetchDigest", "a digest of the board", found).into());
    }
    if found == *range {
        Ok(())
    } else {
        let found = format!("one of {}..{}", found.start, found.end);
        Err(RemoteError::answer("FetchDigest", "a digest of the range", found).into())
    }
}

/// Parses the hash of a key.
///
/// Errors: `Hash`.
pub(crate) fn hash_of(bytes: &[u8]) -> Result<[u8; 32], Fault> {
    let found = bytes.len();
    let hash = bytes.try_into();
    hash.map_err(|_| Fault::Hash(Mismatch::new(32, found)))
}
