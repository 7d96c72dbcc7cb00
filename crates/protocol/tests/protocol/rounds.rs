//! Tests that published sets for two rounds have the stated properties, and that weaker sets are refused.

use omr_protocol::params::{SOPHOMR, SetSpec, largest_log_pq};
use omr_protocol::rounds::{RoundsParams, RoundsPlan, RoundsSpec, page_seeds, units};

use omr_protocol::sophomr::ParamsSpec;
use omr_protocol::{ClueKind, ParamsError, PlanError};
use omr_ring::Kernels;
use serde_json::Value;

fn published() -> (ParamsSpec, RoundsSpec) {
    let set = SetSpec::named(SOPHOMR).unwrap();
    (set.sophomr.unwrap(), set.rounds.unwrap())
}

fn with(change: impl Fn(&mut RoundsSpec)) -> Result<RoundsParams, ParamsError> {
    let (sophomr, mut rounds) = published();
    change(&mut rounds);
    RoundsParams::new(&sophomr, rounds, Kernels::detect())
}

#[test]
fn secrets_of_two_rounds_are_secure() {
    let params = with(|_| {}).unwrap();
    let stated = [(2048, 50.0), (8192, 200.0), (2048, 50.0)];
    for ((n, found), (expected, bits)) in params.key_moduli().into_iter().zip(stated) {
        assert_eq!(n, expected);
        assert!((found - bits).abs() < 0.01, "{n}: {found}");
        assert!(found <= largest_log_pq(n, None), "{n}: {found}");
    }
}

/// A ring of half the dimension has about half the room for its modulus.
#[test]
fn smaller_rings_are_refused() {
    let refused = |change: &dyn Fn(&mut RoundsSpec)| with(change).err().unwrap().to_string();
    let scan = refused(&|rounds| rounds.scan.n = 1024);
    assert_eq!(
        scan,
        "expected log2(PQ) of at most 26 bits in dimension 1024 for 128-bit security, found 50.0"
    );
    let queries = refused(&|rounds| {
        rounds.fetch.n = 4096;
        rounds.fetch.page = 896;
    });
    assert!(queries.contains("106 bits in dimension 4096"), "{queries}");
    let answers = refused(&|rounds| rounds.fetch.final_n = 1024);
    assert!(answers.contains("26 bits in dimension 1024"), "{answers}");
    // A set that is marked insecure is for tests, and may have them.
    let (mut sophomr, mut rounds) = published();
    sophomr.insecure = true;
    rounds.scan.n = 1024;
    assert!(RoundsParams::new(&sophomr, rounds, Kernels::detect()).is_ok());
}

/// The rates of `reference/miss.py`, which inverts the moment generating function.
#[test]
fn rates_are_those_of_the_exact_sums() {
    let cases = [
        ([1.31, 0.96], [-30.60, -30.59, -21.68]),
        ([1.25, 0.96], [-30.13, -30.07, -21.74]),
        ([0.9, 0.8], [-13.39, -13.34, -22.47]),
    ];
    for (limits, expected) in cases {
        let params = with(|rounds| rounds.scan.limits = limits).unwrap();
        let found = [
            params.miss_log2(),
            params.hostile_miss_log2(),
            params.false_positive_log2(),
        ];
        for (found, exact) in found.into_iter().zip(expected) {
            // The first term of the expansion is a little too large.
            let above = found - exact;
            assert!(
                (-0.01..0.1).contains(&above),
                "{limits:?}: {found}, {exact}"
            );
        }
    }
}

#[test]
fn published_sets_miss_and_mistake_rarely() {
    for set in SetSpec::published().into_iter().filter(|set| !set.insecure) {
        let Some(rounds) = set.rounds.clone() else {
            continue;
        };
        let sophomr = set.sophomr.unwrap();
        let params = RoundsParams::new(&sophomr, rounds, Kernels::detect()).unwrap();
        assert!(params.miss_log2() <= -30.0, "{}", set.name);
        assert!(params.hostile_miss_log2() <= -30.0, "{}", set.name);
        assert!(params.false_positive_log2() <= -21.0, "{}", set.name);
    }
}

fn numbers(list: &Value) -> Vec<u64> {
    let list = list.as_array().unwrap();
    list.iter().map(|x| x.as_u64().unwrap()).collect()
}

fn seed(list: &Value) -> [u8; 32] {
    let bytes: Vec<u8> = numbers(list).iter().map(|&x| x as u8).collect();
    bytes.try_into().unwrap()
}

/// The units of `reference/rounds.py`; a word of one of the streams is refused.
#[test]
fn units_are_the_known_ones() {
    let text = include_str!("../../../../testdata/rounds/units.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let (seed, p) = (seed(&all["seed"]), all["p"].as_u64().unwrap());
    for case in all["cases"].as_array().unwrap() {
        let expected = numbers(&case["units"]);
        let page = case["page"].as_u64().unwrap();
        let found = units(p, &seed, page, expected.len());
        let found: Vec<u64> = found.into_iter().map(u64::from).collect();
        assert_eq!(found, expected, "page {page}");
    }
}

fn plan(params: &RoundsParams, start: u64, end: u64) -> Result<RoundsPlan, PlanError> {
    RoundsPlan::new(params, start..end, 612, ClueKind::Bound)
}

/// The seeds of `reference/rounds.py`.
#[test]
fn seeds_of_pages_are_the_known_ones() {
    let text = include_str!("../../../../testdata/rounds/seeds.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let (params, secret) = (with(|_| {}).unwrap(), seed(&all["secret"]));
    for case in all["cases"].as_array().unwrap() {
        let range = numbers(&case["range"]);
        let found = page_seeds(&secret, &plan(&params, range[0], range[1]).unwrap());
        let expected: Vec<[u8; 32]> = case["seeds"].as_array().unwrap().iter().map(seed).collect();
        assert_eq!(found, expected, "{range:?}");
    }
}

#[test]
fn a_range_has_a_row_for_each_page_that_it_touches() {
    let params = with(|_| {}).unwrap();
    let most = 1 << 20;
    for (start, end, pages) in [
        (0, 1, 0..1),
        (0, 1824, 0..1),
        (1823, 1825, 0..2),
        (1824, 65_536, 1..36),
        (0, most, 0..575),
        (1_823, most + 1_823, 0..576),
        (u64::MAX - 5, u64::MAX, u64::MAX / 1824..u64::MAX / 1824 + 1),
    ] {
        let plan = plan(&params, start, end).unwrap();
        assert_eq!(plan.pages(), pages);
        assert_eq!(plan.rows() as u64, pages.end - pages.start);
        assert_eq!(page_seeds(&[1; 32], &plan).len(), plan.rows());
        for index in [start, end - 1] {
            let page = pages.start + plan.row_of(index) as u64;
            assert_eq!(page * 1824 + plan.number_in_page(index) as u64, index);
        }
        assert_eq!(plan.row_of(end - 1), plan.rows() - 1);
    }
    assert!(matches!(
        plan(&params, 0, most + 1),
        Err(PlanError::LongRange(_))
    ));
}
