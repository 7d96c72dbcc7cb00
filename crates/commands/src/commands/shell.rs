//! Completions and manual pages, made from the description of the command line.

use super::keygen::create_folder;
use crate::args::command;
use crate::error::CliError;
use crate::io;
use clap_complete::Shell;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

#[derive(clap::Args)]
pub(crate) struct Man {
    /// Folder for the pages, created where absent; existing pages are replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

pub(crate) const COMPLETIONS: &str = "\
Examples:
  omr completions bash > omr.bash       # then: source omr.bash
  omr completions zsh > _omr            # in a folder of $fpath
  omr completions fish > omr.fish       # in ~/.config/fish/completions";

pub(crate) const MAN: &str = "\
Examples:
  omr man --out man1                    # then: man -l man1/omr-inbox.1";

const NAME: &str = "omr";

/// Runs `omr completions`.
///
/// Errors: `Output`.
pub(super) fn completions(args: &Completions) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), NAME, &mut script);
    Ok(io::write_result(Path::new(io::STANDARD), &script)?)
}

/// Runs `omr man`.
///
/// Errors: `Write`.
pub(super) fn man(args: &Man) -> Result<(), CliError> {
    create_folder(&args.out)?;
    let written = clap_mangen::generate_to(command(), &args.out);
    written.map_err(|error| CliError::write(&args.out, error))
}
