//! The cubic code: round trips, splits of a board, overflow, and sums that are wrong or hostile.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use omr_codec::{
    CUBIC_MESSAGES, CUBIC_NEWTON_BOUND, Cubic, CubicCode, CubicCounters, CubicElement,
    CubicSymbols, DecodeError, Inconsistency, Support,
};
use omr_errors::Mismatch;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

const SEED: [u8; 32] = [11; 32];
const PAYLOAD_BYTES: usize = 16;
/// Messages of most tests: the search goes through all of them.
const MESSAGES: u64 = 20_000;
static PACKING: LazyLock<CubicSymbols> =
    LazyLock::new(|| CubicSymbols::new(PAYLOAD_BYTES).unwrap());
static SMALL: LazyLock<CubicCode> = LazyLock::new(|| CubicCode::new(&SEED, 12).unwrap());
static LARGE: LazyLock<CubicCode> =
    LazyLock::new(|| CubicCode::new(&SEED, CUBIC_NEWTON_BOUND).unwrap());

/// The sums of a digest.
#[derive(Debug, Clone, PartialEq)]
struct Sums {
    index: Vec<u8>,
    payload: Vec<u8>,
    counters: Vec<u8>,
}

impl Sums {
    fn zero(code: &CubicCode) -> Self {
        Self {
            index: vec![0; code.index_weights()],
            payload: vec![0; code.payload_weights(PACKING.count())],
            counters: vec![0; CubicCounters::of_messages(CUBIC_MESSAGES)],
        }
    }

    fn of(code: &CubicCode, messages: impl IntoIterator<Item = u64>) -> Self {
        let mut sums = Self::zero(code);
        let mut weights = sums.clone();
        for index in messages {
            let node = code.nodes().node(index);
            let mut symbols = PACKING.pack(&payload(index)).unwrap();
            code.blind(index, &mut symbols);
            code.index_weights_into(node, &mut weights.index);
            code.payload_weights_into(node, &symbols, &mut weights.payload);
            weights.counters.fill(0);
            weights.counters[CubicCounters::of_message(index)] = 1;
            sums.add(&weights);
        }
        sums
    }

    fn add(&mut self, other: &Self) {
        add(&mut self.index, &other.index);
        add(&mut self.payload, &other.payload);
        add(&mut self.counters, &other.counters);
    }

    fn decode(&self, code: &CubicCode) -> Result<Vec<(u64, Vec<u8>)>, DecodeError> {
        self.decode_of(code, MESSAGES)
    }

    fn decode_of(
        &self,
        code: &CubicCode,
        messages: u64,
    ) -> Result<Vec<(u64, Vec<u8>)>, DecodeError> {
        self.solve(code, find(code, &self.index, messages)?)
    }

    /// Decodes with exact counters.
    fn decode_counted(&self, code: &CubicCode) -> Result<Vec<(u64, Vec<u8>)>, DecodeError> {
        let total = CubicCounters::total(&self.counters)?;
        self.solve(code, code.find_counted(&self.index, total, MESSAGES)?)
    }

    fn solve(
        &self,
        code: &CubicCode,
        support: Support<Cubic>,
    ) -> Result<Vec<(u64, Vec<u8>)>, DecodeError> {
        let count = support.count()?;
        let solved = code
            .solver(&support)
            .solve(PACKING.count(), &self.payload)?;
        solved.check()?;
        let rows = solved.rows;
        assert!(
            rows[count..]
                .iter()
                .flatten()
                .all(|&x| x == CubicElement::default())
        );
        let decoded = |(&label, row): (&u32, &Vec<CubicElement>)| {
            (u64::from(label), PACKING.unpack(row).unwrap())
        };
        Ok(support
            .labels()
            .iter()
            .zip(&rows)
            .map(decoded)
            .take(count)
            .collect())
    }
}

/// Finds messages with the number that the first sum counts modulo 97.
fn find(code: &CubicCode, sums: &[u8], messages: u64) -> Result<Support<Cubic>, DecodeError> {
    let total = sums.first().copied().unwrap_or(0).into();
    code.find_counted(sums, total, messages)
}

fn add(sums: &mut [u8], more: &[u8]) {
    for (sum, &value) in sums.iter_mut().zip(more) {
        *sum = (*sum + value) % 97;
    }
}

fn payload(index: u64) -> Vec<u8> {
    let word = |i: u64| ((index + 1) * (i + 77) * 2_654_435_761) >> 11;
    (0..PAYLOAD_BYTES as u64).map(|i| word(i) as u8).collect()
}

fn expected(messages: &BTreeSet<u64>) -> Vec<(u64, Vec<u8>)> {
    messages
        .iter()
        .map(|&index| (index, payload(index)))
        .collect()
}

fn index_sums(code: &CubicCode, support: &Support<Cubic>) -> Vec<u8> {
    let (mut sums, mut weights) = (vec![0; code.index_weights()], vec![0; code.index_weights()]);
    for &node in &support.nodes()[..support.count().unwrap()] {
        code.index_weights_into(node, &mut weights);
        add(&mut sums, &weights);
    }
    sums
}

fn messages(sizes: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = BTreeSet<u64>> {
    btree_set(prop_oneof![0..MESSAGES, 0..300u64], sizes)
}

/// The nodes `x`, `x^97` and `x^(97^2)`, with `x` the node of `index`.
fn conjugates(index: u64) -> [CubicElement; 3] {
    let first = LARGE.nodes().node(index);
    let second = power_of_97(first);
    [first, second, power_of_97(second)]
}

/// `x^97` as the product of `x` and `x^96`.
fn power_of_97(x: CubicElement) -> CubicElement {
    let mut powers = vec![0; LARGE.index_weights()];
    LARGE.index_weights_into(x, &mut powers);
    let element = |row: &[u8]| CubicElement::from_coefficients(row.try_into().unwrap()).unwrap();
    let last = element(&powers[powers.len() - 3..]);
    let mut products = vec![0; LARGE.payload_weights(1)];
    LARGE.payload_weights_into(x, &[last], &mut products);
    element(&products[..3])
}

#[test]
fn every_number_of_messages_round_trips() {
    for count in 0..=CUBIC_NEWTON_BOUND as u64 {
        let messages: BTreeSet<u64> = (0..count).map(|i| i * 191 + count).collect();
        let sums = Sums::of(&LARGE, messages.clone());
        assert_eq!(sums.decode(&LARGE), Ok(expected(&messages)));
    }
    let messages: BTreeSet<u64> = (0..96).map(|i| CUBIC_MESSAGES - 1 - i * 9_491).collect();
    let sums = Sums::of(&LARGE, messages.clone());
    assert_eq!(
        sums.decode_of(&LARGE, CUBIC_MESSAGES),
        Ok(expected(&messages))
    );
}

#[test]
fn conjugate_nodes_are_told_apart() {
    let nodes: BTreeSet<_> = (0..32).flat_map(|i| conjugates(1_000 * i)).collect();
    let of_node = |index: &u64| nodes.contains(&LARGE.nodes().node(*index));
    let messages: BTreeSet<u64> = (0..CUBIC_MESSAGES).filter(of_node).collect();
    assert_eq!(messages.len(), CUBIC_NEWTON_BOUND);
    let sums = Sums::of(&LARGE, messages.clone());
    assert_eq!(
        sums.decode_of(&LARGE, CUBIC_MESSAGES),
        Ok(expected(&messages))
    );
}

#[test]
fn numbers_beyond_the_counter_never_give_wrong_messages() {
    for count in [97, 98, 100, 108] {
        let sums = Sums::of(&SMALL, (0..count).map(|i| i * 31));
        assert!(
            matches!(sums.decode(&SMALL), Err(DecodeError::Inconsistent(_))),
            "{count}"
        );
    }
    let sums = Sums::of(&SMALL, 0..97 + 13);
    let overflow = DecodeError::Overflow {
        count: 13,
        bound: 12,
    };
    assert_eq!(sums.decode(&SMALL), Err(overflow));
}

/// An overflow is reported with the exact number of messages, for any number.
#[test]
fn counters_tell_every_overflow_with_its_number() {
    let wide = CubicCode::new(&SEED, 100).unwrap();
    for (code, counts) in [
        (&*SMALL, vec![13, 96, 97, 98, 100, 108, 109, 110, 205, 1000]),
        (&*LARGE, vec![97, 98, 193, 194, 205, 1000, 9_700]),
        (&wide, vec![101, 194, 197, 205, 1000]),
    ] {
        for count in counts {
            let sums = Sums::of(code, 0..count);
            let (count, bound) = (count as usize, code.bound());
            let overflow = DecodeError::Overflow { count, bound };
            assert_eq!(sums.decode_counted(code), Err(overflow), "{count}");
        }
    }
}

/// Sums that contradict each other within the bound, or their counters, are damage and no overflow.
#[test]
fn damage_is_not_told_as_an_overflow() {
    for (damaged, at) in [(true, 5), (false, 0), (false, 3)] {
        let mut sums = Sums::of(&SMALL, (0..7).map(|i| i * 41));
        let row = if damaged {
            &mut sums.index
        } else {
            &mut sums.counters
        };
        row[at] = (row[at] + 60) % 97;
        let error = sums.decode_counted(&SMALL).unwrap_err();
        assert!(matches!(error, DecodeError::Inconsistent(_)), "{error}");
        let counters = Inconsistency::Counters(Mismatch::new(7, 67));
        assert_eq!(error == counters.into(), !damaged);
    }
}

/// Above 96 Newton's identities would divide by 97.
#[test]
fn large_bounds_round_trip() {
    for (bound, counts) in [
        (97, vec![0, 1, 96, 97]),
        (200, vec![97, 194, 200]),
        (512, vec![500, 512]),
    ] {
        let code = CubicCode::new(&SEED, bound).unwrap();
        for count in counts {
            let messages: BTreeSet<u64> = (0..count).map(|i| i * 37 + 5).collect();
            let sums = Sums::of(&code, messages.clone());
            assert_eq!(sums.decode_counted(&code), Ok(expected(&messages)));
        }
    }
}

#[test]
fn a_repeated_message_is_inconsistent() {
    for repeated in [vec![5, 5], vec![5, 5, 9], vec![1, 2, 3, 3, 3]] {
        let sums = Sums::of(&SMALL, repeated);
        assert!(matches!(
            sums.decode(&SMALL),
            Err(DecodeError::Inconsistent(_))
        ));
    }
}

#[test]
fn overflow_says_what_to_do() {
    let sums = Sums::of(&SMALL, 0..13);
    let error = sums.decode(&SMALL).unwrap_err();
    assert_eq!(
        error,
        DecodeError::Overflow {
            count: 13,
            bound: 12
        }
    );
    assert!(error.to_string().contains("ask for a larger bound"));
}

#[test]
fn another_seed_finds_other_messages() {
    let other = CubicCode::new(&[12; 32], 12).unwrap();
    let sums = Sums::of(&SMALL, [1, 2, 3]);
    // The nodes are the same, their messages are not.
    let support = find(&other, &sums.index, CUBIC_MESSAGES).unwrap();
    assert_eq!(support.count(), Ok(3));
    assert!(support.labels()[..3].iter().all(|&label| label > 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_round_trip(messages in messages(0..=12)) {
        let sums = Sums::of(&SMALL, messages.clone());
        prop_assert_eq!(sums.decode(&SMALL), Ok(expected(&messages)));
    }

    #[test]
    fn parts_of_a_board_add_up(messages in messages(0..=12), cut in 0..MESSAGES) {
        let (low, high): (Vec<u64>, Vec<u64>) = messages.iter().partition(|&&i| i < cut);
        let mut sums = Sums::of(&SMALL, high);
        sums.add(&Sums::of(&SMALL, low));
        prop_assert_eq!(&sums, &Sums::of(&SMALL, messages.clone()));
        prop_assert_eq!(sums.decode(&SMALL), Ok(expected(&messages)));
    }

    #[test]
    fn more_than_the_bound_overflows(messages in messages(13..=96)) {
        let sums = Sums::of(&SMALL, messages.clone());
        let overflow = DecodeError::Overflow { count: messages.len(), bound: 12 };
        prop_assert_eq!(sums.decode(&SMALL), Err(overflow));
    }

    #[test]
    fn arbitrary_sums_of_large_bounds_are_explained_or_refused(
        bound in 97..130usize,
        total in 0..200usize,
        sums in vec(0..97u8, 3 * 2 * 130),
    ) {
        let code = CubicCode::new(&SEED, bound).unwrap();
        let sums = [&[(total % 97) as u8], &sums[..6 * bound]].concat();
        let support = code.find_counted(&sums, total, 300).unwrap();
        let overflow = DecodeError::Overflow { count: total, bound };
        match support.count() {
            Ok(_) => prop_assert_eq!(index_sums(&code, &support), sums),
            Err(error) if total > bound => prop_assert_eq!(error, overflow),
            Err(error) => prop_assert!(matches!(error, DecodeError::Inconsistent(_))),
        }
    }

    #[test]
    fn a_wrong_index_sum_is_caught_or_explained(
        messages in messages(0..=12),
        at in any::<prop::sample::Index>(),
        delta in 1..97u8,
    ) {
        let mut sums = Sums::of(&SMALL, messages.clone());
        let at = at.index(sums.index.len());
        sums.index[at] = (sums.index[at] + delta) % 97;
        let support = find(&SMALL, &sums.index, MESSAGES).unwrap();
        match support.count() {
            // Without redundancy another set may explain the sums, and does.
            Ok(_) => {
                prop_assert!(messages.len() >= 11);
                prop_assert_eq!(index_sums(&SMALL, &support), sums.index);
            }
            Err(DecodeError::Overflow { count, .. }) => {
                prop_assert!(at == 0 && count == usize::from(sums.index[0]));
            }
            Err(DecodeError::Inconsistent(_)) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn a_wrong_payload_sum_is_caught_where_one_is_redundant(
        messages in messages(0..=11),
        at in any::<prop::sample::Index>(),
        delta in 1..97u8,
    ) {
        let mut sums = Sums::of(&SMALL, messages);
        let at = at.index(sums.payload.len());
        sums.payload[at] = (sums.payload[at] + delta) % 97;
        prop_assert!(matches!(sums.decode(&SMALL), Err(DecodeError::Inconsistent(_))));
    }

    #[test]
    fn arbitrary_sums_never_panic(
        bound in 1..=CUBIC_NEWTON_BOUND,
        count in 0..97u8,
        mut index in vec(any::<u8>(), 0..40),
        payload in vec(any::<u8>(), 0..40),
        (shaped, reduced) in any::<(bool, bool)>(),
    ) {
        let code = CubicCode::new(&SEED, bound).unwrap();
        if shaped {
            index.resize(code.index_weights(), 3);
            index[0] = count;
        }
        if reduced {
            index.iter_mut().for_each(|sum| *sum %= 97);
        }
        if let Ok(support) = find(&code, &index, 300) {
            if support.count().is_ok() {
                prop_assert_eq!(index_sums(&code, &support), index);
            }
            let solver = code.solver(&support);
            for symbols in [0, 1, 2, payload.len(), usize::MAX] {
                let _ = solver.solve(symbols, &payload);
            }
        }
    }

    #[test]
    fn few_arbitrary_sums_are_explained_or_refused(
        count in 0..5u8,
        coefficients in vec(0..97u8, 12),
    ) {
        let code = CubicCode::new(&SEED, 4).unwrap();
        let sums = [&[count], &coefficients[..]].concat();
        let support = find(&code, &sums, MESSAGES).unwrap();
        if let Ok(found) = support.count() {
            prop_assert_eq!(found, usize::from(count));
            prop_assert_eq!(index_sums(&code, &support), sums);
        }
    }
}
