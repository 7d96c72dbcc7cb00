//! Codes of OMR1p, OMR2p and PerfOMR: round trips and failure probabilities. Wrong sums yield an error or the
//! right answer, never a wrong one.

use omr_codec::{CodecError, DecodeError, Field, Symbols};
use omr_papers::codec::{BucketShape, Bundle, CombinationShape, Combinations, IndexBuckets};
use omr_protocol::Mismatch;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PRIMES: [u32; 4] = [257, 65_537, 786_433, 2_113_929_217];

/// Returns the index sums, and the payload sums if each bundle has the given symbols.
fn sums(
    p: u32,
    index: &IndexBuckets,
    code: &Combinations,
    support: &[Bundle],
    symbols: &[Vec<u32>],
) -> (Vec<u32>, Vec<u32>) {
    let field = Field::new(p).unwrap();
    let width = symbols.first().map_or(0, Vec::len);
    let mut of_index = vec![0; index.index_weights()];
    let mut of_payload = vec![0; code.rows() * width];
    let (mut own_index, mut own_payload) = (of_index.clone(), of_payload.clone());
    for (bundle, symbols) in support.iter().zip(symbols) {
        index.index_weights_into(bundle.index, &mut own_index);
        code.payload_weights_into(bundle.index, symbols, &mut own_payload);
        for (sums, own) in [(&mut of_index, &own_index), (&mut of_payload, &own_payload)] {
            for (sum, &x) in sums.iter_mut().zip(own) {
                *sum = field.add(*sum, field.mul(bundle.count, x));
            }
        }
    }
    (of_index, of_payload)
}

fn bundles(map: &BTreeMap<u64, u32>) -> Vec<Bundle> {
    map.iter()
        .map(|(&index, &count)| Bundle { index, count })
        .collect()
}

fn total(support: &[Bundle]) -> usize {
    support.iter().map(|bundle| bundle.count as usize).sum()
}

#[test]
fn buckets_that_grow_with_the_bound_fail_rarely() {
    for bound in (1..200)
        .chain((200..3000).step_by(77))
        .chain([10_000, 60_000])
    {
        let failure = BucketShape::for_bound(bound).failure_log2(bound);
        assert!(failure <= -30.0, "{bound}: 2^{failure}");
    }
    // Half the buckets would not do.
    let narrow = BucketShape {
        rounds: 8,
        buckets: 500,
    };
    assert!(narrow.failure_log2(1000) > -30.0);
    assert!(BucketShape::omr2p(1 << 15).failure_log2(50) < -60.0);
    assert!(BucketShape::PERFOMR.failure_log2(150) < -120.0);
}

#[test]
fn combinations_are_rarely_dependent() {
    for bound in [1, 2, 5, 10, 50, 150, 400] {
        for p in [65_537, 786_433] {
            for shape in [
                CombinationShape::dense(bound),
                CombinationShape::sparse(bound),
            ] {
                let failure = shape.failure_log2(p, bound);
                assert!(failure <= -40.0, "{shape:?}: 2^{failure}");
            }
        }
    }
    assert_eq!(CombinationShape::sparse(50).rows, 100);
    assert_eq!(CombinationShape::perfomr(50).rows, 53);
    assert_eq!(CombinationShape::perfomr(100).rows, 106);
    // Without a spare combination, one set of bundles in p - 1 is dependent.
    let square = CombinationShape { rows: 9, weight: 9 };
    assert!((square.failure_log2(65_537, 9) + 16.0).abs() < 0.1);
}

#[test]
fn as_many_bundles_as_the_bound_come_back() {
    for (p, bundle, bound) in [(65_537, 1, 50), (65_537, 8, 1000), (786_433, 2, 3)] {
        let support: Vec<Bundle> = (0..bound as u64)
            .map(|i| Bundle {
                index: i * 263 % (1 << 18),
                count: 1,
            })
            .collect();
        for seed in 0..5 {
            let shape = BucketShape::for_bound(bound);
            let index = IndexBuckets::new(p, &[seed; 32], shape, 1 << 18, bundle, bound).unwrap();
            let shape = CombinationShape::dense(1);
            let code = Combinations::new(p, &[seed; 32], shape, 1).unwrap();
            let (sums, _) = sums(p, &index, &code, &support, &vec![vec![]; bound]);
            let mut expected = support.clone();
            expected.sort();
            assert_eq!(index.find_support(&sums).unwrap(), expected);
        }
    }
}

#[test]
fn payloads_come_back_byte_for_byte() {
    let symbols = Symbols::new(65_537, 612).unwrap();
    assert_eq!(symbols.count(), 306);
    let payload = |i: u8| {
        (0..612u32)
            .map(|j| (j * 31 + j / 7) as u8 ^ i)
            .collect::<Vec<u8>>()
    };
    let rows: Vec<Vec<u32>> = (0..50)
        .map(|i| {
            let mut row = vec![0; symbols.count()];
            symbols.pack(&payload(i), &mut row).unwrap();
            row
        })
        .collect();
    let support: Vec<Bundle> = (0..50)
        .map(|i| Bundle {
            index: 7 * i + 3,
            count: 1,
        })
        .collect();
    let shape = BucketShape::for_bound(50);
    let index = IndexBuckets::new(65_537, &[8; 32], shape, 1 << 19, 1, 50).unwrap();
    for shape in [CombinationShape::sparse(50), CombinationShape::perfomr(50)] {
        let code = Combinations::new(65_537, &[8; 32], shape, 50).unwrap();
        let (_, sums) = sums(65_537, &index, &code, &support, &rows);
        let found = code.solve(&support, symbols.count(), &sums).unwrap();
        for (i, row) in (0..).zip(found) {
            assert_eq!(symbols.unpack(&row).unwrap(), payload(i));
        }
        // A bundle too few, one too many, and another count are detected.
        let more = Bundle {
            index: 1 << 18,
            count: 1,
        };
        let mut wrong = support.clone();
        wrong[9].index = 5;
        let mut twice = support.clone();
        twice[9] = twice[8];
        for (support, inconsistent) in [(&support[1..], true), (&wrong, true), (&twice, false)] {
            let error = code.solve(support, 306, &sums).unwrap_err();
            if inconsistent {
                assert!(matches!(error, DecodeError::Inconsistent(_)))
            } else {
                assert!(matches!(error, DecodeError::TooFewSums(_)))
            }
        }
        let many: Vec<Bundle> = support.iter().copied().chain([more]).collect();
        let (count, bound) = (51, 50);
        let error = DecodeError::Overflow { count, bound };
        assert_eq!(code.solve(&many, 306, &sums), Err(error));
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let shape = BucketShape::for_bound(3);
    let index = |p, shape, (bundles, bundle), bound| {
        IndexBuckets::new(p, &[0; 32], shape, bundles, bundle, bound)
    };
    let dimension = |error| matches!(error, CodecError::Dimension(_));
    let none = BucketShape { rounds: 0, ..shape };
    assert!(dimension(index(257, shape, (0, 1), 3).unwrap_err()));
    assert!(dimension(index(257, shape, (9, 0), 3).unwrap_err()));
    assert!(dimension(index(257, shape, (9, 256), 3).unwrap_err()));
    assert!(index(257, shape, (9, 255), 3).is_ok());
    assert!(dimension(index(257, none, (9, 1), 3).unwrap_err()));
    for found in [0, 257] {
        let limit = 256;
        let error = index(257, shape, (9, 1), found).unwrap_err();
        assert_eq!(error, CodecError::Bound(Mismatch::new(limit, found)));
    }
    let code = |shape, bound| Combinations::new(257, &[0; 32], shape, bound);
    let heavy = CombinationShape { rows: 4, weight: 5 };
    assert!(dimension(code(heavy, 3).unwrap_err()));
    assert!(matches!(
        code(CombinationShape::dense(3), 7),
        Err(CodecError::Bound(_))
    ));
    assert!(index(256, shape, (9, 1), 3).is_err());
}

proptest! {
    #[test]
    fn bundles_round_trip_and_wrong_sums_are_detected(
        p in prop::sample::select(&PRIMES[..]),
        width in 1..5u32,
        support in btree_map(0..1000u64, 1..3u32, 0..12),
        seed in any::<[u8; 32]>(),
        changes in vec((any::<prop::sample::Index>(), any::<u32>()), 0..3),
    ) {
        let bundle = [1, 2, 3, 8, 16][width as usize];
        let mut support = bundles(&support);
        support.iter_mut().for_each(|own| own.count = own.count.min(bundle));
        let shape = BucketShape::for_bound(24);
        let index = IndexBuckets::new(p, &seed, shape, 1000, bundle, 24).unwrap();
        let code = Combinations::new(p, &seed, CombinationShape::dense(1), 1).unwrap();
        let none = vec![vec![]; support.len()];
        let (honest, _) = sums(p, &index, &code, &support, &none);
        prop_assert_eq!(index.find_support(&honest), Ok(support.clone()));
        let mut wrong = honest.clone();
        for (at, value) in changes {
            let at = at.index(wrong.len());
            wrong[at] = value % p;
        }
        match index.find_support(&wrong) {
            Ok(found) => prop_assert!(found == support && wrong == honest),
            Err(DecodeError::Overflow { count, bound }) => prop_assert!(count > bound),
            Err(DecodeError::Inconsistent(_)) => prop_assert!(wrong != honest),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn more_than_the_bound_is_reported(
        support in btree_map(0..500u64, 1..3u32, 2..20),
        below in any::<prop::sample::Index>(),
    ) {
        let support = bundles(&support);
        let count = total(&support);
        let bound = 1 + below.index(count - 1);
        let shape = BucketShape::for_bound(bound);
        let index = IndexBuckets::new(65_537, &[3; 32], shape, 500, 2, bound).unwrap();
        let code = Combinations::new(65_537, &[3; 32], CombinationShape::dense(1), 1).unwrap();
        let (sums, _) = sums(65_537, &index, &code, &support, &vec![vec![]; support.len()]);
        let found = index.find_support(&sums);
        if count > bound {
            prop_assert_eq!(found, Err(DecodeError::Overflow { count, bound }));
        } else {
            prop_assert_eq!(found, Ok(support));
        }
    }

    #[test]
    fn payloads_solve_and_one_wrong_sum_is_detected(
        p in prop::sample::select(&PRIMES[1..]),
        dense in any::<bool>(),
        support in btree_map(0..u64::MAX, 1..9u32, 1..15),
        values in vec(0..65_537u32, 30),
        seed in any::<[u8; 32]>(),
        at in any::<prop::sample::Index>(),
        delta in 1..65_537u32,
    ) {
        let support = bundles(&support);
        let shape = if dense { CombinationShape::dense(15) } else { CombinationShape::sparse(15) };
        let code = Combinations::new(p, &seed, shape, 15).unwrap();
        let symbols: Vec<Vec<u32>> = values.chunks(2).take(support.len()).map(<[u32]>::to_vec).collect();
        let index = IndexBuckets::new(p, &seed, BucketShape::for_bound(1), u64::MAX, 1, 1).unwrap();
        let (_, honest) = sums(p, &index, &code, &support, &symbols);
        prop_assert_eq!(code.solve(&support, 2, &honest), Ok(symbols.clone()));
        let mut wrong = honest;
        let at = at.index(wrong.len());
        wrong[at] = (wrong[at] + delta % p) % p;
        match code.solve(&support, 2, &wrong) {
            // This combination is redundant, so the error is detected.
            Err(DecodeError::Inconsistent(_)) => {}
            Ok(found) => prop_assert!(found == symbols, "a wrong payload"),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn arbitrary_sums_never_panic(
        p in prop::sample::select(vec![3, 13, 257, 786_433, 2_113_929_217]),
        raw in vec(any::<u32>(), 0..400),
        fits in any::<bool>(),
        reduced in any::<bool>(),
        bundle in 1..2u32,
        indices in vec(any::<(u64, u32)>(), 0..4),
    ) {
        let shape = BucketShape { rounds: 2, buckets: 7 };
        let index = IndexBuckets::new(p, &[1; 32], shape, u64::MAX, bundle, 2).unwrap();
        let code = Combinations::new(p, &[1; 32], CombinationShape { rows: 4, weight: 2 }, 3).unwrap();
        let mut sums = raw;
        if fits {
            sums.resize(index.index_weights(), 0);
        }
        if reduced {
            sums.iter_mut().for_each(|sum| *sum %= p);
        }
        if let Ok(found) = index.find_support(&sums) {
            prop_assert!(total(&found) <= 2);
        }
        let support: Vec<Bundle> =
            indices.into_iter().map(|(index, count)| Bundle { index, count }).collect();
        sums.resize(8, 0);
        if let Ok(found) = code.solve(&support, 2, &sums) {
            prop_assert_eq!(found.len(), support.len());
        }
    }
}
