//! The two halves of a fetch: one calls the server and cannot name a message, one decodes without a connection.

use super::letter::Received;
use crate::fault::Fault;
use crate::network::Network;
use crate::raise::with_advice;
use crate::running::Watch;
use omr_mail::{
    Collected, Fork, Home, Identity, Inbox, MailError, Mailbox, Outcome, Server, Spares, Stage,
    collect, cut, publish_again,
};
use omr_remote::Client;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The highest time to wait for a fetch that is under way.
const PATIENCE: Duration = Duration::from_secs(2);

/// An open inbox with its connection to the server.
pub(super) struct OpenInbox {
    pub(super) mailbox: Mailbox,
    pub(super) server: Server,
    pub(super) network: Network,
    /// Whether a fetch or a watch is under way.
    busy: AtomicBool,
    /// Whether the inbox was closed.
    over: AtomicBool,
}

/// The right to fetch, until it is dropped.
pub(super) struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The result of decoding.
pub(super) struct Decoded {
    pub(super) letters: Vec<Received>,
    pub(super) kept: Vec<omr_mail::Kept>,
    pub(super) unopened: usize,
    /// Warnings for the program's log.
    pub(super) warnings: Vec<String>,
}

impl OpenInbox {
    pub(super) fn new(mailbox: Mailbox, server: Server, network: Network) -> Self {
        Self {
            mailbox,
            server,
            network,
            busy: AtomicBool::new(false),
            over: AtomicBool::new(false),
        }
    }

    /// Ends the watch, and waits until nothing uses the inbox any more, so that other programs can open it.
    pub(super) fn close(self: Arc<Self>) {
        self.over.store(true, Ordering::Relaxed);
        let start = Instant::now();
        while Arc::strong_count(&self) > 1 && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Takes the right to fetch.
    ///
    /// Errors: `Fetching` while another fetch or a watch is under way.
    pub(super) fn turn(&self) -> Result<Turn<'_>, Fault> {
        if self.busy.swap(true, Ordering::Acquire) {
            Err(Fault::Fetching)
        } else {
            Ok(Turn(&self.busy))
        }
    }

    /// Releases a right that was kept beyond its scope.
    pub(super) fn free(&self) {
        self.busy.store(false, Ordering::Release);
    }

    /// Returns a connection to the identity's server.
    ///
    /// Errors: `Mail`.
    pub(super) fn client(&self) -> Result<Client, Fault> {
        Ok(self.network.connect(self.server.endpoint())?)
    }

    /// Runs the network half for all identities. Returns warnings for the program's log. With `session` a digest of the
    /// server's session replaces the requested one.
    ///
    /// Errors: `Mail`. A retired identity that fails holds up no other.
    pub(super) async fn fetch(&self, session: bool, watch: &Watch) -> Result<Vec<String>, Fault> {
        let Mailbox {
            identity,
            inbox,
            reader,
            ..
        } = &self.mailbox;
        let client = self.client()?;
        let progress = |stage| show(watch, stage);
        let fetched = if session {
            cut(&client, identity, inbox.requests()).await
        } else {
            collect(&client, identity, inbox, reader, progress).await
        };
        let mut warnings = Vec::new();
        for retired in &self.mailbox.retired {
            let connect = |home: &Home| {
                let mut server = home.server()?;
                server.token = self.server.token.clone();
                Ok::<_, MailError>(self.network.connect(server.endpoint())?)
            };
            match retired.collect(connect, |stage| show(watch, stage)).await {
                Ok(Some(collected)) => news(&retired.identity, &collected, &mut warnings),
                Ok(None) => {}
                Err(error) => warnings.push(format!(
                    "the retired identity {}: {}",
                    retired.name,
                    with_advice(&error)
                )),
            }
        }
        news(identity, &fetched?, &mut warnings);
        let retired = self.mailbox.retired.iter().map(|retired| &retired.inbox);
        for inbox in iter::once(&self.mailbox.inbox).chain(retired) {
            warnings.extend(inbox.new_forks()?.iter().map(Fork::to_string));
        }
        if let Err(error) = publish_again(identity, &client).await {
            warnings.push(format!(
                "the address was not published again: {}",
                with_advice(&error)
            ));
        }
        Ok(warnings)
    }

    /// Decodes the received digests.
    ///
    /// Errors: `Mail`.
    pub(super) fn take_in(&self) -> Result<Decoded, Fault> {
        let (taken, mut numbers) = self.mailbox.take_in()?;
        let (mut kept, mut unopened, mut warnings) = (Vec::new(), 0, Vec::new());
        for taken in taken {
            match taken.outcome {
                Outcome::Kept(range) => kept.push(range),
                Outcome::Delivered {
                    messages,
                    unopened: closed,
                } => {
                    numbers.extend(messages);
                    unopened += closed;
                }
                Outcome::Unanswered(reason) => warnings.push(format!(
                    "an answer of the server brought nothing ({reason}): its messages wait for the next fetch"
                )),
            }
        }
        if !kept.is_empty() {
            // The ranges are listed again, with the messages that later digests contained.
            let ranges: Vec<_> = kept.iter().map(omr_mail::Kept::range).collect();
            kept = self.mailbox.inbox.kept()?;
            kept.retain(|kept| ranges.contains(&kept.range()));
        }
        let letters = if numbers.is_empty() {
            Vec::new()
        } else {
            letters_of(&self.mailbox.inbox, true, |number| {
                numbers.contains(&number)
            })?
        };
        Ok(Decoded {
            letters,
            kept,
            unopened,
            warnings,
        })
    }
}

/// Returns the letters of an inbox with their contents.
///
/// Errors: `Mail`.
pub(super) fn letters_of(
    inbox: &Inbox,
    all: bool,
    wanted: impl Fn(u64) -> bool,
) -> Result<Vec<Received>, Fault> {
    let listed = inbox.list(all)?.into_iter();
    let read = |listed: omr_mail::Listed| {
        let data = inbox.body(listed.number)?;
        Ok(Received { listed, data })
    };
    listed.filter(|one| wanted(one.number)).map(read).collect()
}

fn show(watch: &Watch, stage: Stage) {
    match stage {
        Stage::Queued(ahead) => watch.at("waiting", 0, ahead),
        Stage::Running(name, done, all) => watch.at(name, done, all),
    }
}

/// Adds a warning for everything that differs from the identity's profile.
fn news(identity: &Identity, collected: &Collected, warnings: &mut Vec<String>) {
    for (range, reason) in &collected.refused {
        let (start, end) = (range.start, range.end);
        warnings.push(format!(
            "the server refuses messages {start}..{end} for good, they are kept: {reason}"
        ));
    }
    for missed in &collected.missed {
        let (start, end) = (missed.start, missed.end);
        warnings.push(format!(
            "messages {start}..{end} expired before they were fetched"
        ));
    }
    if collected.spares == Spares::NotServed {
        warnings.push("letters longer than the bound do not come whole from this server".into());
    }
    if let Err(why) = &collected.ordered {
        warnings.push(format!(
            "the server works batches when they are asked for, not when they fill: {why}"
        ));
    }
    let (bound, own) = (collected.bound, identity.profile.bound);
    if bound < own && collected.spares != Spares::TwoRounds {
        warnings.push(format!(
            "the server or the keys serve a bound of {bound} at most, not {own}"
        ));
    }
}
