//! A server of a trial: its folder, its configuration, its processes.

use super::command::checked;
use crate::trials::{ServerProcess, Setup, TrialError, program};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use tempfile::TempDir;

/// The longest time for a page.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of messages in a segment, which is small so that segments are sealed often.
pub(crate) const SEGMENT: u64 = 64;
/// The bytes of a payload.
pub(crate) const PAYLOAD: usize = 64;

/// The location of a trial's server. The folder is removed on drop.
pub(crate) struct Place {
    folder: TempDir,
    data: PathBuf,
    pub(crate) setup: Setup,
    port: u16,
}

impl Place {
    /// Makes a folder in `dir`, or in the system's temporary one, with a configuration: the address and data of the
    /// server, and `tables`. Nothing is started.
    ///
    /// Errors: `Io`.
    pub(crate) fn new(dir: Option<&Path>, tables: &str) -> Result<Self, TrialError> {
        let parent = dir.map_or_else(std::env::temp_dir, Path::to_owned);
        let making = || TrialError::io("creating the trial's folder");
        fs::create_dir_all(&parent).map_err(making())?;
        let folder = tempfile::Builder::new()
            .prefix("omr-trial-")
            .tempdir_in(parent)
            .map_err(making())?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(TrialError::io("looking for a port"))?.port();
        let place = Self {
            data: folder.path().join("data"),
            setup: Setup {
                config: folder.path().join("omr.toml"),
                log: folder.path().join("log"),
                environment: Vec::new(),
                addresses_kib: None,
            },
            folder,
            port,
        };
        let data = &place.data;
        let text = format!(
            "listen = \"127.0.0.1:{port}\"\ndata = {data:?}\n{tables}\n[watch]\nmetrics = \"127.0.0.1:{port}\"\n"
        );
        fs::write(&place.setup.config, text)
            .map_err(TrialError::io("writing the configuration"))?;
        Ok(place)
    }

    /// Makes a place for a small board of small payloads and segments; `limits` are lines of the table of this name.
    ///
    /// Errors: `Io`.
    pub(crate) fn small(
        dir: Option<&Path>,
        params: &str,
        limits: &str,
    ) -> Result<Self, TrialError> {
        let tables = format!(
            "[board]\nparams = {params:?}\npayload_bytes = {PAYLOAD}\nsealing = \"none\"\n\
             [objects]\nsegment_messages = {SEGMENT}\n\
             [access]\nanonymous_post = true\nanonymous_detect = true\n\
             [limits]\nmessages_per_second = 1000000\n{limits}\n\
             [detector]\nthreads = 1\nsession_threads = 1\n"
        );
        Self::new(dir, &tables)
    }

    /// Returns a token with these rights. The server learns it when it starts afterwards.
    ///
    /// Errors: `Io`, `Command`.
    pub(crate) fn token(&self, name: &str, rights: &[&str]) -> Result<String, TrialError> {
        fs::create_dir_all(&self.data).map_err(TrialError::io("the data folder"))?;
        let mut add = Command::new(program()?);
        add.args(["token", "add", "--name", name, "--file"])
            .arg(self.data.join("tokens.toml"));
        for right in rights {
            add.args(["--may", right]);
        }
        let out = checked("omr token", &mut add)?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    /// Returns the trial's folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of the server's data.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the URL of the server.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the server's host and port.
    pub(crate) fn address(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    /// Starts the server and waits until it listens.
    ///
    /// Errors: `Io`, `Start`.
    pub(crate) fn start(&self) -> Result<ServerProcess, TrialError> {
        ServerProcess::start(&self.setup)
    }

    /// Runs the program with other arguments.
    ///
    /// Errors: `Io`.
    pub(crate) fn omr(&self, args: &[&str]) -> Result<Output, TrialError> {
        let run = Command::new(program()?).args(args).output();
        run.map_err(TrialError::io("running omr"))
    }

    /// Runs `omr data COMMAND --config ...` on the stopped server's data.
    ///
    /// Errors: `Io`.
    pub(crate) fn data_command(&self, command: &[&str]) -> Result<Output, TrialError> {
        let config = self.setup.config.to_string_lossy();
        self.omr(&[&["data"], command, &["--config", &config]].concat())
    }

    /// Runs `omr data verify`, which reads everything; returns the faults that it found.
    ///
    /// Errors: `Io`.
    pub(crate) fn verify(&self) -> Result<Vec<String>, TrialError> {
        let done = self.data_command(&["verify", "--json"])?;
        Ok(match done.status.code() {
            Some(0) => Vec::new(),
            _ => vec![format!("omr data verify: {}", text(&done))],
        })
    }

    /// Returns the body of a page of the running server.
    ///
    /// Errors: `Io`.
    pub(crate) fn page(&self, path: &str) -> Result<String, TrialError> {
        let get = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(self.address())?;
            stream.set_read_timeout(Some(PATIENCE))?;
            // In version 1.0 the body is complete when the connection ends.
            write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let text = get().map_err(TrialError::io("reading a page"))?;
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        Ok(body.unwrap_or_default().to_owned())
    }

    /// Returns lines of the server's log that report a bug.
    pub(crate) fn alarms(&self) -> Vec<String> {
        let bytes = fs::read(&self.setup.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&bytes);
        let lines = log
            .lines()
            .filter(|line| line.contains("panicked") || line.contains("please report"));
        lines.map(|line| format!("log: {line}")).collect()
    }
}

/// Returns all output of a command, on one line.
pub(crate) fn text(done: &Output) -> String {
    let both = [&done.stdout[..], &done.stderr[..]].concat();
    let text = String::from_utf8_lossy(&both);
    let lines: Vec<&str> = text.lines().take(6).collect();
    format!("{}: {}", done.status, lines.join(" | "))
}

/// Returns a figure of `/proc/PID/status` in kB, such as `VmHWM`; `None` if there is no such file.
pub(crate) fn status_kb(pid: u32, name: &str) -> Option<u64> {
    figure_kb(
        &fs::read_to_string(format!("/proc/{pid}/status")).ok()?,
        name,
    )
}

fn figure_kb(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the number of files that a process has open; `None` if the system does not report it.
pub(crate) fn open_files(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_systems_figures_are_read() {
        let status = "VmPeak:\t  9 kB\nVmHWM:\t    1024 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(super::figure_kb(status, "VmHWM"), Some(1024));
        assert_eq!(super::figure_kb("VmRSS:\t 1 kB\n", "VmHWM"), None);
    }
}
