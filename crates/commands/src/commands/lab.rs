//! `omr bench` and `omr compare`: start the program of measurements in place of this one.

use crate::error::CliError;
use std::ffi::OsString;
use std::io;
use std::process::Command;

/// The arguments after `omr bench` and `omr compare`, which omr-lab parses.
#[derive(clap::Args)]
pub(crate) struct Lab {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Arguments for omr-lab
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) arguments: Vec<OsString>,
}

/// Starts `omr-lab`, which is beside this program, with the arguments of this one.
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

/// Replaces this process; returns only if the other program does not start.
#[cfg(unix)]
fn replace(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

/// Runs the program and exits with its code; returns only if it does not start.
#[cfg(not(unix))]
fn replace(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
