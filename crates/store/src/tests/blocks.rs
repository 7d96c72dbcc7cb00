//! Blocks against a vector of blocks: branches, segments, crashes, backups.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::disk::Disk;
use super::{Simulated, TAG, append, back_up, board, config, hash, hash_after, message, post};
use crate::{Block, BlockRefusal, LeftOut, MessageHashes, Refusal, Store, StoreConfig, StoreError};

/// Returns a block of messages of its own: those of numbers from `salt * 1000` on.
fn block(height: u64, parent: [u8; 32], salt: u64, count: u64) -> Block {
    let messages: Vec<_> = (0..count).map(|i| message(salt * 1000 + i)).collect();
    let hashes = messages.iter().map(hash).collect();
    let name = [height.to_le_bytes(), salt.to_le_bytes()].concat();
    Block {
        height,
        hash: *blake3::hash(&[&name[..], &parent].concat()).as_bytes(),
        parent,
        ids: (0..count).map(|i| [(salt + i) as u8; 32]).collect(),
        messages,
        hashes: Some(MessageHashes::new(TAG, hashes)),
    }
}

/// Adds a block with a number of messages to a chain that begins at height 10.
fn extend(chain: &mut Vec<Block>, salt: u64, count: u64) {
    let (height, parent) = match chain.last() {
        Some(tip) => (tip.height + 1, tip.hash),
        None => (10, [9; 32]),
    };
    chain.push(block(height, parent, salt, count));
}

fn chain(counts: &[u64]) -> Vec<Block> {
    let mut chain = Vec::new();
    for (salt, count) in (1..).zip(counts) {
        extend(&mut chain, salt, *count);
    }
    chain
}

/// Asserts that a store has the messages of these blocks and no others.
fn check(store: &Store, blocks: &[Block]) {
    let expected: Vec<_> = blocks.iter().flat_map(|block| &block.messages).collect();
    assert_eq!(store.len(), expected.len() as u64);
    let mut read = Vec::new();
    let first = store.first();
    store
        .read(first..store.len(), &mut |index, clue, payload| {
            let expected = expected[index as usize];
            assert!(
                clue == expected.clue && payload == expected.payload,
                "{index}"
            );
            read.push(index);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(read, (first..store.len()).collect::<Vec<_>>());
    let kept = store.kept_hashes(first..store.len(), TAG).unwrap();
    // Backups leave hashes out.
    for (index, kept) in (first..).zip(kept) {
        let right = kept.is_none_or(|kept| kept == hash(expected[index as usize]));
        assert!(right, "wrong hash of {index}");
    }
    let mut head = crate::chain::root(store.board());
    for (length, message) in (0..).zip(&expected) {
        if length >= first {
            assert_eq!(store.hash_at(length).unwrap(), Some(head), "at {length}");
        }
        head = hash_after(&head, message);
    }
    assert_eq!(store.hash_at(store.len()).unwrap(), Some(head));
    let placed = store.blocks(0..u64::MAX).unwrap();
    let mut next = 0;
    assert_eq!(placed.len(), blocks.len());
    for (placed, block) in placed.iter().zip(blocks) {
        assert_eq!(
            (placed.height, placed.hash, &placed.ids),
            (block.height, block.hash, &block.ids)
        );
        assert_eq!(placed.range, next..next + block.messages.len() as u64);
        next = placed.range.end;
    }
    assert_eq!(store.tip().unwrap().as_ref(), placed.last());
    let report = store.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
}

fn fed(store: &Store, blocks: &[Block]) -> crate::Fed {
    store.feed(blocks).unwrap().unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    /// The numbers of messages in new blocks of one call.
    Extend(Vec<u64>),
    /// The number of blocks that are withdrawn, and the numbers of messages in the blocks of another branch.
    Fork(usize, Vec<u64>),
    Repeat(usize),
    Seal,
    Reopen,
    Restore,
}

fn step() -> impl Strategy<Value = Step> {
    let counts = || prop::collection::vec(0u64..12, 1..5);
    prop_oneof![
        4 => counts().prop_map(Step::Extend),
        3 => (1usize..6, counts()).prop_map(|(back, counts)| Step::Fork(back, counts)),
        1 => (0usize..9).prop_map(Step::Repeat),
        2 => Just(Step::Seal),
        1 => Just(Step::Reopen),
        1 => Just(Step::Restore),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn behaves_as_a_vector_of_blocks(steps in prop::collection::vec(step(), 1..24)) {
        let dir = tempfile::tempdir().unwrap();
        let mut at = StoreConfig { fork_blocks: 3, ..config(&dir) };
        Store::create(&at, &board()).unwrap();
        let mut store = Store::open(&at).unwrap();
        let (mut blocks, mut salt, mut highest): (Vec<Block>, u64, u64) = (Vec::new(), 0, 0);
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Extend(counts) => {
                    let known = blocks.len();
                    for count in &counts {
                        salt += 1;
                        extend(&mut blocks, salt, *count);
                    }
                    // Blocks that are there already may come again before the new ones.
                    let fed = fed(&store, &blocks[known.saturating_sub(2)..]);
                    prop_assert_eq!(fed.appended, counts.len() as u64);
                    prop_assert!(fed.withdrawn.is_empty() && fed.left_out.is_empty());
                }
                Step::Fork(back, counts) => {
                    let kept = blocks.len().saturating_sub(back);
                    let mut other = blocks[..kept].to_vec();
                    for count in counts {
                        salt += 1;
                        extend(&mut other, salt, count);
                    }
                    let before = |blocks: &[Block]| blocks.iter().map(|block| block.messages.len() as u64).sum::<u64>();
                    let history = store.history();
                    let (from, len) = (before(&blocks[..kept]), before(&blocks));
                    let sealed = store.segments().unwrap().last().map_or(0, |segment| segment.end());
                    let is_deep = from < sealed || blocks.len() - kept > 3;
                    if is_deep && kept < blocks.len() {
                        let refusal = store.feed(&other[kept..]).unwrap().unwrap_err();
                        prop_assert!(matches!(refusal, BlockRefusal::Deep(_)), "{}", refusal);
                        // The last blocks of the longest branch can always be withdrawn.
                        prop_assert!(other[kept].height + 3 <= highest);
                    } else {
                        let fed = fed(&store, &other[kept..]);
                        prop_assert_eq!(fed.withdrawn, from..len);
                        // Without a block of the other branch there is none that is withdrawn, and no other history.
                        let is_fork = kept < blocks.len();
                        prop_assert_eq!(store.history() != history, is_fork);
                        prop_assert!(!is_fork || store.history().start == from);
                        blocks = other;
                    }
                }
                Step::Repeat(back) => {
                    let from = blocks.len().saturating_sub(back);
                    let fed = fed(&store, &blocks[from..]);
                    prop_assert_eq!((fed.appended, fed.withdrawn.is_empty()), (0, true));
                }
                Step::Seal => {
                    store.seal().unwrap();
                }
                Step::Reopen => {
                    drop(store);
                    store = Store::open(&at).unwrap();
                }
                Step::Restore => {
                    let folder = dir.path().join(format!("backup-{number}"));
                    back_up(&store, &folder).unwrap();
                    drop(store);
                    at.dir = dir.path().join(format!("restored-{number}"));
                    Store::restore(&at, &folder, &mut |_, _| {}).unwrap();
                    store = Store::open(&at).unwrap();
                }
            }
            check(&store, &blocks);
            highest = highest.max(blocks.last().map_or(0, |tip| tip.height));
        }
    }
}

#[test]
fn blocks_that_do_not_fit_change_nothing() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    let own = chain(&[3, 0, 2, 4]);
    fed(&store, &own[..3]);
    let refused = |blocks: &[Block]| store.feed(blocks).unwrap().unwrap_err().to_string();
    let after = block(20, own[2].hash, 50, 1);
    assert_eq!(
        refused(&[after]),
        "expected the block at height 13, found one at 20"
    );
    let early = block(4, [1; 32], 51, 1);
    assert_eq!(
        refused(&[early]),
        "expected the block at height 13, found one at 4"
    );
    let stranger = block(13, [1; 32], 52, 1);
    let text = refused(&[stranger]);
    assert!(
        text.starts_with("block 13: expected the parent ") && text.ends_with("from the fork on"),
        "{text}"
    );
    let text = refused(&[own[3].clone(), block(14, [1; 32], 53, 1)]);
    assert!(text.starts_with("block 14: expected the parent "), "{text}");
    assert_eq!(
        refused(&[own[3].clone(), block(15, own[3].hash, 54, 1)]),
        "expected the block at height 14, found one at 15"
    );
    let mut short = own[3].clone();
    short.ids.pop();
    assert!(matches!(
        store.feed(&[short]),
        Err(StoreError::PostLength { post: 0, found: 4 })
    ));
    let mut bad = own[3].clone();
    bad.messages[1].payload.pop();
    assert!(matches!(
        store.feed(&[bad]),
        Err(StoreError::Size { position: 1, .. })
    ));
    check(&store, &own[..3]);
    let nothing = fed(&store, &[]);
    assert_eq!((nothing.appended, nothing.tip), (0, 12));
    // The first block may be replaced as any other.
    let mut other = Vec::new();
    extend(&mut other, 70, 5);
    assert_eq!(fed(&store, &other).withdrawn, 0..5);
    check(&store, &other);
}

#[test]
fn a_board_of_posts_takes_no_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    append(&store, 0..3).unwrap();
    let refusal = store.feed(&chain(&[1])).unwrap().unwrap_err();
    assert_eq!(refusal, BlockRefusal::Posts(3));
    assert_eq!(store.tip().unwrap(), None);
}

#[test]
fn a_board_of_blocks_takes_no_posts() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    let blocks = chain(&[2]);
    fed(&store, &blocks);
    let answers = store.append(&[post(5000..5001), post(5001..5003)]).unwrap();
    assert_eq!(answers, [const { Err(Refusal::Blocks) }; 2]);
    check(&store, &blocks);
}

#[test]
fn a_key_is_used_once_in_each_branch() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    let mut blocks = chain(&[3, 2]);
    let repeated = blocks[0].messages[1].clone();
    blocks[1].messages.insert(1, repeated);
    blocks[1].ids.insert(1, [77; 32]);
    blocks[1].hashes = None;
    let found = fed(&store, &blocks);
    let left_out = LeftOut {
        height: 11,
        position: 1,
    };
    assert_eq!((found.left_out, store.len()), (vec![left_out], 5));
    assert_eq!(store.tip().unwrap().unwrap().ids, [[2; 32], [3; 32]]);
    // Messages of a withdrawn branch come again in another order.
    let mut other = block(10, [9; 32], 90, 0);
    other.messages = vec![message(2000), message(1001), message(1000)];
    other.ids = vec![[1; 32]; 3];
    other.hashes = None;
    let found = fed(&store, &[other]);
    assert_eq!(
        (found.withdrawn, found.left_out.len(), store.len()),
        (0..5, 0, 3)
    );
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
}

/// Feeds a branch, and then another one that shares its first blocks.
fn run(simulated: &Simulated, branches: &[Vec<Block>; 2]) -> usize {
    let Ok(store) = simulated.open() else {
        return 0;
    };
    for (done, branch) in branches.iter().enumerate() {
        if store.feed(branch).is_err() || store.seal().is_err() {
            return done;
        }
    }
    branches.len()
}

#[test]
fn a_crash_leaves_one_branch_or_the_other() {
    let own = chain(&[6, 7, 9, 5, 3, 8]);
    let mut other = own[..4].to_vec();
    for (salt, count) in [(60, 2), (61, 0), (62, 14)] {
        extend(&mut other, salt, count);
    }
    let branches = [own, other];
    let fresh = || {
        let simulated = Simulated::create();
        let at = StoreConfig {
            fork_blocks: 3,
            ..config(&simulated.dir)
        };
        (simulated, at)
    };
    let (whole, _) = fresh();
    assert_eq!(run(&whole, &branches), 2);
    let operations = whole.disk.operations();
    for at in 0..operations {
        let (simulated, _) = fresh();
        let bytes = simulated.disk.bytes();
        let simulated = Simulated::on(Disk::from_bytes(bytes), simulated.objects);
        simulated.disk.crash_at(at);
        let done = run(&simulated, &branches);
        let disk = simulated.disk.after_crash(&mut || None);
        let survivor = Simulated::on(disk, simulated.objects);
        let store = survivor.open().unwrap();
        match store.tip().unwrap() {
            None => assert_eq!(done, 0, "crash at {at}"),
            Some(tip) if tip.hash == branches[0][5].hash => {
                assert!(done < 2, "crash at {at}");
                check(&store, &branches[0]);
            }
            Some(_) => check(&store, &branches[1]),
        }
        fed(&store, &branches[1]);
        store.seal().unwrap();
        check(&store, &branches[1]);
    }
}
