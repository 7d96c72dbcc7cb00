//! A store against a vector and a map.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::{Simulated, all, check_content, message, post};
use crate::{Change, Post};

#[derive(Debug, Clone)]
enum Step {
    /// The numbers of messages in the posts of one call.
    Append(Vec<u64>),
    /// Repeats an earlier post beside a new one.
    Repeat(usize),
    BadAppend,
    Read(u64, u64),
    Seal,
    Put(u8, u8),
    Delete(u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop::collection::vec(1u64..20, 0..4).prop_map(Step::Append),
        2 => any::<usize>().prop_map(Step::Repeat),
        1 => Just(Step::BadAppend),
        4 => (0u64..150, 0u64..150).prop_map(|(a, b)| Step::Read(a, b)),
        2 => Just(Step::Seal),
        2 => (0u8..6, any::<u8>()).prop_map(|(key, value)| Step::Put(key, value)),
        1 => (0u8..6).prop_map(Step::Delete),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn behaves_as_a_vector(steps in prop::collection::vec(step(), 1..40)) {
        let simulated = Simulated::create();
        let mut store = simulated.open().unwrap();
        let mut lengths = store.lengths();
        let (mut len, mut posted, mut records) = (0, Vec::new(), BTreeMap::new());
        for step in steps {
            match step {
                Step::Append(counts) => {
                    let mut posts = Vec::new();
                    for count in counts {
                        posts.push(post(len..len + count));
                        posted.push(len..len + count);
                        len += count;
                    }
                    let appended = all(&store, &posts).unwrap();
                    prop_assert_eq!(appended.len(), posts.len());
                    for (appended, expected) in appended.iter().zip(&posted[posted.len() - posts.len()..]) {
                        prop_assert!(!appended.repeated && appended.range == *expected);
                    }
                }
                Step::Repeat(at) => {
                    let fresh = len..len + 2;
                    let known = posted.get(at % posted.len().max(1)).cloned();
                    let again = known.clone().unwrap_or(fresh.clone());
                    let posts = [post(fresh.clone()), post(again.clone()), post(fresh.clone())];
                    let appended = all(&store, &posts).unwrap();
                    let found: Vec<_> = appended.iter().map(|a| (a.range.clone(), a.repeated)).collect();
                    prop_assert_eq!(found, [(fresh.clone(), false), (again, true), (fresh.clone(), true)]);
                    posted.push(fresh);
                    len += 2;
                }
                Step::BadAppend => {
                    let mut bad = message(0);
                    bad.clue.pop();
                    let bad = Post::new([9; 16], String::new(), vec![bad]);
                    prop_assert!(all(&store, &[post(len..len + 3), bad]).is_err());
                }
                Step::Read(start, end) => {
                    let mut next = start;
                    let read = store.read(start..end, &mut |index, clue, payload| {
                        let expected = message(index);
                        assert!(index == next && clue == expected.clue && payload == expected.payload);
                        next += 1;
                        ControlFlow::Continue(())
                    });
                    prop_assert_eq!(read.is_ok(), start <= end && end <= len);
                    prop_assert_eq!(next, if read.is_ok() { end } else { start });
                }
                Step::Seal => {
                    store.seal().unwrap();
                    prop_assert_eq!(store.usage().tail_messages, len % 8);
                }
                Step::Put(key, value) => {
                    records.insert(vec![key], vec![value]);
                    let change = Change::Put { table: "t".into(), key: vec![key], value: vec![value] };
                    store.write(&[change]).unwrap();
                }
                Step::Delete(key) => {
                    records.remove(&vec![key]);
                    store.write(&[Change::Delete { table: "t".into(), key: vec![key] }]).unwrap();
                }
                Step::Reopen => {
                    drop(store);
                    store = simulated.open().unwrap();
                    lengths = store.lengths();
                }
            }
            prop_assert_eq!(store.len(), len);
            prop_assert_eq!(*lengths.borrow_and_update(), len);
            prop_assert_eq!(store.usage().segments, store.segments().unwrap().len() as u64);
            prop_assert_eq!(store.scan("t").unwrap(), records.clone().into_iter().collect::<Vec<_>>());
        }
        check_content(&store).unwrap();
        let report = store.verify(&mut |_, _| {}).unwrap();
        prop_assert!(report.is_sound());
    }
}
