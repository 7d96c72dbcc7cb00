//! Arguments of `omr completions` and `omr man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Args)]
pub(crate) struct Man {
    /// Folder for the pages, created where absent; pages that are there are replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
