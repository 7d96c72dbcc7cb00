//! The second round, encrypted, against the messages in the clear.

use crate::world::{FULL, Page, TINY, World};
use omr_compress::PackedCiphertext;
use omr_ring::Kernels;
use omr_rounds::RoundsError;
use omr_rounds::fetch::{
    Fetch, FetchSpec, KeyedQuery, Place, Places, Prepared, Query, answer, assign,
};
use std::collections::HashSet;

/// Returns the answer to one query.
fn alone(
    world: &World,
    query: &Query,
    pages: &[&Prepared],
) -> Result<Vec<PackedCiphertext>, RoundsError> {
    let own = KeyedQuery {
        key: &world.key,
        query,
    };
    Ok(answer(&world.fetch, &[own], pages)?.remove(0))
}

/// Every bucket's answer is the message in the chosen place, or 0 where there is none. Returns the distances of the
/// answer's coefficients from symbols.
fn fetches(world: &mut World, messages: &[usize], symbols: usize) -> Vec<f64> {
    let pages: Vec<Page> = (5..)
        .zip(messages)
        .map(|(number, &messages)| Page::new(world, number, messages, symbols))
        .collect();
    let rows = pages.len();
    let choices = world.choices(rows);
    let query = world.query(rows, &choices);
    let prepared: Vec<&Prepared> = pages.iter().map(|page| &page.prepared).collect();
    let ciphertexts = alone(world, &query, &prepared).unwrap();
    let found = world
        .secret
        .symbols(&world.fetch, rows, symbols, &ciphertexts)
        .unwrap();
    let mut occupied = 0;
    for (bucket, choice) in choices.iter().enumerate() {
        let page = &pages[choice.row];
        let chosen = Place {
            bucket,
            position: choice.position,
        };
        let in_place = |message: &usize| page.places.of(*message).any(|place| place == chosen);
        let all = page.values.len() / symbols;
        let expected = match (0..all).find(in_place) {
            Some(message) => page.values[message * symbols..][..symbols].to_vec(),
            None => vec![0; symbols],
        };
        occupied += usize::from(expected.iter().any(|&x| x != 0));
        assert_eq!(found[bucket], expected, "bucket {bucket}, {choice:?}");
    }
    assert!(occupied > 4, "{occupied} places with messages");
    let (secret, fetch) = (&world.secret, &world.fetch);
    secret
        .roundings(fetch, rows, symbols, &ciphertexts)
        .unwrap()
}

fn worst(roundings: &[f64]) -> f64 {
    roundings.iter().copied().map(f64::abs).fold(0.0, f64::max)
}

#[test]
fn every_bucket_answers_with_the_chosen_message() {
    for (seed, symbols) in [(1, 1), (2, 5), (3, 16), (4, 37)] {
        let mut messages = vec![48; 74];
        messages.push(21);
        let worst = worst(&fetches(&mut World::new(TINY, seed), &messages, symbols));
        assert!(worst < 0.4, "{worst}");
    }
    let worst = worst(&fetches(&mut World::new(TINY, 5), &[48], 3));
    assert!(worst < 0.4, "{worst}");
}

#[test]
fn every_bucket_answers_at_full_size() {
    let worst = worst(&fetches(&mut World::new(FULL, 6), &[1824; 18], 3));
    assert!(worst < 0.4, "{worst}");
}

/// Bodies have 29 bits, so that noise is much larger than their rounding.
#[test]
fn noise_is_that_of_the_formula() {
    let exact = FetchSpec {
        body_bits: [29, 29],
        ..FULL
    };
    for (seed, rows) in [(21, 36), (20, 1)] {
        let mut world = World::new(exact.clone(), seed);
        let roundings = fetches(&mut world, &vec![1824; rows], 140);
        let squares: f64 = roundings.iter().map(|x| x * x).sum();
        let sd = (squares / roundings.len() as f64).sqrt();
        let predicted = world.fetch.noise(rows);
        assert!(
            (sd / predicted - 1.0).abs() < 0.03,
            "{rows} rows: {sd}, {predicted}"
        );
    }
}

/// With up to five queries, lists of selections are taken by fours, by twos and alone.
#[test]
fn queries_together_get_the_answers_of_queries_alone() {
    let mut worlds: Vec<World> = (10..15).map(|seed| World::new(TINY, seed)).collect();
    let mut pages = Vec::new();
    for number in 0..7 {
        pages.push(Page::new(&mut worlds[0], number, 40, 21));
    }
    let pages: Vec<&Prepared> = pages.iter().map(|page| &page.prepared).collect();
    let mut queries = Vec::new();
    for world in &mut worlds {
        let choices = world.choices(pages.len());
        queries.push(world.query(pages.len(), &choices));
    }
    let mut all = Vec::new();
    for (world, query) in worlds.iter().zip(&queries) {
        all.push(KeyedQuery {
            key: &world.key,
            query,
        });
    }
    for count in 0..=all.len() {
        let found = answer(&worlds[0].fetch, &all[..count], &pages).unwrap();
        assert_eq!(found.len(), count);
        for (found, (world, query)) in found.iter().zip(worlds.iter().zip(&queries)) {
            assert!(*found == alone(world, query, &pages).unwrap());
        }
    }
}

#[test]
fn a_query_of_other_rows_is_refused() {
    let mut world = World::new(TINY, 7);
    let page = Page::new(&mut world, 0, 48, 2);
    let choices = world.choices(72);
    let query = world.query(72, &choices);
    let error = alone(&world, &query, &[&page.prepared]).unwrap_err();
    assert!(matches!(error, RoundsError::Length { what: "rows", of } if of.expected == 1));
    assert_eq!(error.to_string(), "expected 1 rows, found 72");
}

/// Rows fill one ciphertext or several, and the last one is not always full.
#[test]
fn a_query_is_decrypted_to_its_choices() {
    let mut world = World::new(TINY, 8);
    for rows in [1, 2, 16, 17, 45] {
        let choices = world.choices(rows);
        let query = world.query(rows, &choices);
        let found = query.decrypt(&world.fetch, world.secret.query()).unwrap();
        assert_eq!(found, choices, "{rows} rows");
    }
    let choices = world.choices(3);
    let mut query = world.query(3, &choices);
    query.bodies.pop();
    let error = query
        .decrypt(&world.fetch, world.secret.query())
        .unwrap_err();
    assert_eq!(error.to_string(), "expected 2 ciphertexts, found 1");
}

#[test]
fn messages_have_places_of_their_own_in_distinct_buckets() {
    for spec in [TINY, FULL] {
        let fetch = Fetch::new(spec, Kernels::detect()).unwrap();
        let mut full = 0;
        for number in 0..20 {
            let places = Places::new(&fetch, &[9; 32], number);
            assert_eq!(places.messages(), fetch.spec().page);
            let mut taken = vec![0; fetch.spec().buckets];
            for message in 0..places.messages() {
                let own: Vec<Place> = places.of(message).collect();
                let buckets: HashSet<usize> = own.iter().map(|place| place.bucket).collect();
                assert_eq!(buckets.len(), fetch.spec().choices);
                for place in own {
                    assert_eq!(place.position, taken[place.bucket]);
                    taken[place.bucket] += 1;
                }
            }
            assert!(taken.iter().all(|&taken| taken <= fetch.positions()));
            let is_full = |taken: &&usize| **taken == fetch.positions();
            full += taken.iter().filter(is_full).count();
        }
        // Draws had to skip buckets.
        assert!(full > 20, "{full} full buckets");
    }
}

/// However the earlier messages of a page lie, the next one finds buckets. Here all lie in the fullest buckets that have
/// room.
#[test]
fn pages_are_so_small_that_buckets_always_have_room() {
    for (spec, expected) in [(TINY, 52), (FULL, 1952)] {
        let (buckets, positions) = (spec.buckets, spec.n / spec.buckets);
        // Messages fill the first buckets, in which as many as choices have room at a time.
        let mut free = vec![positions; buckets];
        let mut messages = 0;
        loop {
            let mut open: Vec<usize> = (0..buckets).filter(|&bucket| free[bucket] > 0).collect();
            if open.len() < spec.choices {
                break;
            }
            // The fullest buckets first.
            open.sort_by_key(|&bucket| free[bucket]);
            for &bucket in &open[..spec.choices] {
                free[bucket] -= 1;
            }
            messages += 1;
        }
        assert!(messages >= expected, "{messages}");
        let page = |page| {
            Fetch::new(
                FetchSpec {
                    page,
                    ..spec.clone()
                },
                Kernels::detect(),
            )
        };
        assert!(page(expected).is_ok());
        for refused in [0, expected + 1] {
            let error = page(refused).err().unwrap().to_string();
            let end = format!("buckets always have room, found {refused}");
            assert!(error.ends_with(&end), "{error}");
        }
    }
}

/// How many of the messages find no bucket.
fn left_out(fetch: &Fetch, messages: &[Vec<usize>]) -> usize {
    let owners = assign(fetch.spec().buckets, messages);
    let found: HashSet<usize> = owners.into_iter().flatten().collect();
    messages.len() - found.len()
}

#[test]
fn fetched_messages_nearly_always_find_buckets() {
    let fetch = World::new(FULL, 9).fetch;
    let (fetched, page) = (fetch.spec().fetched, fetch.spec().page);
    let pages: Vec<Places> = (0..37)
        .map(|number| Places::new(&fetch, &[1; 32], number))
        .collect();
    let buckets = |places: &Places, message: usize| -> Vec<usize> {
        places.of(message).map(|place| place.bucket).collect()
    };
    let mut spread = 0;
    for trial in 0..500 {
        let of_message = |i: usize| {
            let message = (trial * 7919 + i * 104_729) % (37 * page);
            buckets(&pages[message / page], message % page)
        };
        let messages: Vec<Vec<usize>> = (0..fetched).map(of_message).collect();
        spread += left_out(&fetch, &messages);
    }
    assert_eq!(spread, 0);
}
