//! Round trips, and corrupted sums: an error or the right answer, never a wrong one.

use std::sync::LazyLock;

use omr_codec::{
    CodecError, DEFAULT_PRIME, DecodeError, Field, Inconsistency, Nodes, Solver, Symbols,
    find_support, power_sums,
};
use omr_errors::Mismatch;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

const SLOTS: usize = 65_536;
/// Batches in use: the search goes through all messages.
const BATCHES: usize = 3;
static NODES: LazyLock<Nodes> = LazyLock::new(|| {
    let nodes = Nodes::new(DEFAULT_PRIME, SLOTS).unwrap();
    nodes.limited_to(BATCHES).unwrap()
});

/// Primes on both sides of every change of the lazy additions.
const PRIMES: [u32; 6] = [
    257,
    65_537,
    786_433,
    998_244_353,
    2_013_265_921,
    2_113_929_217,
];

fn place() -> impl Strategy<Value = (usize, usize)> {
    (0..BATCHES, prop_oneof![0..SLOTS, 0..70usize])
}

fn nodes_of(places: impl IntoIterator<Item = (usize, usize)>) -> Vec<u32> {
    places
        .into_iter()
        .map(|(batch, slot)| NODES.node(batch, slot))
        .collect()
}

fn weighted_sums(field: &Field, nodes: &[u32], values: &[u32], m: usize) -> Vec<u32> {
    let term = |e: usize| {
        let terms = nodes
            .iter()
            .zip(values)
            .map(|(&x, &v)| field.mul(field.pow(x, e as u64), v));
        terms.fold(0, |sum, term| field.add(sum, term))
    };
    (0..m).map(term).collect()
}

fn fill(bytes: usize, mut state: u64) -> Vec<u8> {
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn payloads_of_every_length_round_trip() {
    for bytes in (1..=130).chain([611, 612, 613, 65_536, 65_600]) {
        let symbols = Symbols::new(DEFAULT_PRIME, bytes).unwrap();
        let mut row = vec![u32::MAX; symbols.count()];
        for payload in [
            fill(bytes, 1),
            fill(bytes, 2),
            vec![0xff; bytes],
            vec![0; bytes],
        ] {
            symbols.pack(&payload, &mut row).unwrap();
            assert_eq!(symbols.unpack(&row).unwrap(), payload);
        }
    }
}

#[test]
fn large_supports_are_found_modulo_any_prime() {
    for p in PRIMES {
        let all = Nodes::new(p, 256).unwrap();
        let batches = all.batches().min(5);
        let nodes = all.limited_to(batches).unwrap();
        let count = if p == 257 { 256 } else { 700 };
        let places = (0..count).map(|i| (i * 3 % batches, i * 7 % 256));
        let mut expected: Vec<_> = places.collect();
        expected.sort_unstable();
        expected.dedup();
        let chosen: Vec<u32> = expected.iter().map(|&(b, s)| nodes.node(b, s)).collect();
        let sums = power_sums(nodes.field(), &chosen, count + 2);
        let support = find_support(&nodes, &sums, count).unwrap();
        let found: Vec<_> = support.iter().map(|l| (l.batch, l.slot)).collect();
        assert_eq!(found, expected);
    }
}

proptest! {
    #[test]
    fn payloads_round_trip(
        p in prop::sample::select(&PRIMES[..]),
        payload in vec(any::<u8>(), 1..200),
    ) {
        let symbols = Symbols::new(p, payload.len()).unwrap();
        let mut row = vec![u32::MAX; symbols.count()];
        symbols.pack(&payload, &mut row).unwrap();
        prop_assert!(row.iter().all(|&symbol| symbol < p));
        prop_assert_eq!(symbols.unpack(&row).unwrap(), payload);
    }

    #[test]
    fn unpacking_is_injective(
        bytes in 1..120usize,
        seed in any::<u64>(),
        changes in vec((any::<prop::sample::Index>(), any::<u32>(), any::<bool>()), 1..4),
    ) {
        let symbols = Symbols::new(DEFAULT_PRIME, bytes).unwrap();
        let mut row = vec![0; symbols.count()];
        symbols.pack(&fill(bytes, seed), &mut row).unwrap();
        for (index, value, reduced) in changes {
            let at = index.index(row.len());
            row[at] = if reduced { value % DEFAULT_PRIME } else { value };
        }
        match symbols.unpack(&row) {
            Ok(payload) => {
                let mut again = vec![0; row.len()];
                symbols.pack(&payload, &mut again).unwrap();
                prop_assert_eq!(again, row);
            }
            Err(CodecError::SymbolRange(index, Mismatch { found, .. })) => {
                prop_assert!(row[index] == found && found >= DEFAULT_PRIME);
            }
            Err(CodecError::NotCanonical { expected_bits, found_bits, .. }) => {
                prop_assert!(found_bits > expected_bits);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn supports_round_trip(places in btree_set(place(), 0..60), spare in 0..5usize) {
        let bound = places.len() + spare;
        let sums = power_sums(NODES.field(), &nodes_of(places.clone()), bound + 1 + spare);
        let support = find_support(&NODES, &sums, bound).unwrap();
        let found: Vec<_> = support.iter().map(|l| (l.batch, l.slot)).collect();
        prop_assert_eq!(found, places.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn overflow_is_reported(
        places in btree_set(place(), 1..40),
        below in any::<prop::sample::Index>(),
    ) {
        let bound = below.index(places.len());
        let sums = power_sums(NODES.field(), &nodes_of(places.clone()), bound + 1);
        let expected = DecodeError::Overflow { count: places.len(), bound };
        prop_assert_eq!(find_support(&NODES, &sums, bound), Err(expected));
    }

    #[test]
    fn a_decoded_support_explains_every_sum(
        places in btree_set(place(), 0..12),
        changes in vec((any::<prop::sample::Index>(), 0..DEFAULT_PRIME), 0..3),
        sums_beyond in 0..3usize,
    ) {
        let bound = 12;
        let mut sums = power_sums(NODES.field(), &nodes_of(places), bound + 1 + sums_beyond);
        for (index, value) in changes {
            let at = index.index(sums.len());
            sums[at] = value;
        }
        match find_support(&NODES, &sums, bound) {
            Ok(support) => {
                let found: Vec<u32> = support.iter().map(|l| l.node).collect();
                prop_assert_eq!(power_sums(NODES.field(), &found, sums.len()), sums);
                prop_assert!(support.is_sorted());
            }
            Err(DecodeError::Overflow { count, .. }) => prop_assert_eq!(count, sums[0] as usize),
            Err(DecodeError::Inconsistent(_)) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn arbitrary_sums_never_panic(
        p in prop::sample::select(vec![3, 13, 257, 786_433, 2_113_929_217]),
        count in 0..20u32,
        sums in vec(any::<u32>(), 0..24),
        bound in 0..24usize,
        reduced in any::<bool>(),
    ) {
        let nodes = Nodes::new(p, 2).unwrap();
        let batches = nodes.batches().min(20);
        let nodes = nodes.limited_to(batches).unwrap();
        let mut sums = sums;
        if reduced {
            sums.iter_mut().for_each(|sum| *sum %= p);
            sums.first_mut().into_iter().for_each(|first| *first = count % p);
        }
        if let Ok(support) = find_support(&nodes, &sums, bound) {
            let found: Vec<u32> = support.iter().map(|l| l.node).collect();
            prop_assert_eq!(power_sums(nodes.field(), &found, sums.len()), sums);
        }
    }

    #[test]
    fn symbols_are_solved_and_one_wrong_sum_is_caught(
        places in btree_set(place(), 1..30),
        values in vec(0..DEFAULT_PRIME, 30),
        redundant in 1..4usize,
        wrong in any::<prop::sample::Index>(),
        delta in 1..DEFAULT_PRIME,
    ) {
        let (field, chosen) = (NODES.field(), nodes_of(places));
        let values = &values[..chosen.len()];
        let solver = Solver::new(field, &chosen, chosen.len() + redundant);
        let mut rhs = weighted_sums(field, &chosen, values, chosen.len() + redundant);
        prop_assert_eq!(solver.solve(&rhs).unwrap(), values);
        let at = wrong.index(rhs.len());
        rhs[at] = field.add(rhs[at], delta);
        match solver.solve(&rhs) {
            Err(DecodeError::Inconsistent(Inconsistency::Sum(exponent, _))) => {
                prop_assert!(at < chosen.len() || exponent == at);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
