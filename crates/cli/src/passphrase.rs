//! Passphrases: from a file where one is named, else from a person at a terminal.

use crate::args::PassphraseArg;
use crate::error::{CliError, InputError};
use crate::io::{self, Framed};
use omr_client::locked::{self, Passphrase};
use omr_protocol::frame::Kind;
use std::fs;
use std::path::Path;
use zeroize::{Zeroize, Zeroizing};

/// Bytes of the longest file of a passphrase.
const MAX_BYTES: u64 = 4096;
/// Bytes of the longest secret.
const MAX_SECRET_BYTES: u64 = 1 << 20;

/// The passphrase of something that is under one.
///
/// Errors: `Passphrase`, `Input`.
pub(crate) fn known(arg: &PassphraseArg, what: &Path) -> Result<Passphrase, CliError> {
    match &arg.passphrase_file {
        Some(file) => from_file(file),
        None => from_terminal(&format!("Passphrase of {}: ", what.display())),
    }
}

/// A passphrase for something new: a person types it twice.
///
/// Errors: `Passphrase`, `Input`, `OtherPassphrase`.
pub(crate) fn new(file: Option<&Path>, what: &Path) -> Result<Passphrase, CliError> {
    if let Some(file) = file {
        return from_file(file);
    }
    let first = typed(&format!("New passphrase of {}: ", what.display()))?;
    let second = typed("The same again: ")?;
    match first == second {
        true => Passphrase::new(first).map_err(CliError::Lock),
        false => Err(CliError::OtherPassphrase),
    }
}

/// The first line of a file.
fn from_file(path: &Path) -> Result<Passphrase, CliError> {
    let bytes = Zeroizing::new(io::read_file(path, MAX_BYTES)?);
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let text = std::str::from_utf8(line).map_err(|error| {
        CliError::input(path)(InputError::Io(std::io::Error::other(error)))
    })?;
    let text = Zeroizing::new(text.trim_end_matches('\r').to_owned());
    Passphrase::new(text).map_err(CliError::Lock)
}

fn from_terminal(prompt: &str) -> Result<Passphrase, CliError> {
    Passphrase::new(typed(prompt)?).map_err(CliError::Lock)
}

fn typed(prompt: &str) -> Result<Zeroizing<String>, CliError> {
    let typed = rpassword::prompt_password(prompt);
    typed.map(Zeroizing::new).map_err(CliError::NoTerminal)
}

/// Opens a secret's file, which may be under a passphrase.
///
/// Errors: `Input`, `Lock`, `NoTerminal`.
pub(crate) fn open_secret(path: &Path, kind: Kind, arg: &PassphraseArg) -> Result<Framed, CliError> {
    if io::is_standard(path) || !is_locked(path)? {
        return Framed::open(path, kind);
    }
    let mut file = io::read_file(path, MAX_SECRET_BYTES)?;
    let secret = locked::unlock(&file, &known(arg, path)?).map_err(InputError::Lock);
    file.zeroize();
    Framed::of_bytes(path, kind, secret.map_err(CliError::input(path))?)
}

/// Whether a file is under a passphrase.
fn is_locked(path: &Path) -> Result<bool, CliError> {
    use std::io::Read;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut start = Vec::new();
        fs::File::open(path)?.take(4).read_to_end(&mut start)?;
        Ok(start)
    };
    let start = read().map_err(InputError::Io);
    Ok(locked::is_locked(&start.map_err(CliError::input(path))?))
}
