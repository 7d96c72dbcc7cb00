//! Boards of any size, boards with invalid clues, boards that fail.

use crate::world::{Board, SLOTS, World, tiny};
use omr_detector::{DetectorError, MessageSource};
use omr_protocol::{Clue, Sealing};
use std::error::Error;
use std::ops::Range;

#[test]
fn first_and_last_of_each_batch() {
    let world = World::shared();
    let board = Board::new(3 * SLOTS + 17, 9);
    let edges = [
        0,
        SLOTS - 1,
        SLOTS,
        2 * SLOTS - 1,
        2 * SLOTS,
        3 * SLOTS - 1,
        3 * SLOTS,
    ];
    world.finds_exactly(board.clone(), &edges);
    world.finds_exactly(board.clone(), &[3 * SLOTS + 16]);
    // The rows of slots meet in the middle.
    world.finds_exactly(board, &[SLOTS / 2 - 1, SLOTS / 2, SLOTS + SLOTS / 2]);
}

#[test]
fn batches_that_are_not_full() {
    let world = World::shared();
    for messages in [1, 2, 17, SLOTS - 1, SLOTS, SLOTS + 1] {
        let indices: Vec<u64> = if messages == 1 {
            vec![0]
        } else {
            vec![0, messages - 1]
        };
        world.finds_exactly(Board::new(messages, 5), &indices);
    }
}

#[test]
fn ranges_that_begin_anywhere() {
    let world = World::shared();
    let mut board = Board::new(SLOTS + 100, 5);
    board.post(&world.clue_key, &[4, 5, 70, 1000, SLOTS + 6, SLOTS + 7]);
    let expected = board.retrieved(&[5, 70, 1000, SLOTS + 6]);
    let out = world.digest(&mut board, 5..SLOTS + 7, 6, 5).unwrap();
    assert_eq!(world.recipient().decode(&out.digest).unwrap(), expected);
    let header = &out.digest.header;
    assert_eq!(
        (header.board_id, header.sealing),
        ([6; 16], Sealing::HpkeX25519)
    );
    assert_eq!(header.plan.range(), 5..SLOTS + 7);
}

#[test]
fn the_digest_does_not_reveal_what_was_found() {
    let world = World::shared();
    let shape = |pertinent: u64| {
        let mut board = Board::new(100, 20);
        board.post(&world.clue_key, &(0..pertinent).collect::<Vec<_>>());
        let out = world.digest(&mut board, 0..100, 10, 20).unwrap();
        let parts = |ct: &omr_protocol::PackedCiphertext| {
            let bodies: Vec<usize> = ct.parts.iter().map(Vec::len).collect();
            (ct.mask.len(), bodies)
        };
        let parts: Vec<_> = out.digest.ciphertexts.iter().map(parts).collect();
        (out.digest.to_bytes(tiny()).unwrap().len(), parts)
    };
    let nothing = shape(0);
    for pertinent in [1, 10, 11, 100] {
        assert_eq!(shape(pertinent), nothing, "{pertinent} pertinent messages");
    }
}

/// Every clue that does not parse counts as impertinent and hides no other clue.
#[test]
fn rubbish_among_clues() {
    let world = World::shared();
    let mut board = Board::new(200, 8);
    let pertinent = [0, 2, 100, 199];
    board.post(&world.clue_key, &pertinent);
    let expected = board.retrieved(&pertinent);
    let mut spoil = |index: usize, edit: &dyn Fn(&mut Vec<u8>)| edit(&mut board.clues[index]);
    spoil(1, &|clue| clue.fill(0));
    spoil(3, &|clue| clue.fill(0xff));
    spoil(4, &|clue| clue[0] = 2);
    spoil(5, &|clue| clue[1] ^= 1);
    spoil(6, &|clue| clue[5..8].fill(0xff));
    spoil(7, &|clue| {
        clue.iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = (i * 77) as u8)
    });
    spoil(198, &|clue| clue.reverse());
    let out = world.digest(&mut board, 0..200, 6, 8).unwrap();
    assert_eq!(out.unusable_clues, 7);
    assert_eq!(world.recipient().decode(&out.digest).unwrap(), expected);
}

#[test]
fn nothing_but_rubbish() {
    let world = World::shared();
    let mut board = Board::new(SLOTS, 3);
    board.clues.iter_mut().for_each(|clue| clue.fill(0));
    let out = world.digest(&mut board, 0..SLOTS, 4, 3).unwrap();
    assert_eq!(out.unusable_clues, SLOTS as usize);
    assert_eq!(world.recipient().decode(&out.digest).unwrap(), []);
}

/// On a board of other parameters every clue has another length, and none is usable.
#[test]
fn clues_of_another_length() {
    struct Other(Board, usize);
    impl MessageSource for Other {
        fn clue_bytes(&self) -> usize {
            self.1
        }
        fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
            Ok(vec![1; self.1 * (range.end - range.start) as usize])
        }
        fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
            self.0.payloads(range)
        }
    }
    let world = World::shared();
    for clue_bytes in [1, Clue::bytes(&tiny().clue) - 1, 2570] {
        let mut board = Other(Board::new(30, 3), clue_bytes);
        let out = world.digest(&mut board, 0..30, 4, 3).unwrap();
        assert_eq!(out.unusable_clues, 30);
        assert_eq!(world.recipient().decode(&out.digest).unwrap(), []);
    }
}

/// The fault that occurs from the batch that begins at `from` on.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Clues(isize),
    Payloads(isize),
    ClueError,
    PayloadError,
}

struct Faulty {
    board: Board,
    from: u64,
    fault: Fault,
}

fn resized(mut bytes: Vec<u8>, by: isize) -> Vec<u8> {
    bytes.resize(bytes.len().saturating_add_signed(by), 0);
    bytes
}

impl MessageSource for Faulty {
    fn clue_bytes(&self) -> usize {
        self.board.clue_bytes()
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        let bytes = self.board.clues(range.clone())?;
        match self.fault {
            _ if range.start < self.from => Ok(bytes),
            Fault::Clues(by) => Ok(resized(bytes, by)),
            Fault::ClueError => Err("clue shelf on fire".into()),
            _ => Ok(bytes),
        }
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        let bytes = self.board.payloads(range.clone())?;
        match self.fault {
            _ if range.start < self.from => Ok(bytes),
            Fault::Payloads(by) => Ok(resized(bytes, by)),
            Fault::PayloadError => Err("payload shelf on fire".into()),
            _ => Ok(bytes),
        }
    }
}

fn outcome(from: u64, fault: Fault) -> DetectorError {
    let mut source = Faulty {
        board: Board::new(SLOTS + 3, 4),
        from,
        fault,
    };
    World::shared()
        .digest(&mut source, 0..SLOTS + 3, 2, 4)
        .err()
        .expect("a faulty source")
}

#[test]
fn sources_that_give_other_sizes() {
    let clue = Clue::bytes(&tiny().clue);
    for by in [-1, 1, -(clue as isize), isize::MIN] {
        for (from, messages) in [(0, SLOTS as usize), (SLOTS, 3)] {
            for (fault, what, each) in [
                (Fault::Clues(by), "clues", clue),
                (Fault::Payloads(by), "payloads", 4),
            ] {
                let error = outcome(from, fault);
                let expected = messages * each;
                let found = expected.saturating_add_signed(by);
                let text = format!("expected {expected} bytes of {what}, found {found}");
                assert_eq!(error.to_string(), text);
                assert!(matches!(error, DetectorError::SourceLength { .. }));
            }
        }
    }
}

#[test]
fn sources_that_fail() {
    for from in [0, SLOTS] {
        for (fault, shelf) in [(Fault::ClueError, "clue"), (Fault::PayloadError, "payload")] {
            let error = outcome(from, fault);
            assert_eq!(
                error.to_string(),
                format!("reading messages: {shelf} shelf on fire")
            );
            assert!(matches!(error, DetectorError::Source(_)));
        }
    }
}
