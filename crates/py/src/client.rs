//! The client of a server: calls that wait, without the interpreter's lock.

use crate::digest::Digest;
use crate::fault::{Fault, check_params};
use crate::files::Given;
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
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The highest time for cancelling a job when the caller stops waiting.
const CANCEL: Duration = Duration::from_millis(500);

/// A connection to a server.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Client {
    pub(crate) url: String,
    pub(crate) inner: omr_remote::Client,
    network: Network,
}

/// A server's description of its board.
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct BoardInfo {
    board_id: Py<PyBytes>,
    params: String,
    sealing: String,
    clue_bytes: u32,
    payload_bytes: u32,
    messages: u64,
    first: u64,
}

#[pymethods]
impl BoardInfo {
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
    pub(crate) fn new(
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
        let inner = network.connect(endpoint).map_err(Fault::from)?;
        Ok(Self {
            url,
            inner,
            network,
        })
    }

    /// Returns the board's description, with its present length.
    fn board(&self, py: Python<'_>) -> PyResult<BoardInfo> {
        let board = run(py, &None, None, |watch| {
            self.wait(watch, self.inner.board())
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

    #[pyo3(signature = (to, data, *, name=None))]
    fn post(
        &self,
        py: Python<'_>,
        to: Given,
        data: PyBackedBytes,
        name: Option<PyBackedStr>,
    ) -> PyResult<Vec<u64>> {
        let to = to.small()?;
        let post = Post {
            to: &to,
            name: name.as_deref(),
            data: &data,
        };
        run(py, &None, None, |watch| {
            let messages = sealed(&self.wait(watch, self.inner.board())?, &post)?;
            let posted = self.wait(watch, self.inner.post(messages))?;
            Ok(posted.ranges.into_iter().flatten().collect())
        })
    }

    /// Uploads a detection key's file and registers it under the caller's token.
    #[pyo3(signature = (path, *, progress=None))]
    fn register<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let hash = run(py, &None, progress, |watch| {
            let report = |done, all| watch.at("uploading key", done, all);
            let hash = self.wait(watch, self.inner.upload_key(&path, report))?;
            self.wait(watch, self.inner.register_key(hash))?;
            Ok(hash)
        })?;
        Ok(PyBytes::new(py, &hash))
    }

    /// Revokes the registration of a key.
    fn revoke(&self, py: Python<'_>, key: &[u8]) -> PyResult<()> {
        let hash = hash_of(key)?;
        run(py, &None, None, |watch| {
            self.wait(watch, self.inner.revoke_key(hash))
        })
    }

    /// Requests a digest, waits until it is made, and downloads it; cancels the job where the caller stops waiting.
    #[pyo3(signature = (*keys, bound=50, range=None, indices_only=false, scheme=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn digest(
        &self,
        py: Python<'_>,
        keys: Vec<PyBackedBytes>,
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
        run(py, &None, progress, |watch| {
            let board = self.wait(watch, self.inner.board())?;
            let range = range.unwrap_or(board.first_index..board.messages);
            let request = CreateJobRequest {
                key_hashes: hashes.iter().map(|hash| hash.to_vec().into()).collect(),
                bound,
                indices_only,
                scheme: scheme.map_or(0, |scheme| scheme.tag().into()),
                ..job(&range)
            };
            let digest = Digest::of_file(&self.made(watch, &request)?)?;
            check_params(&board.params_id, digest.set.name())?;
            let found = digest.response.request().range;
            checked(digest.response.board_id(), found, &board, &range)?;
            Ok(digest)
        })
    }

    /// Requests a scan and downloads it.
    #[pyo3(signature = (key, *, range=None, progress=None))]
    fn scan(
        &self,
        py: Python<'_>,
        key: PyBackedBytes,
        range: Option<&Bound<'_, pyo3::types::PyRange>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Scan> {
        let range = range.map(crate::detector::bounds).transpose()?;
        let hash = hash_of(&key)?;
        run(py, &None, progress, |watch| {
            let board = self.wait(watch, self.inner.board())?;
            let range = range.unwrap_or(board.first_index..board.messages);
            let request = in_two_rounds(&range, hash);
            let scan = Scan::of_file(&self.made(watch, &request)?)?;
            check_params(&board.params_id, scan.set.name())?;
            let header = &scan.scanned.header;
            checked(header.board_id, header.range.clone(), &board, &range)?;
            Ok(scan)
        })
    }

    /// Sends a query and downloads its answer.
    #[pyo3(signature = (key, query, *, progress=None))]
    fn fetch(
        &self,
        py: Python<'_>,
        key: PyBackedBytes,
        query: &Bound<'_, FetchQuery>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<FetchAnswer> {
        let (hash, query) = (hash_of(&key)?, query.get());
        run(py, &None, progress, |watch| {
            let request = CreateJobRequest {
                query: query.bytes.clone().into(),
                ..in_two_rounds(&query.header.range, hash)
            };
            let answer = FetchAnswer::of_file(&self.made(watch, &request)?)?;
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
