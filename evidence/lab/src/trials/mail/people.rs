//! Senders and recipients: `omr` in separate processes with separate homes.

use crate::trials::TrialError;
use crate::trials::command::{checked, succeeded};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The folder of all people, and the program.
pub(crate) struct People {
    pub(crate) program: PathBuf,
    pub(crate) dir: PathBuf,
}

/// A watch, which is killed on drop.
pub(crate) struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The output of `omr inbox --json`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Report {
    pub(crate) messages: Vec<Listed>,
    pub(crate) incomplete_files: u64,
    pub(crate) unopened: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) number: u64,
}

/// The output of `omr send --json` for a file.
#[derive(Deserialize)]
struct Sent {
    messages: u64,
}

impl People {
    pub(crate) fn home(&self, recipient: usize) -> PathBuf {
        self.dir.join(format!("recipient-{recipient}"))
    }

    fn address(&self, recipient: usize) -> PathBuf {
        self.dir.join(format!("address-{recipient}.txt"))
    }

    fn omr(&self, words: &[&str], home: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--home").arg(home);
        // The settings of the person who runs the trial are not used.
        command.env_remove("OMR_HOME").env_remove("OMR_TOKEN");
        // The server may be away for a while.
        command.env("OMR_TIMEOUT", "120");
        command
    }

    /// Generates a recipient's keys and registers them with the server; writes the address to a file.
    ///
    /// Errors: `Io`, `Command`.
    pub(crate) fn join(
        &self,
        recipient: usize,
        url: &str,
        token: &str,
        bound: usize,
    ) -> Result<(), TrialError> {
        let home = self.home(recipient);
        let mut new = self.omr(&["id", "new", "--server", url, "--json"], &home);
        new.args(["--bound", &bound.to_string()]);
        checked("omr id new", new.env("OMR_TOKEN", token))?;
        let mut address = self.omr(&["address"], &home);
        address.arg("--out").arg(self.address(recipient));
        checked("omr address", &mut address)?;
        Ok(())
    }

    /// Sends a letter; returns the number of its messages.
    ///
    /// Errors: `Io`, `Command`; `Broken` if the answer is invalid.
    pub(crate) fn send(
        &self,
        sender: usize,
        recipient: usize,
        text: &[u8],
    ) -> Result<u64, TrialError> {
        let file = self.dir.join(format!("letter-of-{sender}"));
        std::fs::write(&file, text).map_err(TrialError::io("writing a letter"))?;
        let home = self.dir.join(format!("sender-{sender}"));
        let mut send = self.omr(&["send", "--json"], &home);
        send.arg("--to").arg(self.address(recipient)).arg(&file);
        let out = checked("omr send", &mut send)?;
        let sent: Sent = parse("omr send", &out)?;
        Ok(sent.messages)
    }

    /// Starts a fetch.
    ///
    /// Errors: `Io`.
    pub(crate) fn fetch(&self, recipient: usize) -> Result<Child, TrialError> {
        let mut inbox = self.omr(&["inbox", "--all", "--json"], &self.home(recipient));
        let child = inbox
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        child.map_err(TrialError::io("starting a command"))
    }

    /// Starts a watch that serves programs and does not fetch for hours.
    ///
    /// Errors: `Io`.
    pub(crate) fn watch(&self, recipient: usize) -> Result<Watch, TrialError> {
        let words = ["watch", "--every", "24h", "--socket"];
        let mut watch = self.omr(&words, &self.home(recipient));
        let child = watch.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        child
            .map(Watch)
            .map_err(TrialError::io("starting a command"))
    }

    /// Returns the messages of an inbox.
    ///
    /// Errors: `Io`, `Command`.
    pub(crate) fn read(
        &self,
        recipient: usize,
        report: &Report,
    ) -> Result<Vec<Vec<u8>>, TrialError> {
        let out = self.dir.join(format!("read-{recipient}"));
        let mut read = self.omr(&["inbox", "read"], &self.home(recipient));
        read.arg("--out").arg(&out);
        for message in &report.messages {
            read.arg(message.number.to_string());
        }
        if report.messages.is_empty() {
            return Ok(Vec::new());
        }
        let printed = checked("omr inbox read", &mut read)?;
        String::from_utf8_lossy(&printed)
            .lines()
            .map(|line| std::fs::read(line).map_err(TrialError::io("reading a letter")))
            .collect()
    }
}

/// Returns the report of a fetch that succeeded.
///
/// Errors: `Command`, `Broken`.
pub(crate) fn report(out: Output) -> Result<Report, TrialError> {
    parse("omr inbox", &succeeded("omr inbox", out)?)
}

fn parse<T: for<'a> Deserialize<'a>>(what: &str, json: &[u8]) -> Result<T, TrialError> {
    serde_json::from_slice(json)
        .map_err(|error| TrialError::Broken(format!("{what}: expected JSON, {error}")))
}
