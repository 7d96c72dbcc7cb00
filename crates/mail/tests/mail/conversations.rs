//! Letters with a sender: signatures, conversations, muted senders, deleted letters.

use crate::common::{PARAMS, Scene, wanted};
use omr_client::fragment::{Fields, split_fields};
use omr_client::header::Addressee;
use omr_client::letter::Writer;
use omr_client::os_rng;
use omr_mail::{
    Address, Header, Home, Identity, Inbox, Letter, Listed, MailError, Rules, Sender, Server,
    ShortAddress, Signer, board_place, delete, send,
};
use omr_protocol::{ClueKey, ParamSet, from_hex};
use omr_remote::v1::Message;
use std::collections::BTreeSet;

/// Returns an identity that writes letters, with a server where its address is.
fn writer(scene: &Scene, name: &str) -> Identity {
    let home = Home::new(scene.dir.path().join(name));
    let identity = Identity::create(&home, &wanted()).unwrap();
    let server = Server {
        url: "https://mail.example.org:7600".into(),
        ca_certificate: None,
        token: None,
    };
    home.set_server(&server).unwrap();
    identity
}

fn letter(text: &[u8], subject: &str) -> Letter {
    Letter {
        name: None,
        content: text.to_vec(),
        header: Header {
            time: Some(1_800_000_000),
            thread: Some([9; 16]),
            subject: Some(subject.to_owned()),
            media_type: Some("text/plain".to_owned()),
        },
    }
}

async fn write(scene: &Scene, signer: Option<&Signer>, letters: &[Letter]) {
    let rules = Rules {
        large: true,
        signer,
        ..Rules::default()
    };
    let sent = send(&scene.client, &scene.address(), letters, &rules).await;
    sent.unwrap();
}

/// Posts a letter with this header, which somebody else may have written, to the identity.
async fn post(scene: &Scene, header: &[u8], content: &[u8]) {
    let place = board_place(&scene.client.board().await.unwrap()).unwrap();
    let writer = Writer::new(params().clue(), &key(&scene.address()), place.clone()).unwrap();
    let capacity = place.capacity(omr_protocol::ClueKind::Bound);
    let fields = Fields {
        name: None,
        header: Some(header),
    };
    let parts = split_fields(&fields, content, capacity, &mut os_rng()).unwrap();
    let message = |part: &Vec<u8>| {
        let written = writer.message(&mut os_rng(), part).unwrap();
        Message {
            clue: written.clue.into(),
            payload: written.payload.into(),
        }
    };
    let messages = parts.iter().map(message).collect();
    scene.client.post(messages).await.unwrap();
}

fn params() -> ParamSet {
    ParamSet::named(PARAMS).unwrap()
}

fn key(address: &Address) -> ClueKey {
    ClueKey::from_bytes(params().clue(), &address.clue_key).unwrap()
}

fn addressee(of: &Address) -> Addressee {
    Addressee::new(&crate::common::BOARD, PARAMS, &key(of).seal)
}

fn sender(letter: &Listed) -> &Sender {
    letter.header.as_ref().unwrap().sender.as_ref().unwrap()
}

async fn fetched(scene: &Scene, inbox: &Inbox) -> Vec<Listed> {
    scene.fetch(inbox).await.unwrap();
    inbox.list(true).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recipient_knows_the_sender_without_a_server() {
    let scene = Scene::new(20).await;
    let bob = writer(&scene, "bob");
    let signer = bob.signer().unwrap();
    let long = vec![b'x'; 1000];
    let letters = [letter(b"hello", "One"), letter(&long, "Two")];
    write(&scene, Some(&signer), &letters).await;
    write(&scene, None, &[letter(b"a tip", "Three")]).await;
    let inbox = scene.inbox();
    let all = fetched(&scene, &inbox).await;
    assert_eq!(scene.fake.count("FindAddress"), 0);
    let bobs = bob.address().unwrap();
    for (listed, (sent, content)) in all.iter().zip([("One", &b"hello"[..]), ("Two", &long)]) {
        let header = listed.header.as_ref().unwrap();
        let named = sender(listed);
        assert!(named.genuine);
        assert_eq!(named.server, bobs.server);
        // The fingerprint is that of the address, by which a contact is known and a reply finds it.
        let fingerprint = from_hex(&named.fingerprint).unwrap();
        let short = ShortAddress::new(fingerprint, named.server.clone());
        assert_eq!(short, ShortAddress::of(&bobs));
        let home = Home::new(scene.dir.path().join("knows"));
        let _ = home.add_contact("bob", &bobs);
        assert_eq!(home.known(&short).unwrap(), Some(bobs.clone()));
        assert_eq!(header.subject.as_deref(), Some(sent));
        assert_eq!(header.thread, Some("09".repeat(16)));
        assert_eq!(header.media_type.as_deref(), Some("text/plain"));
        assert_eq!(header.time, Some(1_800_000_000));
        assert_eq!(inbox.body(listed.number).unwrap(), content);
    }
    let header = all[2].header.as_ref().unwrap();
    assert_eq!(
        (&header.sender, header.subject.as_deref()),
        (&None, Some("Three"))
    );
    // Every payload has the length of the board's, as without these fields.
    let lengths = scene.fake.with(|state| {
        let messages = state.messages.iter();
        messages
            .map(|message| message.payload.len())
            .collect::<Vec<_>>()
    });
    assert!(
        lengths
            .iter()
            .all(|length| *length == crate::common::PAYLOAD)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_to_somebody_else_is_shown_as_forged() {
    let scene = Scene::new(20).await;
    let (bob, carl) = (writer(&scene, "bob"), writer(&scene, "carl"));
    let signer = bob.signer().unwrap();
    let letter = letter(b"I owe you 100", "Debt");
    let signed = |to: &Address| {
        let to = addressee(to);
        letter
            .header
            .signed(&signer, &to, None, &letter.content)
            .unwrap()
    };
    // Carl received the first letter and passes it on.
    post(&scene, &signed(&carl.address().unwrap()), &letter.content).await;
    let mut other = signed(&scene.address());
    post(&scene, &other, b"I owe you 900").await;
    *other.last_mut().unwrap() ^= 1;
    post(&scene, &other, &[7; 700]).await;
    post(&scene, &signed(&scene.address()), &letter.content).await;
    let all = fetched(&scene, &scene.inbox()).await;
    let genuine: Vec<bool> = all.iter().map(|letter| sender(letter).genuine).collect();
    assert_eq!(genuine, [false, false, false, true]);
    let fingerprint = &sender(&all[3]).fingerprint;
    assert!(
        all.iter()
            .all(|letter| sender(letter).fingerprint == *fingerprint)
    );
    let bodies = scene.contents(&scene.inbox());
    assert_eq!(
        bodies
            .iter()
            .filter(|body| body.starts_with(b"I owe"))
            .count(),
        3
    );
    assert!(bodies.contains(&vec![7; 700]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_cannot_be_read_loses_no_letter() {
    let scene = Scene::new(20).await;
    for header in [&[][..], &[2, 1, 2, 3], &[1, 3, 9], &[1, 9, 0], &[1, 6, 64]] {
        post(&scene, header, b"hello").await;
    }
    post(&scene, &[1], &[7; 700]).await;
    let inbox = scene.inbox();
    let all = fetched(&scene, &inbox).await;
    let unreadable = |letter: &Listed| letter.header.clone().unwrap().unreadable;
    let reasons: Vec<String> = all[..5]
        .iter()
        .map(|one| unreadable(one).unwrap())
        .collect();
    assert!(reasons[1].contains("written by a newer omr"), "{reasons:?}");
    for one in &all[..5] {
        assert_eq!(inbox.body(one.number).unwrap(), b"hello");
    }
    assert_eq!((unreadable(&all[5]), all[5].bytes), (None, 700));
    assert_eq!(inbox.leftovers().unwrap(), (Vec::new(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn muted_senders_bring_nothing_new_and_the_server_sees_the_same() {
    let scene = Scene::new(20).await;
    let (bob, carl) = (writer(&scene, "bob"), writer(&scene, "carl"));
    let (bobs, carls) = (bob.signer().unwrap(), carl.signer().unwrap());
    write(&scene, Some(&bobs), &[letter(b"spam", "1")]).await;
    let inbox = scene.inbox();
    fetched(&scene, &inbox).await;
    let before = calls(&scene);
    let fingerprint = bobs.sender().fingerprint();
    inbox.mute(&fingerprint).unwrap();
    assert_eq!(inbox.muted().unwrap().len(), 1);
    assert_eq!(inbox.list(false).unwrap(), []);
    write(&scene, Some(&bobs), &[letter(b"more spam", "2")]).await;
    write(&scene, Some(&carls), &[letter(b"hello", "3")]).await;
    // Somebody who only claims to be Bob is not he.
    let header = letter(b"", "4").header;
    let forged = header.signed(
        &bobs,
        &addressee(&carl.address().unwrap()),
        None,
        b"I am Bob",
    );
    post(&scene, &forged.unwrap(), b"I am Bob").await;
    let taken = scene.fetch(&inbox).await.unwrap();
    let new: BTreeSet<u64> = taken
        .iter()
        .flat_map(|taken| match &taken.outcome {
            omr_mail::Outcome::Delivered { messages, .. } => messages.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    let unread = |inbox: &Inbox| -> BTreeSet<u64> {
        let list = inbox.list(false).unwrap();
        list.iter().map(|letter| letter.number).collect()
    };
    assert_eq!(unread(&inbox), new);
    assert_eq!(new.len(), 2);
    assert_eq!(inbox.list(true).unwrap().len(), 4);
    assert!(inbox.unmute(&fingerprint).unwrap());
    assert!(!inbox.unmute(&fingerprint).unwrap());
    write(&scene, Some(&bobs), &[letter(b"sorry", "5")]).await;
    let all = fetched(&scene, &inbox).await;
    assert_eq!((all.len(), unread(&inbox).len()), (5, 3));
    // All three fetches made the same calls.
    let calls = calls(&scene);
    let fetches: Vec<&[String]> = calls
        .split_inclusive(|call| call == "FetchDigest")
        .collect();
    assert!(
        calls.starts_with(&before) && fetches.len() >= 3,
        "{calls:?}"
    );
}

fn calls(scene: &Scene) -> Vec<String> {
    let log = scene.fake.with(|state| state.log.clone());
    let names = log.iter().filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| !name.contains("Post"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_letters_are_gone_and_stay_away() {
    let scene = Scene::with_spares(20).await;
    scene.write(&[b"one", b"two", &[3; 900], b"four"]).await;
    let inbox = scene.inbox();
    let all = fetched(&scene, &inbox).await;
    assert_eq!(all.len(), 4);
    let home = &scene.identity.home;
    // The letter in several messages is put together last.
    let (first, last) = (all[0].number, all[2].number);
    assert!(all.iter().all(|one| one.number <= last));
    assert!(matches!(
        delete(home, &[first, 99]),
        Err(MailError::NoMessage(99))
    ));
    assert_eq!(inbox.list(true).unwrap().len(), 4);
    delete(home, &[first, last, last]).unwrap();
    assert!(matches!(inbox.body(first), Err(MailError::NoMessage(_))));
    assert!(matches!(
        delete(home, &[last]),
        Err(MailError::NoMessage(_))
    ));
    // Spare requests bring the same messages again, and a person requests all of them once more.
    for _ in 0..4 {
        scene.fetch(&inbox).await.unwrap();
    }
    let length = scene.fake.with(|state| state.messages.len() as u64);
    inbox.again_range(0..length, 20, 1 << 16).unwrap();
    let left = fetched(&scene, &inbox).await;
    assert_eq!(left.len(), 2);
    // A new letter gets a new number.
    scene.write(&[b"five"]).await;
    let now = fetched(&scene, &inbox).await;
    assert_eq!(now.iter().map(|one| one.number).max(), Some(last + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_letter_to_a_retired_address_is_gone_there_too() {
    let scene = Scene::new(20).await;
    scene.write(&[b"to the old address", b"also"]).await;
    let old = scene.inbox();
    fetched(&scene, &old).await;
    drop(old);
    let home = Home::new(scene.dir.path().join("new"));
    Identity::create(&home, &wanted()).unwrap();
    let place = home.path("retired/2026-11-23");
    crate::common::copy(scene.identity.home.dir(), &place);
    let inbox = Inbox::open(&home).unwrap();
    let (name, theirs) = home.retired().unwrap().remove(0);
    let retired = Identity::open(&theirs).unwrap();
    let adopt = || {
        let from = Inbox::open(&theirs).unwrap();
        inbox.adopt(&name, &retired, &from).unwrap().len()
    };
    assert_eq!(adopt(), 2);
    let first = inbox.list(true).unwrap()[0].number;
    delete(&home, &[first]).unwrap();
    assert_eq!(inbox.list(true).unwrap().len(), 1);
    assert_eq!(Inbox::open(&theirs).unwrap().list(true).unwrap().len(), 1);
    assert_eq!(adopt(), 0);
}

#[test]
fn an_address_without_a_verifying_key_signs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let mut identity = Identity::create(&home, &wanted()).unwrap();
    let address = identity.address().unwrap();
    assert!(address.to_text().contains("\nSigner: "));
    assert_eq!(
        identity.signer().unwrap().sender().verifying_key,
        address.verifying_key.unwrap()
    );
    for other in [None, Some([7; 32])] {
        identity.profile.verifying_key = other;
        assert!(matches!(identity.signer(), Err(MailError::NoSigner(_))));
    }
}
