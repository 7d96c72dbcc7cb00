//! Known answers from whole numbers (`reference/rounds.py`): every residue of keys, queries and responses.

use chacha20::ChaCha20Rng;
use omr_bgv::{Ciphertext, Decryptor, GaloisKey};
use omr_compress::PackedCiphertext;
use omr_opening::{ClueShape, ModuleCipher, ModuleSecret, OpeningSpec, PackingKey};
use omr_ring::{AlignedVec, Basis, Eval, Gadget, Kernels, Poly, Ring};
use omr_rlwe::{MaskSeed, Rlwe, Secret, SecretPoly, SharedKey, SwitchingKey};
use omr_rounds::fetch::{
    Choice, Fetch, FetchKey, FetchSecret, FetchSpec, KeyedQuery, Place, Places, Prepared, Query,
    answer,
};
use omr_rounds::scan::{
    Packed, Scan, ScanKey, ScanPart, ScanSecret, ScanSpec, share, switch_key, switch_key_of,
};
use rand_core::{SeedableRng, TryCryptoRng, TryRng};
use serde_json::Value;
use std::convert::Infallible;

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a residue")
}

fn words(value: &Value) -> Vec<u64> {
    list(value).iter().map(number).collect()
}

fn indices(value: &Value) -> Vec<usize> {
    words(value).into_iter().map(|x| x as usize).collect()
}

fn residues(value: &Value) -> Vec<u32> {
    words(value).into_iter().map(|x| x as u32).collect()
}

fn signed(value: &Value) -> Vec<i64> {
    let integer = |x: &Value| x.as_i64().expect("a small integer");
    list(value).iter().map(integer).collect()
}

fn secret(value: &Value) -> Secret {
    Secret::from_coeffs(signed(value)).expect("a ternary polynomial")
}

fn secrets(value: &Value) -> Vec<Secret> {
    list(value).iter().map(secret).collect()
}

fn seed(value: &Value) -> [u8; 32] {
    let bytes: Vec<u8> = words(value).into_iter().map(|x| x as u8).collect();
    bytes.try_into().expect("32 bytes")
}

/// A polynomial from the rows of a file, one for each prime of a basis.
fn poly(ring: &Ring, basis: &Basis, rows: &Value) -> Poly<Eval> {
    let residues = list(rows).iter().flat_map(words).collect();
    Poly::from_rows(ring.n(), basis, residues)
}

#[track_caller]
fn same(found: &Poly<Eval>, expected: &Poly<Eval>) {
    assert_eq!(found.basis(), expected.basis());
    for row in 0..found.basis().len() {
        assert_eq!(found.row(row), expected.row(row), "row {row}");
    }
}

/// A generator whose words make the centred binomial sampler give chosen errors.
struct Chosen(std::vec::IntoIter<u64>);

impl Chosen {
    fn new(errors: &[Vec<i64>]) -> Self {
        let ones = |count: i64| (1u64 << count.max(0)) - 1;
        let word = |&error: &i64| ones(error) | ones(-error) << 32;
        let words: Vec<u64> = errors.iter().flatten().map(word).collect();
        Self(words.into_iter())
    }

    fn of(value: &Value) -> Self {
        let errors: Vec<Vec<i64>> = list(value).iter().map(signed).collect();
        Self::new(&errors)
    }

    #[track_caller]
    fn expect_used_up(&self) {
        assert!(self.0.as_slice().is_empty(), "errors that nobody took");
    }
}

impl TryRng for Chosen {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("errors take 64 bits at a time")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next().expect("as many words as coefficients"))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("errors take 64 bits at a time")
    }
}

impl TryCryptoRng for Chosen {}

/// The scan of `scan.json`.
fn scan() -> Scan {
    let kernels = Kernels::detect();
    let clue = ClueShape {
        n: 70,
        q: 4_188_161,
        coordinates: 2,
    };
    let packing = OpeningSpec {
        n: 16,
        packing_rank: 2,
        packing_bits: 50,
        packing_sigma: 0.62,
        rank: 3,
        weight: 5,
        narrow_bits: 29.5,
        gadget: Gadget {
            bits: 2,
            digits: 13,
        },
        points: 8,
        baby: 4,
    };
    let spec = ScanSpec {
        n: 64,
        modulus_bits: 50,
        parts: 4,
        digits: 2,
        digit_bits: 16,
        body_bits: [15, 9],
        mask_bits: [22, 16],
        limits: [1.31, 0.96],
    };
    let plain = omr_bgv::Plain::new(786_433, 512, kernels).unwrap();
    Scan::new(clue, packing, &plain, spec, kernels).unwrap()
}

struct ScanCase {
    case: Value,
    scan: Scan,
    seed: [u8; 32],
}

impl ScanCase {
    fn new() -> Self {
        let text = include_str!("../../../../testdata/rounds/scan.json");
        let case: Value = serde_json::from_str(text).unwrap();
        let scan = scan();
        let primes = [scan.opening().packing.modulus(0), scan.ring().modulus(0)];
        assert_eq!(primes.map(|m| m.value()).to_vec(), words(&case["primes"]));
        let seed = seed(&case["seed"]);
        Self { case, scan, seed }
    }

    fn at(&self, rank: usize) -> MaskSeed<'_> {
        MaskSeed::new(&self.seed, number(&self.case["index"]) + rank as u64)
    }

    fn polys(&self) -> Vec<SecretPoly> {
        let ring = self.scan.ring();
        let finals = secrets(&self.case["secrets"]);
        let poly = |secret: &Secret| secret.poly(ring, &ring.everything());
        finals.iter().map(poly).collect()
    }

    /// The bodies of a rank's key, as the file has them.
    fn bodies(&self, rank: usize) -> Vec<Poly<Eval>> {
        let ring = self.scan.ring();
        let body = |row: &Value| Poly::from_rows(ring.n(), &ring.everything(), words(row));
        let rows = list(&self.case["keys"][rank]["bodies"]);
        rows.iter().map(body).collect()
    }

    fn key(&self) -> ScanKey {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let packing = ModuleSecret(secrets(&self.case["packing_secret"]));
        let ranks = 0..packing.0.len();
        let at = MaskSeed::new(&[0; 32], 0);
        let switch = ranks.map(|rank| switch_key_of(&self.scan, self.bodies(rank), self.at(rank)));
        ScanKey {
            // Blocks are packed already, so that this part is not used.
            packing: PackingKey::generate(
                self.scan.opening(),
                &[0; 70],
                &[],
                &packing,
                at,
                &mut rng,
            ),
            switch: switch.collect(),
        }
    }

    /// The packed blocks of the file, which lists them by coordinate.
    fn blocks(&self) -> Vec<Packed> {
        let row = |row: &Value| AlignedVec::from(&words(row)[..]);
        let cipher = |case: &Value| ModuleCipher {
            masks: list(&case["masks"]).iter().map(row).collect(),
            bodies: vec![row(&case["body"])],
        };
        let [first, second] = [0, 1].map(|c| list(&self.case["packed"][c]));
        let both = first.iter().zip(second);
        both.map(|(x, y)| (!x.is_null()).then(|| vec![cipher(x), cipher(y)]))
            .collect()
    }
}

#[test]
fn keys_of_a_scan() {
    let case = ScanCase::new();
    let packing = ModuleSecret(secrets(&case.case["packing_secret"]));
    for rank in 0..packing.0.len() {
        let mut errors = Chosen::of(&case.case["keys"][rank]["errors"]);
        let key = switch_key(
            &case.scan,
            &packing,
            rank,
            &case.polys(),
            case.at(rank),
            &mut errors,
        );
        errors.expect_used_up();
        let expected = case.bodies(rank);
        assert_eq!(key.bodies().count(), expected.len());
        for (found, expected) in key.bodies().zip(&expected) {
            same(found, expected);
        }
    }
}

#[test]
fn masks_and_bodies_of_a_scan() {
    let case = ScanCase::new();
    let parts = share(&case.scan, &case.key(), 0, &case.blocks());
    assert_eq!(parts.len(), 2);
    for (found, expected) in parts.iter().zip(list(&case.case["parts"])) {
        assert_eq!(found.mask, words(&expected["mask"]));
        let bodies: Vec<Vec<u64>> = list(&expected["bodies"]).iter().map(words).collect();
        assert_eq!(found.bodies, bodies);
    }
}

#[test]
fn distances_of_a_scan() {
    let case = ScanCase::new();
    let secret = ScanSecret::new(&case.scan, case.polys());
    for (c, expected) in list(&case.case["parts"]).iter().enumerate() {
        let part = ScanPart {
            mask: words(&expected["mask"]),
            bodies: list(&expected["bodies"]).iter().map(words).collect(),
        };
        let groups = indices(&expected["groups"]);
        let found = secret.distances(&case.scan, &groups, c, &part).unwrap();
        let distances: Vec<Vec<i64>> = list(&case.case["distances"][c])
            .iter()
            .map(signed)
            .collect();
        assert_eq!(found, distances, "coordinate {c}");
    }
}

/// The fetch of `fetch.json`.
const SPEC: FetchSpec = FetchSpec {
    n: 64,
    page: 13,
    final_n: 16,
    ..crate::world::TINY
};

fn fetch(spec: FetchSpec) -> Fetch {
    Fetch::new(spec, Kernels::detect()).unwrap()
}

/// Reads a place from a bucket and a position.
fn place(value: &Value) -> Place {
    let numbers = indices(value);
    assert_eq!(numbers.len(), 2);
    Place {
        bucket: numbers[0],
        position: numbers[1],
    }
}

/// Reads a choice from a row and a position.
fn choice(value: &Value) -> Choice {
    let numbers = indices(value);
    assert_eq!(numbers.len(), 2);
    Choice {
        row: numbers[0],
        position: numbers[1],
    }
}

#[test]
fn places_of_messages() {
    let text = include_str!("../../../../testdata/rounds/places.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let seed = seed(&all["seed"]);
    for case in list(&all["cases"]) {
        let shape = indices(&case["shape"]);
        let spec = match shape[0] {
            16 => SPEC,
            _ => crate::world::FULL,
        };
        let fetch = fetch(spec);
        let spec = fetch.spec();
        let own = [spec.buckets, spec.choices, fetch.positions(), spec.page];
        assert_eq!(own[..], shape);
        let page = number(&case["page"]);
        let places = Places::new(&fetch, &seed, page);
        // The last messages of the page.
        let expected = list(&case["places"]);
        let messages = places.messages() - expected.len()..places.messages();
        for (message, own) in messages.zip(expected) {
            let found: Vec<Place> = places.of(message).collect();
            let expected: Vec<Place> = list(own).iter().map(place).collect();
            assert_eq!(found, expected, "message {message} of page {page}");
        }
    }
}

struct FetchCase {
    case: Value,
    fetch: Fetch,
    seed: [u8; 32],
}

impl FetchCase {
    fn new() -> Self {
        let text = include_str!("../../../../testdata/rounds/fetch.json");
        let case: Value = serde_json::from_str(text).unwrap();
        let fetch = fetch(SPEC);
        let extended = fetch.shape.extended();
        let prime = |&id: &usize| fetch.ring.modulus(id).value();
        let primes: Vec<u64> = extended.ids().iter().map(prime).collect();
        assert_eq!(primes, words(&case["primes"]));
        let last = fetch.final_ring.modulus(0).value();
        assert_eq!(last, number(&case["final_prime"]));
        let seed = seed(&case["seed"]);
        Self { case, fetch, seed }
    }

    fn finals(&self) -> Vec<SecretPoly> {
        let last = &self.fetch.final_ring;
        let poly = |secret: &Secret| secret.poly(last, &last.everything());
        let finals = secrets(&self.case["final_secrets"]);
        finals.iter().map(poly).collect()
    }

    fn secret(&self) -> Secret {
        secret(&self.case["secret"])
    }

    /// Makes a switching key with the errors of the file, and compares its body.
    fn switching(&self, case: &Value, from: &SecretPoly, to: &SecretPoly) -> SwitchingKey {
        let (ring, shape) = (&self.fetch.ring, &self.fetch.shape);
        let at = MaskSeed::new(&self.seed, number(&case["index"]));
        let mut errors = Chosen::new(&[signed(&case["errors"])]);
        let p = self.fetch.p().value();
        let key = SwitchingKey::generate(ring, shape, from, to, p, at, &mut errors);
        errors.expect_used_up();
        let expected = poly(ring, &shape.extended(), &case["bodies"]);
        let bodies: Vec<&Poly<Eval>> = key.bodies().collect();
        assert_eq!(bodies.len(), 1);
        same(bodies[0], &expected);
        key
    }

    /// The key of the file; its bodies are compared while it is made.
    fn key(&self) -> FetchKey {
        let (fetch, case) = (&self.fetch, &self.case);
        let (ring, shape) = (&fetch.ring, &fetch.shape);
        let s = self.secret().poly(ring, &shape.extended());
        let product = self.switching(&case["product"], &s.product(ring, &s), &s);
        let mut merge = Vec::new();
        assert_eq!(fetch.levels().count(), list(&case["merge"]).len());
        for (level, own) in fetch.levels().zip(list(&case["merge"])) {
            let to = GaloisKey::preimage(ring, &s, fetch.exponent(level));
            merge.push(self.switching(own, &s, &to));
        }
        let mut errors = Chosen::of(&case["final"]["errors"]);
        let at = MaskSeed::new(&self.seed, 7);
        let last = SharedKey::generate(
            &fetch.final_ring,
            fetch.final_shape(),
            &self.secret(),
            &self.finals(),
            at,
            &mut errors,
        );
        errors.expect_used_up();
        let bodies = list(&case["final"]["bodies"]);
        assert_eq!(last.bodies().count(), bodies.len());
        for (found, expected) in last.bodies().zip(bodies) {
            assert_eq!(found.row(0), words(expected));
        }
        FetchKey::new(fetch, merge, product, last)
    }

    fn choices(&self) -> Vec<Choice> {
        list(&self.case["choices"]).iter().map(choice).collect()
    }

    /// The number of rows, one for each page.
    fn rows(&self) -> usize {
        list(&self.case["pages"]).len()
    }

    /// The number of symbols of a message.
    fn symbols(&self) -> usize {
        list(&self.case["symbols"][0]).len()
    }

    /// The query of the file, as a detector has it.
    fn query(&self) -> Query {
        let (ring, basis) = (&self.fetch.ring, self.fetch.chain.basis(0));
        let case = &self.case["query"];
        let bodies = list(&case["bodies"]).iter();
        Query {
            rows: self.rows(),
            seed: seed(&case["seed"]),
            bodies: bodies.map(|rows| poly(ring, basis, rows)).collect(),
        }
    }

    fn answer(&self) -> PackedCiphertext {
        let answer = &self.case["answer"];
        PackedCiphertext {
            mask: words(&answer["mask"]),
            parts: list(&answer["parts"]).iter().map(words).collect(),
        }
    }
}

#[test]
fn a_query() {
    let case = FetchCase::new();
    let (fetch, own) = (&case.fetch, &case.case["query"]);
    let s = case.secret().poly(&fetch.ring, fetch.chain.basis(0));
    let mut errors = Chosen::of(&own["errors"]);
    let (rows, choices, at) = (case.rows(), case.choices(), seed(&own["seed"]));
    let query = Query::encrypt(fetch, &s, rows, &choices, at, &mut errors);
    errors.expect_used_up();
    let expected = case.query();
    assert_eq!(query.rows, expected.rows);
    assert_eq!(query.bodies.len(), expected.bodies.len());
    for (found, expected) in query.bodies.iter().zip(&expected.bodies) {
        same(found, expected);
    }
}

/// The slots of a query's ciphertexts are those of the polynomials in the clear.
#[test]
fn plaintexts_of_a_query() {
    let case = FetchCase::new();
    let fetch = &case.fetch;
    let query = case.query();
    let secret = case.secret();
    let decryptor = Decryptor {
        ring: &fetch.ring,
        plain: &fetch.plain,
        secret: &secret,
    };
    let messages = list(&case.case["query"]["messages"]);
    assert_eq!(messages.len(), query.bodies.len());
    for (index, (body, expected)) in (0..).zip(query.bodies.into_iter().zip(messages)) {
        let at = MaskSeed::new(&query.seed, index);
        let mask = at.mask(&fetch.ring, fetch.chain.basis(0), &[]);
        let slots = decryptor.decrypt(&Ciphertext::new(Rlwe::new(body, mask), 0, 1));
        assert_eq!(fetch.plain.encode(&slots), residues(expected));
    }
}

#[test]
fn choices_of_a_query() {
    let case = FetchCase::new();
    let found = case.query().decrypt(&case.fetch, &case.secret());
    assert_eq!(found.unwrap(), case.choices());
}

#[test]
fn an_answer() {
    let case = FetchCase::new();
    let (fetch, own) = (&case.fetch, &case.case);
    let at = seed(&own["places_seed"]);
    let mut pages = Vec::new();
    for (page, values) in (0..).zip(list(&own["pages"])) {
        let places = Places::new(fetch, &at, page);
        let values = residues(values);
        pages.push(Prepared::new(fetch, &places, case.symbols(), &values));
    }
    let pages: Vec<&Prepared> = pages.iter().collect();
    let query = KeyedQuery {
        key: &case.key(),
        query: &case.query(),
    };
    let found = answer(fetch, &[query], &pages).unwrap().remove(0);
    let expected = case.answer();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].mask, expected.mask);
    assert_eq!(found[0].parts, expected.parts);
}

#[test]
fn symbols_of_an_answer() {
    let case = FetchCase::new();
    let secret = FetchSecret::new(&case.fetch, case.secret(), || case.finals());
    let answer = [case.answer()];
    let found = secret.symbols(&case.fetch, case.rows(), case.symbols(), &answer);
    let expected: Vec<Vec<u32>> = list(&case.case["symbols"]).iter().map(residues).collect();
    assert_eq!(found.unwrap(), expected);
}
