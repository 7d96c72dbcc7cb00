//! Known answers for recipients from words (docs/wire.md, section 23): `reference/words.py` computes the secrets, and the
//! hashes of all other keys are frozen. Words that people have on paper depend on them: they never change.
//!
//! A new set needs a row: `cargo test -p omr-client --test words_vectors -- --ignored freeze`.

use omr_client::{SecretKey, Words, write_detection_key};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Scheme, hex};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The words of the frozen keys, which are those of the first secrets.
const WORDS: &str = "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth \
                     useful legal winner thank year wave sausage worth title";

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../testdata/words", name]
        .iter()
        .collect()
}

fn cases(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap()
}

/// Returns the hashes of the detection keys of schemes, under the names of their files.
fn detection(
    set: &ParamSet,
    schemes: &[Option<Scheme>],
    secret: &SecretKey,
    epoch: Option<&Epoch>,
) -> Value {
    let words = Words::parse(WORDS).unwrap();
    let engines = schemes
        .iter()
        .flat_map(|scheme| set.spec().engines_for(*scheme));
    let hashed = |engine: EngineKind| {
        let mut file = Vec::new();
        let mut rng = words.detection_rng(set.clue(), secret.clues());
        write_detection_key(set, engine, secret, epoch, &mut rng, &mut file).unwrap();
        (engine.key_name().to_owned(), hash(&file).into())
    };
    Value::Object(engines.map(hashed).collect())
}

/// Returns the row of a set: the hashes of its address and of its detection keys, at full size those of mail.
fn row(name: &str, clues: ClueKind) -> Value {
    let set = ParamSet::named(name).unwrap();
    let words = Words::parse(WORDS).unwrap();
    let (secret, clue) = words.identity(set.clue(), clues);
    let mut row = json!({
        "params": name,
        "clues": clues.name(),
        "clue.key": hash(&clue.to_bytes(set.clue()).unwrap()),
    });
    let schemes = match name {
        "hybrid-v4" => &[Some(Scheme::TwoRounds)][..],
        _ if set.spec().insecure => &[None, Some(Scheme::TwoRounds)],
        _ => return row,
    };
    let epoch = Epoch {
        board: [0xb0; 16],
        number: 219,
    };
    row["own masks"] = detection(&set, schemes, &secret, None);
    row["masks of epoch 219"] = detection(&set, schemes, &secret, Some(&epoch));
    row
}

#[test]
fn secrets_are_those_of_the_reference() {
    let cases = cases("secrets.json");
    assert_eq!(cases.len(), 2 * 5 * 2);
    for case in cases {
        let set = ParamSet::named(text(&case, "params")).unwrap();
        let clues = text(&case, "clues").parse().unwrap();
        let words = Words::parse(text(&case, "words")).unwrap();
        let (secret, clue) = words.identity(set.clue(), clues);
        let file = secret.to_bytes(set.clue()).unwrap();
        assert_eq!(hash(&file), text(&case, "secret.key"), "{case}");
        assert_eq!((clue.id, clue.kind), (secret.address_id, clues));
        let mut periods = words.periods(set.clue(), clues);
        assert_eq!(hex(&periods.to_bytes()[4..]), text(&case, "period 0"));
        assert!(periods.forget_before(2));
        assert_eq!(hex(&periods.to_bytes()[4..]), text(&case, "period 2"));
        let [seed] = &periods.secrets(2)[..] else {
            panic!("one secret");
        };
        assert_eq!(hex(&seed.to_bytes()[..]), text(&case, "seed 2"));
    }
}

#[test]
fn keys_are_those_of_every_version() {
    let frozen = cases("keys.json");
    assert_eq!(frozen.len(), 5 * 2);
    for expected in frozen {
        let clues = text(&expected, "clues").parse().unwrap();
        assert_eq!(row(text(&expected, "params"), clues), expected);
    }
}

/// Other sets, kinds of clues, epochs and engines lead to independent keys.
#[test]
fn no_two_keys_are_equal() {
    let mut hashes = Vec::new();
    for case in cases("secrets.json") {
        let fields = ["seed", "secret.key", "period 0", "seed 2"];
        hashes.extend(fields.map(|field| case[field].clone()));
    }
    for row in cases("keys.json") {
        hashes.push(row["clue.key"].clone());
        for masks in ["own masks", "masks of epoch 219"] {
            // InstantOMR's keys share no masks.
            let keys = row[masks].as_object().into_iter().flatten();
            let other =
                |(name, _): &(&String, &Value)| masks == "own masks" || *name != "instant.key";
            hashes.extend(keys.filter(other).map(|(_, hash)| hash.clone()));
        }
    }
    let count = hashes.len();
    hashes.sort_by_key(Value::to_string);
    hashes.dedup();
    assert_eq!((hashes.len(), count), (count, 80 + 10 + 10 + 8 + 4));
}

#[test]
fn the_document_has_the_same_answers() {
    let document = [env!("CARGO_MANIFEST_DIR"), "../../docs/wire.md"];
    let document = std::fs::read_to_string(document.iter().collect::<PathBuf>()).unwrap();
    let all = [cases("secrets.json"), cases("keys.json")].concat();
    let is_shown = |case: &&Value| {
        let first = case.get("words").is_none_or(|words| words == WORDS);
        case["params"] == "hybrid-v4" && case["clues"] == "bound" && first
    };
    for case in all.iter().filter(is_shown) {
        for field in ["seed", "secret.key", "clue.key"] {
            let Some(expected) = case[field].as_str() else {
                continue;
            };
            assert!(document.contains(expected), "{field}: {expected}");
        }
    }
}

#[test]
#[ignore = "writes the frozen file"]
fn freeze() {
    let sets = cases("secrets.json");
    let mut names: Vec<&str> = sets.iter().map(|case| text(case, "params")).collect();
    names.truncate(10);
    names.dedup();
    let rows = names
        .iter()
        .flat_map(|name| ClueKind::ALL.map(|clues| row(name, clues)));
    let lines: Vec<String> = rows.map(|row| row.to_string()).collect();
    std::fs::write(path("keys.json"), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
}
