//! The second round, encrypted, against the messages in the clear.

use crate::world::{FULL, Section, TINY, World};
use omr_rounds::RoundsError;
use omr_rounds::fetch::{Places, Prepared, answer, assign};

/// Every bucket's answer is the message in the chosen place, or 0 where there is none.
fn fetches(mut world: World, size: usize, messages: [usize; 2], symbols: usize) -> f64 {
    let sections: Vec<Section> = (0..)
        .zip(messages)
        .map(|(number, messages)| Section::new(&mut world, number, size, messages, symbols))
        .collect();
    let own_rows = world.fetch.spec().rows;
    let rows = own_rows * sections.len();
    let choices = world.choices(rows);
    let query = world.query(rows, &choices);
    let prepared: Vec<&Prepared> = sections.iter().map(|section| &section.prepared).collect();
    let ciphertexts = answer(&world.fetch, &world.key, &query, &prepared).unwrap();
    let found = world
        .secret
        .symbols(&world.fetch, rows, symbols, &ciphertexts)
        .unwrap();
    let mut occupied = 0;
    for (bucket, choice) in choices.iter().enumerate() {
        let section = &sections[choice.row / own_rows];
        let in_place = |message: &usize| {
            section.places.of(*message).any(|place| {
                place.bucket == bucket
                    && place.row == choice.row % own_rows
                    && place.position == choice.position
            })
        };
        let all = section.values.len() / symbols;
        let expected = match (0..all).find(in_place) {
            Some(message) => section.values[message * symbols..][..symbols].to_vec(),
            None => vec![0; symbols],
        };
        occupied += usize::from(expected.iter().any(|&x| x != 0));
        assert_eq!(found[bucket], expected, "bucket {bucket}, {choice:?}");
    }
    assert!(occupied > 4, "{occupied} places with messages");
    let roundings = world
        .secret
        .roundings(&world.fetch, rows, symbols, &ciphertexts)
        .unwrap();
    roundings.into_iter().map(f64::abs).fold(0.0, f64::max)
}

#[test]
fn every_bucket_answers_with_the_chosen_message() {
    for (seed, symbols) in [(1, 1), (2, 5), (3, 16), (4, 37)] {
        let worst = fetches(World::new(TINY, seed), 2048, [2048, 900], symbols);
        assert!(worst < 0.4, "{worst}");
    }
}

#[test]
fn every_bucket_answers_at_full_size() {
    let worst = fetches(World::new(FULL, 5), 16_384, [16_384, 16_384], 3);
    assert!(worst < 0.4, "{worst}");
}

#[test]
fn a_query_of_other_rows_is_refused() {
    let mut world = World::new(TINY, 6);
    let section = Section::new(&mut world, 0, 2048, 100, 2);
    let choices = world.choices(72);
    let query = world.query(72, &choices);
    let error = answer(&world.fetch, &world.key, &query, &[&section.prepared]).unwrap_err();
    assert!(matches!(error, RoundsError::Length { what: "rows", of } if of.expected == 36));
    assert_eq!(error.to_string(), "expected 36 rows, found 72");
}

#[test]
fn places_are_distinct_and_do_not_depend_on_later_messages() {
    let fetch = World::new(TINY, 7).fetch;
    for number in 0..20 {
        let places = Places::new(&fetch, &[9; 32], number, 2048);
        assert_eq!(places.messages(), 2048);
        let mut taken = std::collections::HashSet::new();
        for message in 0..places.messages() {
            let own: Vec<_> = places.of(message).collect();
            let buckets: std::collections::HashSet<_> =
                own.iter().map(|place| place.bucket).collect();
            assert_eq!(buckets.len(), fetch.spec().choices);
            for place in own {
                assert!(place.row < fetch.spec().rows && place.position < fetch.positions());
                assert!(taken.insert((place.bucket, place.row, place.position)));
            }
        }
    }
}

#[test]
fn fetched_messages_nearly_always_find_buckets() {
    let fetch = World::new(FULL, 8).fetch;
    let places = Places::new(&fetch, &[1; 32], 0, 16_384);
    let fetched = fetch.spec().fetched;
    let mut left_out = 0;
    for first in 0..200 {
        let buckets = |i: usize| {
            let message = (first * 7919 + i * 104_729) % 16_384;
            places.of(message).map(|place| place.bucket).collect()
        };
        let messages: Vec<Vec<usize>> = (0..fetched).map(buckets).collect();
        let owners = assign(fetch.spec().buckets, &messages);
        let mut found: Vec<usize> = owners.into_iter().flatten().collect();
        found.sort_unstable();
        found.dedup();
        left_out += fetched - found.len();
    }
    assert_eq!(left_out, 0);
}
