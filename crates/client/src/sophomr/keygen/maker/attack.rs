//! Tests of an attack on two public detection keys that have the same secrets and errors but different masks.

use super::{Hidden, Maker};
use crate::sophomr::detection_key;
use crate::{SecretKey, identity};
use chacha20::ChaCha20Rng;
use omr_opening::{Opening, PackingKey};
use omr_protocol::sophomr::{DetectionKey, Epoch, Params, Part};
use omr_protocol::{ClueKind, ParamSet};
use omr_ring::{Eval, Modulus, Poly};
use omr_rlwe::MaskSeed;
use rand_core::SeedableRng;
use std::slice::from_ref;

/// The seed of a key that a client keeps, as a browser does until the key is registered.
const SEED: [u8; 32] = [9; 32];

fn epoch(number: u64) -> Epoch {
    Epoch {
        board: [4; 16],
        number,
    }
}

/// Makes a detection key with a generator that depends on the seed only, which is insecure.
fn unbound_key(params: &Params, secret: &SecretKey, epoch: &Epoch) -> DetectionKey {
    let address = secret.address.as_ref();
    let hidden = Hidden {
        clue: secret.clue_secret().coeffs(),
        offset: address.map(|address| address.offset(&params.clue)),
        digest: &secret.digest,
    };
    let masks = Some(epoch.masks(params.name()));
    let generator = ChaCha20Rng::from_seed(SEED);
    Maker::drawn_from(params, hidden, masks, generator)
        .key(secret.detection_id)
        .0
}

/// The bodies of a packing key and its masks, row by row.
struct Rows {
    bodies: Vec<Poly<Eval>>,
    masks: Vec<Poly<Eval>>,
    rank: usize,
}

impl Rows {
    /// Returns the rows of a key. All of them are public.
    fn of(opening: &Opening, key: &DetectionKey) -> Self {
        let packing = &key.opening.packing;
        let bodies: Vec<_> = packing.bodies().cloned().collect();
        let at = MaskSeed::new(&key.masks, Part::Packing.index());
        Self {
            masks: PackingKey::masks(opening, bodies.len(), at).to_vec(),
            bodies,
            rank: opening.spec().packing_rank,
        }
    }

    /// Returns the masks and the body of a row at a point of the evaluation domain.
    fn at(&self, row: usize, point: usize) -> Vec<u64> {
        let masks = &self.masks[row * self.rank..][..self.rank];
        let body = &self.bodies[row];
        masks
            .iter()
            .chain(from_ref(body))
            .map(|poly| poly.row(0)[point])
            .collect()
    }
}

/// Solves `equations`, each with coefficients and a right side, modulo a prime by elimination. Returns `None` if they
/// are singular, or if one of the remaining equations contradicts the others.
fn solved(m: &Modulus, mut equations: Vec<Vec<u64>>, unknowns: usize) -> Option<Vec<u64>> {
    for column in 0..unknowns {
        let pivot = (column..equations.len()).find(|&row| equations[row][column] != 0)?;
        equations.swap(column, pivot);
        let inverse = m.inv(equations[column][column]);
        let pivot: Vec<u64> = equations[column]
            .iter()
            .map(|&x| m.mul(x, inverse))
            .collect();
        for (row, equation) in equations.iter_mut().enumerate() {
            let factor = equation[column];
            for (x, &y) in equation.iter_mut().zip(&pivot) {
                *x = if row == column {
                    y
                } else {
                    m.sub(*x, m.mul(factor, y))
                };
            }
        }
    }
    let consistent = equations[unknowns..].iter().all(|rest| rest[unknowns] == 0);
    consistent.then(|| {
        equations[..unknowns]
            .iter()
            .map(|row| row[unknowns])
            .collect()
    })
}

/// Returns the clue secret of a recipient from two of the recipient's public detection keys; `None` if the keys do not
/// have the same secrets and errors.
///
/// A row is `b = m + e - sum_l a_l u_l`, so the difference of two rows with the same m and e is linear in the packing
/// secret u. With u the rows of one key can be decrypted.
fn clue_secret(opening: &Opening, keys: [&DetectionKey; 2]) -> Option<Vec<i64>> {
    let (ring, m) = (&opening.packing, opening.packing.modulus(0));
    let [first, second] = keys.map(|key| Rows::of(opening, key));
    let mut secret = vec![vec![0; ring.n()]; first.rank];
    for point in 0..ring.n() {
        let equation = |row| {
            let (a, b) = (first.at(row, point), second.at(row, point));
            let mut both = a
                .iter()
                .zip(&b)
                .map(|(&x, &y)| m.sub(y, x))
                .collect::<Vec<_>>();
            both[first.rank] = m.sub(0, both[first.rank]);
            both
        };
        let equations = (0..first.bodies.len()).map(equation).collect();
        let values = solved(m, equations, first.rank)?;
        for (part, value) in secret.iter_mut().zip(values) {
            part[point] = value;
        }
    }
    let basis = ring.everything();
    let secret: Vec<Poly<Eval>> = secret
        .into_iter()
        .map(|part| Poly::from_rows(ring.n(), &basis, part))
        .collect();
    let shape = opening.clue();
    let scale = m.value() as f64 / shape.q as f64;
    let mut clue = vec![0; shape.n];
    for row in 0..opening.packing_bodies(0) {
        let mut phase = first.bodies[row].clone();
        for (mask, part) in first.masks[row * first.rank..].iter().zip(&secret) {
            let mut product = mask.clone();
            ring.mul_assign(&mut product, part);
            ring.add_assign(&mut phase, &product);
        }
        let phase = m.to_centered(ring.inverse(phase).row(0)[0]);
        let value = -(phase as f64 / scale).round() as i64;
        if row < shape.coordinates {
            clue[shape.coordinates - 1 - row] = value
        } else {
            clue[shape.n + shape.coordinates - 1 - row] = -value
        }
    }
    Some(clue)
}

#[test]
fn a_seed_that_is_used_in_two_epochs_reveals_nothing() {
    for name in ["insecure-tiny-v4", "insecure-tiny-hybrid-v4"] {
        let set = ParamSet::named(name).unwrap();
        let params = set.sophomr().unwrap();
        let opening = &params.opening;
        for clues in [ClueKind::Plain, ClueKind::Bound] {
            let rng = &mut ChaCha20Rng::seed_from_u64(5);
            let (secret, _) = identity(set.clue(), clues, rng);
            let unbound = [226, 227].map(|n| unbound_key(params, &secret, &epoch(n)));
            assert_eq!(
                clue_secret(opening, unbound.each_ref()).as_deref(),
                Some(secret.clue_secret().coeffs()),
                "{name}, {clues}: the attack works where the generator depends on the seed alone"
            );
            let rng = || ChaCha20Rng::from_seed(SEED);
            let bound = [226, 227, 226]
                .map(|n| detection_key(params, &secret, Some(&epoch(n)), &mut rng()));
            assert_eq!(
                clue_secret(opening, [&bound[0], &bound[1]]),
                None,
                "{name}, {clues}"
            );
            // The same seed in the same epoch leads to the same key, not to another key with the same masks.
            let files = [&bound[0], &bound[2]].map(|key| {
                let mut file = Vec::new();
                key.write(params, &mut file).unwrap();
                file
            });
            assert!(files[0] == files[1], "{name}, {clues}");
        }
    }
}

/// Two secrets in one epoch: with the same packing secret and errors, the bodies would differ by the encrypted values,
/// which are constants.
#[test]
fn a_seed_that_is_used_for_two_secrets_reveals_nothing() {
    let set = ParamSet::named("insecure-tiny-v4").unwrap();
    let params = set.sophomr().unwrap();
    let opening = &params.opening;
    let rng = &mut ChaCha20Rng::seed_from_u64(6);
    let secrets = [(); 2].map(|()| identity(set.clue(), ClueKind::Plain, rng).0);
    let differ_by_constants = |keys: [DetectionKey; 2]| {
        let [first, second] = keys.each_ref().map(|key| Rows::of(opening, key));
        first.bodies.iter().zip(&second.bodies).all(|(a, b)| {
            let mut difference = a.clone();
            opening.packing.sub_assign(&mut difference, b);
            let difference = opening.packing.inverse(difference);
            difference.row(0)[1..].iter().all(|&x| x == 0)
        })
    };
    let unbound = secrets
        .each_ref()
        .map(|secret| unbound_key(params, secret, &epoch(1)));
    assert!(differ_by_constants(unbound));
    let bound = secrets.each_ref().map(|secret| {
        detection_key(
            params,
            secret,
            Some(&epoch(1)),
            &mut ChaCha20Rng::from_seed(SEED),
        )
    });
    assert!(!differ_by_constants(bound));
}
