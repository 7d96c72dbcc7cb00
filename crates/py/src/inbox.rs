//! The inbox of an identity in a home folder: a thin layer over `omr-mail`.

mod canary;
mod contacts;
mod letter;
mod place;
mod watch;

pub(crate) use canary::Canary;
pub(crate) use letter::{InboxLetter, Kept, Taken, Waiting};
pub(crate) use watch::Watch;

use crate::buffer::Bytes;
use crate::fault::Fault;
use crate::raise::with_advice;
use crate::running::run;
use crate::words::Words;
use contacts::To;
use letter::conversations;
use omr_binding::{
    BindingError, Network, OpenInbox, Outgoing, Wanted, create, located, open, own_server,
    register, short_address,
};
use omr_mail::{MAX_LEVELS, NewIdentity, delete};
use omr_protocol::{ClueKind, Scheme, Sealing};
use place::{Place, certificate};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// A recipient at a server, in the home folder of `omr id`, with the received letters. It is a context manager.
///
/// What a server sees, and when, does not depend on what was found. Warnings go to the logger `omr`. With `proxy`, as
/// `Client` takes it, all connections of this object are made through it, each under a name of its own. It is not
/// stored.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Inbox {
    home: PathBuf,
    open: RwLock<Option<Arc<OpenInbox>>>,
}

#[pymethods]
impl Inbox {
    /// Makes an identity for a server's board and registers its detection keys, as `omr id new`.
    ///
    /// With `words` its keys are made from them; the address is the same as before if `clues`, `scheme`, `bound`,
    /// `spares` and the board's sealing are. `birthday` is the index of the first message that can be for these keys,
    /// or for keys that are in the home: the first fetch begins there, or without it with the board's first message.
    ///
    /// `scheme` is that of two rounds where the server serves them, unless it is given or `batches` is true. With
    /// `batches` only whole batches are fetched, which the server computes as soon as they are full.
    #[staticmethod]
    #[pyo3(signature = (home, url, token=None, *, ca=None, proxy=None, params=None, scheme=None, bound=50,
        clues="bound", sealing=None, spares=MAX_LEVELS, batches=false, own_masks=false, words=None, birthday=None,
        passphrase=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn create(
        py: Python<'_>,
        home: PathBuf,
        url: String,
        token: Option<String>,
        ca: Option<PathBuf>,
        proxy: Option<String>,
        params: Option<String>,
        scheme: Option<&str>,
        bound: u32,
        clues: &str,
        sealing: Option<&str>,
        spares: u8,
        batches: bool,
        own_masks: bool,
        words: Option<&Bound<'_, Words>>,
        birthday: Option<u64>,
        passphrase: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let words = words.map(|words| &words.get().inner);
        let scheme: Option<Scheme> = scheme.map(str::parse).transpose().map_err(Fault::from)?;
        let sealing: Option<Sealing> = sealing.map(str::parse).transpose().map_err(Fault::from)?;
        let clues: ClueKind = clues.parse().map_err(Fault::from)?;
        let new = NewIdentity {
            params: String::new(),
            scheme,
            clues,
            bound,
            spares,
            sealing: Sealing::HpkeX25519,
            board_id: None,
            own_masks,
            batches,
        };
        let place = Place { url, token, ca };
        let at = located(home, passphrase).map_err(Fault::from)?;
        let home = at.dir().to_owned();
        run(py, &None, progress, |watch| {
            let (server, network) = (place.server()?, Network::new(proxy.as_deref())?);
            let wanted = Wanted {
                new,
                params: params.as_deref(),
                sealing,
                words,
                birthday,
            };
            Ok(create(&at, server, network, wanted, watch)?)
        })
        .and_then(|opened| Self::of(py, home, opened))
    }

    /// Continues an interrupted registration, as `omr id register`.
    #[staticmethod]
    #[pyo3(signature = (home, url=None, token=None, *, ca=None, proxy=None, passphrase=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn register(
        py: Python<'_>,
        home: PathBuf,
        url: Option<String>,
        token: Option<String>,
        ca: Option<PathBuf>,
        proxy: Option<String>,
        passphrase: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let at = located(home, passphrase).map_err(Fault::from)?;
        let home = at.dir().to_owned();
        run(py, &None, progress, |watch| {
            let network = Network::new(proxy.as_deref())?;
            let server = match url {
                Some(url) => Place { url, token, ca }.server()?,
                None => own_server(&at, certificate(ca)?, token)?,
            };
            Ok(register(&at, server, network, watch)?)
        })
        .and_then(|opened| Self::of(py, home, opened))
    }

    /// Opens the inbox of an identity.
    ///
    /// If another program fetches into it, letters can still be listed, read and sent; `take`, `watch`, and the methods
    /// that change requests (`raise_bound`, `retry_damaged`, `again`, `drop`) raise `InboxBusyError`.
    #[staticmethod]
    #[pyo3(signature = (home, *, token=None, proxy=None, passphrase=None))]
    fn open(
        py: Python<'_>,
        home: PathBuf,
        token: Option<String>,
        proxy: Option<String>,
        passphrase: Option<String>,
    ) -> PyResult<Self> {
        let at = located(home, passphrase).map_err(Fault::from)?;
        let home = at.dir().to_owned();
        run(py, &None, None, |_| {
            Ok(open(&at, token, Network::new(proxy.as_deref())?)?)
        })
        .and_then(|opened| Self::of(py, home, opened))
    }

    /// The home folder of the identity.
    #[getter]
    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    /// The address for senders, as text that can be sent by mail.
    #[getter]
    fn address(&self) -> PyResult<String> {
        let address = self.inner()?.mailbox.identity.address();
        Ok(address.map_err(Fault::from)?.to_text())
    }

    /// Publishes the address at the server and returns its short form, `omr1..`, which is easily passed on.
    ///
    /// The server then sends the address to everybody who has the short form, and knows whose address it is. Fetches keep
    /// it published.
    fn publish(&self, py: Python<'_>) -> PyResult<String> {
        let opened = self.inner()?;
        run(py, &None, None, |watch| {
            Ok(opened.publish(watch)?.to_string())
        })
    }

    /// The name of the parameter set.
    #[getter]
    fn params(&self) -> PyResult<String> {
        Ok(self.inner()?.mailbox.identity.profile.params.clone())
    }

    /// The number of messages for which a digest has room.
    #[getter]
    fn bound(&self) -> PyResult<u32> {
        Ok(self.inner()?.mailbox.identity.profile.bound)
    }

    /// The index of the first message of the board that can be for the identity: the board's length when the keys were
    /// made, or what was given.
    #[getter]
    fn birthday(&self) -> PyResult<u64> {
        Ok(self.inner()?.mailbox.identity.profile.begins)
    }

    /// Whether the inbox was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.inner().is_err()
    }

    /// Fetches all messages since the last fetch and decodes them. Letters that arrived before an error are in
    /// `letters()`.
    #[pyo3(signature = (*, progress=None))]
    fn take(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Taken> {
        let opened = self.fetching()?;
        let taken = run(py, &None, progress, |watch| {
            Ok(opened.take(with_advice, watch)?)
        })?;
        taken.warnings.iter().try_for_each(|text| warn(py, text))?;
        Taken::new(py, taken)
    }

    /// Fetches at whole multiples of `every` seconds, at most `count` times, and returns letters as they arrive.
    ///
    /// A thread keeps the times, however long the letters take. With `session` the server processes messages as they
    /// come (InstantOMR). `canaries` is the average number of canaries a day, posted at random times.
    #[pyo3(signature = (every=60.0, *, count=None, session=false, canaries=None))]
    fn watch(
        &self,
        every: f64,
        count: Option<u64>,
        session: bool,
        canaries: Option<f64>,
    ) -> PyResult<Watch> {
        let plan = watch::Plan::new(every, count, session, canaries)?;
        Ok(Watch::start(self.fetching()?, plan)?)
    }

    /// Returns the letters in the inbox, in the order of the board: the unread ones, or all.
    #[pyo3(signature = (*, all=false))]
    fn letters(&self, py: Python<'_>, all: bool) -> PyResult<Vec<Py<InboxLetter>>> {
        let opened = self.inner()?;
        let letters = py.detach(|| opened.letters(all)).map_err(Fault::from)?;
        letter::objects(py, letters)
    }

    /// Marks letters as read, so that `letters` lists them no more.
    #[pyo3(signature = (*letters))]
    fn mark_read(&self, py: Python<'_>, letters: Vec<Bound<'_, InboxLetter>>) -> PyResult<()> {
        let opened = self.inner()?;
        let numbers: Vec<u64> = letters.iter().map(|letter| letter.get().number).collect();
        let marked = py.detach(|| opened.mailbox.inbox.mark_read(&numbers));
        Ok(marked.map_err(Fault::from)?)
    }

    /// Removes letters. Later fetches do not bring them back.
    #[pyo3(signature = (*letters))]
    fn delete(&self, py: Python<'_>, letters: Vec<Bound<'_, InboxLetter>>) -> PyResult<()> {
        let opened = self.inner()?;
        let numbers: Vec<u64> = letters.iter().map(|letter| letter.get().number).collect();
        let deleted = py.detach(|| delete(&opened.mailbox.identity.home, &numbers));
        Ok(deleted.map_err(Fault::from)?)
    }

    /// Has all letters of a sender, a contact or a short address, count as read, also those to come.
    fn mute(&self, py: Python<'_>, sender: &str) -> PyResult<()> {
        let opened = self.inner()?;
        let muted = py.detach(|| {
            let fingerprint = opened.mailbox.identity.home.sender(sender)?;
            opened.mailbox.inbox.mute(&fingerprint)
        });
        Ok(muted.map_err(Fault::from)?)
    }

    /// Ends the muting of a sender. Returns whether the sender was muted.
    fn unmute(&self, py: Python<'_>, sender: &str) -> PyResult<bool> {
        let opened = self.inner()?;
        let unmuted = py.detach(|| {
            let fingerprint = opened.mailbox.identity.home.sender(sender)?;
            opened.mailbox.inbox.unmute(&fingerprint)
        });
        Ok(unmuted.map_err(Fault::from)?)
    }

    /// Returns the short addresses of muted senders, without their servers.
    fn muted(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let opened = self.inner()?;
        let muted = py.detach(|| opened.mailbox.inbox.muted());
        let muted = muted.map_err(Fault::from)?.into_iter();
        Ok(muted
            .filter_map(|sender| short_address(&sender, None))
            .collect())
    }

    /// Returns all letters by conversation, in the order of their first ones. A letter of no conversation is one by
    /// itself.
    fn conversations(&self, py: Python<'_>) -> PyResult<Vec<Vec<Py<InboxLetter>>>> {
        let opened = self.inner()?;
        let letters = py.detach(|| opened.letters(true)).map_err(Fault::from)?;
        let groups = conversations(letters).into_iter();
        groups.map(|group| letter::objects(py, group)).collect()
    }

    /// Returns the ranges with missing messages. `fetches_left` further fetches cover them by themselves.
    fn kept(&self, py: Python<'_>) -> PyResult<Vec<Kept>> {
        let opened = self.inner()?;
        let kept = py.detach(|| opened.mailbox.inbox.kept());
        Ok(kept
            .map_err(Fault::from)?
            .into_iter()
            .map(Kept::from)
            .collect())
    }

    /// Returns how many messages were found that did not come yet.
    fn waiting(&self, py: Python<'_>) -> PyResult<Waiting> {
        let opened = self.inner()?;
        let waiting = py.detach(|| opened.mailbox.inbox.waiting());
        Ok(waiting.map_err(Fault::from)?.into())
    }

    /// Has the next fetch request all overflowed ranges again, with a larger bound. Returns their number.
    ///
    /// The detector learns that the old bound was too small.
    fn raise_bound(&self, py: Python<'_>, bound: u32) -> PyResult<usize> {
        let opened = self.fetching()?;
        run(py, &None, None, |watch| {
            Ok(opened.raise_bound(bound, watch)?)
        })
    }

    /// Has the next fetch request all ranges again whose digests did not decode, which the detector learns.
    fn retry_damaged(&self, py: Python<'_>) -> PyResult<usize> {
        let opened = self.fetching()?;
        let asked = py.detach(|| opened.mailbox.inbox.retry_damaged());
        Ok(asked.map_err(Fault::from)?)
    }

    /// Has the next fetch request messages again, `by` in a request, whatever is known of them. Returns the number of
    /// requests.
    ///
    /// The detector learns that somebody wants these messages once more.
    #[pyo3(signature = (start, end, *, bound=None, by=None))]
    fn again(
        &self,
        py: Python<'_>,
        start: u64,
        end: u64,
        bound: Option<u32>,
        by: Option<NonZeroU64>,
    ) -> PyResult<usize> {
        let opened = self.fetching()?;
        run(py, &None, None, |watch| {
            Ok(opened.again(start..end, bound, by, watch)?)
        })
    }

    /// Forgets kept ranges, and requests that were not answered, within these messages. Returns the number of each.
    fn drop(&self, py: Python<'_>, start: u64, end: u64) -> PyResult<(usize, usize)> {
        let opened = self.fetching()?;
        let dropped = py.detach(|| opened.mailbox.inbox.drop_range(start..end));
        Ok(dropped.map_err(Fault::from)?)
    }

    /// Posts a letter to oneself, without the token if the server accepts posts without one.
    fn post_canary(&self, py: Python<'_>) -> PyResult<()> {
        let opened = self.inner()?;
        let warning = run(py, &None, None, |watch| {
            Ok(opened.network.wait(watch, opened.post_canary())?)
        })?;
        warning.map_or(Ok(()), |text| warn(py, text))
    }

    /// Returns the states of these letters, oldest first.
    fn canaries(&self, py: Python<'_>) -> PyResult<Vec<Canary>> {
        let opened = self.inner()?;
        let audit = py.detach(|| opened.mailbox.inbox.audit());
        let canaries = audit.map_err(Fault::from)?.canaries.into_iter();
        Ok(canaries.map(Canary::from).collect())
    }

    /// The addresses of contacts, by name.
    #[getter]
    fn contacts(&self) -> PyResult<BTreeMap<String, String>> {
        let contacts = self.inner()?.mailbox.identity.home.contacts();
        Ok(contacts
            .map_err(Fault::from)?
            .into_iter()
            .map(|(name, address)| (name, address.to_text()))
            .collect())
    }

    /// Keeps an address, a short address or a `clue.key` under a name.
    fn add_contact(&self, py: Python<'_>, name: &str, address: To) -> PyResult<()> {
        let opened = self.inner()?;
        run(py, &None, None, |watch| {
            let address = address.found(&opened, watch)?;
            Ok(opened.mailbox.identity.home.add_contact(name, &address)?)
        })
    }

    /// Removes a name and its address.
    fn remove_contact(&self, name: &str) -> PyResult<()> {
        let removed = self.inner()?.mailbox.identity.home.remove_contact(name);
        Ok(removed.map_err(Fault::from)?)
    }

    /// Sends a letter to a contact, an address or a short address, at the recipient's server. Returns the messages'
    /// indices.
    ///
    /// With `signed` the letter names this recipient as its sender, with the time, and begins a conversation.
    #[pyo3(signature = (to, data, *, name=None, sealing=None, large=false, signed=false, subject=None,
        media_type=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn send(
        &self,
        py: Python<'_>,
        to: To,
        data: Bytes,
        name: Option<String>,
        sealing: Option<&str>,
        large: bool,
        signed: bool,
        subject: Option<String>,
        media_type: Option<String>,
    ) -> PyResult<Vec<u64>> {
        let opened = self.inner()?;
        let sealing: Option<Sealing> = sealing.map(str::parse).transpose().map_err(Fault::from)?;
        let letter = Outgoing {
            name,
            content: data.to_vec(),
            subject,
            media_type,
            sealing,
            large,
        };
        run(py, &None, None, |watch| {
            let to = to.found(&opened, watch)?;
            Ok(opened.send(&to, letter, signed, watch)?)
        })
    }

    /// Answers a letter: to its sender, in its conversation, with its subject, signed. Returns the messages' indices.
    ///
    /// A sender who is no contact is looked up by the short address, once.
    #[pyo3(signature = (letter, data, *, name=None, sealing=None, large=false, subject=None, media_type=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn reply(
        &self,
        py: Python<'_>,
        letter: &Bound<'_, InboxLetter>,
        data: Bytes,
        name: Option<String>,
        sealing: Option<&str>,
        large: bool,
        subject: Option<String>,
        media_type: Option<String>,
    ) -> PyResult<Vec<u64>> {
        let opened = self.inner()?;
        let sealing: Option<Sealing> = sealing.map(str::parse).transpose().map_err(Fault::from)?;
        let number = letter.get().number;
        let letter = Outgoing {
            name,
            content: data.to_vec(),
            subject,
            media_type,
            sealing,
            large,
        };
        run(py, &None, None, |watch| {
            Ok(opened.reply(number, letter, watch)?)
        })
    }

    /// Closes the inbox and ends its watches.
    fn close(&self, py: Python<'_>) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let opened = open.take();
        drop(open);
        if let Some(opened) = opened {
            py.detach(|| opened.close());
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().inner()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        let state = if self.closed() { ": closed" } else { "" };
        format!("<omr.Inbox {}{state}>", self.home.display())
    }
}

impl Inbox {
    /// Returns an inbox object, after logging the retired identities that cannot be read.
    ///
    /// Errors: those of Python's log.
    fn of(py: Python<'_>, home: PathBuf, opened: OpenInbox) -> PyResult<Self> {
        for (folder, error) in &opened.mailbox.unread {
            let text = format!(
                "the retired identity in {} is not read: {}",
                folder.display(),
                with_advice(error)
            );
            warn(py, &text)?;
        }
        let open = RwLock::new(Some(Arc::new(opened)));
        Ok(Self { home, open })
    }

    /// Returns the open inbox.
    ///
    /// Errors: `InboxClosed`.
    fn inner(&self) -> Result<Arc<OpenInbox>, Fault> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or(BindingError::InboxClosed.into())
    }

    /// Returns the open inbox for a call that fetches, decodes, or changes requests.
    ///
    /// Errors: `InboxClosed`; `Beside` where another program fetched when this inbox was opened.
    fn fetching(&self) -> Result<Arc<OpenInbox>, Fault> {
        let opened = self.inner()?;
        opened.check_fetches()?;
        Ok(opened)
    }
}

/// Logs a warning in Python's log.
fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let log = py.import("logging")?.call_method1("getLogger", ("omr",))?;
    log.call_method1("warning", ("%s", text)).map(drop)
}
