//! Passphrases: from a file, from the environment, or typed at a terminal.

use crate::error::{CliError, InputError};
use crate::io::{Framed, is_standard};
use omr_client::locked::{self, MAX_LOCKED_BYTES, Passphrase};
use omr_console::ReadError;
use omr_protocol::frame::Kind;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Options that put a new secret under a passphrase.
#[derive(clap::Args)]
pub(crate) struct Locking {
    /// Put the secret under a passphrase, which is typed twice, or taken from --passphrase-file or $OMR_PASSPHRASE
    #[arg(long)]
    pub(crate) passphrase: bool,
    /// File whose first line is the passphrase
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct PassphraseArg {
    /// File whose first line is the passphrase of a locked secret [default: $OMR_PASSPHRASE, or typed]
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

/// The number of bytes of the longest file with a passphrase or with words.
const MAX_BYTES: u64 = 4096;
const VARIABLE: &str = "OMR_PASSPHRASE";

/// The sources of a passphrase besides the terminal.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) file: Option<&'a Path>,
    pub(super) option: &'static str,
    pub(super) variable: &'static str,
}

impl<'a> Given<'a> {
    fn usual(file: Option<&'a PathBuf>) -> Self {
        Self {
            file: file.map(PathBuf::as_path),
            option: "--passphrase-file",
            variable: VARIABLE,
        }
    }

    /// Returns the passphrase, if one was given.
    fn passphrase(self) -> Result<Option<Passphrase>, CliError> {
        let text = match self.file {
            Some(file) => Some(first_line(file)?),
            None => std::env::var(self.variable).ok().map(Zeroizing::new),
        };
        let text = text.filter(|text| self.file.is_some() || !text.is_empty());
        Ok(text.map(Passphrase::new).transpose()?)
    }

    fn typed(self, what: &Path, prompt: &str) -> Result<Zeroizing<String>, CliError> {
        let nobody = |source| CliError::NoPassphrase {
            path: what.to_owned(),
            option: self.option,
            variable: self.variable,
            source,
        };
        // The prompt is shown on the terminal itself; without one of these nobody would see it.
        if !io::stdin().is_terminal() && !io::stderr().is_terminal() {
            return Err(nobody(None));
        }
        let typed = rpassword::prompt_password(format!("{prompt} {}: ", what.display()));
        typed
            .map(Zeroizing::new)
            .map_err(|error| nobody(Some(error)))
    }

    /// Returns a new passphrase, which is typed twice at a terminal.
    ///
    /// Errors: `Input`, `Lock`, `NoPassphrase`, `OtherPassphrase`.
    pub(super) fn new_passphrase(self, what: &Path) -> Result<Passphrase, CliError> {
        if let Some(passphrase) = self.passphrase()? {
            passphrase.check_length()?;
            return Ok(passphrase);
        }
        let first = Passphrase::new(self.typed(what, "New passphrase of")?)?;
        // The length is checked before the second entry.
        first.check_length()?;
        if Passphrase::new(self.typed(what, "The same again, of")?)? == first {
            Ok(first)
        } else {
            Err(CliError::OtherPassphrase)
        }
    }
}

/// Reads a file with a secret text, or standard input.
pub(super) fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, InputError> {
    // The memory is reserved at once, so that no copies are left behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES as usize + 64));
    if is_standard(path) {
        io::stdin().take(MAX_BYTES + 1).read_to_end(&mut bytes)?
    } else {
        File::open(path)?
            .take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)?
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ReadError::TooLarge(MAX_BYTES).into());
    }
    Ok(bytes)
}

/// Returns the first line of a file.
fn first_line(path: &Path) -> Result<Zeroizing<String>, CliError> {
    let read = || -> Result<Zeroizing<String>, InputError> {
        let bytes = read_secret(path)?;
        let line = bytes
            .split(|byte| matches!(byte, b'\r' | b'\n'))
            .next()
            .unwrap_or_default();
        let text = std::str::from_utf8(line).map_err(io::Error::other)?;
        Ok(Zeroizing::new(text.to_owned()))
    };
    read().map_err(CliError::input(path))
}

/// Returns the passphrase of a locked file.
///
/// Errors: `Input`, `Lock`, `NoPassphrase`.
pub(super) fn known(arg: &PassphraseArg, what: &Path) -> Result<Passphrase, CliError> {
    let given = Given::usual(arg.passphrase_file.as_ref());
    match given.passphrase()? {
        Some(passphrase) => Ok(passphrase),
        None => Ok(Passphrase::new(given.typed(what, "Passphrase of")?)?),
    }
}

/// Returns a new passphrase.
///
/// Errors: `Input`, `Lock`, `NoPassphrase`, `OtherPassphrase`.
pub(super) fn fresh(file: Option<&PathBuf>, what: &Path) -> Result<Passphrase, CliError> {
    Given::usual(file).new_passphrase(what)
}

/// Returns the passphrase for a new secret, if it is to have one.
///
/// Errors: `Input`, `Lock`, `NoPassphrase`, `OtherPassphrase`.
pub(super) fn wanted(args: &Locking, what: &Path) -> Result<Option<Passphrase>, CliError> {
    let file = args.passphrase_file.as_ref();
    let wanted = args.passphrase || file.is_some();
    wanted.then(|| fresh(file, what)).transpose()
}

/// Returns a file without the passphrase that it may be under.
///
/// Errors: `Input`, `Lock`, `NoPassphrase`.
pub(super) fn opened(file: Framed, kind: Kind, arg: &PassphraseArg) -> Result<Framed, CliError> {
    if file.header.kind != Kind::Locked {
        return Ok(file);
    }
    let path = file.path().to_owned();
    let bytes = file.bytes_up_to(MAX_LOCKED_BYTES)?;
    let opened = locked::unlock(kind, &bytes, &known(arg, &path)?)
        .map_err(|error| CliError::input(&path)(error.into()))?;
    Framed::of_bytes(&path, kind, opened)
}
