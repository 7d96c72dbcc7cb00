//! Comparison of clues, byte by byte, with `reference/clue.py`, which computes them in plain integers.

use omr_protocol::clue::{Binding, BoundClue, FingerprintKey, Hashed, offset};
use omr_protocol::sophomr::Params;
use omr_protocol::{Clue, ClueKey, ClueKind};
use omr_ring::Poly;
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

/// The arithmetic of clues with this crate's parameters.
struct Arithmetic<'a>(&'a Params);

impl Arithmetic<'_> {
    /// Returns the product of a key and small coefficients, modulo the modulus of clues.
    fn product(&self, key: Vec<u64>, small: &[i64]) -> Vec<u64> {
        let ring = &self.0.clue.ring;
        let mut product = ring.forward(Poly::from_rows(ring.n(), &ring.everything(), key));
        let small = ring.forward(ring.lift_signed(small, &ring.everything()));
        ring.mul_assign(&mut product, &small);
        ring.inverse(product).row(0).to_vec()
    }

    /// Returns the product in the posted form.
    fn posted(&self, product: &[u64]) -> Vec<u32> {
        let spec = self.0.clue.spec();
        product.iter().map(|&x| spec.posted(x)).collect()
    }

    /// Returns the distances of a clue from a secret, in halves of a residue.
    fn distances(&self, clue: &Clue, s: &[i64]) -> Vec<i64> {
        let (spec, q) = (self.0.clue.spec(), self.0.clue.q().value() as i64);
        assert_eq!(spec.modulus() as i64, 2 * q);
        let value = |posted: u32| i64::from(spec.stands_for(posted));
        let distance = |(i, &b): (usize, &u32)| {
            let term = |j: usize| {
                if j <= i {
                    s[j] * value(clue.a[i - j])
                } else {
                    -s[j] * value(clue.a[spec.n + i - j])
                }
            };
            let difference = value(b) - (0..spec.n).map(term).sum::<i64>();
            (difference + q).rem_euclid(2 * q) - q
        };
        clue.b.iter().enumerate().map(distance).collect()
    }

    /// Returns whether the window polynomial, by which the detector decides, is zero at every distance in residues
    /// modulo p.
    fn pertinent(&self, d: &[i64]) -> bool {
        let p = self.0.p();
        let modulus = self.0.clue.spec().modulus() as f64;
        let value = |d: i64| {
            let rounded = (d as f64 * p.value() as f64 / modulus).round() as i64;
            let y = p.mul(p.from_i64(rounded), p.from_i64(rounded));
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
    let (alpha, q) = (key.alpha(&params.clue), params.clue.q());
    let expected = residues(&case["alpha"]).into_iter().map(u64::from);
    assert!(expected.eq(alpha.iter().copied()));
    let product = Arithmetic(params).product(alpha, &signed(&case["s"]));
    let errors = signed(&case["e"]);
    let beta = product.iter().zip(&errors);
    let beta = beta.map(|(&x, &e)| q.add(x, q.from_i64(e)) as u32);
    assert!(beta.eq(key.beta.iter().copied()));
    key
}

fn check_clue(params: &Params, own: &Value, source: &ClueKey, case: &Value) {
    let arithmetic = Arithmetic(params);
    let (q, x) = (params.clue.q(), signed(&case["x"]));
    let a = arithmetic.product(source.alpha(&params.clue), &x);
    let beta = source.beta.iter().map(|&x| u64::from(x)).collect();
    let exact = arithmetic.product(beta, &x);
    let shift = signed(&case["shift"]);
    let moved = exact.iter().zip(&shift);
    let moved: Vec<u64> = moved.map(|(&b, &by)| q.add(b, q.from_i64(by))).collect();
    let expected = residues(&case["exact"]).into_iter().map(u64::from);
    assert!(expected.eq(moved.iter().copied()));
    let clue = Clue {
        a: arithmetic.posted(&a),
        b: arithmetic.posted(&moved),
    };
    assert_eq!(
        (&clue.a, &clue.b),
        (&residues(&case["a"]), &residues(&case["b"]))
    );

    let wire = bytes(&case["bytes"]);
    assert_eq!(wire.len(), Clue::bytes(&params.clue));
    assert_eq!(clue.to_bytes(&params.clue), wire);
    assert_eq!(Clue::from_bytes(&params.clue, &wire).unwrap(), clue);

    let d = arithmetic.distances(&clue, &signed(&own["s"]));
    assert_eq!(d, signed(&case["d"]));
    assert_eq!(
        arithmetic.pertinent(&d),
        case["pertinent"].as_bool().unwrap()
    );
}

fn check_bound(params: &Params, own: &ClueKey, plain: &Value, case: &Value) {
    let (clue, q) = (&params.clue, params.clue.q());
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
    for ((b, row), exact) in bound
        .clue
        .b
        .iter()
        .zip(&rows)
        .zip(residues(&plain["exact"]))
    {
        let moved = q.add(exact.into(), offset(clue, row, &w));
        assert_eq!(*b, clue.spec().posted(moved));
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
        "../../../../testdata/clue/insecure-tiny-v4.json"
    ));
}

#[test]
fn default_set_of_sophomr() {
    check_set(include_str!("../../../../testdata/clue/sophomr-v5.json"));
}
