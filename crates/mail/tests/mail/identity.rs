//! A new identity replaces no key, and makes no request that cannot be served.

use crate::common::{PARAMS, Scene, wanted};
use omr_client::{Words, instantomr, os_rng};
use omr_mail::{
    Home, Identity, Inbox, MailError, MailErrorKind, NewIdentity, check_bound, check_limits,
    register,
};
use omr_protocol::{ClueKind, ParamSet, Scheme};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// No keys are made for an unknown set.
#[test]
fn no_new_identity_of_an_unknown_set() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("alice"));
    let new = NewIdentity {
        params: "instantomr-v1".into(),
        ..wanted()
    };
    let error = Identity::create(&home, &new).unwrap_err();
    assert!(
        error.to_string().contains("found \"instantomr-v1\""),
        "{error}"
    );
    assert!(!home.dir().exists());
}

/// Writes the files of `omr keygen` into a folder.
fn keygen(dir: &Path, clues: ClueKind) {
    let set = ParamSet::named(PARAMS).unwrap();
    fs::create_dir_all(dir).unwrap();
    let (secret, clue) = omr_client::identity(set.clue(), clues, &mut os_rng());
    fs::write(dir.join("secret.key"), secret.to_bytes(set.clue()).unwrap()).unwrap();
    fs::write(dir.join("clue.key"), clue.to_bytes(set.clue()).unwrap()).unwrap();
    let params = set.instantomr().unwrap();
    let key = instantomr::detection_key(params, &secret, &mut os_rng()).unwrap();
    let file = fs::File::create(dir.join("instant.key")).unwrap();
    key.write(params, file).unwrap();
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    let read = |entry: fs::DirEntry| (name(&entry), fs::read(entry.path()).unwrap());
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| read(entry.unwrap())).collect()
}

#[test]
fn keys_that_are_here_become_the_identity_or_stay() {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| Home::new(dir.path().join(name));
    let made = |name: &str, clues| {
        let home = folder(name);
        assert!(!home.has_keys());
        keygen(home.dir(), clues);
        assert!(home.has_keys());
        home
    };

    let home = made("alice", ClueKind::Bound);
    let before = files(home.dir());
    let identity = Identity::create(&home, &wanted()).unwrap();
    let mut after = files(home.dir());
    assert!(after.remove("identity").is_some());
    assert_eq!(after, before);
    assert_eq!(identity.clue_key_bytes().unwrap(), before["clue.key"]);
    let again = Identity::create(&home, &wanted()).unwrap_err();
    assert!(matches!(again, MailError::Exists(_)));
    assert_eq!(again.kind(), MailErrorKind::Exists);

    // Keys that an interrupted attempt did not make are made.
    for missing in [
        &["instant.key"][..],
        &["clue.key"],
        &["clue.key", "instant.key"],
    ] {
        let name = missing.concat();
        let home = made(&name, ClueKind::Bound);
        let before = files(home.dir());
        for file in missing {
            fs::remove_file(home.path(file)).unwrap();
        }
        Identity::create(&home, &wanted()).unwrap();
        let after = files(home.dir());
        for file in ["secret.key", "clue.key"] {
            assert_eq!(after[file], before[file]);
        }
        assert!(after.contains_key("instant.key"));
    }
}

#[test]
fn words_make_the_same_identity_in_any_folder() {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| Home::new(dir.path().join(name));
    let words = Words::generate(&mut os_rng());
    let new = NewIdentity {
        scheme: Some(Scheme::Hybrid),
        ..wanted()
    };
    let first = Identity::of_words(&folder("first"), &new, &words).unwrap();
    let mut made = files(first.home.dir());
    assert_eq!(
        made.keys().collect::<Vec<_>>(),
        [
            "clue.key",
            "detection.key",
            "identity",
            "instant.key",
            "periods.key",
            "secret.key"
        ]
    );
    // Its encryption is random.
    made.remove("periods.key");
    let unchanged = |identity: &Identity| {
        let mut files = files(identity.home.dir());
        files.remove("periods.key").is_some() && files == made
    };
    let second = Identity::of_words(&folder("second"), &new, &words).unwrap();
    assert!(unchanged(&second));
    assert_eq!(first.address().unwrap(), second.address().unwrap());
    // An interrupted attempt is completed, by the same words alone.
    for missing in ["identity", "instant.key", "clue.key", "periods.key"] {
        fs::remove_file(second.home.path(missing)).unwrap();
    }
    let left = files(second.home.dir());
    let others = Words::generate(&mut os_rng());
    let error = Identity::of_words(&second.home, &new, &others).unwrap_err();
    assert!(
        error.to_string().contains("expected that of the words"),
        "{error}"
    );
    assert!(files(second.home.dir()) == left);
    Identity::of_words(&second.home, &new, &words).unwrap();
    assert!(unchanged(&second));
}

#[test]
fn a_birthday_is_where_the_first_fetch_begins() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("ann"));
    let words = Words::generate(&mut os_rng());
    let mut ann = Identity::of_words(&home, &wanted(), &words).unwrap();
    ann.born_at(300).unwrap();
    assert_eq!(Identity::open(&home).unwrap().profile.begins, 300);
    let inbox = Inbox::open(&home).unwrap();
    assert_eq!(inbox.requests().cursor().unwrap(), 300);
}

#[test]
fn keys_that_do_not_fit_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    keygen(&dir.path().join("other"), ClueKind::Bound);
    let other = Home::new(dir.path().join("other"));
    let mut number = 0;
    let mut refused = |clues, spoil: &dyn Fn(&Home), new: NewIdentity, text: &str| {
        number += 1;
        let home = Home::new(dir.path().join(number.to_string()));
        keygen(home.dir(), clues);
        spoil(&home);
        let before = files(home.dir());
        let error = Identity::create(&home, &new).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(files(home.dir()), before);
    };
    let nothing = |_: &Home| ();
    let elsewhere = NewIdentity {
        params: "insecure-tiny-v4".into(),
        scheme: None,
        ..wanted()
    };
    refused(
        ClueKind::Bound,
        &nothing,
        elsewhere,
        "found one of insecure-tiny-hybrid-v4",
    );
    refused(
        ClueKind::Plain,
        &nothing,
        wanted(),
        "found one for plain clues",
    );
    let remove = |name: &'static str| move |home: &Home| fs::remove_file(home.path(name)).unwrap();
    refused(
        ClueKind::Bound,
        &remove("secret.key"),
        wanted(),
        "clue.key: found none",
    );
    let plain = NewIdentity {
        clues: ClueKind::Plain,
        ..wanted()
    };
    // The address of plain clues cannot be derived from the secret.
    refused(
        ClueKind::Plain,
        &remove("clue.key"),
        plain,
        "secret.key: found none",
    );
    for name in ["clue.key", "instant.key"] {
        let exchange = |home: &Home| {
            fs::copy(other.path(name), home.path(name)).unwrap();
        };
        refused(ClueKind::Bound, &exchange, wanted(), name);
    }
    let cut = |home: &Home| {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(home.path("instant.key"));
        file.unwrap().set_len(100_000).unwrap();
    };
    refused(ClueKind::Bound, &cut, wanted(), "found 100000 of its");
    let damage = |home: &Home| fs::write(home.path("secret.key"), b"OMRF").unwrap();
    refused(ClueKind::Bound, &damage, wanted(), "");
}

#[test]
fn a_bound_that_is_not_served_is_refused_before_keys_are_made() {
    let dir = tempfile::tempdir().unwrap();
    let set = ParamSet::named(PARAMS).unwrap();
    for scheme in [None, Some(Scheme::Instantomr), Some(Scheme::Sophomr)] {
        let most = set.spec().largest_bound(scheme.unwrap_or(Scheme::Hybrid));
        let most = most.unwrap() as u32;
        assert!(check_bound(&set, scheme, most).is_ok());
        for bound in [0, most + 1] {
            let home = Home::new(dir.path().join("alice"));
            let new = NewIdentity {
                scheme,
                bound,
                ..wanted()
            };
            let refused = Identity::create(&home, &new);
            assert!(
                matches!(refused, Err(MailError::Plan(_))),
                "{scheme:?} {bound}"
            );
            assert!(!home.dir().exists());
        }
    }
    let limits = |bound| omr_remote::v1::Limits {
        bound,
        ..Default::default()
    };
    assert!(check_limits(&limits(50), 50, false).is_ok());
    let refused = check_limits(&limits(49), 50, false).unwrap_err();
    assert!(
        refused.to_string().contains("at most 49, found 50"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_limit_is_lower_gets_no_key() {
    let mut scene = Scene::new(4).await;
    scene.fake.with(|state| state.limits.bound = 3);
    let calls = scene.fake.count("BeginUpload");
    // A new connection is needed: limits are requested once per connection.
    let refused = register(&mut scene.identity, &scene.fake.client(), |_, _, _| {}).await;
    assert!(
        matches!(
            refused,
            Err(MailError::ServerBound {
                most: 3,
                found: 4,
                fixed: true
            })
        ),
        "{refused:?}"
    );
    assert_eq!(scene.fake.count("BeginUpload"), calls);
}
