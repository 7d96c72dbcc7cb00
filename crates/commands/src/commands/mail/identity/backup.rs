//! `omr id passphrase`, `export` and `import`.

use super::{home, print_report};
use crate::args::{IdExport, IdImport, IdPassphrase};
use crate::commands::keygen::SECRET_KEY;
use crate::commands::mail::unlocked;
use crate::commands::passphrase::{Given, fresh, opened};
use crate::error::CliError;
use crate::io::{self, Access, Framed, Output, STANDARD};
use omr_client::locked::{MAX_LOCKED_BYTES, lock};
use omr_console::Ui;
use omr_mail::{Identity, MailError};
use omr_protocol::frame::Kind;
use std::path::Path;

/// Also of a folder of `omr keygen`, which is no identity yet.
pub(super) fn passphrase(args: &IdPassphrase, ui: &Ui) -> Result<(), CliError> {
    let home = home(&args.home)?;
    let path = home.path(SECRET_KEY);
    let was_locked = home.is_locked()?;
    if args.remove && !was_locked {
        home.check_passphrase()?;
        return Err(CliError::NotLocked(path));
    }
    let home = unlocked(home, &args.passphrase)?;
    // A wrong passphrase is told before a new one is typed.
    home.check_passphrase()?;
    if args.remove {
        home.set_passphrase(None)?;
        ui.note("the secret opens for whoever has its file now");
        return Ok(());
    }
    let given = Given {
        file: args.new_passphrase_file.as_deref(),
        option: "--new-passphrase-file",
        variable: "OMR_NEW_PASSPHRASE",
    };
    let new = given.new_passphrase(&path)?;
    home.set_passphrase(Some(&new))?;
    ui.note(match was_locked {
        true => "the secret is under the new passphrase; exports made before are under the old one",
        false => "the secret is under the passphrase: nobody can restore it without; letters in the inbox are not",
    });
    Ok(())
}

pub(super) fn export(args: &IdExport, ui: &Ui) -> Result<(), CliError> {
    let output = Output::file(&args.out, args.force)?;
    let identity = Identity::open(&home(&args.home)?)?;
    let passphrase = match (args.plain, identity.home.is_locked()?) {
        (true, _) => None,
        // One passphrase for both, which must be the right one.
        (false, true) => {
            let home = unlocked(identity.home.clone(), &args.passphrase)?;
            home.check_passphrase()?;
            home.passphrase().cloned()
        }
        (false, false) => Some(fresh(
            args.passphrase.passphrase_file.as_ref(),
            output.path(),
        )?),
    };
    let exported = identity.export()?;
    match &passphrase {
        Some(passphrase) => write(args, &output, &lock(Kind::Identity, &exported, passphrase)?)?,
        None => write(args, &output, &exported)?,
    }
    ui.note(
        "keep it apart from this machine; letters that come from now on are fetched by either copy",
    );
    if args.plain {
        ui.warn("the exported identity is under no passphrase: whoever has it has your letters");
    }
    Ok(())
}

fn write(args: &IdExport, output: &Output, bytes: &[u8]) -> Result<(), CliError> {
    match io::is_standard(output.path()) {
        true => Ok(io::write_result(Path::new(STANDARD), bytes)?),
        false => Ok(io::stage_bytes(output.path(), Access::Private, bytes)?.commit(args.force)?),
    }
}

pub(super) fn import(args: &IdImport, ui: &Ui) -> Result<(), CliError> {
    let home = home(&args.home)?;
    let file = Framed::open_any(&args.file, &[Kind::Identity, Kind::Locked])?;
    let file = opened(file, Kind::Identity, &args.passphrase)?;
    let exported = file.bytes_up_to(MAX_LOCKED_BYTES)?;
    let identity = home.import(&exported).map_err(|error| match error {
        MailError::Frame(error) => CliError::input(&args.file)(error.into()),
        error => error.into(),
    })?;
    print_report(&identity, args.json)?;
    ui.note(
        "fetches go on where the exported identity stood; `omr id register` tells the server, if it does not know \
         the keys any more or --token is another one",
    );
    Ok(())
}
