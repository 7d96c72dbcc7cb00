//! Arguments of `omr id`.

use super::headings::{KEYS, LETTERS, OUTPUT};
use super::{HomeArg, Locking, PassphraseArg, ServerArgs, TokenArg, examples};
use clap::{Args, Subcommand};
use omr_console::args::bound;
use omr_mail::MAX_LEVELS;
use omr_protocol::{Scheme, Sealing};
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum Id {
    /// Make keys and register them with a server
    #[command(after_help = examples::ID)]
    New(IdNew),
    /// Show the identity
    #[command(after_help = examples::ID)]
    Show {
        #[command(flatten)]
        home: HomeArg,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Upload and register the detection keys; goes on where it was interrupted
    #[command(after_help = examples::ID)]
    Register(IdRegister),
    /// Put the secret under a passphrase, change it, or take it away
    #[command(after_help = examples::ID_SAFE)]
    Passphrase(IdPassphrase),
    /// Write one file with all that restores the identity: keys, letters, what is asked for next
    #[command(after_help = examples::ID_SAFE)]
    Export(IdExport),
    /// Restore an exported identity in an empty home
    #[command(after_help = examples::ID_SAFE)]
    Import(IdImport),
    /// Make new keys and a new address; letters to the old one still come
    #[command(after_help = examples::ID_SAFE)]
    Rotate(IdRotate),
    /// Read letters to an old address no more: its keys are removed here and at the server
    #[command(after_help = examples::ID_SAFE)]
    Forget(IdForget),
    /// Have the server keep the address, so that people need but its short form
    #[command(after_help = examples::ID)]
    Publish {
        #[command(flatten)]
        home: HomeArg,
        #[command(flatten)]
        token: TokenArg,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Have the server forget the detection keys
    #[command(after_help = examples::ID)]
    Revoke {
        #[command(flatten)]
        home: HomeArg,
        #[command(flatten)]
        token: TokenArg,
    },
}

#[derive(Args)]
pub(crate) struct IdNew {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) locking: Locking,
    /// An address for plain clues, for a board of such: weaker, as a few posts of an enemy can fill everybody's
    /// digests
    #[arg(long, help_heading = KEYS)]
    pub(crate) plain_clues: bool,
    /// Messages for her that a digest may carry, the same at every request
    #[arg(long, help_heading = LETTERS, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// How often every message is asked for once more by later fetches, so that letters longer than the bound come
    /// all the same: 0 to 2. The server works about as much again for each
    #[arg(long, help_heading = LETTERS, value_name = "N", default_value_t = MAX_LEVELS, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVELS)))]
    pub(crate) spares: u8,
    /// Fetch whole batches alone, 65,536 messages at full size: the server works each when it fills, whenever you ask,
    /// which costs it least; letters wait until their batch is full. Without spare requests
    #[arg(long, help_heading = LETTERS, conflicts_with = "spares")]
    pub(crate) batches: bool,
    /// Detection keys for sophomr, instantomr or hybrid; for all that the set has unless given
    #[arg(long, help_heading = KEYS, value_name = "SCHEME")]
    pub(crate) scheme: Option<Scheme>,
    /// Parameter set; that of the server's board unless given
    #[arg(long, help_heading = KEYS, value_name = "NAME")]
    pub(crate) params: Option<String>,
    /// How letters to you are sealed; as on the server's board unless given, but `none` only if you say so
    #[arg(long, help_heading = LETTERS, value_name = "S")]
    pub(crate) sealing: Option<Sealing>,
    /// A detection key with masks of its own, which the server serves alone: no attack on it is shared with others'
    #[arg(long, help_heading = KEYS)]
    pub(crate) own_masks: bool,
    /// Print one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct IdRegister {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Args)]
pub(crate) struct IdPassphrase {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// File whose first line is the new passphrase; $OMR_NEW_PASSPHRASE unless given, else it is asked for twice
    #[arg(long, value_name = "FILE")]
    pub(crate) new_passphrase_file: Option<PathBuf>,
    /// Take the passphrase away: secret.key then opens for whoever has it
    #[arg(long, conflicts_with = "new_passphrase_file")]
    pub(crate) remove: bool,
}

#[derive(Args)]
pub(crate) struct IdExport {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// File to write; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// No passphrase around it: whoever has the file has the letters, and the secret unless that is under one
    #[arg(long)]
    pub(crate) plain: bool,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args)]
pub(crate) struct IdImport {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// What `omr id export` wrote; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct IdRotate {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Forget the old address at once, after a last fetch: what is written to it from now on is lost
    #[arg(long)]
    pub(crate) forget_old: bool,
    /// A detection key with masks of its own from now on, which the server serves alone
    #[arg(long)]
    pub(crate) own_masks: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct IdForget {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Which one, by the name that `omr id show` prints; may be left out where there is only one
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// All of them
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Also where letters did not come whole, which are lost then
    #[arg(long)]
    pub(crate) force: bool,
}
