//! A damaged inbox is reported, never listed wrong, and fetched again.

use crate::common::{Scene, database, wanted};
use omr_client::os_rng;
use omr_mail::{Home, Identity, Inbox, Kept, Listed, MailError, MailErrorKind};
use rand_core::Rng;
use std::path::Path;

type Shown = (Vec<Listed>, Vec<Vec<u8>>, Vec<Kept>);

fn shown(home: &Home) -> Result<Shown, MailError> {
    let inbox = Inbox::open(home)?;
    let list = inbox.list(true)?;
    let bodies: Result<_, _> = list.iter().map(|entry| inbox.body(entry.number)).collect();
    inbox.leftovers()?;
    inbox.audit()?;
    Ok((list, bodies?, inbox.kept()?))
}

/// The number of bytes before the database in the file of an inbox.
const HEAD: usize = 4096;

/// Damages a file in one of six ways, where it has content.
fn damage(file: &mut Vec<u8>, kind: usize, rng: &mut impl Rng) {
    let mut below = |n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
    let mut live = below(file.len());
    while file[live] == 0 {
        live = below(file.len());
    }
    match kind {
        0 => file[live] ^= 1 << below(8),
        1 => file.truncate(live),
        2 => file.extend((0..=below(9000)).map(|i| i as u8)),
        3 => {
            let end = file.len().min(live + 1 + below(5000));
            file[live..end].fill(0);
        }
        // The database's header determines which of its two states counts.
        4 => {
            let at = HEAD + below(320);
            file[at] ^= 1 << below(8);
        }
        _ => {
            let end = file.len().min(live + 64);
            file[live..end]
                .iter_mut()
                .for_each(|byte| *byte = below(256) as u8);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_damaged_copies_list_right_or_say_so() {
    let scene = Scene::new(4).await;
    {
        let inbox = scene.inbox();
        for _ in 0..2 {
            scene.write(&[b"short", &[7; 250]]).await;
            scene.fetch(&inbox).await.unwrap();
        }
        for i in 0..6 {
            scene.write(&[format!("letter {i}").as_bytes()]).await;
        }
        scene.fetch(&inbox).await.unwrap();
        inbox.mark_read(&[1]).unwrap();
    }
    let right = shown(&scene.identity.home).unwrap();
    assert_eq!((right.0.len(), right.2.len()), (4, 1));
    let file = std::fs::read(scene.identity.home.path("inbox.redb")).unwrap();

    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path());
    std::fs::copy(
        scene.identity.home.path("secret.key"),
        home.path("secret.key"),
    )
    .unwrap();
    let (mut rng, mut refused) = (os_rng(), 0);
    for case in 0..200 {
        let mut copy = file.clone();
        damage(&mut copy, case % 6, &mut rng);
        std::fs::write(home.path("inbox.redb"), copy).unwrap();
        // A panic of the database that is not caught ends the test here.
        match shown(&home) {
            Ok(found) => assert_eq!(found, right, "case {case}"),
            Err(MailError::Damaged(_) | MailError::OtherInbox(_)) => refused += 1,
            Err(error) => panic!("case {case}: {error:?}"),
        }
    }
    assert!(refused > 40, "{refused} of 200 were told");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_inbox_is_fetched_again() {
    let scene = Scene::new(4).await;
    scene.write(&[b"one", b"two"]).await;
    let inbox = scene.inbox();
    scene.fetch(&inbox).await.unwrap();
    let home = &scene.identity.home;
    assert!(matches!(Inbox::rebuild(home, 0), Err(MailError::Busy)));
    drop(inbox);
    let path = home.path("inbox.redb");
    let mut file = std::fs::read(&path).unwrap();
    let end = file.len() / 2;
    file[4096..end].fill(0);
    std::fs::write(&path, &file).unwrap();
    assert!(matches!(Inbox::open(home), Err(MailError::Damaged(_))));
    let aside = Inbox::rebuild(home, 0).unwrap().unwrap();
    assert_eq!(std::fs::read(&aside).unwrap().len(), file.len());
    scene.write(&[b"three"]).await;
    let inbox = scene.inbox();
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [&b"one"[..], b"three", b"two"]);
    drop(inbox);
    std::fs::write(&path, b"").unwrap();
    assert!(matches!(Inbox::open(home), Err(MailError::Damaged(_))));
    let second = Inbox::rebuild(home, 2).unwrap().unwrap();
    assert_ne!(aside, second);
    let inbox = scene.inbox();
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [b"three"]);
    assert!(Path::new(&aside).exists());
}

#[test]
fn an_inbox_of_another_version_is_refused_and_put_aside() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path());
    Identity::create(&home, &wanted()).unwrap();
    let path = home.path("inbox.redb");
    // A file that states no version, and one of a version that this program does not read.
    for (stated, found) in [(None, 0), (Some(7), 7)] {
        let other = database(&home);
        let tx = other.begin_write().unwrap();
        let records = redb::TableDefinition::<&str, u64>::new("state");
        tx.open_table(records).unwrap();
        if let Some(version) = stated {
            let format = redb::TableDefinition::<(), u32>::new("format");
            tx.open_table(format).unwrap().insert((), version).unwrap();
        }
        tx.commit().unwrap();
        drop(other);
        for open in [Inbox::open, Inbox::beside] {
            let error = open(&home).err().unwrap();
            assert_eq!(error.kind(), MailErrorKind::Inbox, "{error}");
            let versions = format!("found format version {found}, this one reads 1");
            assert!(error.to_string().contains(&versions), "{error}");
        }
        let aside = Inbox::rebuild(&home, 3).unwrap().unwrap();
        assert!(aside.exists());
        let inbox = Inbox::open(&home).unwrap();
        assert_eq!(inbox.requests().cursor().unwrap(), 3);
        drop(inbox);
        std::fs::remove_file(&path).unwrap();
    }
}
