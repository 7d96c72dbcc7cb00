//! Clues against plain integers, byte by byte: `reference/clue.py`.

use omr_protocol::clue::{Binding, BoundClue, FingerprintKey, Hashed, offset};
use omr_protocol::sophomr::Params;
use omr_protocol::{Clue, ClueKey, ClueKind};
use omr_ring::{Eval, Poly};
use serde_json::Value;

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn residues(value: &Value) -> Vec<u32> {
    list(value)
        .iter()
        .map(|x| u32::try_from(x.as_u64().unwrap()).unwrap())
        .collect()
}

fn signed(value: &Value) -> Vec<i64> {
    list(value).iter().map(|x| x.as_i64().unwrap()).collect()
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}

/// The arithmetic of clues on this crate's parameters.
struct Arithmetic<'a>(&'a Params);

impl Arithmetic<'_> {
    fn small(&self, coeffs: &[i64]) -> Poly<Eval> {
        let ring = &self.0.clue.ring;
        ring.forward(ring.lift_signed(coeffs, &ring.everything()))
    }

    /// The first coefficients of `key * small + error`.
    fn sample(&self, key: &[u32], small: &[i64], error: &[i64]) -> Vec<u32> {
        let (ring, p) = (&self.0.clue.ring, self.0.p());
        let key = key.iter().map(|&x| u64::from(x)).collect();
        let mut product = ring.forward(Poly::from_rows(ring.n(), &ring.everything(), key));
        ring.mul_assign(&mut product, &self.small(small));
        let product = ring.inverse(product);
        let add = |(&x, &e): (&u64, &i64)| p.add(x, p.from_i64(e)) as u32;
        product.row(0).iter().zip(error).map(add).collect()
    }

    /// Whether the window polynomial, by which the detector decides, is zero at every distance.
    fn pertinent(&self, d: &[i64]) -> bool {
        let p = self.0.p();
        let value = |d: i64| {
            let y = p.mul(p.from_i64(d), p.from_i64(d));
            let terms = self.0.window.coefficients().iter().rev();
            terms.fold(0, |sum, &c| p.add(p.mul(sum, y), c))
        };
        d.iter().all(|&d| value(d) == 0)
    }
}

fn key(params: &Params, case: &Value) -> ClueKey {
    let seed: Vec<u8> = residues(&case["seed"])
        .into_iter()
        .map(|x| x as u8)
        .collect();
    let key = ClueKey {
        kind: ClueKind::Bound,
        id: [0; 16],
        seed: seed.try_into().unwrap(),
        beta: residues(&case["beta"]),
        seal: [0; omr_protocol::clue::SEAL_PUBLIC_BYTES],
    };
    let alpha: Vec<u32> = key
        .alpha(&params.clue)
        .into_iter()
        .map(|x| x as u32)
        .collect();
    assert_eq!(alpha, residues(&case["alpha"]));
    let arithmetic = Arithmetic(params);
    assert_eq!(
        arithmetic.sample(&alpha, &signed(&case["s"]), &signed(&case["e"])),
        key.beta
    );
    key
}

fn check_clue(params: &Params, own: &Value, source: &ClueKey, case: &Value) {
    let arithmetic = Arithmetic(params);
    let (p, x) = (params.p(), signed(&case["x"]));
    let alpha: Vec<u32> = source
        .alpha(&params.clue)
        .into_iter()
        .map(|x| x as u32)
        .collect();
    let a = arithmetic.sample(&alpha, &x, &signed(&case["e1"]));
    let exact = arithmetic.sample(&source.beta, &x, &signed(&case["e2"]));
    let shift = signed(&case["shift"]);
    let moved = |(&b, &shift): (&u32, &i64)| p.add(u64::from(b), p.from_i64(shift)) as u32;
    let b = exact.iter().zip(&shift).map(moved).collect();
    let clue = Clue { a, b };
    assert_eq!(
        (&clue.a, &clue.b),
        (&residues(&case["a"]), &residues(&case["b"]))
    );

    let wire = bytes(&case["bytes"]);
    assert_eq!(wire.len(), Clue::bytes(&params.clue));
    assert_eq!(clue.to_bytes(&params.clue), wire);
    assert_eq!(Clue::from_bytes(&params.clue, &wire).unwrap(), clue);

    let masked = arithmetic.sample(&clue.a, &signed(&own["s"]), &vec![0; clue.b.len()]);
    let d: Vec<i64> = clue
        .b
        .iter()
        .zip(&masked)
        .map(|(&b, &m)| p.to_centered(p.sub(u64::from(b), u64::from(m))))
        .collect();
    assert_eq!(d, signed(&case["d"]));
    assert_eq!(
        arithmetic.pertinent(&d),
        case["pertinent"].as_bool().unwrap()
    );
}

fn check_bound(params: &Params, own: &ClueKey, plain: &Value, case: &Value) {
    let (clue, q) = (&params.clue, params.p());
    let w = own.offset(clue);
    assert_eq!(w.to_vec(), residues(&case["w"]));
    let wire = bytes(&case["bytes"]);
    let bound = BoundClue::from_bytes(clue, &wire).unwrap();
    assert_eq!(bound.to_bytes(clue), wire);
    assert_eq!(
        (&bound.clue.a, &bound.clue.b),
        (&residues(&case["a"]), &residues(&case["b"]))
    );
    let (board_id, payload) = (bytes(&case["board"]), bytes(&case["payload"]));
    let board_id = board_id.try_into().unwrap();
    let to = Binding::new(&board_id, &payload);
    let rows = bound.rows(clue, to);
    let expected = list(&case["rows"]).iter().map(residues);
    assert!(expected.eq(rows.iter().map(|row| row.to_vec())));
    for ((b, row), plain) in bound.clue.b.iter().zip(&rows).zip(residues(&plain["b"])) {
        assert_eq!(u64::from(*b), q.add(plain.into(), offset(clue, row, &w)));
    }
    let hashed = Hashed::new(clue, to, &wire);
    let mut again = vec![[0; 8]; rows.len()];
    hashed.rows_into(clue, &mut again);
    assert_eq!(again, rows);
    let key = FingerprintKey::new(&bytes(&case["seed"]).try_into().unwrap());
    let expected = case["fingerprint"].as_u64().unwrap();
    assert_eq!(u64::from(hashed.fingerprint(&key)), expected);
}

fn check_set(text: &str) {
    let file: Value = serde_json::from_str(text).unwrap();
    let params = Params::named(file["key"]["params"].as_str().unwrap()).unwrap();
    assert_eq!(params.spec().range, file["range"].as_u64().unwrap());
    let (own, other) = (key(&params, &file["key"]), key(&params, &file["other"]));
    for case in list(&file["clues"]) {
        let source = if case.get("foreign").is_some() {
            &other
        } else {
            &own
        };
        check_clue(&params, &file["key"], source, case);
    }
    for case in list(&file["bound"]) {
        check_bound(&params, &own, &file["clues"][0], case);
    }
}

#[test]
fn tiny_set() {
    check_set(include_str!(
        "../../../../testdata/clue/insecure-tiny-v2.json"
    ));
}

#[test]
fn sophomr_v3() {
    check_set(include_str!("../../../../testdata/clue/sophomr-v3.json"));
}

#[test]
fn sophomr_v2() {
    check_set(include_str!("../../../../testdata/clue/sophomr-v2.json"));
}
