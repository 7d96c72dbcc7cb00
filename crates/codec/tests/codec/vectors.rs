//! Known answers of the independent reference, `reference/codec.py`.

use omr_codec::{DecodeError, Field, Located, Nodes, Solver, Symbols, find_support, power_sums};
use serde_json::Value;

fn cases(json: &str) -> Vec<Value> {
    let cases: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(!cases.is_empty());
    cases
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn row(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn bytes(value: &Value) -> Vec<u8> {
    let hex = value.as_str().unwrap();
    let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn payloads_pack_to_the_reference_symbols() {
    for case in cases(include_str!("../../../../testdata/codec/symbols.json")) {
        let payload = bytes(&case["payload"]);
        let expected = row(&case["symbols"]);
        let symbols = Symbols::new(number(&case["p"]), payload.len()).unwrap();
        assert_eq!(symbols.count(), expected.len());
        let mut packed = vec![0; expected.len()];
        symbols.pack(&payload, &mut packed).unwrap();
        assert_eq!(packed, expected);
        assert_eq!(symbols.unpack(&expected).unwrap(), payload);
    }
}

#[test]
fn marked_payloads_pack_to_the_reference_symbols() {
    for case in cases(include_str!("../../../../testdata/codec/marked.json")) {
        let (payload, mark) = (bytes(&case["payload"]), number(&case["mark"]));
        let expected = row(&case["symbols"]);
        let symbols = Symbols::marked(number(&case["p"]), payload.len()).unwrap();
        assert_eq!(symbols.count(), expected.len());
        let mut packed = vec![0; expected.len()];
        symbols.pack_marked(&payload, mark, &mut packed).unwrap();
        assert_eq!(packed, expected);
        let mut found = vec![0; payload.len()];
        assert_eq!(symbols.unpack_marked_into(&expected, &mut found), Ok(mark));
        assert_eq!(found, payload);
    }
}

#[test]
fn sums_decode_to_the_reference_support() {
    for case in cases(include_str!("../../../../testdata/codec/support.json")) {
        let slots = number(&case["slots"]) as usize;
        let nodes = Nodes::new(number(&case["p"]), slots).unwrap();
        assert_eq!(nodes.batches(), number(&case["batches"]) as usize);
        assert_eq!(nodes.field().generator(), number(&case["generator"]));
        let mut support = Vec::new();
        for place in case["support"].as_array().unwrap() {
            let [batch, slot, node] = row(place)[..] else {
                panic!("three numbers a place")
            };
            let (batch, slot) = (batch as usize, slot as usize);
            assert_eq!(nodes.node(batch, slot), node);
            support.push(Located { batch, slot, node });
        }
        let sums = row(&case["sums"]);
        let chosen: Vec<u32> = support.iter().map(|place| place.node).collect();
        assert_eq!(power_sums(nodes.field(), &chosen, sums.len()), sums);
        let bound = number(&case["bound"]) as usize;
        assert_eq!(find_support(&nodes, &sums, bound), Ok(support));
    }
}

#[test]
fn sums_of_a_tiny_field_decode_exactly_when_a_set_explains_them() {
    let nodes = Nodes::new(13, 4).unwrap();
    for case in cases(include_str!("../../../../testdata/codec/tiny.json")) {
        let sets = case["sets"].as_array().unwrap();
        let sums = row(&case["sums"]);
        match find_support(&nodes, &sums, sums.len() - 1) {
            Ok(support) => {
                let mut found: Vec<u32> = support.iter().map(|place| place.node).collect();
                found.sort_unstable();
                assert_eq!(sets.len(), 1, "{sums:?}");
                assert_eq!(found, row(&sets[0]));
            }
            Err(DecodeError::Inconsistent(_)) => assert!(sets.is_empty(), "{sums:?}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn weighted_sums_solve_to_the_reference_values() {
    for case in cases(include_str!("../../../../testdata/codec/values.json")) {
        let field = Field::new(number(&case["p"])).unwrap();
        let nodes = row(&case["nodes"]);
        let (rhs, values) = (row(&case["rhs"]), row(&case["values"]));
        for rhs in [&rhs[..], &rhs[..nodes.len()]] {
            let solver = Solver::new(&field, &nodes, rhs.len());
            assert_eq!(solver.count(), values.len());
            assert_eq!(solver.solve(rhs), Ok(values.clone()));
        }
    }
}
