//! Short addresses: a server resolves them, and its answers are checked.

use crate::common::Scene;
use omr_mail::{Home, MailError, ShortAddress, publish, publish_again};
use omr_remote::v1::Address;

#[tokio::test(flavor = "multi_thread")]
async fn a_short_address_gives_the_whole_and_nobody_is_asked_twice() {
    let scene = Scene::new(8).await;
    let (short, kept) = publish(&scene.identity, &scene.client).await.unwrap();
    assert_eq!(kept.as_secs(), 90);
    let text = short.to_string();
    assert!(text.starts_with("omr1") && text.ends_with(&format!("@{}", scene.fake.url())));
    let read: ShortAddress = text.parse().unwrap();

    let sender = Home::new(scene.dir.path().join("sender"));
    assert_eq!(sender.known(&read).unwrap(), None);
    let found = read.find(&scene.client).await.unwrap();
    assert_eq!(found, scene.address());
    sender.keep_found(&found).unwrap();
    assert_eq!(sender.known(&read).unwrap(), Some(scene.address()));
    // A short address of a contact is accepted, too.
    let other = Home::new(scene.dir.path().join("other"));
    other.add_contact("ann", &scene.address()).unwrap();
    assert_eq!(other.known(&read).unwrap(), Some(scene.address()));
    assert_eq!(scene.fake.count("FindAddress"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lying_server_is_refused() {
    let scene = Scene::new(8).await;
    let (short, _) = publish(&scene.identity, &scene.client).await.unwrap();
    let lies: [fn(&mut Address); 8] = [
        |address| address.sealing = 0,
        |address| address.server = "https://evil.example".into(),
        |address| address.bound += 1,
        |address| address.parts += 1,
        // A server cannot say that letters of somebody else are from this recipient.
        |address| address.verifying_key = vec![7; 32].into(),
        |address| address.verifying_key.clear(),
        |address| address.period_keys.clear(),
        |address| {
            let mut key = address.clue_key.to_vec();
            *key.last_mut().unwrap() ^= 1;
            address.clue_key = key.into();
        },
    ];
    for lie in lies {
        let honest = scene.fake.with(|state| state.addresses.clone());
        scene
            .fake
            .with(|state| state.addresses.values_mut().for_each(lie));
        let error = short.find(&scene.client).await.unwrap_err();
        assert!(matches!(error, MailError::OtherAddress(_)), "{error}");
        assert!(error.to_string().contains("refused"), "{error}");
        scene.fake.with(|state| state.addresses = honest);
    }
    // Keys of periods are signed.
    let honest = scene.fake.with(|state| state.addresses.clone());
    scene.fake.with(|state| {
        state.addresses.values_mut().for_each(|address| {
            let mut keys = address.period_keys.to_vec();
            keys[40] ^= 1;
            address.period_keys = keys.into();
        });
    });
    let error = short.find(&scene.client).await.unwrap_err();
    assert!(matches!(error, MailError::Period(_)), "{error}");
    scene.fake.with(|state| state.addresses = honest);
    // The tag is valid only in its low bits.
    scene.fake.with(|state| {
        state
            .addresses
            .values_mut()
            .for_each(|address| address.sealing += 256);
    });
    assert!(short.find(&scene.client).await.is_err());
    scene.fake.with(|state| state.addresses.clear());
    let error = short.find(&scene.client).await.unwrap_err();
    assert!(matches!(error, MailError::NotPublished(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_published_again_when_a_third_of_the_time_is_over() {
    let scene = Scene::new(8).await;
    let again = || publish_again(&scene.identity, &scene.client);
    assert_eq!(again().await.unwrap(), None);
    assert_eq!(scene.fake.count("PublishAddress"), 0);
    publish(&scene.identity, &scene.client).await.unwrap();
    assert_eq!(again().await.unwrap(), None);
    assert_eq!(scene.fake.count("PublishAddress"), 1);
    let file = scene.identity.home.path("published");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut noted: serde_json::Value = serde_json::from_str(&text).unwrap();
    noted["at"] = (noted["at"].as_u64().unwrap() - 30).into();
    std::fs::write(&file, noted.to_string()).unwrap();
    assert_eq!(again().await.unwrap(), None);
    assert_eq!(scene.fake.count("PublishAddress"), 2);
    // At another server the short address is another.
    let mut server = scene.identity.home.server().unwrap();
    let before = ShortAddress::of(&scene.address());
    server.url = server.url.replace("127.0.0.1", "localhost");
    scene.identity.home.set_server(&server).unwrap();
    let now = again().await.unwrap();
    assert_eq!(now, Some(ShortAddress::of(&scene.address())));
    assert_ne!(now, Some(before));
}
