//! `omr id` and `omr address`.

mod backup;
mod rotate;

use super::{block_on, home, own_client, own_server, server};
use crate::args::headings::OUTPUT;
use crate::commands::full::FullError;
use crate::commands::full::access::{Token, TokenArg};
use crate::commands::full::headings::{KEYS, LETTERS};
use crate::commands::full::mail::identity::backup::{ID_SAFE, IdExport, IdImport, IdPassphrase};
use crate::commands::full::mail::identity::rotate::{IdForget, IdRotate};
use crate::commands::full::mail::{HomeArg, ServerArgs, unlocked};
use crate::commands::full::network::connect;
use crate::commands::keygen::SECRET_KEY;
use crate::commands::passphrase::{Locking, PassphraseArg};
use crate::commands::passphrase::{known, wanted};
use crate::error::CliError;
use crate::io::{self, Output};
use omr_console::args::bound;
use omr_console::{Ui, chain};
use omr_mail::MAX_LEVELS;
use omr_mail::{
    Home, Identity, MailError, Mark, NewIdentity, Server, ShortAddress, publish, publish_again,
    register, revoke,
};
use omr_protocol::params::DEFAULT;
use omr_protocol::{ClueKind, Scheme, Sealing};
use omr_remote::Client;
use serde::Serialize;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub(crate) enum Id {
    /// Make keys and register them with a server
    #[command(after_help = ID)]
    New(IdNew),
    /// Show the identity
    #[command(after_help = ID)]
    Show {
        #[command(flatten)]
        home: HomeArg,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Upload and register the detection keys; goes on where it was interrupted
    #[command(after_help = ID)]
    Register(IdRegister),
    /// Put the secret under a passphrase, change it, or take it away
    #[command(after_help = ID_SAFE)]
    Passphrase(IdPassphrase),
    /// Write one file with all that restores the identity: keys, letters, what is asked for next
    #[command(after_help = ID_SAFE)]
    Export(IdExport),
    /// Restore an exported identity in an empty home
    #[command(after_help = ID_SAFE)]
    Import(IdImport),
    /// Make new keys and a new address; letters to the old one still come
    #[command(after_help = ID_SAFE)]
    Rotate(IdRotate),
    /// Read letters to an old address no more: its keys are removed here and at the server
    #[command(after_help = ID_SAFE)]
    Forget(IdForget),
    /// Have the server keep the address, so that people need but its short form
    #[command(after_help = ID)]
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
    #[command(after_help = ID)]
    Revoke {
        #[command(flatten)]
        home: HomeArg,
        #[command(flatten)]
        token: TokenArg,
    },
}

#[derive(clap::Args)]
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

#[derive(clap::Args)]
pub(crate) struct IdRegister {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(clap::Args)]
pub(crate) struct AddressArgs {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    /// File for the text; standard output unless given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object with the text and what it says
    #[arg(long, conflicts_with = "out")]
    pub(crate) json: bool,
}

pub(crate) const ID: &str = "\
Examples:
  omr id new --server https://mail.example.org:7600 --token TOKEN
  omr id new --home work --server http://127.0.0.1:7600 --bound 90 \\
    --scheme instantomr
  omr id register                       # goes on where an upload broke off
  omr id show --json
  omr id publish                        # prints the short address, omr1..
  omr id revoke

The identity lives in --home, else $OMR_HOME, else $XDG_DATA_HOME/omr, else ~/.local/share/omr. Nobody can restore \
secret.key: keep what `omr id export` writes apart from this machine. Keys of omr keygen that are in the folder become the identity's; no key is ever \
replaced. Bound, scheme and sealing are fixed when it is made: every request has the same form, so that it tells \
nothing, and no server can have letters to you unsealed. --spares 1 or 0 spares the server work and takes letters \
longer than the bound away. `publish` lets the server hand your address out to whoever has its short form: the server \
then knows whose it is. Fetches keep it published.";

pub(crate) const ADDRESS: &str = "\
Examples:
  omr address
  omr address --out alice.txt
  omr address --json

The text can stand in a mail. It says where you read, how letters to you are sealed and how many \
messages one may take; its fingerprint covers all of that: compare it by voice.";

#[derive(Serialize)]
struct Shown {
    home: PathBuf,
    params: String,
    scheme: Option<&'static str>,
    bound: u32,
    sealing: Option<&'static str>,
    letter_parts: u32,
    batches: bool,
    server: Option<String>,
    board: Option<String>,
    fingerprint: String,
    short: String,
    keys: Vec<Key>,
    locked: bool,
    retired: Vec<Retired>,
}

/// An identity that was replaced and is still read.
#[derive(Serialize)]
struct Retired {
    name: String,
    fingerprint: String,
}

#[derive(Serialize)]
struct Key {
    name: String,
    registered: bool,
}

pub(in crate::commands) fn id(command: &Id, ui: &Ui) -> Result<(), CliError> {
    match command {
        Id::New(args) => block_on(new(args, ui)),
        Id::Show { home: dir, json } => print_report(&Identity::open(&home(dir)?)?, *json),
        Id::Register(args) => block_on(resume_registration(args, ui)),
        Id::Passphrase(args) => backup::passphrase(args, ui),
        Id::Export(args) => backup::export(args, ui),
        Id::Import(args) => backup::import(args, ui),
        Id::Rotate(args) => block_on(rotate::rotate(args, ui)),
        Id::Forget(args) => block_on(rotate::forget(args, ui)),
        Id::Publish {
            home: dir,
            token,
            json,
        } => block_on(announce(&home(dir)?, token, *json, ui)),
        Id::Revoke { home: dir, token } => block_on(withdraw(dir, token, ui)),
    }
}

async fn new(args: &IdNew, ui: &Ui) -> Result<(), CliError> {
    let home = home(&args.home)?;
    let token = &args.server.token;
    let server = server(&args.server.place, token.text())?;
    if server.is_none() && matches!(token.of_call(), Some(Token::Argument(_))) {
        return Err(MailError::TokenWithoutServer.into());
    }
    let taken_over = home.has_keys();
    let (new, start) = plan(args, server.as_ref(), ui).await?;
    let home = with_passphrase(args, home)?;
    let mut identity = Identity::create(&home, &new)?;
    if home.passphrase().is_some() && !home.is_locked()? {
        // Of keys that were in the folder.
        home.set_passphrase(home.passphrase())?;
    }
    match start {
        // Before the keys were made nobody can have written to them.
        Some(start) if !taken_over => identity.begin_at(&start)?,
        _ => {}
    }
    if taken_over {
        ui.note("the keys that were in the folder are the identity's now: the first fetch looks at the whole board");
    }
    if let Some(server) = &server {
        home.set_server(server)?;
        upload(&mut identity, ui).await?;
    }
    print_report(&identity, args.json)?;
    ui.note(match server {
        Some(_) => "now give people what `omr address` prints, and read with `omr inbox`",
        None => "now register with a server: `omr id register --server URL`",
    });
    Ok(())
}

/// The home with the passphrase of the secret that is there, or of the one that will be made.
fn with_passphrase(args: &IdNew, home: Home) -> Result<Home, CliError> {
    let secret = home.path(SECRET_KEY);
    if home.is_locked()? {
        let passphrase_file = args.locking.passphrase_file.clone();
        let passphrase = known(&PassphraseArg { passphrase_file }, &secret)?;
        return Ok(home.with_passphrase(passphrase));
    }
    Ok(match wanted(&args.locking, &secret)? {
        Some(passphrase) => home.with_passphrase(passphrase),
        None => home,
    })
}

/// What the identity will be like, and how long the server's board is with its running hash: everything that may forbid it is looked at
/// before keys are made.
async fn plan(
    args: &IdNew,
    server: Option<&Server>,
    ui: &Ui,
) -> Result<(NewIdentity, Option<Mark>), CliError> {
    let clues = if args.plain_clues {
        ClueKind::Plain
    } else {
        ClueKind::Bound
    };
    let params = args.params.as_deref();
    let new = NewIdentity {
        params: params.unwrap_or(DEFAULT).to_owned(),
        scheme: args.scheme,
        clues,
        bound: args.bound,
        spares: args.spares,
        sealing: args.sealing.unwrap_or(Sealing::HpkeX25519),
        board_id: None,
        own_masks: args.own_masks,
        batches: args.batches,
    };
    let Some(server) = server else {
        return Ok((new, None));
    };
    let client = connect(server.endpoint(), ui)?;
    let (new, end) = new.for_board(&client, params, args.sealing).await?;
    Ok((new, Some(end)))
}

async fn resume_registration(args: &IdRegister, ui: &Ui) -> Result<(), CliError> {
    let mut identity = Identity::open(&home(&args.home)?)?;
    let token = &args.server.token;
    let server = match server(&args.server.place, token.text())? {
        Some(server) => server,
        None => own_server(&identity.home, token)?,
    };
    identity.home.set_server(&server)?;
    match upload(&mut identity, ui).await {
        // An import brings no detection keys: the secret makes those that the server has not.
        Err(CliError::Full(FullError::Mail(MailError::Locked(_)))) => {
            identity.home = unlocked(identity.home, &args.passphrase)?;
            upload(&mut identity, ui).await?;
        }
        uploaded => uploaded?,
    }
    ui.note("registered: give people what `omr address` prints, and read with `omr inbox`");
    Ok(())
}

/// What people are given.
#[derive(Serialize)]
struct Given {
    fingerprint: String,
    short: String,
    server: Option<String>,
    text: String,
}

#[derive(Serialize)]
struct Announced {
    short: String,
    seconds: u64,
}

async fn announce(home: &Home, token: &TokenArg, json: bool, ui: &Ui) -> Result<(), CliError> {
    let identity = Identity::open(home)?;
    let client = own_client(&identity.home, token, ui)?;
    let (short, kept) = publish(&identity, &client).await?;
    if json {
        return Ok(io::print_json(&Announced {
            short: short.to_string(),
            seconds: kept.as_secs(),
        })?);
    }
    io::print(&format!("{short}\n"))?;
    ui.note(&format!(
        "kept for {} days, and for as long again with every fetch that comes in time; the server knows now whose \
         address this is",
        kept.as_secs() / 86_400
    ));
    Ok(())
}

async fn withdraw(dir: &HomeArg, token: &TokenArg, ui: &Ui) -> Result<(), CliError> {
    let mut identity = Identity::open(&home(dir)?)?;
    let client = own_client(&identity.home, token, ui)?;
    let unknown = revoke(&mut identity, &client).await?;
    warn_of_unknown(&unknown, ui);
    Ok(())
}

/// Says which keys a server has not forgotten because it did not know them: they may be another token's.
fn warn_of_unknown(keys: &[String], ui: &Ui) {
    if !keys.is_empty() {
        ui.warn(&format!(
            "the server knows no {} of this token: if another token registered it (--token), the server keeps it until \
             nobody has used it for a while",
            keys.join(" and ")
        ));
    }
}

/// Publishes an address anew that is published, for as long again; what keeps that from working is told, no more.
pub(super) async fn keep_published(identity: &Identity, client: &Client, ui: &Ui) {
    match publish_again(identity, client).await {
        Ok(None) => {}
        Ok(Some(short)) => ui.note(&format!("your short address is now {short}")),
        Err(error) => ui.warn(&format!(
            "your address could not be published again: {}",
            chain(&error)
        )),
    }
}

async fn upload(identity: &mut Identity, ui: &Ui) -> Result<(), CliError> {
    // The token of the call is the identity's by now.
    let client = connect(identity.home.server()?.endpoint(), ui)?;
    let bar = ui.bar();
    let sent = |name: &str, done, total| bar.at_byte(name.to_owned(), done, total);
    register(identity, &client, sent).await?;
    drop(bar);
    keep_published(identity, &client, ui).await;
    Ok(())
}

fn retired(home: &Home) -> Result<Vec<Retired>, CliError> {
    let shown = |(name, home): (String, Home)| {
        let fingerprint = Identity::open(&home)?.address()?.fingerprint();
        Ok(Retired { name, fingerprint })
    };
    home.retired()?.into_iter().map(shown).collect()
}

fn print_report(identity: &Identity, json: bool) -> Result<(), CliError> {
    let profile = &identity.profile;
    let address = identity.address()?;
    let key = |key: &omr_mail::KeyFile| Key {
        name: key.name.clone(),
        registered: key.registered,
    };
    let shown = Shown {
        home: identity.home.dir().to_owned(),
        params: profile.params.clone(),
        scheme: Scheme::from_tag(profile.scheme).map(Scheme::name),
        bound: profile.bound,
        sealing: profile.sealing.map(Sealing::name),
        letter_parts: profile.letter_parts(),
        batches: profile.batches,
        fingerprint: address.fingerprint(),
        short: ShortAddress::of(&address).to_string(),
        server: address.server,
        board: profile.board_id.as_ref().map(|id| omr_protocol::hex(id)),
        keys: profile.keys.iter().map(key).collect(),
        locked: identity.home.is_locked()?,
        retired: retired(&identity.home)?,
    };
    if json {
        return Ok(io::print_json(&shown)?);
    }
    let mut text = format!(
        "home         {}\nparameters   {}\nbound        {}\nsealing      {}\nletters      of up to {} messages{}\nserver       {}\nboard        {}\nfingerprint  {}\nshort        {}\n",
        shown.home.display(),
        shown.params,
        shown.bound,
        shown.sealing.unwrap_or("any but none"),
        shown.letter_parts,
        if shown.batches {
            ", fetched when their batch is full"
        } else {
            ""
        },
        shown.server.as_deref().unwrap_or("none"),
        shown.board.as_deref().unwrap_or("none"),
        shown.fingerprint,
        shown.short,
    );
    for key in &shown.keys {
        let state = if key.registered {
            "registered"
        } else {
            "not registered"
        };
        text += &format!("{:<12} {state}\n", key.name);
    }
    let locked = if shown.locked {
        "under a passphrase"
    } else {
        "in the clear"
    };
    text += &format!("{SECRET_KEY:<12} {locked}\n");
    for Retired { name, fingerprint } in &shown.retired {
        text += &format!("retired      {name}, fingerprint {fingerprint}\n");
    }
    Ok(io::print(&text)?)
}

pub(in crate::commands) fn address(args: &AddressArgs) -> Result<(), CliError> {
    let home = home(&args.home)?;
    let address = Identity::open(&home)?.address()?;
    let text = address.to_text();
    if args.json {
        return Ok(io::print_json(&Given {
            fingerprint: address.fingerprint(),
            short: ShortAddress::of(&address).to_string(),
            server: address.server,
            text,
        })?);
    }
    match &args.out {
        Some(path) => Ok(Output::file(path, args.force)?.write(text.as_bytes())?),
        None => Ok(io::print(&text)?),
    }
}
