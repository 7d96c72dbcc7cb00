//! A server in a separate process.

use crate::trials::{TrialError, program};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest time until a server listens; it may have to recover.
const PATIENCE: Duration = Duration::from_secs(120);
/// The interval at which a process that should end is checked.
const LOOK: Duration = Duration::from_millis(10);

/// The setup of a server.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The configuration file.
    pub config: PathBuf,
    /// The file that the log is appended to.
    pub log: PathBuf,
    /// Environment variables in addition to those of this process.
    pub environment: Vec<(String, String)>,
    /// The address limit in KiB (`ulimit -v`), if there is one.
    pub addresses_kib: Option<u64>,
}

/// A running server, which is killed on drop.
pub struct ServerProcess {
    child: Child,
    url: String,
}

impl ServerProcess {
    /// Starts a server and waits until it listens.
    ///
    /// Errors: `Io`, `Start`.
    pub fn start(setup: &Setup) -> Result<Self, TrialError> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(&setup.log)
            .map_err(TrialError::io("opening the log"))?;
        let mut command = match setup.addresses_kib {
            None => Command::new(program()?),
            Some(most) => {
                let mut shell = Command::new("sh");
                let limited = format!("ulimit -v {most} && exec \"$0\" \"$@\"");
                shell.args(["-c", &limited]).arg(program()?);
                shell
            }
        };
        let mut child = command
            .args(["serve", "--config"])
            .arg(&setup.config)
            .envs(setup.environment.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(TrialError::io("starting the server"))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            // The read ends when the server writes the line or ends.
            let read = BufReader::new(out).read_line(&mut line);
            read.map_err(TrialError::io("reading the server's first line"))?;
        }
        match line.trim().strip_prefix("listening on ") {
            Some(url) => Ok(Self {
                url: url.to_owned(),
                child,
            }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                let log = end_of(&setup.log);
                Err(TrialError::Start(log))
            }
        }
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server at once, as `kill -9`.
    ///
    /// Errors: `Io`.
    pub fn kill(mut self) -> Result<(), TrialError> {
        self.child
            .kill()
            .map_err(TrialError::io("killing the server"))?;
        self.child
            .wait()
            .map_err(TrialError::io("waiting for the server"))?;
        Ok(())
    }

    /// Asks the server to stop and waits until it has.
    ///
    /// Errors: `Io`; `Broken` if it does not stop, or exits with an error.
    pub fn stop(mut self) -> Result<(), TrialError> {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        asked.map_err(TrialError::io("asking the server to stop"))?;
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let ended = self
                .child
                .try_wait()
                .map_err(TrialError::io("waiting for the server"))?;
            match ended {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(TrialError::Broken(format!(
                        "the server stopped with {status}"
                    )));
                }
                None => std::thread::sleep(LOOK),
            }
        }
        Err(TrialError::Broken(format!(
            "the server did not stop within {PATIENCE:?}"
        )))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the last lines of a log.
fn end_of(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join(" | ")
}
