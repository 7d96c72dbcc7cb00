//! A server in its own folder, with tokens, and its use of the machine's resources.

use crate::trials::place::{Place, status_kb};
use crate::trials::{ServerProcess, TrialError};
use omr_remote::{Client, Endpoint, Retry, Timeouts};
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Runtime;

/// The limits that a server is configured for.
pub(crate) struct Room {
    /// The parameter set of the board.
    pub(crate) params: String,
    /// Further lines of the board's table.
    pub(crate) board: String,
    /// The number of keys that its clients register together.
    pub(crate) keys: u32,
    /// The most messages of a digest.
    pub(crate) digest_messages: u64,
}

/// A server in a separate process, its folder and a runtime for its clients.
pub(crate) struct Scene {
    server: Option<ServerProcess>,
    pub(crate) runtime: Runtime,
    /// Removed at the end, after the server.
    place: Place,
}

/// The resources that a server's process has used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Seconds of all cores.
    pub(crate) cpu_s: f64,
    /// The peak memory since [`Scene::forget_peak`].
    pub(crate) peak_rss_bytes: u64,
}

impl Scene {
    /// Makes a new folder, in `parent` or the system's temporary one, without starting the server. The trial does not
    /// reach the limits: it measures the server, not its limits.
    ///
    /// Errors: `Io`.
    pub(crate) fn new(parent: Option<&Path>, room: &Room) -> Result<Self, TrialError> {
        let Room {
            params,
            board,
            keys,
            digest_messages,
        } = room;
        // A quarter of all keys is reserved for clients with a token.
        let all_keys = 2 * keys;
        let tables = format!(
            "[board]\nparams = \"{params}\"\n{board}\
             [access]\nanonymous_post = true\nanonymous_detect = true\n\
             [limits]\nmessages_per_second = 10000000\nkeys = {keys}\nall_keys = {all_keys}\n\
             digest_messages = {digest_messages}\n"
        );
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build();
        Ok(Self {
            server: None,
            runtime: runtime.map_err(TrialError::io("starting the network"))?,
            place: Place::new(parent, &tables)?,
        })
    }

    /// Returns the scene's folder.
    pub(crate) fn dir(&self) -> &Path {
        self.place.path()
    }

    /// Returns the URL of the server.
    pub(crate) fn url(&self) -> String {
        self.place.url()
    }

    /// Returns a token for a client that posts and requests digests. The server learns it when it starts afterwards.
    ///
    /// Errors: `Io`, `Command`.
    pub(crate) fn token(&self, name: &str) -> Result<String, TrialError> {
        self.token_for(name, &["post", "detect"])
    }

    /// Returns a token with these rights. The server learns it when it starts afterwards.
    ///
    /// Errors: `Io`, `Command`.
    pub(crate) fn token_for(&self, name: &str, rights: &[&str]) -> Result<String, TrialError> {
        self.place.token(name, rights)
    }

    /// Starts the server. A second start uses the same address.
    ///
    /// Errors: `Io`, `Start`.
    pub(crate) fn start(&mut self) -> Result<(), TrialError> {
        self.server = Some(self.place.start()?);
        Ok(())
    }

    /// Kills the server at once.
    ///
    /// Errors: `Io`.
    pub(crate) fn kill(&mut self) -> Result<(), TrialError> {
        self.server.take().map_or(Ok(()), ServerProcess::kill)
    }

    /// Asks the server to stop and waits until it has.
    ///
    /// Errors: `Io`; `Broken` if it does not.
    pub(crate) fn stop(&mut self) -> Result<(), TrialError> {
        self.server.take().map_or(Ok(()), ServerProcess::stop)
    }

    /// Returns a client with the default settings.
    ///
    /// Errors: `Remote`.
    pub(crate) fn client(&self, token: &str) -> Result<Client, TrialError> {
        self.connect(token, Retry::default())
    }

    /// Returns a client that makes no call twice, so that every refusal is visible.
    ///
    /// Errors: `Remote`.
    pub(crate) fn impatient(&self, token: &str) -> Result<Client, TrialError> {
        let total = Duration::ZERO;
        self.connect(
            token,
            Retry {
                total,
                ..Retry::default()
            },
        )
    }

    fn connect(&self, token: &str, retry: Retry) -> Result<Client, TrialError> {
        // Connections are driven by the runtime in which they are made.
        let _entered = self.runtime.enter();
        let timeouts = Timeouts {
            // A full-size key takes longer to check while digests are made.
            call: Duration::from_secs(120),
            ..Timeouts::default()
        };
        Ok(Client::connect(&Endpoint {
            token: Some(token.to_owned()),
            timeouts,
            retry,
            ..Endpoint::new(self.url())
        })?)
    }

    /// Resets the peak of memory, if the system allows it.
    pub(crate) fn forget_peak(&self) {
        if let Some(server) = &self.server {
            let path = format!("/proc/{}/clear_refs", server.pid());
            // If that is not allowed, the peak is that of the whole run so far, which is never too low.
            let _ = std::fs::write(path, "5");
        }
    }

    /// Returns the resources that the server's process has used; zeros if the system does not report them.
    pub(crate) fn usage(&self) -> Usage {
        self.server.as_ref().map_or_else(Usage::default, |server| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid()));
            Usage {
                cpu_s: cpu_seconds(&stat.unwrap_or_default()).unwrap_or_default(),
                peak_rss_bytes: status_kb(server.pid(), "VmHWM").unwrap_or_default() * 1024,
            }
        })
    }

    /// Returns the bytes of all files that the server stores.
    ///
    /// Errors: `Io`.
    pub(crate) fn disk_bytes(&self) -> Result<u64, TrialError> {
        folder_bytes(self.place.data()).map_err(TrialError::io("measuring the server's folder"))
    }

    /// Returns the bytes of the detection keys that the server stores; 0 before the first.
    ///
    /// Errors: `Io`.
    pub(crate) fn key_disk_bytes(&self) -> Result<u64, TrialError> {
        let keys = self.place.data().join("objects/keys");
        if keys.is_dir() {
            folder_bytes(&keys).map_err(TrialError::io("measuring the server's keys"))
        } else {
            Ok(0)
        }
    }

    /// Returns the sum of the samples of a metric; 0 if the server does not answer.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.place.page("/metrics").unwrap_or_default();
        let sample = |line: &str| {
            let (of, value) = line.rsplit_once(' ')?;
            let same = of.split('{').next() == Some(name);
            same.then(|| value.parse::<f64>().ok()).flatten()
        };
        text.lines().filter_map(sample).sum()
    }
}

/// Returns the time in user and kernel mode of a line of `/proc/PID/stat`.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The kernel counts in hundredths of a second on all supported machines.
    const TICKS: f64 = 100.0;
    // The name, in parentheses, may contain spaces; the times are the 12th and 13th field after it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let mut next = || times.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}

fn folder_bytes(dir: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        // The server may remove a file meanwhile.
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        bytes += if found.is_dir() {
            folder_bytes(&path)?
        } else {
            found.len()
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_figures_are_read() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 99 1 2";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("7 (a"), None);
    }

    #[test]
    fn a_folder_counts_with_all_below_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("below")).unwrap();
        std::fs::write(dir.path().join("a"), [0; 5]).unwrap();
        std::fs::write(dir.path().join("below/b"), [0; 7]).unwrap();
        assert_eq!(folder_bytes(dir.path()).unwrap(), 12);
    }
}
