//! Completions and manual pages, made of the command line's own description.

use super::keygen::create_folder;
use crate::args::{Completions, Man, command};
use crate::error::CliError;
use crate::io;
use std::path::Path;

const NAME: &str = "omr";

/// `omr completions`.
///
/// Errors: `Output`.
pub(super) fn completions(args: &Completions) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), NAME, &mut script);
    Ok(io::write_result(Path::new(io::STANDARD), &script)?)
}

/// `omr man`.
///
/// Errors: `Write`.
pub(super) fn man(args: &Man) -> Result<(), CliError> {
    create_folder(&args.out)?;
    let written = clap_mangen::generate_to(command(), &args.out);
    written.map_err(|error| CliError::write(&args.out, error))
}
