//! Letters that are sealed to keys of periods.

use crate::common::{PARAMS, Scene, wanted};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use omr_client::letter::Writer;
use omr_client::{Words, os_rng};
use omr_mail::{
    Address, Home, Identity, Inbox, Letter, MailError, Mailbox, Reader, Rules, board_place, collect,
};
use omr_protocol::periods::period_at;
use omr_protocol::{ClueKey, ParamSet, Sealing};
use omr_remote::v1::Message;
use std::time::{SystemTime, UNIX_EPOCH};

const SEALING: Sealing = Sealing::HpkeX25519;

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs()
}

/// Returns the first period whose secrets a complete fetch keeps.
fn kept() -> u32 {
    period_at(now() - 7 * 86_400)
}

/// Posts a letter that is sealed to the key of a period of the words; its content is the number and `text`.
async fn post(scene: &Scene, words: &Words, period: u32, text: &str) {
    let set = ParamSet::named(PARAMS).unwrap();
    let secret = scene.identity.secret(&set).unwrap();
    let keys = words.periods(set.clue(), wanted().clues);
    let keys = keys.keys(&secret, SEALING, period, 1);
    let place = board_place(&scene.client.board().await.unwrap()).unwrap();
    let to = ClueKey::from_bytes(set.clue(), &scene.address().clue_key).unwrap();
    let writer = Writer::new(set.clue(), &to, place).unwrap();
    let writer = writer.in_period(&keys, period).unwrap();
    let parts = writer.parts(format!("{period} {text}").as_bytes(), &mut os_rng());
    let written = writer.message(&mut os_rng(), &parts.unwrap()[0]).unwrap();
    let message = Message {
        clue: written.clue.into(),
        payload: written.payload.into(),
    };
    scene.client.post(vec![message]).await.unwrap();
}

/// Returns the periods of the letters that end with `text`.
fn letters(scene: &Scene, inbox: &Inbox, text: &str) -> Vec<u32> {
    let all = scene.contents(inbox).into_iter();
    let texts = all.map(|body| String::from_utf8(body).unwrap());
    let ours = texts.filter_map(|body| body.strip_suffix(text)?.trim().parse().ok());
    let mut periods: Vec<u32> = ours.collect();
    periods.sort_unstable();
    periods
}

async fn of_words() -> (Scene, Words) {
    let words = Words::generate(&mut os_rng());
    let scene = Scene::of_words(&wanted(), Some(&words)).await;
    scene.fake.with(|state| state.board.time = now());
    (scene, words)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_fetch_ends_past_periods() {
    let (scene, words) = of_words().await;
    let present = period_at(now());
    let inbox = scene.inbox();
    let reader = Reader::new(&scene.identity).unwrap();
    let fetch = async || {
        scene.collect(&scene.client, &inbox).await.unwrap();
        inbox.take_in(&reader).unwrap();
    };
    for period in 0..=present {
        post(&scene, &words, period, "first").await;
    }
    // A recipient from words reads letters of all periods.
    fetch().await;
    let all: Vec<u32> = (0..=present).collect();
    assert_eq!(letters(&scene, &inbox, "first"), all);
    // Later ones to past periods do not open: neither with this reader, nor with what is on the disk.
    for period in 0..=present {
        post(&scene, &words, period, "second").await;
    }
    fetch().await;
    let left: Vec<u32> = (kept()..=present).collect();
    assert_eq!(letters(&scene, &inbox, "second"), left);
    for period in 0..=present {
        post(&scene, &words, period, "third").await;
    }
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(letters(&scene, &inbox, "third"), left);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_until_everything_has_come() {
    let (scene, words) = of_words().await;
    let inbox = scene.inbox();
    post(&scene, &words, 0, "first").await;
    // The digest is collected and not decoded: a second device, or the next run, does that.
    scene.collect(&scene.client, &inbox).await.unwrap();
    let copy = tempfile::tempdir().unwrap();
    let exported = scene.identity.export().unwrap();
    let home = Home::new(copy.path().join("home"));
    let moved = home.import(&exported).unwrap();
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(letters(&scene, &inbox, "first"), [0]);
    // The copy was made before the secrets were deleted.
    let theirs = Inbox::open(&moved.home).unwrap();
    theirs.take_in(&Reader::new(&moved).unwrap()).unwrap();
    assert_eq!(letters(&scene, &theirs, "first"), [0]);
    // A server that states no time ends no period.
    let (scene, words) = of_words().await;
    scene.fake.with(|state| state.board.time = 0);
    let inbox = scene.inbox();
    for text in ["first", "second"] {
        post(&scene, &words, 0, text).await;
        scene.fetch(&inbox).await.unwrap();
        assert_eq!(letters(&scene, &inbox, text), [0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_that_differ_are_noticed_before_anything_is_lost() {
    let (scene, words) = of_words().await;
    post(&scene, &words, 0, "first").await;
    let inbox = scene.inbox();
    for time in [now() - 60_000, now() + 60_000, 1] {
        scene.fake.with(|state| state.board.time = time);
        let fetched = scene.fetch(&inbox).await;
        assert!(matches!(fetched, Err(MailError::Clock(_))), "{fetched:?}");
        let letters = [Letter::from(b"hello".to_vec())];
        let (to, rules) = (scene.address(), Rules::default());
        let sent = omr_mail::send(&scene.client, &to, &letters, &rules);
        let error = sent.await.unwrap_err();
        assert!(
            error.to_string().contains("found a difference of"),
            "{error}"
        );
    }
    assert_eq!(scene.client.board().await.unwrap().messages, 1);
    scene.fake.with(|state| state.board.time = now() - 1000);
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(letters(&scene, &inbox, "first"), [0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_are_sealed_to_the_present_period() {
    let scene = Scene::of(&wanted()).await;
    let address = scene.address();
    let keys = address.period_keys.as_ref().unwrap();
    let present = period_at(now());
    assert!(keys.first() == present && keys.end() == present + 24);
    scene.write(&[b"hello"]).await;
    // The permanent secret alone does not open it.
    let file = scene.identity.home.dir().join("periods.key");
    let secrets = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let missing = Reader::new(&scene.identity).err().unwrap();
    assert!(matches!(missing, MailError::Keys(..)), "{missing}");
    let mut without = Identity::open(&scene.identity.home).unwrap();
    without.profile.periods = None;
    let inbox = scene.inbox();
    let reader = Reader::new(&without).unwrap();
    let collected = collect(&scene.client, &without, &inbox, &reader, |_| {}).await;
    collected.unwrap();
    inbox.take_in(&reader).unwrap();
    assert!(scene.contents(&inbox).is_empty());
    drop(inbox);
    // With them it does. A damaged file is an error.
    let mut damaged = secrets.clone();
    damaged[20] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    assert!(Reader::new(&scene.identity).is_err());
    std::fs::write(&file, secrets).unwrap();
    let inbox = scene.inbox();
    scene.write(&[b"again"]).await;
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [b"again"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_renewed_and_the_address_keeps_its_name() {
    let (scene, words) = of_words().await;
    let set = ParamSet::named(PARAMS).unwrap();
    let secret = scene.identity.secret(&set).unwrap();
    let periods = words.periods(set.clue(), wanted().clues);
    let present = period_at(now());
    let with = |count| {
        let mut identity = Identity::open(&scene.identity.home).unwrap();
        let list = periods.keys(&secret, SEALING, present, count);
        identity.profile.periods = Some(STANDARD.encode(list.to_bytes()));
        identity.save().unwrap();
        let before = identity.address().unwrap();
        let mailbox = Mailbox::open(identity).unwrap();
        let after = Identity::open(&scene.identity.home).unwrap().address();
        assert_eq!(
            mailbox.identity.address().unwrap(),
            *after.as_ref().unwrap()
        );
        let ends = |address: &Address| address.period_keys.as_ref().unwrap().end();
        let after = after.unwrap();
        assert_eq!(after.fingerprint(), before.fingerprint());
        (ends(&before), ends(&after))
    };
    assert_eq!(with(12), (present + 12, present + 12));
    assert_eq!(with(11), (present + 11, present + 24));
    assert_eq!(with(0), (present, present + 24));
}
