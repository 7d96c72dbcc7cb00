//! `omr bench` and `omr compare`: the program of measurements, started in place of this one.

use crate::error::CliError;
use std::ffi::OsString;
use std::io;
use std::process::Command;

/// What follows `omr bench` and `omr compare`: omr-lab reads it.
#[derive(clap::Args)]
pub(crate) struct Lab {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// What omr-lab is given
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) arguments: Vec<OsString>,
}

/// Starts `omr-lab`, which lies beside this program, with the arguments of this one.
///
/// Errors: `NoLab`.
pub(super) fn run(name: &str, args: &Lab, quiet: bool) -> Result<(), CliError> {
    let own = std::env::current_exe().unwrap_or_default();
    let path = own.with_file_name(format!("omr-lab{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(&path);
    command
        .args(quiet.then_some("--quiet"))
        .arg(name)
        .args(args.json.then_some("--json"))
        .args(&args.arguments);
    let source = replace(&mut command);
    Err(CliError::NoLab { path, source })
}

/// Does not return where the other program starts.
#[cfg(unix)]
fn replace(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

/// Does not return where the other program starts: ends with its exit code.
#[cfg(not(unix))]
fn replace(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
