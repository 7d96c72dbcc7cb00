//! Devices of one person: copies of one identity, which inform each other by sealed letters to themselves.
//!
//! A linked home contains the file `devices`, which came with the export that linked it. [`share`] posts the changes on
//! one device in a letter of the type [`MEDIA_TYPE`], signed by the identity: contacts, read marks, the keys of a new
//! address (to the old address, which the other devices still read), and addresses that were forgotten. The other
//! devices receive it with their letters: [`apply`] makes the changes that are possible while the inbox is open, and
//! [`follow`] changes the identity. A letter is deleted once it is applied; one that comes twice changes nothing.
//!
//! The content is JSON, [`Update`]; docs/wire.md describes it. Where two devices change the same contact, the later
//! change holds on all of them. Where two replace the same address, the address with the smaller id becomes the present
//! one on all of them, and the other is still read.

mod state;
mod update;

use crate::inbox::Inbox;
use crate::keys::{CLUE_KEY, SECRET_KEY, kept_bytes};
use crate::send::Draft;
use crate::{Home, Identity, Letter, MailError, Rules, delete, unix_now};
use omr_client::header::Header;
use omr_client::periods::PERIODS_KEY;
use omr_inbox::Listed;
use omr_protocol::{from_hex, hex};
use omr_remote::Client;
use state::Devices;
use std::collections::BTreeSet;
use std::fs;
use update::{Successor, Update};
use zeroize::Zeroize;

pub(crate) use state::FILE;

/// The media type of letters to a person's other devices.
pub const MEDIA_TYPE: &str = "application/vnd.omr.device+json";

/// The time in seconds for which an update waits for letters that it marks as read and that have not come.
const PATIENCE: u64 = 90 * 86_400;

/// The changes that letters of other devices made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The numbers of these letters. Those that are complete are deleted.
    pub letters: BTreeSet<u64>,
    /// The number of contacts that were added, changed or removed.
    pub contacts: usize,
    /// The number of letters that were marked as read.
    pub read: usize,
    /// Whether addresses changed: [`follow`] is to be called once the inbox is closed.
    pub is_due: bool,
    /// The reasons why letters of other devices cannot be applied. These letters stay.
    pub unreadable: Vec<String>,
}

/// The changes of addresses that were made on another device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// The names of retired identities that the present one replaced, oldest first.
    pub replaced: Vec<String>,
    /// The names of identities that another device has beside the present one, and that are read now.
    pub added: Vec<String>,
    /// The names of retired identities that were forgotten.
    pub forgotten: Vec<String>,
}

impl Home {
    /// Returns whether this home has other devices.
    ///
    /// Errors: `File`, `Settings`.
    pub fn is_linked(&self) -> Result<bool, MailError> {
        Ok(Devices::read(self)?.is_some())
    }

    /// Prepares this home for other devices, which [`Identity::export`] then makes. Has no effect on a linked home.
    ///
    /// Errors: `File`, `Settings`; those of [`Inbox::beside`].
    pub fn link(&self) -> Result<(), MailError> {
        if self.is_linked()? {
            return Ok(());
        }
        let mut devices = Devices::default();
        devices.observe(self, unix_now())?;
        devices
            .contacts
            .values_mut()
            .for_each(|at| at.shared = true);
        devices
            .addresses
            .insert(address_id(&Identity::open(self)?)?);
        let inbox = Inbox::beside(self)?;
        inbox.mark_shared(inbox.unshared()?.into_keys())?;
        devices.write(self)
    }

    /// Ends the link with other devices: they are informed of nothing more, and nothing that they post is applied here.
    ///
    /// Errors: `File`.
    pub fn unlink(&self) -> Result<(), MailError> {
        let path = self.path(FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(MailError::file(path)(error))
            }
            _ => omr_disk::sync_folder(self.dir()).map_err(MailError::file(self.dir())),
        }
    }
}

/// Posts what the other devices lack. Returns the number of posted messages, 0 if they lack nothing.
///
/// An interrupted call is repeated by the next one; devices ignore what comes twice. `client` should be anonymous, see
/// [`crate::canary_client`].
///
/// Errors: `NotLinked`; those of [`Draft::new`] and [`Identity::signer`].
pub async fn share(home: &Home, client: &Client) -> Result<u64, MailError> {
    let missing = || MailError::NotLinked(home.dir().to_owned());
    let replaced = Devices::read(home)?.ok_or_else(missing)?.replaced;
    let mut messages = 0;
    for (at, name) in replaced.iter().enumerate() {
        if let Some(old) = retired(home, name)? {
            let mut later = replaced[at + 1..].iter();
            let next = later.find_map(|name| retired(home, name).transpose());
            let next = next.transpose()?.unwrap_or_else(|| home.clone());
            let update = Update::of_successor(Successor::of(&Identity::open(&next)?)?);
            messages += post(&Identity::open(&old)?, client, &update).await?;
        }
        Devices::change(home, |devices| {
            devices.replaced.retain(|other| other != name)
        })?;
    }
    let inbox = Inbox::beside(home)?;
    let marks = inbox.unshared()?;
    let mut update = Devices::change(home, |devices| {
        devices.observe(home, unix_now())?;
        devices.unshared(home)
    })??;
    update.read = marks.values().cloned().collect();
    if !update.is_empty() {
        messages += post(&Identity::open(home)?, client, &update).await?;
        inbox.mark_shared(marks.into_keys())?;
        Devices::change(home, |devices| devices.mark_shared(&update))?;
    }
    Ok(messages)
}

/// Posts an update to an identity itself. Returns the number of messages.
async fn post(identity: &Identity, client: &Client, update: &Update) -> Result<u64, MailError> {
    let signer = identity.signer()?;
    let mut letter = Letter {
        name: None,
        content: update.to_bytes()?,
        header: Header {
            time: Some(unix_now()),
            media_type: Some(MEDIA_TYPE.to_owned()),
            ..Header::default()
        },
    };
    let rules = Rules {
        signer: Some(&signer),
        ..Rules::default()
    };
    let to = identity.address()?;
    let draft = Draft::new(client, &to, std::slice::from_ref(&letter), &rules).await;
    letter.content.zeroize();
    let draft = draft?;
    let messages = draft.messages().sum();
    draft.post(client).await?;
    Ok(messages)
}

/// Applies letters of other devices to contacts and read marks, and deletes those that are complete. Has no effect on a
/// home that is not linked.
///
/// Errors: `File`, `Settings`; those of the inbox.
pub fn apply(home: &Home, inbox: &Inbox) -> Result<Applied, MailError> {
    let mut applied = Applied::default();
    if !home.is_linked()? {
        return Ok(applied);
    }
    let mut complete = Vec::new();
    for letter in letters(home, inbox)? {
        applied.letters.insert(letter.number);
        let update = match Update::of_bytes(&inbox.body(letter.number)?) {
            Ok(update) => update,
            Err(reason) => {
                applied.unreadable.push(reason);
                continue;
            }
        };
        let merged = Devices::change(home, |devices| {
            devices.observe(home, unix_now())?;
            devices.merge(home, &update.contacts)
        })?;
        match merged {
            Ok(changes) => applied.contacts += changes,
            Err(error) => {
                applied.unreadable.push(error.to_string());
                continue;
            }
        }
        let missing = inbox.read_elsewhere(&update.read)?;
        applied.read += update.read.len() - missing.len();
        let sent = letter.header.and_then(|header| header.time).unwrap_or(0);
        let is_old = sent.saturating_add(PATIENCE) < unix_now();
        if due(home, &update, letter.retired.as_deref())?.is_some() {
            applied.is_due = true;
        } else if missing.is_empty() || is_old {
            Devices::change(home, |devices| devices.forget(&update.forgotten))?;
            complete.push(letter.number);
        }
    }
    let waiting: Vec<u64> = applied.letters.iter().copied().collect();
    inbox.mark_read(&waiting)?;
    inbox.mark_shared(waiting)?;
    delete(home, &complete)?;
    Ok(applied)
}

/// Changes the addresses of this home as another device did: a new address replaces the present one, which is still
/// read, and forgotten ones are removed; their letters stay. `date` begins the names of identities that become retired.
/// The inboxes must be closed. Makes no call to a server. Has no effect where nothing changed.
///
/// Errors: those of [`Home::replace`] and [`Home::forget`].
pub fn follow(home: &Home, date: &str) -> Result<Followed, MailError> {
    let mut followed = Followed::default();
    if !home.is_linked()? {
        return Ok(followed);
    }
    // Open for the whole time, so that no other process fetches meanwhile.
    let mut inbox = Inbox::open(home)?;
    while let Some(step) = first_due(home, &inbox)? {
        match step {
            Due::Forget(name, id) => {
                drop(inbox);
                home.forget(&name)?;
                Devices::change(home, |devices| devices.forget(&[id]))?;
                followed.forgotten.push(name);
            }
            Due::Switch(successor) => {
                let name = switch(home, &successor, date)?;
                drop(inbox);
                let old = Identity::open(&home.retired_home(&name)?)?;
                let theirs = Inbox::open(&old.home)?;
                Inbox::open(home)?.adopt(&name, &old, &theirs)?;
                followed.replaced.push(name);
            }
            Due::Add(successor) => {
                let id = successor.address_id()?;
                Devices::change(home, |devices| devices.addresses.insert(id))?;
                let fill = |place: &Home| write_identity(home, place, &successor);
                followed.added.push(home.add_retired(date, fill)?);
                drop(inbox);
            }
        }
        inbox = Inbox::open(home)?;
    }
    apply(home, &inbox)?;
    Ok(followed)
}

/// A change of addresses that an update asks for.
enum Due {
    /// The retired identity of this name, with the address of this id, is forgotten.
    Forget(String, String),
    /// The successor becomes the present identity.
    Switch(Box<Successor>),
    /// The successor is read beside the present identity.
    Add(Box<Successor>),
}

fn first_due(home: &Home, inbox: &Inbox) -> Result<Option<Due>, MailError> {
    for letter in letters(home, inbox)? {
        if let Ok(update) = Update::of_bytes(&inbox.body(letter.number)?)
            && let Some(due) = due(home, &update, letter.retired.as_deref())?
        {
            return Ok(Some(due));
        }
    }
    Ok(None)
}

/// Returns the first change of addresses in an update that is not made yet. `to` is the name of the retired identity
/// that received it, if one did.
fn due(home: &Home, update: &Update, to: Option<&str>) -> Result<Option<Due>, MailError> {
    let mut known = BTreeSet::new();
    for (name, old) in home.retired()? {
        let id = address_id(&Identity::open(&old)?)?;
        if update.forgotten.contains(&id) {
            return Ok(Some(Due::Forget(name, id)));
        }
        known.insert(id);
    }
    let Some(successor) = &update.successor else {
        return Ok(None);
    };
    let own = address_id(&Identity::open(home)?)?;
    known.insert(own.clone());
    let devices = Devices::read(home)?.unwrap_or_default();
    let id = successor.address_id()?;
    if known.contains(&id) || devices.forgotten.contains_key(&id) {
        return Ok(None);
    }
    let successor = Box::new(successor.clone());
    Ok(Some(if to.is_none() || id < own {
        Due::Switch(successor)
    } else {
        Due::Add(successor)
    }))
}

/// Replaces the present identity by another device's. Returns the name of the retired one.
fn switch(home: &Home, successor: &Successor, date: &str) -> Result<String, MailError> {
    let next = home.next();
    // Keys of a rotation that was interrupted here: nobody has their address.
    match fs::remove_dir_all(next.dir()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(MailError::file(next.dir())(error));
        }
        _ => {}
    }
    write_identity(home, &next, successor)?;
    let name = home.replace(date)?;
    // The device that made the keys informs the others.
    Devices::change(home, |devices| {
        devices.replaced.retain(|other| *other != name)
    })?;
    Ok(name)
}

/// Writes the files of another device's identity to an empty folder, with the servers of this one.
fn write_identity(home: &Home, place: &Home, successor: &Successor) -> Result<(), MailError> {
    place.create()?;
    let secret = kept_bytes(place, &successor.secret()?)?;
    place.write_new(SECRET_KEY, &secret)?;
    place.write_new(CLUE_KEY, &successor.clue_key()?)?;
    if let Some(periods) = successor.periods_file()? {
        place.write_new(PERIODS_KEY, &periods)?;
    }
    match home.server() {
        Err(MailError::NoServer) => {}
        server => {
            place.set_server(&server?)?;
            for other in home.operators()?.iter().skip(1) {
                place.add_operator(other)?;
            }
        }
    }
    let mut identity = Identity {
        home: place.clone(),
        profile: successor.profile.clone(),
    };
    identity.save()?;
    identity.born_at(successor.profile.begins)
}

/// Returns the letters of this person's other devices that are in the inbox, in the order of the board.
fn letters(home: &Home, inbox: &Inbox) -> Result<Vec<Listed>, MailError> {
    let devices = Devices::read(home)?.unwrap_or_default();
    let mut own = Vec::new();
    for letter in inbox.of_media_type(MEDIA_TYPE)? {
        if is_own(home, &letter, &devices)? {
            own.push(letter);
        }
    }
    Ok(own)
}

/// Returns whether a letter is signed by the identity that received it, which must be one of the linked devices'.
fn is_own(home: &Home, letter: &Listed, devices: &Devices) -> Result<bool, MailError> {
    let sender = letter
        .header
        .as_ref()
        .and_then(|header| header.sender.as_ref());
    let Some(sender) = sender.filter(|sender| sender.genuine) else {
        return Ok(false);
    };
    let to = match &letter.retired {
        None => home.clone(),
        Some(name) => match retired(home, name)? {
            Some(old) => old,
            None => return Ok(false),
        },
    };
    let identity = Identity::open(&to)?;
    if !devices.addresses.contains(&address_id(&identity)?) {
        return Ok(false);
    }
    let mut address = identity.address()?;
    // Devices may use different operators of one board.
    address.server.clone_from(&sender.server);
    Ok(from_hex(&sender.fingerprint) == Some(address.fingerprint_bytes()))
}

/// Returns the home of a retired identity; `None` if it was forgotten.
fn retired(home: &Home, name: &str) -> Result<Option<Home>, MailError> {
    match home.retired_home(name) {
        Err(MailError::NoRetired(_)) => Ok(None),
        found => Ok(Some(found?)),
    }
}

fn address_id(identity: &Identity) -> Result<String, MailError> {
    Ok(hex(&identity.clue_key(&identity.set()?)?.id))
}

/// Records the time of a change of contacts, so that of several devices' changes the last one holds. Has no effect on a
/// home that is not linked.
pub(crate) fn note_contacts(home: &Home) -> Result<(), MailError> {
    if home.is_linked()? {
        Devices::change(home, |devices| devices.observe(home, unix_now()))??;
    }
    Ok(())
}

/// Records that a retired identity is forgotten, so that the other devices forget it too. Has no effect on a home that
/// is not linked.
pub(crate) fn note_forgotten(home: &Home, old: &Identity) -> Result<(), MailError> {
    if home.is_linked()? {
        let id = address_id(old)?;
        Devices::change(home, |devices| {
            devices.forgotten.entry(id).or_insert(false);
        })?;
    }
    Ok(())
}

/// Records that the identity here is about to be replaced by that of [`Home::next`] and will be retired under this name,
/// so that the other devices get the new keys. Has no effect on a home that is not linked.
pub(crate) fn note_replaced(home: &Home, name: &str) -> Result<(), MailError> {
    if home.is_linked()? {
        let id = address_id(&Identity::open(&home.next())?)?;
        Devices::change(home, |devices| {
            devices.replaced.push(name.to_owned());
            devices.addresses.insert(id);
        })?;
    }
    Ok(())
}
