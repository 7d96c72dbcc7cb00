//! Compares LWE clues with those of plain integers, byte by byte: `reference/earlier.py`.

use omr_papers::clear::{LweClueKey, LweKind, LweParams, LweSpec};
use omr_papers::client::LweSecret;
use omr_protocol::Clue;
use omr_protocol::clue::SEAL_PUBLIC_BYTES;
use omr_protocol::frame::{FrameHeader, Kind, write_frame_vec};
use serde_json::Value;

const NAME: &str = "insecure-tiny-lwe";

fn number(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn row(value: &Value) -> Vec<u32> {
    signed(value)
        .into_iter()
        .map(|x| u32::try_from(x).unwrap())
        .collect()
}

fn signed(value: &Value) -> Vec<i64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_i64().unwrap())
        .collect()
}

fn bytes(value: &Value) -> Vec<u8> {
    let hex = value.as_str().unwrap();
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}

fn params(case: &Value) -> LweParams {
    let kind = match case["kind"].as_str().unwrap() {
        "subset" => LweKind::Subset {
            rows: number(&case["rows"]),
        },
        "lwemongrass" => LweKind::Lwemongrass {
            rows: number(&case["rows"]),
            large: number(&case["large"]),
        },
        _ => LweKind::Integers {
            weight: number(&case["weight"]),
        },
    };
    let spec = LweSpec {
        n: number(&case["n"]),
        q: number(&case["q"]) as u32,
        sigma: 0.5,
        coordinates: number(&case["coordinates"]),
        range: number(&case["range"]) as u32,
        kind,
    };
    LweParams::new(NAME, spec).unwrap()
}

fn secret(params: &LweParams, case: &Value, body: &str) -> LweSecret {
    let header = FrameHeader::new(
        Kind::SecretKey,
        NAME,
        bytes(&case["id"]).try_into().unwrap(),
    );
    let file = write_frame_vec(&header, &bytes(&case[body])).unwrap();
    let secret = LweSecret::from_bytes(params, &file).unwrap();
    assert_eq!(*secret.to_bytes(params).unwrap(), file);
    secret
}

#[test]
fn keys_clues_and_distances_are_those_of_the_reference() {
    let json = include_str!("../../../../testdata/earlier/clues.json");
    let cases: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let params = params(&case);
        let key = LweClueKey {
            id: bytes(&case["id"]).try_into().unwrap(),
            seed: bytes(&case["seed"]).try_into().unwrap(),
            products: row(&case["products"]),
            seal: [7; SEAL_PUBLIC_BYTES],
        };
        let mut out = vec![0; params.spec().n];
        for (i, expected) in case["matrix"].as_array().unwrap().iter().enumerate() {
            key.row_into(&params, i, &mut out);
            assert_eq!(out, row(expected));
        }
        let file = key.to_bytes(&params).unwrap();
        assert_eq!(LweClueKey::from_bytes(&params, &file).unwrap(), key);

        let own = secret(&params, &case, "secret_body");
        assert_eq!(own.coefficients(), signed(&case["secret"]));
        let other = secret(&params, &case, "other_body");
        for case in case["clues"].as_array().unwrap() {
            let clue = Clue {
                a: row(&case["a"]),
                b: row(&case["b"]),
            };
            let wire = bytes(&case["bytes"]);
            assert_eq!(params.clue_to_bytes(&clue), wire);
            assert_eq!(params.clue_from_bytes(&wire).unwrap(), clue);
            assert_eq!(own.distances(&params, &clue), signed(&case["d"]));
            assert_eq!(other.distances(&params, &clue), signed(&case["of_other"]));
            assert_eq!(
                own.is_pertinent(&params, &clue),
                case["pertinent"].as_bool().unwrap()
            );
            assert!(!other.is_pertinent(&params, &clue));
        }
    }
}
