//! A server decides nothing about how letters are sealed.

use crate::common::Scene;
use omr_mail::{Address, Draft, Letter, MailError, Outcome, Rules, post_canary, send};
use omr_protocol::Sealing;

const OPEN: Rules<'_> = Rules {
    sealing: Some(Sealing::None),
    large: false,
    signer: None,
};

fn letters() -> Vec<Letter> {
    vec![b"top secret: meet me at noon".to_vec().into()]
}

/// Returns the identity's address as older versions wrote it.
fn old(scene: &Scene) -> Address {
    let address = Address {
        terms: None,
        verifying_key: None,
        period_keys: None,
        ..scene.address()
    };
    Address::from_text(&address.to_text()).unwrap()
}

fn bare(scene: &Scene) -> Address {
    Address::from_file(scene.address().clue_key).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_sealing_gets_no_plaintext() {
    let scene = Scene::new(4).await;
    scene.fake.with(|state| state.board.sealing = "none".into());
    let asked = |to: Address, rules: Rules<'static>| {
        let client = scene.client.clone();
        async move { send(&client, &to, &letters(), &rules).await.unwrap_err() }
    };
    for rules in [Rules::default(), OPEN] {
        let refused = asked(scene.address(), rules).await;
        assert!(matches!(refused, MailError::OtherSealing(_)), "{refused}");
    }
    for to in [old(&scene), bare(&scene)] {
        let refused = asked(to, Rules::default()).await;
        assert!(matches!(refused, MailError::Unsealed(_)), "{refused}");
    }
    // Another sealing than that of the identity is refused as well.
    scene
        .fake
        .with(|state| state.board.sealing = "x-wing".into());
    let refused = asked(scene.address(), Rules::default()).await;
    assert!(matches!(refused, MailError::OtherSealing(_)), "{refused}");
    assert_eq!(scene.fake.with(|state| state.post_requests.len()), 0);

    // The identity's own messages and fetches stop as well.
    let inbox = scene.inbox();
    let canary = post_canary(&scene.client, &scene.identity, &inbox).await;
    assert!(matches!(canary, Err(MailError::OtherSealing(_))));
    let fetched = scene.fetch(&inbox).await;
    assert!(matches!(fetched, Err(MailError::OtherSealing(_))));

    // A sender can choose it explicitly.
    scene.fake.with(|state| state.board.sealing = "none".into());
    send(&scene.client, &bare(&scene), &letters(), &OPEN)
        .await
        .unwrap();
    assert_eq!(scene.fake.with(|state| state.messages.len()), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_without_sealing_is_not_enough() {
    let scene = Scene::new(4).await;
    scene.fake.with(|state| state.board.sealing = "none".into());
    let mut to = scene.address();
    to.terms.as_mut().unwrap().sealing = Sealing::None;
    let refused = Draft::new(&scene.client, &to, &letters(), &Rules::default()).await;
    assert!(matches!(
        refused.err(),
        Some(MailError::Unsealed("address"))
    ));
    send(&scene.client, &to, &letters(), &OPEN).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_without_sealing_brings_no_letter() {
    let scene = Scene::new(4).await;
    // The server makes a letter up: it has the clue key, and seals nothing.
    scene.fake.with(|state| state.board.sealing = "none".into());
    send(&scene.client, &bare(&scene), &letters(), &OPEN)
        .await
        .unwrap();
    scene
        .fake
        .with(|state| state.board.sealing = "hpke-x25519".into());
    *scene.said.lock().unwrap() = Sealing::None;
    let inbox = scene.inbox();
    let taken = scene.fetch(&inbox).await.unwrap();
    let Outcome::Kept(kept) = &taken[0].outcome else {
        panic!("{taken:?}");
    };
    assert_eq!(kept.overflowed, None);
    assert!(
        kept.reason.contains("sealed with hpke-x25519, found none"),
        "{kept:?}"
    );
    assert_eq!(scene.contents(&inbox), Vec::<Vec<u8>>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_of_an_older_version_takes_nothing_that_is_not_sealed() {
    let mut scene = Scene::new(4).await;
    let path = scene.identity.home.path("identity");
    let text = std::fs::read_to_string(&path).unwrap();
    let kept = |line: &&str| !line.contains("sealing");
    let lines: Vec<&str> = text.lines().filter(kept).collect();
    let older = lines.join("\n").replace("],\n}", "]\n}");
    assert_ne!(older, text);
    std::fs::write(&path, older).unwrap();
    scene.identity = omr_mail::Identity::open(&scene.identity.home).unwrap();
    assert_eq!(scene.identity.profile.sealing, None);

    scene.write(&[b"sealed"]).await;
    let inbox = scene.inbox();
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [b"sealed"]);
    scene.write(&[b"another"]).await;
    *scene.said.lock().unwrap() = Sealing::None;
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [b"sealed"]);

    // After a new registration the profile is like that of a new identity.
    omr_mail::register(&mut scene.identity, &scene.client, |_, _, _| {})
        .await
        .unwrap();
    assert_eq!(scene.identity.profile.sealing, Some(Sealing::HpkeX25519));
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_longer_than_the_address_allows_are_refused_before_anything_is_posted() {
    let scene = Scene::new(4).await;
    let to = scene.address();
    let most = to.terms.unwrap().parts;
    let draft = |bytes: usize, large: bool| {
        let rules = Rules {
            large,
            ..Rules::default()
        };
        let (client, to) = (scene.client.clone(), to.clone());
        async move {
            Draft::new(
                &client,
                &to,
                &[vec![].into(), vec![7; bytes].into()],
                &rules,
            )
            .await
        }
    };
    let refused = draft(1 << 16, false).await.err().unwrap();
    let MailError::LongLetter {
        number: 1,
        found,
        most: told,
        bytes,
    } = refused
    else {
        panic!("{refused}");
    };
    assert!(found > u64::from(most) && told == most);
    // A letter of the size in the error fits.
    let bytes = bytes as usize;
    let fits = draft(bytes, false).await.unwrap();
    assert_eq!(fits.messages().collect::<Vec<_>>(), [1, u64::from(most)]);
    assert!(draft(bytes + 1, false).await.is_err());
    assert_eq!(scene.fake.with(|state| state.post_requests.len()), 0);
    let large = draft(bytes + 1, true).await.unwrap();
    assert_eq!(large.post(&scene.client).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_another_set_is_reported() {
    let scene = Scene::new(4).await;
    scene
        .fake
        .with(|state| state.board.params_id = "insecure-tiny-v4".into());
    let refused = Draft::new(
        &scene.client,
        &scene.address(),
        &letters(),
        &Rules::default(),
    )
    .await;
    let text = refused.err().unwrap().to_string();
    assert!(
        text.starts_with("the recipient's address is of insecure-tiny-hybrid-v4"),
        "{text}"
    );
}
