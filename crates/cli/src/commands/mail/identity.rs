//! `omr id` and `omr address`.

use super::{block_on, home, server};
use crate::args::{AddressArgs, Id, IdNew, IdRegister};
use crate::commands::keygen::default_set;
use crate::error::CliError;
use crate::io::{self, hex};
use crate::progress::Ui;
use omr_mail::{
    Address, Home, Identity, Inbox, MailError, NewIdentity, board_place, check_clues, register,
    revoke,
};
use omr_protocol::{ClueKind, ParamSet, Scheme};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Serialize)]
struct Shown {
    home: PathBuf,
    params: String,
    scheme: Option<&'static str>,
    bound: u32,
    server: Option<String>,
    board: Option<String>,
    fingerprint: String,
    keys: Vec<Key>,
}

#[derive(Serialize)]
struct Key {
    name: String,
    registered: bool,
}

pub(in crate::commands) fn id(command: &Id, ui: &Ui) -> Result<(), CliError> {
    match command {
        Id::New(args) => block_on(new(args, ui)),
        Id::Show { home: dir, json } => tell(&Identity::open(&home(dir)?)?, *json),
        Id::Register(args) => block_on(go_on(args, ui)),
        Id::Revoke { home: dir } => block_on(async {
            let mut identity = Identity::open(&home(dir)?)?;
            let client = identity.home.server()?.client()?;
            Ok(revoke(&mut identity, &client).await?)
        }),
    }
}

async fn new(args: &IdNew, ui: &Ui) -> Result<(), CliError> {
    let home = home(&args.home)?;
    let server = server(&args.server)?;
    let mut params = args.params.clone();
    let clues = match args.plain_clues {
        true => ClueKind::Plain,
        false => ClueKind::Bound,
    };
    let mut start = None;
    if let Some(server) = &server {
        // Before the keys are made nobody can have written to them.
        let board = server.client()?.board().await.map_err(MailError::from)?;
        let of_board = board_place(&board)?.params;
        let expected = params.get_or_insert_with(|| of_board.clone());
        if *expected != of_board {
            let expected = expected.clone();
            let found = of_board;
            return Err(MailError::OtherParams { expected, found }.into());
        }
        // A server does not talk anybody into the weaker kind.
        let set = ParamSet::named(expected)?;
        check_clues(&board, set.clue(), clues)?;
        start = Some(board.messages);
    }
    let new = NewIdentity {
        params: params.unwrap_or_else(|| default_set(args.scheme).to_owned()),
        scheme: args.scheme,
        clues,
        bound: args.bound,
    };
    let mut identity = Identity::create(&home, &new)?;
    if let Some(start) = start {
        Inbox::open(&home)?.begin_at(start)?;
    }
    if let Some(server) = &server {
        home.set_server(server)?;
        upload(&mut identity, ui).await?;
    }
    tell(&identity, args.json)?;
    ui.note(match server {
        Some(_) => "now give people what `omr address` prints, and read with `omr inbox`",
        None => "now register with a server: `omr id register --server URL`",
    });
    Ok(())
}

async fn go_on(args: &IdRegister, ui: &Ui) -> Result<(), CliError> {
    let mut identity = Identity::open(&home(&args.home)?)?;
    if let Some(server) = server(&args.server)? {
        identity.home.set_server(&server)?;
    }
    upload(&mut identity, ui).await?;
    ui.note("registered: give people what `omr address` prints, and read with `omr inbox`");
    Ok(())
}

async fn upload(identity: &mut Identity, ui: &Ui) -> Result<(), CliError> {
    let client = identity.home.server()?.client()?;
    let bar = ui.bar();
    let sent = |name: &str, done, total| bar.at(name.to_owned(), done, total);
    Ok(register(identity, &client, sent).await?)
}

/// The address of an identity.
fn address_of(home: &Home, identity: &Identity) -> Result<Address, CliError> {
    let server = match home.server() {
        Ok(server) => Some(server.url.clone()),
        Err(MailError::NoServer) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Address {
        server,
        clue_key: identity.clue_key_bytes()?,
    })
}

fn tell(identity: &Identity, json: bool) -> Result<(), CliError> {
    let profile = &identity.profile;
    let address = address_of(&identity.home, identity)?;
    let key = |key: &omr_mail::KeyFile| Key {
        name: key.name.clone(),
        registered: key.registered,
    };
    let shown = Shown {
        home: identity.home.dir().to_owned(),
        params: profile.params.clone(),
        scheme: Scheme::from_tag(profile.scheme).map(Scheme::name),
        bound: profile.bound,
        fingerprint: address.fingerprint(),
        server: address.server,
        board: profile.board_id.as_ref().map(|id| hex(id)),
        keys: profile.keys.iter().map(key).collect(),
    };
    if json {
        return io::print_json(&shown);
    }
    let mut text = format!(
        "home         {}\nparameters   {}\nbound        {}\nserver       {}\nboard        {}\nfingerprint  {}\n",
        shown.home.display(),
        shown.params,
        shown.bound,
        shown.server.as_deref().unwrap_or("none"),
        shown.board.as_deref().unwrap_or("none"),
        shown.fingerprint
    );
    for key in &shown.keys {
        let state = if key.registered {
            "registered"
        } else {
            "not registered"
        };
        text += &format!("{:<12} {state}\n", key.name);
    }
    io::print(&text)
}

pub(in crate::commands) fn address(args: &AddressArgs) -> Result<(), CliError> {
    let home = home(&args.home)?;
    let text = address_of(&home, &Identity::open(&home)?)?.to_text();
    match &args.out {
        Some(path) => io::write_result(path, text.as_bytes()),
        None => io::print(&text),
    }
}
