//! Clues are packed, narrowed and opened: slots hold exactly the phases, and noise is as predicted.

mod common;

use common::{Insecure, RECIPIENTS};
use omr_opening::{ClueNoise, ClueShape, Narrowed, Opening, OpeningSpec, slot_noise};
use omr_ring::rms_embedding;

#[test]
fn places_and_slots_are_each_others_inverse() {
    let case = Insecure::new(1);
    let opening = &case.opening;
    let mut seen = vec![false; opening.slots()];
    for slot in 0..opening.slots() {
        let place = opening.place(slot);
        assert_eq!(opening.slot(place), slot);
        seen[place.block * opening.spec().n + place.coefficient] = true;
    }
    assert!(seen.into_iter().all(|seen| seen));
}

/// `b - a s - <extra>` of every message comes through packing with the noise that is predicted.
#[test]
fn packed_and_narrowed_phases_are_distances() {
    let mut case = Insecure::new(2);
    let clues = case.clues();
    let packed = case.packed(&clues);
    let (p, q) = (f64::from(common::P as u32), case.opening.clue().q as f64);
    let (mut sum, mut count) = (0.0, 0.0);
    for recipient in 0..RECIPIENTS {
        for (c, phases) in case.phases(&packed, recipient).iter().enumerate() {
            for (message, &phase) in phases.iter().enumerate() {
                let exact = case.distance(&clues, message, c, recipient) as f64 * p / q;
                let difference = (phase as f64 - exact + 1.5 * p).rem_euclid(p) - 0.5 * p;
                sum += difference * difference;
                count += 1.0;
            }
        }
    }
    let (found, predicted) = (
        f64::sqrt(sum / count),
        ClueNoise::new(case.opening.spec(), case.opening.clue(), common::P, 1.0).sd(),
    );
    let bits = (found / predicted).log2();
    assert!(
        bits.abs() < 0.1,
        "{found:.3} units, predicted {predicted:.3}"
    );
}

/// Every slot, those of the last columns of a row among them, holds the phase of its place modulo p.
#[test]
fn slots_hold_the_phases() {
    let mut case = Insecure::new(3);
    let clues = case.clues();
    let packed = case.packed(&clues);
    let opened = case.opened(&packed);
    let opening = &case.opening;
    for (recipient, opened) in opened.iter().enumerate() {
        for (ct, phases) in opened.iter().zip(&case.phases(&packed, recipient)) {
            let slots = case.decryptor(recipient).decrypt(ct);
            for (slot, &found) in slots.iter().enumerate() {
                let place = opening.place(slot);
                let phase = phases[place.block * opening.spec().n + place.coefficient];
                assert_eq!(opening.p().to_centered(found.into()), phase, "slot {slot}");
            }
        }
    }
}

#[test]
fn noise_of_slots_is_predicted() {
    let mut case = Insecure::new(4);
    let clues = case.clues();
    let packed = case.packed(&clues);
    let opened = case.opened(&packed);
    let [_, predicted] = slot_noise(case.opening.spec(), &case.model, case.turn_noise()).unwrap();
    for (recipient, opened) in opened.iter().enumerate() {
        for ct in opened {
            let found = rms_embedding(&case.decryptor(recipient).noise(ct)).log2();
            assert!(
                (found - predicted).abs() < 0.3,
                "{found:.2} bits, predicted {predicted:.2}"
            );
        }
    }
}

/// Keys come back from their bodies and the seed.
#[test]
fn keys_are_rebuilt_from_bodies() {
    let mut case = Insecure::new(5);
    let clues = case.clues();
    let packed = case.packed(&clues);
    case.rebuild_keys();
    let again = case.packed(&clues);
    for (a, b) in packed.iter().flatten().zip(again.iter().flatten()) {
        let rows = |ct: &Narrowed| ct.0.masks.iter().chain(&ct.0.bodies).cloned().collect();
        let (a, b): (Vec<_>, Vec<_>) = (rows(a), rows(b));
        assert!(a.iter().zip(&b).all(|(a, b)| a[..] == b[..]));
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let case = Insecure::new(6);
    let spec = case.opening.spec();
    let refused = |change: &dyn Fn(&mut ClueShape, &mut OpeningSpec)| {
        let (mut clue, mut spec) = (*case.opening.clue(), spec.clone());
        change(&mut clue, &mut spec);
        let error = Opening::new(clue, spec, &case.plain).err();
        error.expect("an error").to_string()
    };
    assert_eq!(
        refused(&|_, spec| spec.points = 12),
        "expected a transform of a power of two of points, at most half of the slots, found 12"
    );
    assert_eq!(
        refused(&|_, spec| spec.rank = 64),
        "expected no more parts of a secret than columns of slots, found 256"
    );
    assert_eq!(
        refused(&|_, spec| spec.baby = 3),
        "expected baby steps that divide the points, found 3"
    );
    assert!(refused(&|clue, _| clue.coordinates = 0).starts_with("expected from one coordinate"));
}
