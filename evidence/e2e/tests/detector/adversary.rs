//! Payloads and clues that strangers choose for the most noise, in every slot.

use crate::world::{Board, SLOTS, World, tiny};
use omr_protocol::{Clue, Placement, SEED_BYTES, SlotClasses};

const PERTINENT: [u64; 5] = [0, 7, 1023, 1024, 2047];

#[test]
fn payloads_that_are_all_alike() {
    let world = World::shared();
    let pattern: Vec<u8> = (0..60).map(|i| (i * 37 + 11) as u8).collect();
    for payload in [vec![0xff; 60], vec![0; 60], vec![0x80; 60], pattern] {
        let mut board = Board::new(SLOTS, 60);
        board.payloads.fill(payload);
        world.finds_exactly(board, &PERTINENT);
    }
}

/// Strangers fill their slots with the largest symbols; the recipient's messages are regular.
#[test]
fn strangers_with_extreme_payloads() {
    let world = World::shared();
    for byte in [0xff, 0] {
        let mut board = Board::new(SLOTS, 60);
        for (index, payload) in board.payloads.iter_mut().enumerate() {
            if !PERTINENT.contains(&(index as u64)) {
                payload.fill(byte);
            }
        }
        world.finds_exactly(board, &PERTINENT);
    }
}

/// Vectors of one value make the encoded diagonals constants, the most concentrated plaintexts.
#[test]
fn constant_clue_vectors() {
    let world = World::shared();
    let p = tiny().p().value() as u32;
    let spec = &tiny().spec().clue;
    for value in [0, 1, 2, p / 2, p / 2 + 1, p - 1] {
        let mut board = Board::new(SLOTS, 10);
        // b is at the far side of the window's centre, off it by an odd amount for each value.
        let clue = Clue {
            a: vec![value; spec.n],
            b: vec![p / 2 - 1001, p / 3],
        };
        board.clues.fill(clue.to_bytes(&tiny().clue));
        world.finds_exactly(board, &PERTINENT);
    }
}

#[test]
fn alternating_and_single_clue_vectors() {
    let world = World::shared();
    let p = tiny().p().value() as u32;
    let spec = &tiny().spec().clue;
    let alternating = (0..spec.n)
        .map(|i| if i % 2 == 0 { p / 2 } else { p / 2 + 1 })
        .collect();
    let mut single = vec![0; spec.n];
    single[spec.n - 1] = p / 2;
    for a in [alternating, single] {
        let mut board = Board::new(SLOTS, 10);
        let clue = Clue {
            a,
            b: vec![p / 5, p / 3],
        };
        board.clues.fill(clue.to_bytes(&tiny().clue));
        world.finds_exactly(board, &PERTINENT);
    }
}

/// The norm filter at posting is needed: the zero clue is pertinent to everyone.
#[test]
fn the_zero_clue_reaches_every_recipient() {
    let world = World::shared();
    let spec = &tiny().spec().clue;
    let zero = Clue {
        a: vec![0; spec.n],
        b: vec![0; spec.coordinates],
    };
    assert!(zero.check_norm(&tiny().clue).is_err());
    let mut board = Board::new(40, 6);
    board.post(&world.clue_key, &[3]);
    board.clues[11] = zero.to_bytes(&tiny().clue);
    let expected = board.retrieved(&[3, 11]);
    let out = world.digest(&mut board, 0..40, 4, 6).unwrap();
    assert_eq!(world.recipient().decode(&out.digest).unwrap(), expected);
}

/// Returns the root mean square of the coefficients of all classes, in units of p; `at` returns the symbol index of
/// each slot.
fn coefficients_rms(values: &[u32], at: &dyn Fn(u32) -> usize) -> f64 {
    let p = tiny().p();
    let classes = SlotClasses::new(&tiny().plain, &tiny().small_plain);
    let mut sum = 0.0;
    for class in 0..classes.classes() {
        let slots: Vec<u32> = classes
            .slots(class)
            .iter()
            .map(|&z| values[at(z)])
            .collect();
        for x in tiny().small_plain.encode(&slots) {
            sum += (p.to_centered(x.into()) as f64 / p.value() as f64).powi(2);
        }
    }
    (sum / values.len() as f64).sqrt()
}

/// Returns symbols whose encoding is +-p/2 everywhere, the largest possible. Placed at random they encode to uniform
/// coefficients, of root mean square `p / sqrt(12)`.
#[test]
fn placement_spoils_aligned_payloads() {
    let (p, n) = (tiny().p().value(), tiny().small.n());
    let classes = SlotClasses::new(&tiny().plain, &tiny().small_plain);
    let mut values = vec![0; tiny().slots()];
    for class in 0..classes.classes() {
        let extreme = (0..n).map(|i| p / 2 + (i * i * 7 / 3 % 2) as u64).collect();
        let of_class = tiny().small_plain.decode(extreme);
        for (&z, value) in classes.slots(class).iter().zip(of_class) {
            values[z as usize] = value;
        }
    }
    let aligned = coefficients_rms(&values, &|z| z as usize);
    assert!((aligned - 0.5).abs() < 1e-4, "{aligned}");
    for batch in 0..20 {
        let placement = Placement::new(&[3; SEED_BYTES], batch, tiny().slots());
        let placed = coefficients_rms(&values, &|z| placement.messages()[z as usize] as usize);
        assert!((placed * 12f64.sqrt() - 1.0).abs() < 0.06, "{placed}");
    }
}
