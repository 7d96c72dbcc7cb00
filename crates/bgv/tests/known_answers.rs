//! Known answers from plain integers for every residue of every ciphertext: `reference/bgv.py`.
use omr_bgv::*;
use omr_ring::*;
use omr_rlwe::*;
use rand_core::{TryCryptoRng, TryRng};
use serde_json::Value;
use std::convert::Infallible;

const P: u64 = 97;

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn words(value: &Value) -> Vec<u64> {
    list(value)
        .iter()
        .map(|x| x.as_u64().expect("a residue"))
        .collect()
}

fn slots(value: &Value) -> Vec<u32> {
    words(value).into_iter().map(|x| x as u32).collect()
}

fn signed(value: &Value) -> Vec<i64> {
    list(value)
        .iter()
        .map(|x| x.as_i64().expect("a small integer"))
        .collect()
}

/// A generator of the coins for which the centred binomial sampler returns the noise in the file.
struct Coins(std::vec::IntoIter<i64>);

impl Coins {
    fn new<'a>(noises: impl IntoIterator<Item = &'a Value>) -> Self {
        Self(
            noises
                .into_iter()
                .flat_map(signed)
                .collect::<Vec<_>>()
                .into_iter(),
        )
    }
}

impl TryRng for Coins {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("noise takes 64 bits at a time")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let noise = self.0.next().expect("as many coins as coefficients");
        let ones = |count: i64| (1u64 << count.max(0)) - 1;
        Ok(ones(noise) | ones(-noise) << 32)
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("noise takes 64 bits at a time")
    }
}

impl TryCryptoRng for Coins {}

/// The scheme of `evaluator.json`: two base primes, two primes that levels drop, two special primes.
struct Reference {
    case: Value,
    ring: Ring,
    plain: Plain,
    chain: Chain,
    secret: Secret,
    shape: KeyShape,
    seed: [u8; 32],
}

impl Reference {
    fn new() -> Self {
        let text = include_str!("../../../testdata/bgv/evaluator.json");
        let case: Value = serde_json::from_str(text).unwrap();
        let secret = Secret::from_coeffs(signed(&case["secret"])).unwrap();
        let ring = Ring::new(secret.coeffs().len(), &words(&case["primes"])).unwrap();
        let seed: Vec<u8> = words(&case["seed"]).into_iter().map(|x| x as u8).collect();
        Self {
            plain: Plain::new(P, ring.n(), ring.kernels()).unwrap(),
            chain: Chain::new((2..=4).rev().map(|count| Basis::new(0..count)).collect()),
            shape: KeyShape::new(&Basis::new(0..4), 2, &Basis::new(4..6)),
            seed: seed.try_into().unwrap(),
            case,
            ring,
            secret,
        }
    }

    fn ev(&self) -> Evaluator<'_> {
        Evaluator {
            ring: &self.ring,
            plain: &self.plain,
            chain: &self.chain,
            stop: None,
        }
    }

    fn encrypt(&self, index: usize) -> Ciphertext {
        let case = &self.case["ciphertexts"][index];
        let secret = self.secret.poly(&self.ring, self.chain.basis(0));
        let at = MaskSeed::new(&self.seed, index as u64);
        let (ring, plain, chain) = (&self.ring, &self.plain, &self.chain);
        let mut coins = Coins::new([&case["noise"]]);
        encrypt_symmetric(
            ring,
            plain,
            chain,
            0,
            &secret,
            &slots(&case["slots"]),
            at,
            &mut coins,
        )
    }

    fn relin(&self) -> SwitchingKey {
        let case = &self.case["product"];
        let s = self.secret.poly(&self.ring, &self.shape.extended());
        let square = s.product(&self.ring, &s);
        let at = MaskSeed::new(&self.seed, case["index"].as_u64().unwrap());
        let mut coins = Coins::new(list(&case["noises"]));
        let (ring, shape) = (&self.ring, &self.shape);
        SwitchingKey::generate(ring, shape, &square, &s, P, at, &mut coins)
    }

    fn galois(&self) -> GaloisKey {
        let case = &self.case["rotation"];
        let s = self.secret.poly(&self.ring, &self.shape.extended());
        let g = case["g"].as_u64().unwrap() as usize;
        let at = MaskSeed::new(&self.seed, case["index"].as_u64().unwrap());
        let mut coins = Coins::new(list(&case["noises"]));
        GaloisKey::generate(&self.ring, &self.shape, &s, g, P, at, &mut coins)
    }

    #[track_caller]
    fn same(&self, ct: &Ciphertext, case: &Value) {
        for (part, expected) in ct.parts().iter().zip(list(&case["parts"])) {
            let rows: Vec<u64> = list(expected).iter().flat_map(words).collect();
            assert_eq!(self.ring.inverse(part.clone()).to_words(), rows);
        }
        let scale = case.get("scale").map_or(1, |scale| scale.as_u64().unwrap());
        assert_eq!(ct.scale(), scale);
        let decryptor = Decryptor {
            ring: &self.ring,
            plain: &self.plain,
            secret: &self.secret,
        };
        assert_eq!(decryptor.decrypt(ct), slots(&case["slots"]));
    }
}

#[test]
fn slot_order() {
    let text = include_str!("../../../testdata/bgv/slots.json");
    for case in list(&serde_json::from_str(text).unwrap()) {
        let (values, coeffs) = (slots(&case["slots"]), words(&case["coeffs"]));
        for kernels in [Kernels::detect(), Kernels::scalar()] {
            let plain = Plain::new(P, values.len(), kernels).unwrap();
            assert_eq!(plain.decode(coeffs.clone()), values);
            let encoded = plain.encode(&values);
            assert_eq!(
                encoded.into_iter().map(u64::from).collect::<Vec<_>>(),
                coeffs
            );
        }
    }
}

#[test]
fn encryption() {
    let reference = Reference::new();
    for index in 0..2 {
        reference.same(
            &reference.encrypt(index),
            &reference.case["ciphertexts"][index],
        );
    }
}

#[test]
fn products() {
    let reference = Reference::new();
    let (ev, key) = (reference.ev(), reference.relin());
    let product = ev
        .mul(&reference.encrypt(0), &reference.encrypt(1), &key)
        .unwrap();
    reference.same(&product, &reference.case["product"]);
    let square = ev.mul(&product, &product, &key).unwrap();
    reference.same(&square, &reference.case["square"]);
}

#[test]
fn rotation() {
    let reference = Reference::new();
    let turned = reference
        .ev()
        .automorphism(&reference.encrypt(0), &reference.galois())
        .unwrap();
    reference.same(&turned, &reference.case["rotation"]);
}
