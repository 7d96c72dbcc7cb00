//! Opens inboxes: those of new identities, of identities that are registered again, and of others.

use crate::{BindingError, Network, OpenInbox, Watch};
use omr_client::Words;
use omr_client::locked::Passphrase;
use omr_mail::{Home, Identity, MailError, Mailbox, NewIdentity, Server};
use omr_protocol::{Mismatch, Sealing};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// The properties of a new identity, where the server's board does not determine them.
pub struct Wanted<'a> {
    /// The properties; the parameter set, the sealing and the board's id are replaced by those of the board.
    pub new: NewIdentity,
    /// The parameter set that the person expects.
    pub params: Option<&'a str>,
    /// The sealing that the person expects.
    pub sealing: Option<Sealing>,
    /// The words that the keys are made from; random keys without them.
    pub words: Option<&'a Words>,
    /// The board's length when keys of words, or those in the home, were made first.
    pub birthday: Option<u64>,
}

/// Makes an identity for a server's board and registers its detection keys. An interrupted registration goes on with
/// [`register`].
///
/// Errors: `BirthdayOfNew`, `Birthday`, `Mail`, `Stopped`.
pub fn create(
    home: &Home,
    server: Server,
    network: Network,
    wanted: Wanted<'_>,
    watch: &impl Watch,
) -> Result<OpenInbox, BindingError> {
    let client = network.connect(server.endpoint())?;
    // Words, and keys of `omr keygen` that are in the folder, may have older letters.
    let is_old = wanted.words.is_some() || home.has_keys();
    let for_board = wanted.new.for_board(&client, wanted.params, wanted.sealing);
    let (new, end) = network.wait(watch, for_board)?;
    check_birthday(wanted.birthday, is_old, end.length)?;
    watch.at("making keys", 0, 1);
    let mut identity = match wanted.words {
        Some(words) => Identity::of_words(home, &new, words)?,
        None => Identity::create(home, &new)?,
    };
    if home.passphrase().is_some() && !home.is_locked()? {
        home.set_passphrase(home.passphrase())?;
    }
    match wanted.birthday {
        Some(birthday) => identity.born_at(birthday)?,
        // The first fetch looks at the whole board.
        None if is_old => {}
        None => identity.begin_at(&end)?,
    }
    registered(identity, server, network, watch)
}

/// Registers an existing identity, after an interrupted registration or at another address of its server.
///
/// Errors: `Mail`, `Stopped`.
pub fn register(
    home: &Home,
    server: Server,
    network: Network,
    watch: &impl Watch,
) -> Result<OpenInbox, BindingError> {
    registered(Identity::open(home)?, server, network, watch)
}

fn registered(
    mut identity: Identity,
    server: Server,
    network: Network,
    watch: &impl Watch,
) -> Result<OpenInbox, BindingError> {
    identity.home.set_server(&server)?;
    let client = network.connect(server.endpoint())?;
    let report = |_: &str, done, all| watch.at("uploading key", done, all);
    network.wait(watch, omr_mail::register(&mut identity, &client, report))?;
    Ok(OpenInbox::new(Mailbox::open(identity)?, server, network))
}

/// Opens the inbox of a registered identity, beside another program if one fetches into it. The token replaces the
/// stored one.
///
/// Errors: `Mail`.
pub fn open(
    home: &Home,
    token: Option<String>,
    network: Network,
) -> Result<OpenInbox, BindingError> {
    let identity = Identity::open(home)?;
    let mailbox = match Mailbox::open(identity.clone()) {
        Err(MailError::Busy) => Mailbox::beside(identity)?,
        opened => opened?,
    };
    let server = own_server(home, None, token)?;
    Ok(OpenInbox::new(mailbox, server, network))
}

/// Returns a home, whose secret is under a passphrase if one is given.
///
/// Errors: `Lock`.
pub fn located(
    folder: impl Into<PathBuf>,
    passphrase: Option<String>,
) -> Result<Home, BindingError> {
    let home = Home::new(folder);
    match passphrase.map(Zeroizing::new) {
        Some(text) => Ok(home.with_passphrase(Passphrase::new(text)?)),
        None => Ok(home),
    }
}

/// Returns the server of an identity, with other parts in place of the stored ones.
///
/// Errors: `Mail`.
pub fn own_server(
    home: &Home,
    ca_certificate: Option<String>,
    token: Option<String>,
) -> Result<Server, BindingError> {
    let mut own = home.server()?;
    if ca_certificate.is_some() {
        own.ca_certificate = ca_certificate;
    }
    if token.is_some() {
        own.token = token;
    }
    Ok(own)
}

/// Checks that a birthday is for keys that may have letters, and not beyond the end of the board.
///
/// Errors: `BirthdayOfNew`, `Birthday`.
fn check_birthday(birthday: Option<u64>, is_old: bool, end: u64) -> Result<(), BindingError> {
    match birthday {
        Some(_) if !is_old => Err(BindingError::BirthdayOfNew),
        Some(found) if found > end => Err(BindingError::Birthday(Mismatch::new(end, found))),
        _ => Ok(()),
    }
}
