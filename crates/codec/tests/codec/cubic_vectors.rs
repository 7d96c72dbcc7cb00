//! Known answers of the independent reference, `reference/cubic_code.py`.

use omr_codec::{
    CUBIC_MESSAGES, CubicCode, CubicCounters, CubicElement, CubicSymbols, DecodeError,
};
use serde_json::Value;

fn cases(json: &str) -> Vec<Value> {
    let cases: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(!cases.is_empty());
    cases
}

fn row(value: &Value) -> Vec<u8> {
    let byte = |value: &Value| u8::try_from(value.as_u64().unwrap()).unwrap();
    value.as_array().unwrap().iter().map(byte).collect()
}

fn element(value: &Value) -> CubicElement {
    CubicElement::from_coefficients(row(value).try_into().unwrap()).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    let hex = value.as_str().unwrap();
    let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn add(sums: &mut [u8], weights: &[u8]) {
    for (sum, &weight) in sums.iter_mut().zip(weights) {
        *sum = (*sum + weight) % 97;
    }
}

fn code_cases() -> Vec<Value> {
    cases(include_str!("../../../../testdata/codec/cubic.json")).split_off(1)
}

/// Cases with exact counters, among them one with a bound above 96.
fn counted_cases() -> Vec<Value> {
    cases(include_str!(
        "../../../../testdata/codec/cubic_counted.json"
    ))
}

#[test]
fn the_generator_is_a_root_of_the_reference_polynomial() {
    let cases = cases(include_str!("../../../../testdata/codec/cubic.json"));
    let y = CubicElement::from_coefficients([0, 1, 0]).unwrap();
    let code = CubicCode::new(&[0; 32], 3).unwrap();
    let mut weights = vec![0; code.index_weights()];
    code.index_weights_into(y, &mut weights);
    let cube: Vec<u8> = row(&cases[0]["polynomial"])
        .iter()
        .map(|c| (97 - c) % 97)
        .collect();
    assert_eq!(weights[7..], cube);
}

#[test]
fn payloads_pack_to_the_reference_symbols() {
    for case in cases(include_str!(
        "../../../../testdata/codec/cubic_symbols.json"
    )) {
        let payload = bytes(&case["payload"]);
        let expected: Vec<_> = case["symbols"]
            .as_array()
            .unwrap()
            .iter()
            .map(element)
            .collect();
        let symbols = CubicSymbols::new(payload.len()).unwrap();
        assert_eq!(symbols.count(), expected.len());
        assert_eq!(symbols.pack(&payload).unwrap(), expected);
        assert_eq!(symbols.unpack(&expected).unwrap(), payload);
    }
}

#[test]
fn weights_add_up_to_the_reference_sums() {
    for case in code_cases().into_iter().chain(counted_cases()) {
        let bound = case["bound"].as_u64().unwrap() as usize;
        let code = CubicCode::new(&bytes(&case["seed"]).try_into().unwrap(), bound).unwrap();
        let (index_expected, payload_expected) =
            (row(&case["index_sums"]), row(&case["payload_sums"]));
        let mut index_sums = vec![0; index_expected.len()];
        let mut payload_sums = vec![0; payload_expected.len()];
        let (mut index_row, mut payload_row) = (index_sums.clone(), payload_sums.clone());
        for message in case["messages"].as_array().unwrap() {
            let index = message["index"].as_u64().unwrap();
            let node = code.nodes().node(index);
            assert_eq!(node, element(&message["node"]));
            let payload = bytes(&message["payload"]);
            let packing = CubicSymbols::new(payload.len()).unwrap();
            let mut symbols = packing.pack(&payload).unwrap();
            code.blind(index, &mut symbols);
            assert_eq!(symbols[0], element(&message["first_blinded"]));
            code.index_weights_into(node, &mut index_row);
            code.payload_weights_into(node, &symbols, &mut payload_row);
            add(&mut index_sums, &index_row);
            add(&mut payload_sums, &payload_row);
        }
        assert_eq!(index_sums, index_expected);
        assert_eq!(payload_sums, payload_expected);
    }
}

#[test]
fn sums_decode_to_the_reference_messages() {
    for case in code_cases() {
        let bound = case["bound"].as_u64().unwrap() as usize;
        let code = CubicCode::new(&bytes(&case["seed"]).try_into().unwrap(), bound).unwrap();
        let messages = case["messages"].as_array().unwrap();
        let place = |message: &Value| {
            let index = message["index"].as_u64().unwrap() as u32;
            (index, element(&message["node"]))
        };
        let expected: Vec<_> = messages.iter().map(place).collect();
        let sums = row(&case["index_sums"]);
        let support = code
            .find_counted(&sums, messages.len(), CUBIC_MESSAGES)
            .unwrap();
        assert_eq!(support.count(), Ok(expected.len()));
        let labels = support.labels().iter().copied();
        let found: Vec<_> = labels.zip(support.nodes().iter().copied()).collect();
        assert_eq!(found[..expected.len()], expected);
        let payloads: Vec<_> = messages.iter().map(|m| bytes(&m["payload"])).collect();
        let packing = CubicSymbols::new(payloads[0].len()).unwrap();
        let solver = code.solver(&support);
        let sums = row(&case["payload_sums"]);
        let solved = solver.solve(packing.count(), &sums).unwrap();
        assert_eq!(solved.check(), Ok(()));
        let rows = solved.rows;
        let found: Vec<_> = rows[..payloads.len()]
            .iter()
            .map(|row| packing.unpack(row).unwrap())
            .collect();
        assert_eq!(found, payloads);
    }
}

#[test]
fn counters_tell_the_reference_number() {
    for case in counted_cases() {
        let bound = case["bound"].as_u64().unwrap() as usize;
        let code = CubicCode::new(&bytes(&case["seed"]).try_into().unwrap(), bound).unwrap();
        let group = case["group"].as_u64().unwrap();
        let index = |message: &Value| message["index"].as_u64().unwrap();
        let messages = case["messages"].as_array().unwrap();
        let mut counters = vec![0; CubicCounters::of_messages(group)];
        for message in messages {
            counters[CubicCounters::of_message(index(message))] += 1;
        }
        assert_eq!(counters, row(&case["counters"]));
        let count = CubicCounters::total(&counters).unwrap();
        assert_eq!(count, messages.len());
        let sums = row(&case["index_sums"]);
        let support = code.find_counted(&sums, count, group).unwrap();
        if count > bound {
            let overflow = DecodeError::Overflow { count, bound };
            assert_eq!(support.count(), Err(overflow));
            continue;
        }
        assert_eq!(support.count(), Ok(count));
        let expected: Vec<_> = messages.iter().map(|m| index(m) as u32).collect();
        assert_eq!(support.labels()[..count], expected);
        let packing = CubicSymbols::new(bytes(&messages[0]["payload"]).len()).unwrap();
        let sums = row(&case["payload_sums"]);
        let solved = code.solver(&support).solve(packing.count(), &sums).unwrap();
        assert_eq!(solved.check(), Ok(()));
        for (row, message) in solved.rows.iter().zip(messages) {
            assert_eq!(packing.unpack(row).unwrap(), bytes(&message["payload"]));
        }
    }
}
