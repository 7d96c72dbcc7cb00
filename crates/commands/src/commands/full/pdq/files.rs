//! Tables, schemas and keys in files.

use crate::commands::full::PdqError;
use crate::commands::passphrase::{PassphraseArg, opened};
use crate::error::{CliError, InputError};
use crate::io::{self, Framed, Output};
use omr_console::{ConsoleError, ReadError};
use omr_pdq::{EvaluationKey, Hosted, Params, Public, SecretKey, TableFileError};
use omr_protocol::frame::Kind;
use omr_table::{MAX_SCHEMA_BYTES, Table};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the secret's file in the client's folder.
pub(super) const SECRET_KEY: &str = "pdq-secret.key";
/// The name of the server's key.
pub(super) const EVALUATION_KEY: &str = "pdq-evaluation.key";

/// Returns the paths of a client's keys in the client's folder.
pub(super) fn keys(dir: &Path) -> [PathBuf; 2] {
    [SECRET_KEY, EVALUATION_KEY].map(|name| dir.join(name))
}

/// Returns the output of a table: a file, never standard output.
pub(super) fn table_output(path: &Path, force: bool) -> Result<Output, CliError> {
    if io::is_standard(path) {
        Err(PdqError::Standard.into())
    } else {
        Ok(Output::file(path, force)?)
    }
}

/// Returns an error with the file to which it belongs.
pub(super) fn of_file<E: Into<PdqError>>(path: &Path) -> impl FnOnce(E) -> CliError {
    let path: PathBuf = path.to_owned();
    move |error| CliError::input(path)(InputError::Pdq(error.into()))
}

/// Reads a table in the clear and checks all of it.
pub(super) fn clear_table(path: &Path) -> Result<Table, CliError> {
    // The system's errors already name the file.
    match Table::open(path) {
        Err(error @ omr_table::FileError::Io(..)) => Err(PdqError::from(error).into()),
        opened => opened.map_err(of_file(path)),
    }
}

/// Reads a table of either kind and checks all of it.
pub(super) fn table(path: &Path) -> Result<Hosted, CliError> {
    match Hosted::open(path, super::placement(), u64::MAX) {
        Err(TableFileError::Clear(error @ omr_table::FileError::Io(..))) => {
            Err(PdqError::from(error).into())
        }
        Err(TableFileError::Clear(error)) => Err(of_file(path)(error)),
        opened => opened.map_err(of_file(path)),
    }
}

/// Reads the public part of a table; `-` is standard input.
pub(super) fn public(path: &Path) -> Result<Public, CliError> {
    // The schema of an encrypted table is followed by a list.
    let no_schema = || of_file(path)(PdqError::NotASchema);
    let json = match io::read_file(path, 2 * MAX_SCHEMA_BYTES as u64) {
        // The file may be a table.
        Err(ConsoleError::Read(_, ReadError::TooLarge(_))) => return Err(no_schema()),
        read => read?,
    };
    let start = json.iter().find(|byte| !byte.is_ascii_whitespace());
    if start != Some(&b'{') {
        return Err(no_schema());
    }
    Public::from_json(&json).map_err(of_file(path))
}

/// Returns the parameter set of a name.
pub(super) fn params(name: &str) -> Result<Arc<Params>, PdqError> {
    Ok(Params::named(name)?)
}

/// Reads a client's secret and its parameters.
pub(super) fn secret(
    dir: &Path,
    passphrase: &PassphraseArg,
) -> Result<(Arc<Params>, SecretKey), CliError> {
    if dir.is_file() {
        return Err(PdqError::KeyFolder(dir.to_owned()).into());
    }
    let path = dir.join(SECRET_KEY);
    let file = Framed::open_any(&path, &[Kind::PdqSecretKey, Kind::Locked])?;
    let file = opened(file, Kind::PdqSecretKey, passphrase)?;
    let params = params(&file.header.params_id).map_err(of_file(&path))?;
    let bytes = file.bytes()?;
    let key = SecretKey::from_bytes(&params, &bytes).map_err(of_file(&path))?;
    Ok((params, key))
}

/// Reads a server's key and its parameters.
pub(super) fn evaluation(path: &Path) -> Result<(Arc<Params>, EvaluationKey), CliError> {
    let file = Framed::open(path, Kind::PdqKey)?;
    let params = params(&file.header.params_id).map_err(of_file(path))?;
    let key = EvaluationKey::read(&params, file.into_reader()).map_err(of_file(path))?;
    Ok((params, key))
}
