//! A rotation that is interrupted at any moment is completed, and no key is lost on the way.

use crate::common::{copy, wanted};
use omr_mail::{Home, Identity, Inbox};
use std::fs;

fn identity(home: &Home) -> Identity {
    let identity = Identity::create(home, &wanted()).unwrap();
    drop(Inbox::open(home).unwrap());
    identity
}

#[test]
fn an_interrupted_switch_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let made = Home::new(dir.path().join("made"));
    let old = identity(&made).address().unwrap();
    let new = identity(&made.next()).address().unwrap();
    assert_ne!(old, new);
    let files = [
        "identity",
        "secret.key",
        "clue.key",
        "instant.key",
        "inbox.redb",
    ];

    // The switch is decided and then interrupted: before the old keys were moved, during that, and after each further
    // step.
    for step in 0..files.len() + 3 {
        let home = Home::new(dir.path().join(step.to_string()));
        copy(made.dir(), home.dir());
        fs::write(home.path("next/ready"), "2026-11-23").unwrap();
        if step == 1 {
            fs::create_dir_all(home.path("retired/.omr-2026-11-23")).unwrap();
            let begun = home.path("retired/.omr-2026-11-23/secret.key");
            fs::copy(home.path("secret.key"), begun).unwrap();
        }
        if step >= 2 {
            let place = home.path("retired/2026-11-23");
            fs::create_dir_all(&place).unwrap();
            for name in files {
                fs::hard_link(home.path(name), place.join(name)).unwrap();
            }
        }
        for name in files.iter().take(step.saturating_sub(2)) {
            fs::rename(home.path("next").join(name), home.path(name)).unwrap();
        }
        let now = Identity::open(&home).unwrap();
        assert_eq!(now.address().unwrap(), new, "step {step}");
        assert!(!home.path("next").exists(), "step {step}");
        let retired = home.retired().unwrap();
        let [(name, theirs)] = &retired[..] else {
            panic!("step {step}: {retired:?}");
        };
        assert_eq!(name, "2026-11-23");
        let theirs = Identity::open(theirs).unwrap();
        assert_eq!(theirs.address().unwrap(), old, "step {step}");
        for (identity, from) in [(&now, made.next()), (&theirs, made.clone())] {
            for name in files {
                let kept = fs::read(identity.home.path(name)).unwrap();
                assert!(
                    kept == fs::read(from.path(name)).unwrap(),
                    "step {step}: {name}"
                );
            }
            drop(Inbox::open(&identity.home).unwrap());
        }
    }
}

#[test]
fn a_name_is_taken_once() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("ann"));
    identity(&home);
    for expected in ["2026-11-23", "2026-11-23-2", "2026-11-23-3"] {
        identity(&home.next());
        assert_eq!(home.replace("2026-11-23").unwrap(), expected);
    }
    // Without a next identity no keys are replaced.
    assert!(home.replace("2026-11-23").is_err());
    assert_eq!(home.retired().unwrap().len(), 3);
    home.forget("2026-11-23-2").unwrap();
    let names: Vec<String> = home
        .retired()
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["2026-11-23", "2026-11-23-3"]);
    assert!(home.forget("2026-11-23-2").is_err());
}

#[test]
fn remains_of_a_crash_in_retired_are_removed_by_the_next_process() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("ann"));
    identity(&home);
    let begun = home.path("retired/.omr-2026-11-23");
    fs::create_dir_all(&begun).unwrap();
    fs::copy(home.path("secret.key"), begun.join("secret.key")).unwrap();
    let others = home.path("retired/.snapshots");
    fs::create_dir(&others).unwrap();

    // The test waits for a process that holds the lock.
    let lock = fs::File::create(home.path("retired.lock")).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| Identity::open(&home));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(begun.join("secret.key").exists());
        lock.unlock().unwrap();
        opened.join().unwrap().unwrap();
    });
    assert!(!begun.exists());
    assert!(others.exists());
    assert_eq!(home.retired().unwrap().len(), 0);
}

#[test]
fn an_identity_without_an_inbox_does_not_take_over_that_of_the_one_it_replaces() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("ann"));
    identity(&home);
    Inbox::open(&home).unwrap().begin_at(7, None).unwrap();
    Identity::create(&home.next(), &wanted()).unwrap();
    let name = home.replace("2026-11-23").unwrap();
    let retired = home.retired_home(&name).unwrap();
    for (home, cursor) in [(&home, 0), (&retired, 7)] {
        let inbox = Inbox::open(home).unwrap();
        assert_eq!(inbox.requests().cursor().unwrap(), cursor);
    }
}
