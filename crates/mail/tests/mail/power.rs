//! Power failures under an identity's folder: acknowledged changes are there afterwards, and no sync can be left out.

use crate::common::wanted;
use omr_disk::Recording;
use omr_mail::{Home, Identity, Inbox, Server};
use std::fs;
use std::path::Path;

/// The acknowledged state of a folder.
#[derive(Clone, Debug, Default)]
struct Promise {
    /// The hash of the identity's keys.
    identity: Option<String>,
    server: Option<String>,
    contacts: Vec<String>,
    /// The first message that the inbox requests.
    cursor: Option<u64>,
    /// The hash of the keys that were replaced.
    retired: Option<String>,
    /// Whether the replaced keys were removed.
    forgotten: bool,
}

fn home_in(root: &Path) -> Home {
    Home::new(root.join("data").join("home"))
}

/// Returns the hash of an identity's keys, after checking that they can be used.
fn opened(home: &Home) -> Result<String, String> {
    let text = |error: omr_mail::MailError| error.to_string();
    let identity = Identity::open(home).map_err(text)?;
    identity.address().map_err(text)?;
    let mut hash = blake3::Hasher::new();
    for name in ["clue.key", "secret.key", "instant.key"] {
        let bytes = fs::read(home.path(name)).map_err(|error| format!("{name}: {error}"))?;
        hash.update(&bytes);
    }
    Ok(hash.finalize().to_hex().to_string())
}

fn expect<T: std::fmt::Debug + PartialEq>(found: &T, before: &T, after: &T) -> Result<(), String> {
    if found == before || found == after {
        return Ok(());
    }
    Err(format!("expected {before:?} or {after:?}, found {found:?}"))
}

/// Returns the number of folders of retired identities, including unfinished ones.
fn in_retired(home: &Home) -> Result<usize, String> {
    let entries = fs::read_dir(home.path("retired")).map_err(|error| error.to_string())?;
    Ok(entries.count())
}

/// Tests a folder after a crash between two states.
fn check(root: &Path, before: &Promise, after: &Promise) -> Result<(), String> {
    let text = |error: omr_mail::MailError| error.to_string();
    let home = home_in(root);
    if before.forgotten {
        expect(&in_retired(&home)?, &0, &0)?;
    }
    if before.identity.is_some() {
        let found = Some(opened(&home)?);
        expect(&found, &before.identity, &after.identity)?;
    }
    if before.server.is_some() {
        let url = home.server().map_err(text)?.url.clone();
        expect(&Some(url), &before.server, &after.server)?;
    }
    let contacts = home.contacts().map_err(text)?;
    let names: Vec<String> = contacts.into_iter().map(|(name, _)| name).collect();
    expect(&names, &before.contacts, &after.contacts)?;
    if before.cursor.is_some() {
        let inbox = Inbox::open(&home).map_err(text)?;
        let cursor = Some(inbox.requests().cursor().map_err(text)?);
        // Renaming an inbox and beginning at a message are two steps.
        if after.cursor < before.cursor {
            expect(&cursor, &Some(0), &after.cursor)
                .or_else(|_| expect(&cursor, &before.cursor, &after.cursor))?;
        } else {
            expect(&cursor, &before.cursor, &after.cursor)?;
        }
    }
    let homes = home.retired().map_err(text)?;
    for (name, old) in &homes {
        if opened(old)? == opened(&home)? {
            return Err(format!("the identity is also the retired one {name}"));
        }
    }
    if let Some(retired) = &before.retired {
        match &homes[..] {
            [(_, old)] => expect(&opened(old)?, retired, retired)?,
            [] if after.forgotten => {
                // The home was opened above, so that no keys are left.
                expect(&in_retired(&home)?, &0, &0)?;
            }
            _ => return Err(format!("{} retired identities", homes.len())),
        }
    }
    Ok(())
}

#[test]
fn a_home_survives_a_power_failure() {
    let dir = tempfile::tempdir().unwrap();
    let recording = Recording::start(dir.path()).unwrap();
    let home = home_in(dir.path());
    let mut promises = vec![(0, Promise::default())];
    let mut note = |change: &dyn Fn(&mut Promise)| {
        let mut promise = promises.last().unwrap().1.clone();
        change(&mut promise);
        promises.push((recording.now(), promise));
    };
    let identity = Identity::create(&home, &wanted()).unwrap();
    let old = opened(&home).unwrap();
    note(&|promise| promise.identity = Some(old.clone()));
    for url in ["http://one:1", "http://two:2"] {
        let server = Server {
            url: url.to_owned(),
            ca_certificate: None,
            token: None,
        };
        home.set_server(&server).unwrap();
        note(&|promise| promise.server = Some(url.to_owned()));
    }
    let address = identity.address().unwrap();
    for name in ["ann", "bob"] {
        home.add_contact(name, &address).unwrap();
        note(&|promise| promise.contacts.push(name.to_owned()));
    }
    home.remove_contact("ann").unwrap();
    note(&|promise| drop(promise.contacts.remove(0)));
    let inbox = Inbox::open(&home).unwrap();
    note(&|promise| promise.cursor = Some(0));
    for cursor in [7, 9] {
        inbox.begin_at(cursor, None).unwrap();
        note(&|promise| promise.cursor = Some(cursor));
    }
    drop(inbox);
    Inbox::rebuild(&home, 3).unwrap().unwrap();
    note(&|promise| promise.cursor = Some(3));
    Identity::create(&home.next(), &wanted()).unwrap();
    drop(Inbox::open(&home.next()).unwrap());
    home.replace("2026-11-23").unwrap();
    let new = opened(&home).unwrap();
    note(&|promise| {
        promise.identity = Some(new.clone());
        promise.retired = Some(old.clone());
        promise.cursor = Some(0);
    });
    home.add_contact("carl", &address).unwrap();
    note(&|promise| promise.contacts.push("carl".to_owned()));
    home.forget("2026-11-23").unwrap();
    note(&|promise| {
        promise.retired = None;
        promise.forgotten = true;
    });
    let history = recording.finish().unwrap();
    let checked = history.crash_everywhere(None, |moment, root| {
        let done = promises
            .iter()
            .filter(|(since, _)| *since <= moment)
            .count();
        let before = &promises[done - 1].1;
        let after = promises.get(done).map_or(before, |(_, promise)| promise);
        check(root, before, after)
    });
    checked.unwrap();
}
