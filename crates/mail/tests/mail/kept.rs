//! A home and the export of an identity that an earlier build wrote: every later one reads them.
//!
//! `cargo test -p omr-mail --test mail kept::write_files -- --ignored` wrote them. After a release a format gets a
//! folder of its own.

use crate::common::{BOARD, PARAMS, PAYLOAD, Scene, copy, database, wanted};
use omr_client::letter::{Place, Writer};
use omr_client::locked::{Passphrase, lock, unlock};
use omr_mail::{
    CanaryState, Home, Identity, Inbox, Incomplete, Letter, NewIdentity, Reader, Rules, cut,
    post_canary, register, send,
};
use omr_protocol::frame::Kind;
use omr_protocol::{ClueKind, ParamSet, Sealing};
use omr_remote::v1::Message;
use redb::{ReadableDatabase, ReadableTableMetadata, TableHandle};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const OLD: &str = "2026-11-27";
/// The files of an identity, without keys that the server has and without locks.
const FILES: [&str; 5] = ["identity", "secret.key", "clue.key", "server", "inbox.redb"];
/// All tables of an inbox but those of two rounds, which this one does not fetch in.
const TABLES: [&str; 19] = [
    "adopted", "bodies", "canaries", "copies", "digests", "forks", "format", "found", "heads",
    "jobs", "kept", "marks", "messages", "pieces", "records", "seen", "spares", "state",
    "unopened",
];

fn kept(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("../../testdata/store/v1").join(name)
}

fn passphrase() -> Passphrase {
    let text = "an old passphrase, kept for good";
    Passphrase::new(Zeroizing::new(text.to_owned())).unwrap()
}

/// Returns a text with everything in an inbox.
fn shown(inbox: &Inbox) -> String {
    let mut shown = Vec::new();
    for listed in inbox.list(true).unwrap() {
        let body = inbox.body(listed.number).unwrap();
        shown.push(format!("{listed:?} {}", omr_protocol::hex(&body)));
    }
    shown.extend(inbox.kept().unwrap().iter().map(|kept| format!("{kept:?}")));
    shown.push(format!("{:?}", inbox.leftovers().unwrap()));
    let canaries = inbox.audit().unwrap().canaries;
    shown.extend(canaries.iter().map(|canary| format!("{canary:?}")));
    let forks = inbox.forks().unwrap();
    shown.extend(forks.iter().map(|fork| format!("{fork:?}")));
    for mark in inbox.marks().unwrap() {
        shown.push(format!("{} {}", mark.length, omr_protocol::hex(&mark.hash)));
    }
    let (pending, next) = (inbox.pending().unwrap(), inbox.requests().cursor().unwrap());
    shown.push(format!("{pending} digests to decode, next {next}"));
    shown.join("\n") + "\n"
}

/// A letter's name, content, whether it was read, and the identity that it was written to.
type Seen = (Option<String>, Vec<u8>, bool, Option<String>);

fn letters(inbox: &Inbox) -> Vec<Seen> {
    let all = inbox.list(true).unwrap().into_iter();
    let mut letters: Vec<Seen> = all
        .map(|listed| {
            let body = inbox.body(listed.number).unwrap();
            (listed.name, body, listed.read, listed.retired)
        })
        .collect();
    letters.sort();
    letters
}

/// Asserts that a home contains the letters and keys that [`write_files`] put there, and that it can be used.
fn check(home: &Home) {
    let identity = Identity::open(home).unwrap();
    assert_eq!(
        (&identity.profile.params[..], identity.profile.bound),
        (PARAMS, 3)
    );
    assert_eq!(identity.profile.board_id, Some(BOARD));
    assert_eq!(identity.profile.begins, 2);
    assert!(home.is_locked().unwrap());
    let server = home.server().unwrap();
    assert_eq!(server.token.as_deref(), Some("a token"));
    let retired = home.retired().unwrap();
    let [(name, old)] = &retired[..] else {
        panic!("{retired:?}");
    };
    assert_eq!(name, OLD);
    let old = Identity::open(old).unwrap();
    let contacts = home.contacts().unwrap();
    let [(name, address)] = &contacts[..] else {
        panic!("{contacts:?}");
    };
    assert_eq!((&name[..], address), ("old", &old.address().unwrap()));
    let theirs = Inbox::open(&old.home).unwrap();
    let to_old = b"to the old address".to_vec();
    assert_eq!(letters(&theirs), [(None, to_old.clone(), false, None)]);
    old.secret(&old.set().unwrap()).unwrap();

    let inbox = Inbox::open(home).unwrap();
    assert_eq!(
        shown(&inbox),
        fs::read_to_string(kept("inbox.txt")).unwrap()
    );
    let mut expected = vec![
        (None, b"hello\nin two lines".to_vec(), true, None),
        (None, to_old, false, Some(OLD.to_owned())),
        (Some("list.txt".to_owned()), vec![7; 40], false, None),
    ];
    expected.sort();
    // Letters of the digest that overflowed, as far as spare digests contained them.
    let is_many = |(_, body, ..): &Seen| body.starts_with(b"many ");
    let (many, others): (Vec<Seen>, Vec<Seen>) = letters(&inbox).into_iter().partition(is_many);
    assert_eq!(others, expected);
    let ranges = inbox.kept().unwrap();
    let [range] = &ranges[..] else {
        panic!("{ranges:?}");
    };
    assert_eq!((range.bound, range.overflowed, range.read), (3, Some(5), 1));
    assert_eq!(many, [(None, b"many 0".to_vec(), false, None)]);
    let (incomplete, unopened) = inbox.leftovers().unwrap();
    assert_eq!(incomplete, [Incomplete { here: 2, parts: 3 }]);
    assert_eq!(unopened, 1);
    let audit = inbox.audit().unwrap();
    assert_eq!(audit.count(CanaryState::Returned), 1);
    assert_eq!(audit.count(CanaryState::Posted), 1);
    let forks = inbox.forks().unwrap();
    assert_eq!(forks.len(), 1);
    assert!(forks[0].differs);
    assert_eq!(inbox.new_forks().unwrap(), forks);
    assert_eq!(inbox.new_forks().unwrap(), []);

    // A digest and a spare digest that were not decoded yet, with a canary; a person's acts change records of every
    // kind.
    assert_eq!(inbox.pending().unwrap(), 2);
    inbox.take_in(&Reader::new(&identity).unwrap()).unwrap();
    assert_eq!(inbox.pending().unwrap(), 0);
    let fetched = (None, b"fetched, not decoded".to_vec(), false, None);
    assert!(letters(&inbox).contains(&fetched));
    assert_eq!(inbox.audit().unwrap().count(CanaryState::Returned), 2);
    assert_eq!(inbox.raise_bound(5).unwrap(), 1);
    assert_eq!(inbox.drop_range(0..u64::MAX).unwrap().0, 1);
    assert_eq!(inbox.kept().unwrap(), []);
}

#[test]
fn a_home_of_an_earlier_build_is_read() {
    let dir = tempfile::tempdir().unwrap();
    copy(&kept("home"), dir.path());
    let home = Home::new(dir.path()).with_passphrase(passphrase());
    // A table that is added later needs a kept file of its own.
    let inbox = database(&home);
    let tx = inbox.begin_read().unwrap();
    let mut tables = BTreeSet::new();
    for handle in tx.list_tables().unwrap() {
        let name = handle.name().to_owned();
        let table = tx.open_untyped_table(handle).unwrap();
        if table.len().unwrap() > 0 {
            tables.insert(name);
        }
    }
    assert_eq!(tables, BTreeSet::from(TABLES.map(str::to_owned)));
    drop((tx, inbox));
    check(&home);
}

#[test]
fn an_export_of_an_earlier_build_is_imported() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home")).with_passphrase(passphrase());
    let locked = fs::read(kept("identity.omr")).unwrap();
    let export = unlock(Kind::Identity, &locked, &passphrase()).unwrap();
    home.import(&export).unwrap();
    check(&home);
}

/// Returns a message for the identity that is no letter.
fn unreadable(identity: &Identity) -> Message {
    let set = ParamSet::named(PARAMS).unwrap();
    let key = identity.clue_key(&set).unwrap();
    let place = Place {
        board_id: BOARD,
        params: PARAMS.to_owned(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: PAYLOAD,
    };
    let part = vec![0xFF; place.capacity(ClueKind::Bound)];
    let writer = Writer::new(set.clue(), &key, place).unwrap();
    let written = writer.message(&mut omr_client::os_rng(), &part).unwrap();
    Message {
        clue: written.clue.into(),
        payload: written.payload.into(),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes testdata/store/v1"]
async fn write_files() {
    let mut scene = Scene::with_spares(3).await;
    let home = scene.identity.home.clone();
    let mut server = home.server().unwrap();
    server.token = Some("a token".to_owned());
    server.url = "http://127.0.0.1:7600".to_owned();

    // An identity is replaced.
    scene.write(&[b"to the old address"]).await;
    scene.write_to_others(1).await;
    scene.fetch(&scene.inbox()).await.unwrap();
    let new = NewIdentity {
        bound: 3,
        spares: omr_mail::MAX_LEVELS,
        ..wanted()
    };
    let mut next = Identity::create(&home.next(), &new).unwrap();
    let board = scene.client.board().await.unwrap();
    next.begin_at(&omr_mail::board_mark(&board).unwrap())
        .unwrap();
    next.home.set_server(&home.server().unwrap()).unwrap();
    register(&mut next, &scene.client, |_, _, _| {})
        .await
        .unwrap();
    let name = home.replace(OLD).unwrap();
    scene.identity = Identity::open(&home).unwrap();
    scene.detect_for(&home);
    let inbox = scene.inbox();
    let old = Identity::open(&home.retired_home(&name).unwrap()).unwrap();
    let theirs = Inbox::open(&old.home).unwrap();
    assert_eq!(inbox.adopt(&name, &old, &theirs).unwrap().len(), 1);
    drop(theirs);

    // Letters, one of them with a name, a canary that returns, and a message that is no letter.
    scene.write(&[b"hello\nin two lines"]).await;
    scene.fetch(&inbox).await.unwrap();
    let read = inbox.list(false).unwrap();
    let hello = read.iter().find(|listed| listed.retired.is_none());
    inbox.mark_read(&[hello.unwrap().number]).unwrap();
    let named = Letter {
        name: Some("list.txt".to_owned()),
        content: vec![7; 40],
        ..Letter::default()
    };
    let rules = Rules::default();
    send(&scene.client, &scene.address(), &[named], &rules)
        .await
        .unwrap();
    post_canary(&scene.client, &scene.identity, &inbox)
        .await
        .unwrap();
    let message = unreadable(&scene.identity);
    scene.fake.with(|state| state.messages.push(message));
    scene.fetch(&inbox).await.unwrap();
    // Two parts of three are posted.
    scene.write(&[&[8; 230]]).await;
    scene.fake.with(|state| drop(state.messages.pop()));
    scene.fetch(&inbox).await.unwrap();
    // The board gets another history.
    scene.write_to_others(3).await;
    scene.fetch(&inbox).await.unwrap();
    scene
        .fake
        .with(|state| state.messages.truncate(state.messages.len() - 2));
    scene.write_to_others(1).await;
    scene.fetch(&inbox).await.unwrap();
    // Too many letters for one digest; spare digests bring some of them.
    let many = [b"many 0", b"many 1", b"many 2", b"many 3", b"many 4"].map(|text| &text[..]);
    scene.write(&many).await;
    scene.fetch(&inbox).await.unwrap();
    // A session that is open, and a digest that is never decoded.
    let requests = inbox.requests();
    cut(&scene.client, &scene.identity, requests).await.unwrap();
    inbox
        .take_in(&Reader::new(&scene.identity).unwrap())
        .unwrap();
    post_canary(&scene.client, &scene.identity, &inbox)
        .await
        .unwrap();
    scene.write(&[b"fetched, not decoded"]).await;
    scene.collect(&scene.client, &inbox).await.unwrap();

    let text = shown(&inbox);
    drop(inbox);
    home.set_server(&server).unwrap();
    old.home.set_server(&server).unwrap();
    home.add_contact("old", &old.address().unwrap()).unwrap();
    home.set_passphrase(Some(&passphrase())).unwrap();
    let home = home.with_passphrase(passphrase());
    let identity = Identity::open(&home).unwrap();
    let export = lock(Kind::Identity, &identity.export().unwrap(), &passphrase()).unwrap();
    let _ = fs::remove_dir_all(kept("home"));
    for (from, to) in [
        (&home, kept("home")),
        (&old.home, kept("home/retired").join(OLD)),
    ] {
        fs::create_dir_all(&to).unwrap();
        for file in FILES {
            fs::copy(from.path(file), to.join(file)).unwrap();
        }
    }
    copy(&home.path("contacts"), &kept("home/contacts"));
    fs::write(kept("identity.omr"), export).unwrap();
    fs::write(kept("inbox.txt"), text).unwrap();
}
