//! Clues of the papers' schemes are pertinent to their recipient and to nobody else.

use chacha20::ChaCha20Rng;
use omr_client::{SecretKeyError, Sender};
use omr_papers::clear::{LweClueKey, LweKind, LweParams, LweSpec, PaperSet};
use omr_papers::client::{LweSecret, LweSender, identity};
use omr_protocol::{Clue, ClueError};
use rand_core::SeedableRng;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// Returns a small set of each kind, which is insecure and otherwise alike.
fn tiny() -> [LweParams; 3] {
    let kinds = [
        LweKind::Subset { rows: 900 },
        LweKind::Lwemongrass {
            rows: 120,
            large: 2,
        },
        LweKind::Integers { weight: 8 },
    ];
    let (moduli, ranges) = ([65_537, 786_433, 400], [75, 40, 13]);
    std::array::from_fn(|i| {
        let spec = LweSpec {
            n: 64,
            q: moduli[i],
            sigma: 0.5,
            coordinates: 3 + i,
            range: ranges[i],
            kind: kinds[i],
        };
        LweParams::new("insecure-tiny-lwe", spec).unwrap()
    })
}

fn repaired() -> Vec<LweParams> {
    let sets = ["omr2p-v1", "dos-perfomr-v1", "perfomr2-v1"];
    let lwe = |name| {
        PaperSet::named(name, false)
            .unwrap()
            .lwe()
            .unwrap()
            .unwrap()
    };
    sets.map(lwe).into()
}

#[test]
fn clues_reach_their_recipient_alone() {
    for (params, clues) in tiny()
        .iter()
        .map(|p| (p, 50))
        .chain(repaired().iter().map(|p| (p, 3)))
    {
        let mut rng = rng(1);
        let (own_secret, key) = identity(params, &mut rng);
        let (other, _) = identity(params, &mut rng);
        let sender = LweSender::new(params, &key);
        for _ in 0..clues {
            let clue = sender.gen_clue(&mut rng);
            let bytes = params.clue_to_bytes(&clue);
            assert_eq!(bytes.len(), params.clue_bytes());
            let clue = params.clue_from_bytes(&bytes).unwrap();
            params.check_clue(&clue).unwrap();
            let bound = params.spec().largest_distance();
            for secret in [&own_secret, &other] {
                let distances = secret.distances(params, &clue);
                assert!(distances.iter().all(|d| d.abs() <= bound), "{distances:?}");
            }
            assert!(own_secret.is_pertinent(params, &clue));
            assert!(!other.is_pertinent(params, &clue));
        }
    }
}

#[test]
fn noise_scatters_as_computed() {
    // The measured variance is the one that the miss probability is computed from.
    for params in tiny() {
        let (spec, mut rng) = (params.spec(), rng(2));
        let variance = 0.4637f64.powi(2);
        let terms = match spec.kind {
            LweKind::Subset { rows } => rows as f64 / 2.0,
            LweKind::Lwemongrass { rows, large } => {
                rows as f64 / 2.0 + (spec.n - large) as f64 * 2.0 / 3.0 + 1.0
            }
            LweKind::Integers { weight } => 2.0 * weight as f64 + 1.0,
        };
        let (mut squares, mut count) = (0.0, 0.0);
        for _ in 0..60 {
            let (secret, key) = identity(&params, &mut rng);
            let sender = LweSender::new(&params, &key);
            for _ in 0..10 {
                for d in secret.distances(&params, &sender.gen_clue(&mut rng)) {
                    let d = params
                        .residues()
                        .centered(params.residues().reduce_signed(d));
                    squares += (d * d) as f64;
                    count += 1.0;
                }
            }
        }
        let ratio = squares / count / (terms * variance);
        assert!((0.85..1.15).contains(&ratio), "{:?}: {ratio}", spec.kind);
    }
}

#[test]
fn perfomr1_clues_are_those_of_ring_lwe() {
    for name in ["perfomr1-as-published", "perfomr1-v2"] {
        let set = PaperSet::named(name, true).unwrap();
        let params = set.ring().unwrap().unwrap();
        assert!(set.lwe().is_none());
        let mut rng = rng(3);
        let (_, key) = omr_client::identity(&params, omr_protocol::ClueKind::Plain, &mut rng);
        let clue = Sender::new(&params, &key).gen_clue(&mut rng);
        let bytes = clue.to_bytes(&params);
        assert_eq!(Clue::from_bytes(&params, &bytes).unwrap(), clue);
        clue.check_norm(&params).unwrap();
    }
}

#[test]
fn clues_pertinent_to_everybody_are_refused() {
    for params in tiny() {
        let (spec, mut rng) = (params.spec(), rng(4));
        // The check is needed: zeros are pertinent to every recipient.
        let universal = Clue {
            a: vec![0; spec.n],
            b: vec![params.offset(); spec.coordinates],
        };
        for _ in 0..3 {
            assert!(
                identity(&params, &mut rng)
                    .0
                    .is_pertinent(&params, &universal)
            );
        }
        let error = params.check_clue(&universal).unwrap_err();
        match spec.kind {
            LweKind::Integers { .. } => assert!(matches!(error, ClueError::Norm { .. })),
            _ => assert!(matches!(error, ClueError::Universal(_)), "{error}"),
        }
        if let LweKind::Lwemongrass { large, .. } = spec.kind {
            // A short vector with zeros under the uniform part; without these zeros it misses.
            let mut short = universal;
            short.a[..3].fill(1);
            let (secret, _) = identity(&params, &mut rng);
            assert!(secret.is_pertinent(&params, &short));
            assert!(params.check_clue(&short).is_err());
            short.a[spec.n - large] = 1;
            assert!(params.check_clue(&short).is_ok());
            assert!(!secret.is_pertinent(&params, &short));
        }
    }
}

#[test]
fn files_round_trip_and_others_are_refused() {
    for params in tiny() {
        let mut rng = rng(5);
        let (secret, key) = identity(&params, &mut rng);
        let bytes = key.to_bytes(&params).unwrap();
        assert_eq!(LweClueKey::from_bytes(&params, &bytes).unwrap(), key);
        let file = secret.to_bytes(&params).unwrap();
        let again = LweSecret::from_bytes(&params, &file).unwrap();
        assert_eq!(again.coefficients(), secret.coefficients());
        assert_eq!(again.id, key.id);
        assert_eq!(again.to_bytes(&params).unwrap(), file);
        for cut in [0, 8, bytes.len() / 2, bytes.len() - 1] {
            assert!(LweClueKey::from_bytes(&params, &bytes[..cut]).is_err());
        }
        assert!(LweSecret::from_bytes(&params, &bytes).is_err());
        assert!(LweClueKey::from_bytes(&params, &file).is_err());
        let other = LweParams::new("another-name", *params.spec()).unwrap();
        assert!(LweSecret::from_bytes(&other, &file).is_err());
        assert!(LweClueKey::from_bytes(&other, &bytes).is_err());

        let clue = LweSender::new(&params, &key).gen_clue(&mut rng);
        let bytes = params.clue_to_bytes(&clue);
        let error = |bytes: &[u8]| params.clue_from_bytes(bytes).unwrap_err();
        assert!(matches!(
            other.clue_from_bytes(&bytes),
            Err(ClueError::Params(_))
        ));
        assert!(matches!(error(&bytes[1..]), ClueError::Kind(_)));
        assert!(matches!(
            error(&bytes[..bytes.len() - 1]),
            ClueError::Length(_)
        ));
        assert!(matches!(error(&[]), ClueError::Length(_)));
        let mut large = bytes.clone();
        large[5..9].fill(255);
        assert!(matches!(error(&large), ClueError::Coordinate(_)));
    }
}

#[test]
fn forged_secrets_are_refused() {
    let [_, lwemongrass, integers] = tiny();
    for params in [lwemongrass, integers] {
        let (secret, _) = identity(&params, &mut rng(6));
        // Secrets of this kind are uniform, so any residues can be written.
        let mut spec = *params.spec();
        spec.kind = LweKind::Subset { rows: 1 };
        spec.coordinates = params.secret_coefficients() / spec.n;
        let free = LweParams::new("insecure-tiny-lwe", spec).unwrap();
        assert!(LweSecret::from_bytes(&free, &secret.to_bytes(&params).unwrap()).is_ok());
        let (uniform, _) = identity(&free, &mut rng(7));
        let forged = LweSecret::from_bytes(&params, &uniform.to_bytes(&free).unwrap());
        assert!(matches!(forged, Err(SecretKeyError::Coefficients)));
    }
}
