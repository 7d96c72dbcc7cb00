//! An open inbox with its connection to the server.

use crate::{BindingError, Network};
use omr_mail::{Mailbox, Server};
use omr_remote::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The highest time to wait for a fetch that is under way.
const PATIENCE: Duration = Duration::from_secs(2);

/// An open inbox with its connection to the server.
pub struct OpenInbox {
    /// The identity, its letters, and the retired identities.
    pub mailbox: Mailbox,
    /// The identity's server.
    pub server: Server,
    /// The way to servers.
    pub network: Network,
    /// Whether a fetch or a watch is under way.
    busy: AtomicBool,
    /// Whether the inbox was closed.
    over: AtomicBool,
}

/// The right to fetch, until it is dropped.
pub struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl OpenInbox {
    pub(crate) fn new(mailbox: Mailbox, server: Server, network: Network) -> Self {
        Self {
            mailbox,
            server,
            network,
            busy: AtomicBool::new(false),
            over: AtomicBool::new(false),
        }
    }

    /// Ends the watch, and waits until nothing uses the inbox any more, so that other programs can open it.
    pub fn close(self: Arc<Self>) {
        self.over.store(true, Ordering::Relaxed);
        let start = Instant::now();
        while Arc::strong_count(&self) > 1 && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns whether the inbox was closed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Checks that the inbox was opened to fetch, which calls that fetch, decode, or change requests need.
    ///
    /// Errors: `Beside` where another program fetched when this inbox was opened.
    pub fn check_fetches(&self) -> Result<(), BindingError> {
        if self.mailbox.inbox.fetches() {
            Ok(())
        } else {
            Err(BindingError::Beside)
        }
    }

    /// Takes the right to fetch.
    ///
    /// Errors: `Fetching` while another fetch or a watch is under way.
    pub fn turn(&self) -> Result<Turn<'_>, BindingError> {
        if self.busy.swap(true, Ordering::Acquire) {
            Err(BindingError::Fetching)
        } else {
            Ok(Turn(&self.busy))
        }
    }

    /// Releases a right that was kept beyond its scope.
    pub fn free(&self) {
        self.busy.store(false, Ordering::Release);
    }

    /// Returns a connection to the identity's server.
    ///
    /// Errors: `Remote`.
    pub fn client(&self) -> Result<Client, BindingError> {
        Ok(self.network.connect(self.server.endpoint())?)
    }
}
