//! Known answers from plain integers: `reference/opening.py`. Every residue of keys and ciphertexts, every slot.

mod chosen;

use chacha20::ChaCha20Rng;
use chosen::Words;
use omr_bgv::*;
use omr_opening::*;
use omr_ring::*;
use omr_rlwe::*;
use rand_core::SeedableRng;
use serde_json::Value;

const P: u64 = 786_433;
const SIGMA: f64 = 0.62;
/// Slots of the large ring.
const N: usize = 512;

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn words(value: &Value) -> Vec<u64> {
    let word = |x: &Value| x.as_u64().expect("a residue");
    list(value).iter().map(word).collect()
}

fn residues(value: &Value) -> Vec<u32> {
    words(value).into_iter().map(|x| x as u32).collect()
}

fn signed(value: &Value) -> Vec<i64> {
    let integer = |x: &Value| x.as_i64().expect("a small integer");
    list(value).iter().map(integer).collect()
}

fn secret(value: &Value) -> ModuleSecret {
    let part = |part| Secret::from_coeffs(signed(part)).expect("a ternary polynomial");
    ModuleSecret(list(value).iter().map(part).collect())
}

/// The shape of the reference.
fn opening(plain: &Plain) -> Opening {
    let clue = ClueShape {
        n: 70,
        q: 4_188_161,
        coordinates: 2,
    };
    let spec = OpeningSpec {
        n: 16,
        packing_rank: 2,
        packing_bits: 50,
        packing_sigma: SIGMA,
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
    Opening::new(clue, spec, plain).unwrap()
}

fn plain() -> Plain {
    Plain::new(P, N, Kernels::detect()).unwrap()
}

#[track_caller]
fn same_rows(found: &[AlignedVec], expected: &Value) {
    assert_eq!(found.len(), list(expected).len());
    for (found, expected) in found.iter().zip(list(expected)) {
        assert_eq!(found[..], words(expected));
    }
}

#[track_caller]
fn same_cipher(found: &ModuleCipher, expected: &Value) {
    same_rows(&found.masks, &expected["masks"]);
    assert_eq!(found.bodies.len(), 1);
    assert_eq!(found.bodies[0][..], words(&expected["body"]));
}

fn cipher(case: &Value) -> ModuleCipher {
    let row = |row: &Value| AlignedVec::from(&words(row)[..]);
    ModuleCipher {
        masks: list(&case["masks"]).iter().map(row).collect(),
        bodies: vec![row(&case["body"])],
    }
}

/// `keys.json`.
struct Keys {
    case: Value,
    opening: Opening,
    seed: [u8; 32],
}

impl Keys {
    fn new() -> Self {
        let text = include_str!("../../../testdata/opening/keys.json");
        let case: Value = serde_json::from_str(text).unwrap();
        let seed: Vec<u8> = words(&case["seed"]).into_iter().map(|x| x as u8).collect();
        Self {
            opening: opening(&plain()),
            seed: seed.try_into().unwrap(),
            case,
        }
    }

    fn at(&self, part: &str) -> MaskSeed<'_> {
        MaskSeed::new(&self.seed, self.case[part]["index"].as_u64().unwrap())
    }

    fn bodies(&self, ring: &Ring, part: &str, count: usize) -> Vec<Poly<Eval>> {
        let bodies = list(&self.case[part]["bodies"])[..count].iter();
        let body = |body| Poly::from_rows(ring.n(), &ring.everything(), words(body));
        bodies.map(body).collect()
    }

    /// From the bodies of the file, as a detector has it.
    fn packing(&self, extra: usize) -> PackingKey {
        let count = self.opening.packing_bodies(extra);
        let bodies = self.bodies(&self.opening.packing, "packing", count);
        let masks = PackingKey::masks(&self.opening, count, self.at("packing"));
        PackingKey::from_bodies(&self.opening, bodies, masks)
    }

    fn narrow(&self) -> NarrowKey {
        let bodies = self.bodies(&self.opening.narrow, "narrow", self.opening.narrow_bodies());
        let masks = NarrowKey::masks(&self.opening, self.at("narrow"));
        NarrowKey::from_bodies(&self.opening, bodies, masks)
    }

    #[track_caller]
    fn packs(&self, kind: &str, extra: usize) {
        let clues = &self.case["clues"];
        let rows = |of: &Value| list(of).iter().map(residues).collect();
        let mut block = BlockOfClues {
            a: residues(&clues["a"]),
            b: rows(&clues["b"]),
            extra: rows(&clues["extra"]),
        };
        if extra == 0 {
            block.extra.clear();
        }
        let key = self.packing(extra);
        assert_eq!(key.extra(), extra);
        let packed = pack(&self.opening, &[&key], &[block]).remove(0);
        let (narrow_key, case) = (self.narrow(), &self.case[kind]);
        assert_eq!(packed.len(), list(&case["packed"]).len());
        for (i, ct) in packed.iter().enumerate() {
            same_cipher(ct, &case["packed"][i]);
            let narrowed = narrow(&self.opening, &[&narrow_key], ct);
            same_cipher(&narrowed.0, &case["narrowed"][i]);
        }
    }
}

#[test]
fn primes_are_those_of_the_rule() {
    let keys = Keys::new();
    let primes = [&keys.opening.packing, &keys.opening.narrow].map(|ring| ring.modulus(0).value());
    assert_eq!(primes[..], words(&keys.case["primes"]));
}

#[test]
fn masks_are_drawn_from_the_seed() {
    let keys = Keys::new();
    let rings = [
        ("packing", &keys.opening.packing),
        ("narrow", &keys.opening.narrow),
    ];
    for (part, ring) in rings {
        let seed = keys.at(part);
        let case = &keys.case[part];
        for (&row, masks) in words(&case["rows"]).iter().zip(list(&case["masks"])) {
            for (l, expected) in (0..).zip(list(masks)) {
                let found = seed.mask(ring, &ring.everything(), &[row, l]);
                assert_eq!(found.row(0), words(expected), "{part}, row {row}, mask {l}");
            }
        }
    }
}

#[test]
fn packing_key_for_plain_and_for_bound_clues() {
    let keys = Keys::new();
    let (case, opening) = (&keys.case, &keys.opening);
    let errors: Vec<Vec<i64>> = list(&case["packing"]["errors"])
        .iter()
        .map(signed)
        .collect();
    let (clue, w) = (signed(&case["clue_secret"]), signed(&case["w"]));
    let from = secret(&case["packing_secret"]);
    for extra in [&[][..], &w] {
        let rows = opening.packing_bodies(extra.len());
        let mut chosen = Words::narrow(SIGMA, &errors[..rows]);
        let at = keys.at("packing");
        let key = PackingKey::generate(opening, &clue, extra, &from, at, &mut chosen);
        assert!(chosen.is_used_up());
        let expected = keys.bodies(&opening.packing, "packing", rows);
        assert_eq!(key.bodies().count(), rows);
        for (i, (found, expected)) in key.bodies().zip(&expected).enumerate() {
            assert_eq!(found.row(0), expected.row(0), "row {i}");
        }
    }
}

#[test]
fn narrowing_key() {
    let keys = Keys::new();
    let (case, opening) = (&keys.case, &keys.opening);
    let errors: Vec<Vec<i64>> = list(&case["narrow"]["errors"]).iter().map(signed).collect();
    let mut chosen = Words::binomial(&errors);
    let (from, to) = (
        secret(&case["packing_secret"]),
        secret(&case["sparse_secret"]),
    );
    let key = NarrowKey::generate(opening, &from, &to, keys.at("narrow"), &mut chosen);
    assert!(chosen.is_used_up());
    let expected = keys.bodies(&opening.narrow, "narrow", errors.len());
    assert_eq!(key.bodies().count(), errors.len());
    for (i, (found, expected)) in key.bodies().zip(&expected).enumerate() {
        assert_eq!(found.row(0), expected.row(0), "row {i}");
    }
}

#[test]
fn plain_clues_are_packed_and_narrowed() {
    Keys::new().packs("plain", 0);
}

#[test]
fn bound_clues_are_packed_and_narrowed() {
    Keys::new().packs("bound", 8);
}

/// Residues at which digits, their rounding and the last one turn.
#[test]
fn roundings_at_their_edges() {
    let keys = Keys::new();
    let case = &keys.case["edges"];
    let narrowed = narrow(
        &keys.opening,
        &[&keys.narrow()],
        &cipher(&case["packed"][0]),
    );
    same_cipher(&narrowed.0, &case["narrowed"][0]);
}

/// `slots.json`.
struct Slots {
    case: Value,
    plain: Plain,
    opening: Opening,
}

impl Slots {
    fn new() -> Self {
        let text = include_str!("../../../testdata/opening/slots.json");
        let plain = plain();
        Self {
            case: serde_json::from_str(text).unwrap(),
            opening: opening(&plain),
            plain,
        }
    }

    fn secret_slots(&self) -> Vec<u32> {
        secret_slots(&self.opening, &secret(&self.case["sparse_secret"]))
    }
}

#[test]
fn places_of_messages() {
    let Slots { case, opening, .. } = Slots::new();
    assert_eq!(list(&case["places"]).len(), opening.blocks());
    for (block, slots) in list(&case["places"]).iter().enumerate() {
        for (coefficient, &slot) in words(slots).iter().enumerate() {
            let place = Place { block, coefficient };
            assert_eq!(opening.slot(place), slot as usize);
            assert_eq!(opening.place(slot as usize), place);
        }
    }
}

#[test]
fn slots_of_the_secret() {
    let slots = Slots::new();
    assert_eq!(slots.secret_slots(), residues(&slots.case["secret_slots"]));
    assert_eq!(
        slots.opening.turns() as u64,
        slots.case["turns"].as_u64().unwrap()
    );
}

/// The whole of opening, under encryption.
#[test]
fn slots_of_opened_clues() {
    let Slots {
        case,
        plain,
        opening,
    } = &Slots::new();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let top = primes_near(49.0, N, 4, &[P]).unwrap();
    let special = primes_near(49.5, N, 3, &top).unwrap();
    let ring = &Ring::new(N, &[&top[..], &special].concat()).unwrap();
    let chain = &Chain::new(vec![Basis::new(0..4)]);
    let shape = KeyShape::new(chain.basis(0), 2, &Basis::new(4..7));
    let large = Secret::fixed_weight(&mut rng, N, 64, f64::INFINITY);
    let s = large.poly(ring, &shape.extended());
    let [baby, giant] = opening.transform_steps();
    let [step, baby, giant] = [(1, 0), (baby, 1), (giant, 2)].map(|(steps, index)| {
        let g = Automorphism::rotation(N, steps);
        GaloisKey::generate(
            ring,
            &shape,
            &s,
            g,
            P,
            MaskSeed::new(&[7; 32], index),
            &mut rng,
        )
    });
    let s = large.poly(ring, chain.basis(0));
    let slots = residues(&case["secret_slots"]);
    let at = MaskSeed::new(&[7; 32], 3);
    let encrypted = encrypt_symmetric(ring, plain, chain, 0, &s, &slots, at, &mut rng);
    let ev = &Evaluator {
        ring,
        plain,
        chain,
        stop: None,
    };
    let [body, mask] = encrypted.parts() else {
        panic!("a fresh encryption has two parts")
    };
    let encrypted = SharedRlwe {
        mask: mask.clone(),
        bodies: vec![body.clone()],
    };
    let turned = Turned::new(ev, opening, encrypted, &[&step]).unwrap();
    let keys = OpeningKeys {
        baby: vec![&baby],
        giant: vec![&giant],
    };
    let coordinate = |blocks| list(blocks).iter().map(|ct| Narrowed(cipher(ct))).collect();
    let narrowed: Vec<Vec<Narrowed>> = list(&case["narrowed"]).iter().map(coordinate).collect();
    let values = PhaseValues::new(ev, opening, &turned, &keys, &narrowed).unwrap();
    let opened = open(ev, opening, &keys, values, 0).unwrap();
    let secret = &large;
    let decryptor = Decryptor {
        ring,
        plain,
        secret,
    };
    assert_eq!(opened[0].len(), list(&case["opened"]).len());
    for (ct, expected) in opened[0].iter().zip(list(&case["opened"])) {
        assert_eq!(decryptor.decrypt(ct), residues(expected));
    }
}
