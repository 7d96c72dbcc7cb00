//! Known answers for bound clues, from the seed to the bytes, step by step as in docs/wire.md. They are frozen for
//! other implementations (`testdata/clue/bound`; `tests/python` checks the same files).
//!
//! A new set needs a file: `cargo test -p omr-client --test bound_vectors -- --ignored freeze`.

use omr_client::letter::{Piece, Place, Reader};
use omr_client::seal::{SealPublic, seal_with_rng};
use omr_client::{BoundSender, ClueSeed, Fingerprint, Retrieved, SecretKey, identity};
use omr_protocol::clue::{Binding, BoundClue, FingerprintKey, Hashed, offset};
use omr_protocol::params::{ClueSecret, SetSpec};
use omr_protocol::{ClueKey, ClueKind, ClueParams, Sealing};
use omr_ring::{Eval, NarrowGaussian, Poly, Xof, fixed_weight};
use rand_core::Rng;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

const BOARD: [u8; 16] = [0xb0; 16];
const CLUE_SEED: [u8; 32] = [0x5e; 32];
const PLACEMENT_SEED: [u8; 32] = [0xd1; 32];
/// The seed of the address's keys and of the sealing's ephemeral key.
const KEY_SEED: [u8; 32] = [0xe9; 32];
/// A letter in one part of 40 bytes.
const PART: &[u8; 40] = b"\x19known answer\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

fn path(name: &str) -> PathBuf {
    let file = format!("{name}.json");
    [
        env!("CARGO_MANIFEST_DIR"),
        "../../testdata/clue/bound",
        &file,
    ]
    .iter()
    .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

fn from_hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("hexadecimal digits");
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    from_hex(value).try_into().expect("the field's length")
}

fn derive(domain: &str, parts: &[&[u8]]) -> [u8; 32] {
    blake3::derive_key(domain, &parts.concat())
}

/// Returns the first `count` coefficients of `key x + e` modulo q.
fn sample(params: &ClueParams, key: Vec<u64>, x: &[i64], e: &[i64]) -> Vec<u64> {
    let (ring, q) = (&params.ring, params.q());
    let basis = ring.everything();
    let small: Poly<Eval> = ring.forward(ring.lift_signed(x, &basis));
    let mut product = ring.forward(Poly::from_rows(ring.n(), &basis, key));
    ring.mul_assign(&mut product, &small);
    let product = ring.inverse(product);
    let with_error = |(&value, &error): (&u64, &i64)| q.add(value, q.from_i64(error));
    product.row(0).iter().zip(e).map(with_error).collect()
}

/// Computes all values from address, board, seeds and part, by the steps of docs/wire.md.
fn steps(params: &ClueParams, clue_key: &[u8], secret_key: &[u8]) -> Value {
    let spec = params.spec();
    let key = ClueKey::from_bytes(params, clue_key).unwrap();

    let public = SealPublic::from_bytes(&key.seal).unwrap();
    let sealing_key = public.key(Sealing::HpkeX25519);
    let mut ephemeral = [0; 32];
    let rng = || Xof::stream("omr known answers ephemeral", &KEY_SEED, &[]);
    rng().fill_bytes(&mut ephemeral);
    let plaintext = [&CLUE_SEED[..], PART].concat();
    let aad = [&BOARD[..], params.name().as_bytes()].concat();
    let mut payload = Vec::new();
    seal_with_rng(&mut rng(), &sealing_key, &aad, &plaintext, &mut payload).unwrap();

    let beta: Vec<u8> = key.beta.iter().flat_map(|x| x.to_le_bytes()).collect();
    let address = derive(
        "omr bound clue address v1",
        &[&params.tag(), &key.seed, &beta],
    );
    let sample_key = derive("omr bound clue sample v1", &[&CLUE_SEED, &address]);
    let mut stream = Xof::stream("omr bound clue randomness v1", &sample_key, &[]);
    let x = fixed_weight(&mut stream, spec.n, spec.weight);
    let errors = NarrowGaussian::new(spec.sigma);
    let mut draw = |count| {
        if spec.draws_errors() {
            errors.sample(&mut stream, count)
        } else {
            vec![0; count]
        }
    };
    let (e1, e2) = (draw(spec.n), draw(spec.coordinates));
    let a = sample(params, key.alpha(params), &x, &e1);
    let secrets = spec.secrets().into_iter().zip(key.beta.chunks(spec.n));
    let of_secret = |(own, beta): (ClueSecret, &[u32])| {
        let beta = beta.iter().map(|&x| x.into()).collect();
        sample(params, beta, &x, &e2[own.coordinates])
    };
    let b: Vec<u64> = secrets.flat_map(of_secret).collect();

    let one_time = derive("omr bound clue key v1", &[&CLUE_SEED, &address, &payload]);
    let to = Binding::new(&BOARD, &payload);
    let posted = a.iter().map(|&x| spec.posted(x)).collect();
    let w = key.offset(params);
    let bound = BoundClue::bind(params, posted, &b, &w, to, &one_time);
    let rows = bound.rows(params, to);
    let offsets: Vec<u64> = rows.iter().map(|row| offset(params, row, &w)).collect();
    let clue = bound.to_bytes(params);
    let fingerprint =
        Hashed::new(params, to, &clue).fingerprint(&FingerprintKey::new(&PLACEMENT_SEED));
    json!({
        "params": params.name(), "tag": hex(&params.tag()), "clue_key": hex(clue_key), "secret_key": hex(secret_key),
        "board_id": hex(&BOARD), "clue_seed": hex(&CLUE_SEED), "part": hex(PART), "additional_data": hex(&aad),
        "ephemeral_material": hex(&ephemeral), "payload": hex(&payload),
        "address": hex(&address), "sample_key": hex(&sample_key), "x": x, "e1": e1, "e2": e2, "a": a, "b": b,
        "one_time_secret": hex(&one_time), "one_time_key": hex(&bound.key), "w": w, "rows": rows, "offsets": offsets,
        "signed": hex(&bound.transcript(params, to)), "signature": hex(&bound.signature), "clue": hex(&clue),
        "placement_seed": hex(&PLACEMENT_SEED), "fingerprint": fingerprint,
    })
}

fn published() -> impl Iterator<Item = Arc<ClueParams>> {
    let sets = SetSpec::published().into_iter();
    sets.map(|set| ClueParams::named(set.name).unwrap())
}

#[test]
fn every_set_has_the_known_answers() {
    for params in published() {
        let path = path(params.name());
        let text = std::fs::read_to_string(&path);
        let how = "run this test's `freeze`, see the top of the file";
        let text = text.unwrap_or_else(|error| panic!("{}: {error}: {how}", path.display()));
        let known: Value = serde_json::from_str(&text).unwrap();
        let file = |name: &str| from_hex(&known[name]);
        let (clue_key, secret_key) = (file("clue_key"), file("secret_key"));
        let steps = steps(&params, &clue_key, &secret_key);
        for (name, value) in known.as_object().unwrap() {
            assert!(*value == steps[name], "{}: {name}", params.name());
        }

        check_callers(&params, &known);
    }
}

/// Checks that the functions for senders make the clue, and that those for recipients accept the message.
fn check_callers(params: &Arc<ClueParams>, known: &Value) {
    let key = ClueKey::from_bytes(params, &from_hex(&known["clue_key"])).unwrap();
    let sender = BoundSender::new(params, &key, array(&known["board_id"]));
    let seed = ClueSeed::from_bytes(array(&known["clue_seed"]));
    let payload = from_hex(&known["payload"]);
    let clue = sender.clue(&seed, &payload).to_bytes(params);
    assert_eq!(clue, from_hex(&known["clue"]), "{}", params.name());

    let secret = SecretKey::from_bytes(params, &from_hex(&known["secret_key"])).unwrap();
    let place = Place {
        board_id: array(&known["board_id"]),
        params: params.name().to_owned(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: payload.len(),
    };
    let value = known["fingerprint"].as_u64().unwrap() as u32;
    let message = |value| {
        Retrieved::new(
            0,
            Some(payload.clone()),
            Some(Fingerprint {
                key: FingerprintKey::new(&array(&known["placement_seed"])),
                value,
            }),
        )
    };
    let found = [message(value), message(value ^ 1)];
    let opened = Reader::new(params, &secret, &place).open(&found, 2);
    assert_eq!(opened.len(), 1);
    assert!(matches!(&opened[0].1, Ok(Piece::Whole(text)) if text.bytes == b"known answer"));
}

/// Senders and recipients on platforms with different `exp` must draw the same errors.
#[test]
fn errors_of_published_sets_come_from_a_table() {
    for params in published() {
        let sigma = params.spec().sigma;
        assert!(
            NarrowGaussian::published(sigma).is_some(),
            "{}",
            params.name()
        );
    }
}

#[test]
#[ignore = "writes testdata/clue/bound"]
fn freeze() {
    for params in published().filter(|params| !path(params.name()).exists()) {
        let seed = derive(params.name(), &[&KEY_SEED]);
        let mut rng = Xof::stream("omr known answers keys", &seed, &[]);
        let (secret, key) = identity(&params, ClueKind::Bound, &mut rng);
        let clue_key = key.to_bytes(&params).unwrap();
        let steps = steps(&params, &clue_key, &secret.to_bytes(&params).unwrap());
        std::fs::create_dir_all(path("").parent().unwrap()).unwrap();
        std::fs::write(path(params.name()), format!("{steps}\n")).unwrap();
    }
}
