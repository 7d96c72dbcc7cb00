//! Known answers from plain integers: `reference/bgv.py`.
use omr_ring::*;
use rand_core::Rng;
use serde_json::Value;

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn words(value: &Value) -> Vec<u64> {
    list(value)
        .iter()
        .map(|x| x.as_u64().expect("a residue"))
        .collect()
}

fn word(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn file(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("a list of cases")
}

#[test]
fn transforms() {
    for case in file(include_str!("../../../testdata/ring/transform.json")) {
        let (coeffs, values) = (words(&case["coeffs"]), words(&case["values"]));
        for kernels in [Kernels::detect(), Kernels::scalar()] {
            let ring = Ring::with_kernels(coeffs.len(), &[word(&case["q"])], kernels).unwrap();
            assert_eq!(ring.table(0).psi(), word(&case["psi"]));
            let poly = Poly::from_rows(ring.n(), &ring.everything(), coeffs.clone());
            let transformed = ring.forward(poly);
            assert_eq!(transformed.row(0), values);
            assert_eq!(ring.inverse(transformed).row(0), coeffs);
        }
    }
}

#[test]
fn automorphisms() {
    for case in file(include_str!("../../../testdata/ring/automorphism.json")) {
        let coeffs = words(&case["coeffs"]);
        let ring = Ring::new(coeffs.len(), &[97]).unwrap();
        let order = SlotOrder::new(ring.n());
        let slots = |a: &Poly<Eval>| -> Vec<u64> {
            order
                .positions()
                .iter()
                .map(|&i| a.row(0)[i as usize])
                .collect()
        };
        let poly = ring.forward(Poly::from_rows(ring.n(), &ring.everything(), coeffs));
        assert_eq!(slots(&poly), words(&case["slots"]));
        let image = Automorphism::new(ring.n(), word(&case["g"]) as usize).apply(&ring, &poly);
        assert_eq!(slots(&image), words(&case["image_slots"]));
        assert_eq!(ring.inverse(image).row(0), words(&case["image"]));
    }
}

#[test]
fn modulus_switches() {
    let text = include_str!("../../../testdata/ring/switch.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let p = Modulus::new(word(&file["p"])).unwrap();
    let rows = |value: &Value| -> Vec<u64> { list(value).iter().flat_map(words).collect() };
    let basis = |value: &Value| Basis::new(words(value).into_iter().map(|id| id as usize));
    let n = list(&file["cases"][0]["coeffs"][0]).len();
    let ring = Ring::new(n, &words(&file["primes"])).unwrap();
    for case in list(&file["cases"]) {
        let (from, to) = (basis(&case["from"]), basis(&case["to"]));
        let switch = Switch::new(&ring, &from, &to, &p);
        assert_eq!(switch.factor(), word(&case["factor"]));
        let poly = ring.forward(Poly::from_rows(n, &from, rows(&case["coeffs"])));
        let image = ring.inverse(switch.apply(&ring, &poly));
        assert_eq!(
            image.to_words(),
            rows(&case["image"]),
            "from {from:?} to {to:?}"
        );
    }
}

#[test]
fn seeded_streams() {
    for case in file(include_str!("../../../testdata/ring/stream.json")) {
        let domain = case["domain"].as_str().unwrap();
        let bytes = |value: &Value| {
            words(value)
                .into_iter()
                .map(|x| x as u8)
                .collect::<Vec<u8>>()
        };
        let seed = bytes(&case["seed"]).try_into().unwrap();
        let stream = || Xof::stream(domain, &seed, &words(&case["index"]));
        let expected = bytes(&case["bytes"]);
        let mut found = vec![0; expected.len()];
        stream().fill_bytes(&mut found);
        assert_eq!(found, expected);
        let mut residues = vec![0; list(&case["residues"]).len()];
        let modulus = Modulus::new(word(&case["modulus"])).unwrap();
        uniform_residues(&mut stream(), &modulus, &mut residues);
        assert_eq!(residues, words(&case["residues"]));
    }
}
