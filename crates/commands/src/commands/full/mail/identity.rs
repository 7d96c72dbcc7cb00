//! `omr id` and `omr address`.

mod backup;
mod devices;
mod rotate;

use super::{block_on, home, own_client, own_server, server};
use crate::args::headings::OUTPUT;
use crate::commands::full::FullError;
use crate::commands::full::access::{Token, TokenArg};
use crate::commands::full::headings::{KEYS, LETTERS};
use crate::commands::full::mail::advice::with_advice;
use crate::commands::full::mail::identity::backup::{ID_SAFE, IdExport, IdImport, IdPassphrase};
pub(super) use crate::commands::full::mail::identity::devices::follow_others;
use crate::commands::full::mail::identity::devices::{DEVICES, IdSync};
use crate::commands::full::mail::identity::rotate::{IdForget, IdRotate};
use crate::commands::full::mail::time::time;
use crate::commands::full::mail::{HomeArg, ServerArgs, unlocked};
use crate::commands::full::network::connect;
use crate::commands::keygen::SECRET_KEY;
use crate::commands::passphrase::{Locking, PassphraseArg};
use crate::commands::passphrase::{known, wanted};
use crate::commands::words::{WordsArgs, printed};
use crate::error::CliError;
use crate::io::{self, Output};
use omr_console::Ui;
use omr_console::args::bound;
use omr_mail::MAX_LEVELS;
use omr_mail::{
    Home, Identity, MailError, Mark, NewIdentity, Server, ShortAddress, leave, publish,
    publish_again, register, revoke,
};
use omr_protocol::params::DEFAULT;
use omr_protocol::periods::period_start;
use omr_protocol::{ClueKind, Mismatch, Scheme, Sealing};
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
    /// Upload and register the detection keys; continues an interrupted registration
    #[command(after_help = ID)]
    Register(IdRegister),
    /// Set, change or remove the passphrase of the secret
    #[command(after_help = ID_SAFE)]
    Passphrase(IdPassphrase),
    /// Export the identity to one file: keys, letters and open requests
    #[command(after_help = ID_SAFE)]
    Export(IdExport),
    /// Restore an exported identity in an empty home
    #[command(after_help = ID_SAFE)]
    Import(IdImport),
    /// Make new keys and a new address; letters to the old address still arrive
    #[command(after_help = ID_SAFE)]
    Rotate(IdRotate),
    /// Stop reading letters to an old address: its keys are removed here and at the server
    #[command(after_help = ID_SAFE)]
    Forget(IdForget),
    /// Post contacts and read marks to the other devices of the identity
    #[command(after_help = DEVICES)]
    Sync(IdSync),
    /// Publish the address at the server, so that people need only its short form
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
    /// Revoke the detection keys at the server
    #[command(after_help = ID)]
    Revoke {
        #[command(flatten)]
        home: HomeArg,
        #[command(flatten)]
        token: TokenArg,
        /// Operator that was added with `omr id register --also`, and is not used any more [default: all]
        #[arg(long, value_name = "URL")]
        from: Option<String>,
    },
}

#[derive(clap::Args)]
pub(crate) struct IdNew {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) words: WordsArgs,
    /// Index of the board's first message that can be for keys that are made again: the first fetch begins there
    /// [default: 0, the board's first message]
    #[arg(long, value_name = "INDEX")]
    pub(crate) birthday: Option<u64>,
    /// Height of the ledger's first block that can have messages for keys that are made again, on a ledger's board
    #[arg(
        long,
        value_name = "HEIGHT",
        requires = "server",
        conflicts_with = "birthday"
    )]
    pub(crate) birthday_height: Option<u64>,
    #[command(flatten)]
    pub(crate) locking: Locking,
    /// Make an address for plain clues (not recommended: an attacker can overflow everybody's digest)
    #[arg(long, help_heading = KEYS)]
    pub(crate) plain_clues: bool,
    /// Messages for you that a digest may carry, the same at every request; two rounds have no such limit
    #[arg(long, help_heading = LETTERS, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// Number of times that later fetches request every message again, 0 to 2, so that letters longer than the bound
    /// arrive too. The server's work grows by about as much for each; two rounds need none
    #[arg(long, help_heading = LETTERS, value_name = "N", default_value_t = MAX_LEVELS, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVELS)))]
    pub(crate) spares: u8,
    /// Fetch only whole batches, 65,536 messages at full size: the server computes each as soon as it is full, which
    /// costs it least; letters wait until their batch is full. Without spare requests
    #[arg(long, help_heading = LETTERS, conflicts_with = "spares")]
    pub(crate) batches: bool,
    /// Fetch by this scheme: two-rounds, sophomr, instantomr or hybrid [default: two-rounds, where the server has it]
    #[arg(long, help_heading = KEYS, value_name = "SCHEME")]
    pub(crate) scheme: Option<Scheme>,
    /// Parameter set [default: that of the server's board]
    #[arg(long, help_heading = KEYS, value_name = "NAME")]
    pub(crate) params: Option<String>,
    /// Sealing of letters to you; `none` must be given explicitly [default: that of the server's board]
    #[arg(long, help_heading = LETTERS, value_name = "S")]
    pub(crate) sealing: Option<Sealing>,
    /// Make a detection key with masks of its own, which the server serves alone: no attack on it is shared with
    /// others'
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
    /// Keep the present server, and use this one too: both are operators of one ledger's board. Fetches go to the first
    /// one that is up to date
    #[arg(long, requires = "server")]
    pub(crate) also: bool,
    /// Register the keys of an identity with other devices again, which one of them may have replaced or forgotten
    #[arg(long)]
    pub(crate) again: bool,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(clap::Args)]
pub(crate) struct AddressArgs {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    /// File for the text [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object with the text and its content
    #[arg(long, conflicts_with = "out")]
    pub(crate) json: bool,
}

pub(crate) const ID: &str = "\
Examples:
  omr id new --server https://mail.example.org:7600 --token TOKEN
  omr id new --home work --server http://127.0.0.1:7600 --bound 90 \\
    --scheme instantomr
  omr id new --home paper --server http://127.0.0.1:7600 --words
  omr id new --home again --server http://127.0.0.1:7600 \\
    --from-words words.txt --birthday 0
  omr id register                       # continues an interrupted upload
  omr id show --json
  omr id publish                        # prints the short address, omr1..
  omr id revoke

The identity lives in --home, else $OMR_HOME, else $XDG_DATA_HOME/omr, else ~/.local/share/omr. Nobody can restore \
secret.key, unless its words are on paper (--words): keep what `omr id export` writes apart from this machine. Words and \
birthday restore the keys and the letters on the board, with the same address if --sealing, --bound and --spares are as \
they were, but no contacts. Keys of omr keygen that are in the folder become the identity's; no key is ever \
replaced. Bound, scheme and sealing are fixed when it is made: every request has the same form, so that it reveals \
nothing, and no server can have letters to you unsealed. --spares 1 or 0 costs the server less work, but letters \
longer than the bound may not arrive. After `publish` the server sends your address to everybody who has its short form; it \
then knows whose address it is. Fetches keep it published.";

pub(crate) const ADDRESS: &str = "\
Examples:
  omr address
  omr address --out alice.txt
  omr address --json

The text can be sent by mail. It names your server, the sealing of letters to you and the highest number of \
messages of one; its fingerprint covers all of that: compare it by voice.";

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
    /// Other operators of the same board.
    operators: Vec<String>,
    board: Option<String>,
    fingerprint: String,
    short: String,
    keys: Vec<Key>,
    locked: bool,
    retired: Vec<Retired>,
    birthday: u64,
    /// Whether the identity has other devices.
    linked: bool,
    /// The time in seconds since 1970 until which the address has keys of periods; absent if it has none.
    period_keys_until: Option<u64>,
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
        Id::Sync(args) => block_on(devices::sync(args, ui)),
        Id::Publish {
            home: dir,
            token,
            json,
        } => block_on(announce(&home(dir)?, token, *json, ui)),
        Id::Revoke {
            home: dir,
            token,
            from,
        } => block_on(withdraw(dir, token, from.as_deref(), ui)),
    }
}

async fn new(args: &IdNew, ui: &Ui) -> Result<(), CliError> {
    let home = home(&args.home)?;
    let token = &args.server.token;
    let server = server(&args.server.place, token.text())?;
    if server.is_none() && matches!(token.of_call(), Some(Token::Argument(_))) {
        return Err(FullError::TokenWithoutServer.into());
    }
    let taken_over = home.has_keys();
    if args.words.words && taken_over {
        return Err(FullError::KeysWithoutWords(home.dir().to_owned()).into());
    }
    let is_old = taken_over || args.words.from_words.is_some();
    let words = args.words.wanted()?;
    let (new, end) = plan(args, server.as_ref(), ui).await?;
    let birthday = match args.birthday_height.zip(server.as_ref()) {
        Some((height, server)) => Some(first_from(height, server, ui).await?),
        None => args.birthday,
    };
    check_birthday(birthday, is_old, end.as_ref())?;
    let home = with_passphrase(args, home)?;
    if let Some(words) = words.as_ref().filter(|_| args.words.words) {
        // An attempt that is interrupted later is completed with these words.
        let new_birthday = end.as_ref().map_or(0, |end| end.length);
        io::print(&printed(words, Some(new_birthday)))?;
    }
    let mut identity = match &words {
        Some(words) => Identity::of_words(&home, &new, words)?,
        None => Identity::create(&home, &new)?,
    };
    if home.passphrase().is_some() && !home.is_locked()? {
        // The keys were in the folder before.
        home.set_passphrase(home.passphrase())?;
    }
    match (end, birthday) {
        // Nobody can have written to the keys before they were made.
        (Some(end), _) if !is_old => identity.begin_at(&end)?,
        (_, Some(birthday)) => identity.born_at(birthday)?,
        _ => {}
    }
    if is_old {
        let whose = if taken_over {
            "the keys that were in the folder are the identity's now"
        } else {
            "the keys of the words are made again"
        };
        ui.note(&match birthday {
            Some(birthday) => format!("{whose}: the first fetch begins with message {birthday}"),
            None => format!("{whose}: the first fetch looks at the whole board"),
        });
        let is_sealed = identity.profile.sealing != Some(Sealing::None);
        if is_sealed && identity.period_keys()?.is_none() {
            ui.note(
                "there is no periods.key: letters are sealed to a permanent key, and those that were sealed to keys of \
                 periods are lost",
            );
        }
    }
    if let Some(server) = &server {
        home.set_server(server)?;
        upload(&mut identity, server, ui).await?;
    }
    print_report(&identity, args.json)?;
    ui.note(match server {
        Some(_) => "now give people what `omr address` prints, and read with `omr inbox`",
        None => "now register with a server: `omr id register --server URL`",
    });
    Ok(())
}

/// Returns the index of the first message of a ledger's blocks from a height on.
async fn first_from(height: u64, server: &Server, ui: &Ui) -> Result<u64, CliError> {
    let client = connect(server.endpoint(), ui)?;
    let end = height.saturating_add(1);
    if let Some(block) = client.blocks(height..end).await?.pop() {
        return Ok(block.start);
    }
    // The board may begin with a later block.
    match client.tip().await?.map(|tip| tip.height) {
        Some(tip) if height <= tip => Ok(0),
        tip => Err(FullError::BirthdayHeight(Mismatch::new(tip.unwrap_or(0), height)).into()),
    }
}

/// Checks that a birthday is for keys that are made again, and not beyond the end of the server's board.
fn check_birthday(
    birthday: Option<u64>,
    is_old: bool,
    end: Option<&Mark>,
) -> Result<(), FullError> {
    let Some(found) = birthday else {
        return Ok(());
    };
    if !is_old {
        return Err(FullError::BirthdayOfNew);
    }
    match end.filter(|end| found > end.length) {
        Some(end) => Err(FullError::Birthday(Mismatch::new(end.length, found))),
        None => Ok(()),
    }
}

/// Returns the home with the passphrase of its secret, or of the one that will be made.
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

/// Returns the properties of the identity, and the length of the server's board with its running hash, after all checks
/// that can fail before keys are made.
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
    let is_present = identity
        .home
        .server()
        .is_ok_and(|own| own.url == server.url);
    if is_present && !args.again && identity.home.is_linked()? && identity.registered().is_ok() {
        return Err(FullError::RegisteredBefore.into());
    }
    if !args.also {
        identity.home.set_server(&server)?;
    }
    match upload(&mut identity, &server, ui).await {
        // An import brings no detection keys: those that the server lacks are made from the secret.
        Err(CliError::Full(FullError::Mail(MailError::Locked(_)))) => {
            identity.home = unlocked(identity.home, &args.passphrase)?;
            upload(&mut identity, &server, ui).await?;
        }
        uploaded => uploaded?,
    }
    if args.also {
        identity.home.add_operator(&server)?;
    }
    ui.note("registered: give people what `omr address` prints, and read with `omr inbox`");
    Ok(())
}

/// The address of an identity, as printed for programs.
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

/// Revokes the keys at all operators, or at one, which is then removed.
async fn withdraw(
    dir: &HomeArg,
    token: &TokenArg,
    from: Option<&str>,
    ui: &Ui,
) -> Result<(), CliError> {
    let mut identity = Identity::open(&home(dir)?)?;
    let Some(url) = from else {
        for client in super::operators(&identity.home, token, ui)? {
            let unknown = revoke(&mut identity, &client).await?;
            warn_of_unknown(&unknown, ui);
        }
        return Ok(());
    };
    let others = identity.home.operators()?.into_iter().skip(1);
    let Some(operator) = others.into_iter().find(|other| *other.url == *url) else {
        return Err(MailError::NoOperator(url.to_owned()).into());
    };
    let client = connect(operator.endpoint(), ui)?;
    let unknown = leave(&mut identity, &client, url).await?;
    warn_of_unknown(&unknown, ui);
    Ok(())
}

/// Warns of keys that the server did not know and so did not revoke: they may be registered with another token.
fn warn_of_unknown(keys: &[String], ui: &Ui) {
    if !keys.is_empty() {
        ui.warn(&format!(
            "the server knows no {} of this token: if another token registered it (--token), the server keeps it until \
             nobody has used it for a while",
            keys.join(" and ")
        ));
    }
}

/// Publishes an address again if it was published before. A failure is only a warning.
pub(super) async fn keep_published(identity: &Identity, client: &Client, ui: &Ui) {
    match publish_again(identity, client).await {
        Ok(None) => {}
        Ok(Some(short)) => ui.note(&format!("your short address is now {short}")),
        Err(error) => ui.warn(&format!(
            "your address could not be published again: {}",
            with_advice(&error)
        )),
    }
}

/// Uploads the keys to a server, and publishes the address there if it was published before.
async fn upload(identity: &mut Identity, server: &Server, ui: &Ui) -> Result<(), CliError> {
    let client = connect(server.endpoint(), ui)?;
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

/// Returns the URLs of the operators beside the identity's own server.
fn operators(home: &Home) -> Result<Vec<String>, CliError> {
    let all = match home.operators() {
        Err(MailError::NoServer) => Vec::new(),
        all => all?,
    };
    Ok(all.iter().skip(1).map(|one| one.url.clone()).collect())
}

fn print_report(identity: &Identity, json: bool) -> Result<(), CliError> {
    let profile = &identity.profile;
    let address = identity.address()?;
    let key = |key: &omr_mail::KeyFile| Key {
        name: key.name.clone(),
        registered: key.registered,
    };
    let period_keys = address.period_keys.as_ref();
    let shown = Shown {
        period_keys_until: period_keys.map(|keys| period_start(keys.end())),
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
        operators: operators(&identity.home)?,
        board: profile.board_id.as_ref().map(|id| omr_protocol::hex(id)),
        keys: profile.keys.iter().map(key).collect(),
        locked: identity.home.is_locked()?,
        retired: retired(&identity.home)?,
        birthday: profile.begins,
        linked: identity.home.is_linked()?,
    };
    if json {
        return Ok(io::print_json(&shown)?);
    }
    let mut text = format!(
        "home         {}\nparameters   {}\nbound        {}\nsealing      {}\nletters      of up to {} messages{}\nserver       {}\nboard        {}\nbirthday     {}\nfingerprint  {}\nshort        {}\n",
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
        shown.birthday,
        shown.fingerprint,
        shown.short,
    );
    for url in &shown.operators {
        text += &format!("operator     {url}\n");
    }
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
    text += &match shown.period_keys_until {
        Some(until) => format!("periods      30 days each, keys until {}\n", time(until)),
        None => "periods      none: letters are sealed to a permanent key\n".to_owned(),
    };
    if shown.linked {
        text += "devices      linked with others\n";
    }
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
