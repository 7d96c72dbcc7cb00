//! Known answers of the independent reference, `reference/earlier.py`.

use omr_codec::Field;
use omr_papers::codec::{
    BitmapOrder, BucketShape, Bundle, CombinationShape, Combinations, IndexBitmap, IndexBuckets,
};
use serde_json::Value;

fn cases(json: &str) -> Vec<Value> {
    let cases: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(!cases.is_empty());
    cases
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn row(value: &Value) -> Vec<u32> {
    let values = value.as_array().unwrap().iter();
    values.map(|x| u32::try_from(number(x)).unwrap()).collect()
}

fn seed(value: &Value) -> [u8; 32] {
    let hex = value.as_str().unwrap();
    std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
}

fn add(field: &Field, sums: &mut [u32], weights: &[u32], count: u32) {
    for (sum, &weight) in sums.iter_mut().zip(weights) {
        *sum = field.add(*sum, field.mul(weight, count));
    }
}

#[test]
fn bitmaps_are_those_of_the_reference() {
    for case in cases(include_str!("../../../../testdata/earlier/bitmaps.json")) {
        let p = number(&case["p"]) as u32;
        let order = match case["slots"].as_u64() {
            Some(slots) => BitmapOrder::Batches {
                slots: slots as usize,
            },
            None => BitmapOrder::Packed,
        };
        let bitmap = IndexBitmap::new(p, order, number(&case["messages"])).unwrap();
        let support = row(&case["support"]);
        let mut sums = vec![0; bitmap.index_weights()];
        for &index in &support {
            let (slot, weight) = bitmap.place(index.into());
            sums[slot] += weight;
        }
        assert_eq!(sums, row(&case["sums"]));
        let found = bitmap.find_support(&sums).unwrap();
        assert!(found.into_iter().eq(support.into_iter().map(u64::from)));
    }
}

#[test]
fn sums_and_bundles_are_those_of_the_reference() {
    for case in cases(include_str!("../../../../testdata/earlier/codes.json")) {
        let [p, rounds, buckets, rows, weight, bundle, bound] = [
            "p", "rounds", "buckets", "rows", "weight", "bundle", "bound",
        ]
        .map(|name| number(&case[name]) as usize);
        let field = Field::new(p as u32).unwrap();
        let seed = seed(&case["seed"]);
        let bundles = number(&case["bundles"]);
        let shape = BucketShape { rounds, buckets };
        let index =
            IndexBuckets::new(p as u32, &seed, shape, bundles, bundle as u32, bound).unwrap();
        let shape = CombinationShape { rows, weight };
        let support = case["support"].as_array().unwrap();
        let code = Combinations::new(p as u32, &seed, shape, support.len()).unwrap();

        let mut index_sums = vec![0; index.index_weights()];
        let mut payload_sums = vec![0; row(&case["payload_sums"]).len()];
        let (mut own_index, mut own_payload) = (index_sums.clone(), payload_sums.clone());
        let (mut expected, mut payloads) = (Vec::new(), Vec::new());
        for entry in support {
            let bundle = Bundle {
                index: number(&entry["index"]),
                count: number(&entry["count"]) as u32,
            };
            let symbols = row(&entry["symbols"]);
            index.index_weights_into(bundle.index, &mut own_index);
            code.payload_weights_into(bundle.index, &symbols, &mut own_payload);
            add(&field, &mut index_sums, &own_index, bundle.count);
            add(&field, &mut payload_sums, &own_payload, bundle.count);
            expected.push(bundle);
            payloads.push(symbols);
        }
        assert_eq!(index_sums, row(&case["index_sums"]));
        assert_eq!(payload_sums, row(&case["payload_sums"]));
        assert_eq!(index.find_support(&index_sums).unwrap(), expected);
        let width = payloads[0].len();
        assert_eq!(code.solve(&expected, width, &payload_sums), Ok(payloads));
    }
}
