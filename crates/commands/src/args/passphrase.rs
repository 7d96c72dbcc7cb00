//! Arguments about the passphrase of a secret.

use clap::Args;
use std::path::PathBuf;

/// Whether a new secret is put under a passphrase.
#[derive(Args)]
pub(crate) struct Locking {
    /// Put the secret under a passphrase, which is asked for twice, or taken from --passphrase-file or $OMR_PASSPHRASE
    #[arg(long)]
    pub(crate) passphrase: bool,
    /// File whose first line is the passphrase
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct PassphraseArg {
    /// File whose first line is the passphrase of a locked secret; $OMR_PASSPHRASE unless given, else it is asked for
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
}
