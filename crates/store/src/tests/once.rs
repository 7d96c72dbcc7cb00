//! One message for each key of a board of bound clues.

use omr_errors::Mismatch;
use redb::Database;

use super::disk::Disk;
use super::{Simulated, all, append, board, check_content, message, plain_store, post, sealed};
use crate::format::ONCE;
use crate::{
    Clues, Evidence, META_FILE, Message, Post, Refusal, Store, StoreConfig, StoreError, UsedKey,
};

/// Returns message `index` with the key of message `of`.
fn with_key(index: u64, of: u64) -> Message {
    let mut out = message(index);
    let at = out.clue.len() - 96..out.clue.len() - 64;
    out.clue[at.clone()].copy_from_slice(&message(of).clue[at]);
    out
}

fn single(id: u8, messages: Vec<Message>) -> Post {
    Post::new([id; 16], String::new(), messages)
}

#[test]
fn a_used_key_is_refused_with_all_of_its_post_and_no_other() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..9).unwrap();
    store.seal().unwrap();
    let posts = [
        single(1, vec![message(9)]),
        // Message 10 is refused together with the message that has the key of message 3, which is in a segment by now.
        single(2, vec![message(10), with_key(11, 3)]),
        // The key of message 10 is therefore free for the next post, and used for the one after that.
        single(3, vec![message(10)]),
        single(4, vec![message(12), with_key(13, 10)]),
        // One key occurs twice in one post.
        single(5, vec![message(14), message(15), with_key(16, 14)]),
        single(1, vec![message(9)]),
        // All used keys are named, not only the first.
        single(
            6,
            vec![message(0), message(17), message(4), with_key(18, 17)],
        ),
    ];
    let appended = store.append(&posts).unwrap();
    let outcomes: Vec<_> = appended
        .iter()
        .map(|one| match one {
            Ok(done) => Ok((done.range.clone(), done.repeated)),
            Err(refusal) => Err(places(refusal)),
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            Ok((9..10, false)),
            Err(vec![(1, 3)]),
            Ok((10..11, false)),
            Err(vec![(1, 10)]),
            Err(vec![(2, 11)]),
            Ok((9..10, true)),
            Err(vec![(0, 0), (2, 4), (3, 12)]),
        ]
    );
    assert_eq!(store.len(), 11);
    // The refused posts left nothing, not even their ids.
    append(&store, 11..20).unwrap();
    check_content(&store).unwrap();
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
    let text = appended[3].as_ref().unwrap_err().to_string();
    assert!(
        text.starts_with("message 1 of the post") && text.ends_with("message 10"),
        "{text}"
    );
}

/// Returns the positions of the messages with used keys, and the messages that have them.
fn places(refusal: &Refusal) -> Vec<(usize, u64)> {
    let Refusal::UsedKeys(keys) = refusal else {
        panic!("{refusal}");
    };
    let place = |used: &UsedKey| (used.position, used.index);
    keys.iter().map(place).collect()
}

#[test]
fn an_id_is_of_one_account_and_one_content() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    let first = single(1, vec![message(0), message(1)]);
    let by = |account: &str| Post {
        account: account.into(),
        ..first.clone()
    };
    let posts = [
        first.clone(),
        single(1, vec![message(2), message(3)]),
        single(1, vec![message(0)]),
        by("somebody"),
        first.clone(),
    ];
    let check = |store: &Store, from: usize| {
        for (at, one) in store.append(&posts).unwrap().into_iter().enumerate() {
            match at {
                0 | 4 => {
                    let done = one.unwrap();
                    assert_eq!((done.range, done.repeated), (0..2, at >= from));
                }
                _ => assert_eq!(one, Err(Refusal::OtherPost), "post {at}"),
            }
        }
        assert_eq!(store.len(), 2);
    };
    check(&store, 4);
    drop(store);
    // Ids are recognised after the store is opened again, too.
    check(&simulated.open().unwrap(), 0);
}

#[test]
fn a_call_of_refused_posts_changes_nothing() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..3).unwrap();
    let sequence = || store.inner().meta.view(|view| Ok(view.state()?.sequence));
    let before = sequence().unwrap();
    assert!(store.append(&[single(1, vec![message(1)])]).unwrap()[0].is_err());
    assert_eq!((store.len(), sequence().unwrap()), (3, before));
    append(&store, 3..5).unwrap();
}

#[test]
fn plain_clues_have_no_keys() {
    let dir = tempfile::tempdir().unwrap();
    let store = plain_store(&dir);
    all(&store, &[single(1, vec![message(0), message(0)])]).unwrap();
    assert!(!store.index_keys(&mut |_, _| {}).unwrap());
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
}

/// Creates a store of 30 messages, 24 of them in segments, and changes its meta file.
fn tampered(dir: &tempfile::TempDir, change: impl FnOnce(&Database)) -> (StoreConfig, Store) {
    let (config, store) = sealed(dir);
    drop(store);
    change(&Database::open(config.dir.join(META_FILE)).unwrap());
    let store = Store::open(&config).unwrap();
    (config, store)
}

/// A change of a meta file.
type Change<'a> = &'a dyn Fn(&redb::WriteTransaction);

fn key(index: u64) -> Vec<u8> {
    let clue = message(index).clue;
    Clues::Bound.post_key(&clue).unwrap().to_vec()
}

fn edit(database: &Database, change: impl FnOnce(&redb::WriteTransaction)) {
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

#[test]
fn a_lost_list_is_made_anew_from_the_messages() {
    let lose_one = |transaction: &redb::WriteTransaction| {
        let mut table = transaction.open_table(ONCE).unwrap();
        table.remove(key(2).as_slice()).unwrap();
    };
    let lose_all = |transaction: &redb::WriteTransaction| {
        transaction.delete_table(ONCE).unwrap();
        transaction.open_table(ONCE).unwrap();
    };
    let losses: [(Change, u64); 2] = [(&lose_one, 29), (&lose_all, 0)];
    for (lose, left) in losses {
        let dir = tempfile::tempdir().unwrap();
        let (_, store) = tampered(&dir, |database| edit(database, lose));
        let lacks = |error: &StoreError| matches!(error, StoreError::KeyCount(Mismatch { expected: 30, found }) if *found == left);
        let faults = store.verify(&mut |_, _| {}).unwrap().faults;
        assert!(faults.iter().any(lacks) && faults.len() > 1, "{faults:?}");
        // The list is made again when the server starts, or else by the next append.
        if left == 0 {
            let mut last = (0, 0);
            let mut progress = |done, all| last = (done, all);
            assert!(store.index_keys(&mut progress).unwrap());
            assert_eq!(last, (30, 30));
            assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
        }
        let again = store.append(&[single(1, vec![message(2)])]).unwrap();
        assert_eq!(places(again[0].as_ref().unwrap_err()), [(0, 2)]);
        append(&store, 30..33).unwrap();
        assert!(!store.index_keys(&mut |_, _| {}).unwrap());
    }
}

#[test]
fn a_wrong_row_is_found_and_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let swap = |database: &Database| {
        edit(database, |transaction| {
            let mut table = transaction.open_table(ONCE).unwrap();
            let row = crate::format::seal_row(
                crc32c::crc32c(&board().board_id),
                "once",
                &key(2),
                &9u64.to_le_bytes(),
            );
            table.insert(key(2).as_slice(), row.as_slice()).unwrap();
            // One row of the tail has a wrong checksum as well.
            table
                .insert(key(28).as_slice(), [0; 12].as_slice())
                .unwrap();
        });
    };
    let (_, store) = tampered(&dir, swap);
    let faults = store.verify(&mut |_, _| {}).unwrap().faults;
    assert!(
        matches!(
            &faults[..],
            [
                StoreError::Row {
                    evidence: Mismatch {
                        expected: Evidence::Number(2),
                        found: Evidence::Number(9),
                    },
                    ..
                },
                StoreError::Row {
                    evidence: Mismatch {
                        found: Evidence::Checksum(0),
                        ..
                    },
                    ..
                },
            ]
        ),
        "{faults:?}"
    );
    let report = store.repair(Some(dir.path())).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    assert_eq!(report.repaired, ["one-time keys"]);
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn a_crash_while_the_list_is_made_leaves_it_to_the_next_start() {
    let fresh = Simulated::create();
    let store = fresh.open().unwrap();
    append(&store, 0..30).unwrap();
    store.seal().unwrap();
    store
        .inner()
        .meta
        .transact(|writing, _| {
            writing.clear(ONCE)?;
            Ok(crate::meta::Outcome::Commit(()))
        })
        .unwrap();
    drop(store);
    let bytes = fresh.disk.bytes();
    let again = |disk: Disk| Simulated::on(disk, std::sync::Arc::new(fresh.objects.fork()));
    let whole = again(Disk::from_bytes(bytes.clone()));
    whole.open().unwrap().index_keys(&mut |_, _| {}).unwrap();
    for at in 0..whole.disk.operations() {
        let simulated = again(Disk::from_bytes(bytes.clone()));
        simulated.disk.crash_at(at);
        let _ = simulated
            .open()
            .and_then(|store| store.index_keys(&mut |_, _| {}));
        let survivor = again(simulated.disk.after_crash(&mut || None));
        let store = survivor.open().unwrap();
        store.index_keys(&mut |_, _| {}).unwrap();
        assert!(
            store.verify(&mut |_, _| {}).unwrap().is_sound(),
            "crash at {at}"
        );
        assert!(all(&store, &[post(0..30)]).unwrap()[0].repeated);
    }
}
