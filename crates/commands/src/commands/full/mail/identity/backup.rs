//! `omr id passphrase`, `export` and `import`.

use super::{home, print_report};
use crate::commands::full::FullError;
use crate::commands::full::mail::{OwnArgs, unlocked};
use crate::commands::keygen::SECRET_KEY;
use crate::commands::passphrase::{Given, fresh, known, opened};
use crate::error::CliError;
use crate::io::{self, Access, Framed, Output, STANDARD};
use omr_client::locked::{MAX_LOCKED_BYTES, lock};
use omr_console::Ui;
use omr_mail::MailError;
use omr_protocol::frame::Kind;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct IdPassphrase {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    /// File whose first line is the new passphrase [default: $OMR_NEW_PASSPHRASE, or typed twice]
    #[arg(long, value_name = "FILE")]
    pub(crate) new_passphrase_file: Option<PathBuf>,
    /// Remove the passphrase: everybody who has secret.key can then use it
    #[arg(long, conflicts_with = "new_passphrase_file")]
    pub(crate) remove: bool,
}

#[derive(clap::Args)]
pub(crate) struct IdExport {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    /// File to write; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Write the file without a passphrase: everybody who has it can read the letters, and the secret unless that has a
    /// passphrase
    #[arg(long)]
    pub(crate) plain: bool,
    /// Link the device that imports the file with this one: changes on one of them reach the other (`omr id sync`)
    #[arg(long)]
    pub(crate) device: bool,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(clap::Args)]
pub(crate) struct IdImport {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    /// File of `omr id export`; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const ID_SAFE: &str = "\
Examples:
  omr id passphrase                     # set it, or change it
  omr id export --out ann.omr           # under the passphrase too
  omr id import ann.omr --home laptop
  omr id rotate                         # new keys, a new address
  omr id forget --all                   # letters to old addresses: no more
  omr id passphrase --remove

A passphrase is taken from --passphrase-file or $OMR_PASSPHRASE (a new one from --new-passphrase-file or \
$OMR_NEW_PASSPHRASE), else it is typed at the terminal; a new one has at least 8 characters. It protects secret.key, the letters \
in the inbox and exports. Without the passphrase nobody can restore them.

An export contains secret, address, server, contacts, letters and the state of fetches: the restored identity fetches later \
letters, and none of the earlier ones comes twice. It is made under the secret's passphrase, or a new one where \
the secret has none. Two copies of an identity can both fetch; the server sees that. After `omr id rotate` on one of \
them the other continues with the old address until that is forgotten, and then ends with an error: import a new export \
of the first copy there.

secret.key alone restores an identity too: in an empty folder of its own, `omr id new --home DIR --server URL` takes it \
over, with the same address if --sealing, --bound and --spares are as they were, and fetches the whole board, or from \
--birthday on (`omr id show` prints it); contacts, letters that expired and identities that were replaced are not in it. \
The same holds for --from-words. Words are those of the first address: after `omr id rotate` they restore the old one.

After `omr id rotate` the old identity is in retired/DATE in the home, and `omr inbox` and `omr watch` fetch for it too, \
until `omr id forget`. The server sees that one account uses both keys, so that they belong to one person: to avoid that, \
make an identity in another --home, with another token and from another network. A person who has the old secret \
can read old letters, and new ones to the old address.";

/// Sets, changes or removes a passphrase, also in a folder of `omr keygen`, which is no identity yet.
pub(super) fn passphrase(args: &IdPassphrase, ui: &Ui) -> Result<(), CliError> {
    let home = home(&args.own.home)?;
    let path = home.path(SECRET_KEY);
    let was_locked = home.is_locked()?;
    if args.remove && !was_locked {
        home.check_passphrase()?;
        return Err(FullError::NotLocked(path).into());
    }
    let home = unlocked(home, &args.own.passphrase)?;
    // A wrong passphrase is reported before a new one is typed.
    home.check_passphrase()?;
    if args.remove {
        home.set_passphrase(None)?;
        ui.note("everybody who has the secret's file can use it and read the letters now");
        return Ok(());
    }
    let given = Given {
        file: args.new_passphrase_file.as_deref(),
        option: "--new-passphrase-file",
        variable: "OMR_NEW_PASSPHRASE",
    };
    let new = given.new_passphrase(&path)?;
    home.set_passphrase(Some(&new))?;
    ui.note(if was_locked { "the secret is under the new passphrase; exports made before are under the old one" } else { "the secret and the letters in the inbox are under the passphrase: nobody can restore them without" });
    Ok(())
}

pub(super) fn export(args: &IdExport, ui: &Ui) -> Result<(), CliError> {
    let output = Output::file(&args.out, args.force)?;
    let identity = args.own.identity()?;
    // A wrong passphrase is reported before a new one is typed.
    identity.home.check_passphrase()?;
    let passphrase_file = args.own.passphrase.passphrase_file.as_ref();
    let passphrase = match identity.home.passphrase() {
        _ if args.plain => None,
        Some(passphrase) => Some(passphrase.clone()),
        None => Some(fresh(passphrase_file, output.path())?),
    };
    if args.device {
        identity.home.link()?;
    }
    let exported = identity.export()?;
    match &passphrase {
        Some(passphrase) => write(args, &output, &lock(Kind::Identity, &exported, passphrase)?)?,
        None => write(args, &output, &exported)?,
    }
    ui.note(
        "keep it apart from this machine; letters that come from now on are fetched by either copy",
    );
    if args.plain {
        ui.warn("the exported identity has no passphrase: everybody who has the file can read your letters");
    }
    Ok(())
}

fn write(args: &IdExport, output: &Output, bytes: &[u8]) -> Result<(), CliError> {
    if io::is_standard(output.path()) {
        Ok(io::write_result(Path::new(STANDARD), bytes)?)
    } else {
        Ok(io::stage_bytes(output.path(), Access::Private, bytes)?.commit(args.force)?)
    }
}

pub(super) fn import(args: &IdImport, ui: &Ui) -> Result<(), CliError> {
    let home = home(&args.own.home)?;
    let file = Framed::open_any(&args.file, &[Kind::Identity, Kind::Locked])?;
    let file = opened(file, Kind::Identity, &args.own.passphrase)?;
    let exported = file.bytes_up_to(MAX_LOCKED_BYTES)?;
    let imported = match home.import(&exported) {
        // The secret in the file is under a passphrase.
        Err(MailError::Locked(path)) => {
            let passphrase = known(&args.own.passphrase, &path)?;
            home.with_passphrase(passphrase).import(&exported)
        }
        imported => imported,
    };
    let identity = imported.map_err(|error| match error {
        MailError::Frame(error) => CliError::input(&args.file)(error.into()),
        error => error.into(),
    })?;
    print_report(&identity, args.json)?;
    ui.note(
        "fetches continue from the state of the exported identity; `omr id register` is needed if the server no longer \
         knows the keys, or for another --token",
    );
    Ok(())
}
