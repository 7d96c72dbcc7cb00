//! Known answers of the independent reference, `reference/buckets.py`.

use omr_codec::BucketCode;
use serde_json::Value;

fn row(value: &Value) -> Vec<u8> {
    let byte = |value: &Value| u8::try_from(value.as_u64().unwrap()).unwrap();
    value.as_array().unwrap().iter().map(byte).collect()
}

fn seed(value: &Value) -> [u8; 32] {
    let hex = value.as_str().unwrap();
    std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
}

fn add(sums: &mut [u8], weights: &[u8]) {
    for (sum, &weight) in sums.iter_mut().zip(weights) {
        *sum = (*sum + weight) % 97;
    }
}

#[test]
fn sums_and_messages_are_those_of_the_reference() {
    let json = include_str!("../../../../testdata/codec/buckets.json");
    let cases: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let bound = case["bound"].as_u64().unwrap() as usize;
        let code = BucketCode::new(&seed(&case["seed"]), bound).unwrap();
        let (index_expected, payload_expected) =
            (row(&case["index_sums"]), row(&case["payload_sums"]));
        let mut index_sums = vec![0; code.index_weights()];
        let mut payload_sums = vec![0; payload_expected.len()];
        let (mut index_row, mut payload_row) = (index_sums.clone(), payload_sums.clone());
        let (mut indices, mut digits) = (Vec::new(), Vec::new());
        for message in case["messages"].as_array().unwrap() {
            indices.push(message["index"].as_u64().unwrap());
            digits.push(row(&message["digits"]));
            let (index, own) = (indices[indices.len() - 1], &digits[digits.len() - 1]);
            code.index_weights_into(index, &mut index_row);
            code.payload_weights_into(index, own, &mut payload_row);
            add(&mut index_sums, &index_row);
            add(&mut payload_sums, &payload_row);
        }
        assert_eq!(index_sums, index_expected);
        assert_eq!(payload_sums, payload_expected);
        assert_eq!(code.find_support(&index_sums).unwrap(), indices);
        let found = code.solve(&indices, digits[0].len(), &payload_sums);
        assert_eq!(found.unwrap(), digits);
    }
}
