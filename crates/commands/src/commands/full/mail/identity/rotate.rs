//! `omr id rotate` and `forget`.

use super::devices::inform;
use super::{own_server, print_report, upload, warn_of_unknown};
use crate::commands::full::FullError;
use crate::commands::full::access::TokenArg;
use crate::commands::full::mail::advice::with_advice;
use crate::commands::full::mail::time::today;
use crate::commands::full::mail::{OwnArgs, inbox, show};
use crate::commands::full::network::connect;
use crate::error::CliError;
use omr_console::Ui;
use omr_mail::{
    Home, Identity, Inbox, MailError, Reader, Server, Unfinished, board_mark, board_place, collect,
    revoke,
};

#[derive(clap::Args)]
pub(crate) struct IdRotate {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Forget the old address at once, after a last fetch: later letters to it are lost
    #[arg(long)]
    pub(crate) forget_old: bool,
    /// Post the new keys to no other device of the identity, where somebody else may have one or an old secret: export
    /// the identity for each device again
    #[arg(long)]
    pub(crate) unlink: bool,
    /// Make a detection key with masks of its own from now on, which the server serves alone
    #[arg(long)]
    pub(crate) own_masks: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct IdForget {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Name of the retired identity, as `omr id show` prints it; may be left out if there is only one
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Forget all retired identities
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Forget it even if letters are incomplete, which are then lost
    #[arg(long)]
    pub(crate) force: bool,
}

pub(super) async fn rotate(args: &IdRotate, ui: &Ui) -> Result<(), CliError> {
    let home = args.own.home()?;
    let old = Identity::open(&home)?;
    home.check_passphrase()?;
    if args.forget_old && !args.unlink && home.is_linked()? {
        return Err(FullError::ForgottenByDevices.into());
    }
    // The inbox is held until the switch is done, so that no other process fetches meanwhile.
    let letters = Inbox::open(&home)?;
    let unfinished = Unfinished::of(&letters)?;
    if args.forget_old && !unfinished.is_nothing() {
        return Err(FullError::Unfinished {
            identity: "the identity".to_owned(),
            unfinished,
            home: home.dir().to_owned(),
            alternative: "without --forget-old they still arrive".to_owned(),
        }
        .into());
    }
    let server = server(&home, &args.token)?;
    let mut successor = match Identity::open(&home.next()) {
        Err(MailError::NoIdentity(_)) => begin(args, &old, server.as_ref(), ui).await?,
        // An attempt was interrupted after this point.
        opened => opened?,
    };
    if let Some(server) = &server {
        successor.home.set_server(server)?;
        upload(&mut successor, server, ui).await?;
        for other in home.operators()?.iter().skip(1) {
            upload(&mut successor, other, ui).await?;
            successor.home.add_operator(other)?;
        }
    }
    if args.unlink {
        home.unlink()?;
    }
    let name = home.replace(&today())?;
    drop(letters);
    let identity = Identity::open(&home)?;
    let retired = Identity::open(&home.retired_home(&name)?)?;
    let theirs = Inbox::open(&retired.home)?;
    Inbox::open(&home)?.adopt(&name, &retired, &theirs)?;
    drop(theirs);
    if args.forget_old {
        fetch_last(&home, &name, &args.token, false, ui).await?;
        check_whole(&home, &name, false)?;
        end(&home, &name, &args.token, ui).await?;
    }
    inform(&home, &args.token, ui).await?;
    print_report(&identity, args.json)?;
    ui.note(
        "this is a new address: give people what `omr address` prints now, and export the identity again, as older copies \
         and words restore the old address",
    );
    if !args.forget_old {
        ui.note(&format!(
            "letters to the old one still arrive with `omr inbox`, until `omr id forget {name}`; the server can see that \
             both are yours"
        ));
    }
    Ok(())
}

/// Returns an identity's server, if it has one, with the token of this call.
fn server(home: &Home, token: &TokenArg) -> Result<Option<Server>, CliError> {
    match own_server(home, token) {
        Err(MailError::NoServer) => Ok(None),
        server => Ok(Some(server?)),
    }
}

/// Makes the new keys, after all checks that can fail before.
async fn begin(
    args: &IdRotate,
    old: &Identity,
    server: Option<&Server>,
    ui: &Ui,
) -> Result<Identity, CliError> {
    let mut new = old.successor()?;
    new.own_masks |= args.own_masks;
    let start = match server {
        Some(server) => {
            let client = connect(server.endpoint(), ui)?;
            let board = client.board().await.map_err(MailError::from)?;
            let place = board_place(&board)?;
            old.check(&place)?;
            new.board_id = Some(place.board_id);
            Some(board_mark(&board)?)
        }
        None => None,
    };
    let mut made = Identity::create(&old.home.next(), &new)?;
    if let Some(start) = start {
        made.begin_at(&start)?;
    }
    Ok(made)
}

pub(super) async fn forget(args: &IdForget, ui: &Ui) -> Result<(), CliError> {
    let home = args.own.identity()?.home;
    let names: Vec<String> = match &args.name {
        Some(name) => vec![name.clone()],
        None => home.retired()?.into_iter().map(|(name, _)| name).collect(),
    };
    if names.len() > 1 && !args.all {
        return Err(FullError::WhichRetired(names).into());
    }
    if names.is_empty() {
        ui.announce("no retired identity: there is nothing to forget");
    }
    for name in names {
        fetch_last(&home, &name, &args.token, args.force, ui).await?;
        check_whole(&home, &name, args.force)?;
        end(&home, &name, &args.token, ui).await?;
        ui.note(&format!(
            "{name} is forgotten: its letters stay, what is written to its address from now on is lost"
        ));
    }
    inform(&home, &args.token, ui).await
}

/// Fetches the letters to a retired identity that are still missing.
///
/// Errors: `LastFetch` where a later fetch may bring them, unless forced.
async fn fetch_last(
    home: &Home,
    name: &str,
    token: &TokenArg,
    is_forced: bool,
    ui: &Ui,
) -> Result<(), CliError> {
    let old = Identity::open(&home.retired_home(name)?)?;
    let (Ok(_), Some(server)) = (old.registered(), server(&old.home, token)?) else {
        return Ok(());
    };
    let client = connect(server.endpoint(), ui)?;
    let theirs = Inbox::open(&old.home)?;
    let bar = ui.bar();
    let progress = |stage| show(&bar, stage);
    let reader = Reader::new(&old)?;
    let fetched = collect(&client, &old, &theirs, &reader, progress).await;
    drop(bar);
    match fetched {
        Ok(collected) => inbox::print_report(ui, &old, &collected),
        // Another copy of the identity was revoked or forgotten.
        Err(MailError::KeysGone) => {}
        Err(source) if source.is_passing() && !is_forced => {
            return Err(FullError::LastFetch {
                name: name.to_owned(),
                source,
            }
            .into());
        }
        Err(error) => ui.warn(&format!(
            "letters to {name} that were not fetched are lost, as the last fetch failed: {}",
            with_advice(&error)
        )),
    }
    Ok(())
}

/// Decodes the waiting digests of a retired identity, and refuses to forget it while letters to it are incomplete.
fn check_whole(home: &Home, name: &str, is_forced: bool) -> Result<(), CliError> {
    let unfinished = home.unfinished(name)?;
    if unfinished.is_nothing() || is_forced {
        return Ok(());
    }
    Err(FullError::Unfinished {
        identity: format!("the retired identity {name}"),
        unfinished,
        home: home.retired_home(name)?.dir().to_owned(),
        alternative: format!("`omr id forget {name} --force` loses them"),
    }
    .into())
}

/// Removes a retired identity, at the server first.
async fn end(home: &Home, name: &str, token: &TokenArg, ui: &Ui) -> Result<(), CliError> {
    let mut old = Identity::open(&home.retired_home(name)?)?;
    if let (Ok(_), Some(server)) = (old.registered(), server(&old.home, token)?) {
        let client = connect(server.endpoint(), ui)?;
        match revoke(&mut old, &client).await {
            Err(MailError::Remote(error)) => ui.warn(&format!(
                "the server did not revoke the detection keys of {name} ({error}): it keeps them until they have not \
                 been used for a while"
            )),
            revoked => warn_of_unknown(&revoked?, ui),
        }
    }
    Ok(home.forget(name)?)
}
