//! A board against a vector.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::{config, create, message, messages, open};
use crate::tests::disk::Disk;
use crate::{BoardConfig, Clues, StoreError};

#[derive(Debug, Clone)]
enum Step {
    Append(u64),
    BadAppend(u64),
    Read(u64, u64),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..40).prop_map(Step::Append),
        (0u64..9).prop_map(Step::BadAppend),
        (0u64..150, 0u64..150).prop_map(|(a, b)| Step::Read(a, b)),
        Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn behaves_as_a_vector(
        clue_bytes in prop_oneof![1u32..80, 9_000u32..70_000],
        payload_bytes in 0u32..700,
        clues in prop_oneof![Just(Clues::Plain), Just(Clues::Bound)],
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let clue_bytes = clue_bytes.max(clues.least_bytes());
        let config = BoardConfig { clue_bytes, payload_bytes, clues, ..config() };
        let disk = Disk::default();
        let mut board = create(&disk, &config).unwrap();
        let mut len = 0;
        for step in steps {
            match step {
                Step::Append(count) => {
                    let range = board.append(&messages(&config, len..len + count)).unwrap();
                    prop_assert_eq!(range, len..len + count);
                    len += count;
                }
                Step::BadAppend(good) => {
                    let mut batch = messages(&config, len..len + good);
                    batch.push(message(&BoardConfig { payload_bytes: payload_bytes + 1, ..config.clone() }, 0));
                    let error = board.append(&batch).unwrap_err();
                    prop_assert!(matches!(error, StoreError::Size { position, expected, found, .. }
                        if position == good as usize && found == expected + 1), "{}", error);
                }
                Step::Reopen => {
                    drop(board);
                    board = open(&disk).unwrap();
                }
                Step::Read(start, end) => {
                    let (mut clues, mut payloads) = (vec![1], vec![2]);
                    let bulk = board.read_into(start..end, &mut clues, &mut payloads);
                    let mut seen = start;
                    let single = board.read(start..end, &mut |index, clue, payload| {
                        let expected = message(&config, index);
                        assert!(index == seen && clue == expected.clue && payload == expected.payload);
                        let at = (index - start) as usize;
                        assert_eq!(&clues[at * clue.len()..][..clue.len()], clue);
                        assert_eq!(&payloads[at * payload.len()..][..payload.len()], payload);
                        seen += 1;
                        ControlFlow::Continue(())
                    });
                    prop_assert_eq!(bulk.is_ok(), start <= end && end <= len);
                    prop_assert_eq!(single.is_ok(), bulk.is_ok());
                    prop_assert_eq!(seen, if bulk.is_ok() { end } else { start });
                }
            }
            prop_assert_eq!(board.len(), len);
        }
        let report = board.verify(&mut |_, _| {}).unwrap();
        prop_assert!(report.is_sound());
    }
}
