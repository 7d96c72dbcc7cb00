//! Tests that published parameter sets have the stated properties, and that weaker sets are refused.

use omr_errors::Mismatch;
use omr_protocol::instantomr::{InstantParams, InstantPlan, InstantSpec};
use omr_protocol::params::{
    CLUE_ESTIMATES, ClueEstimate, ClueSpec, DEFAULT, Posting, SOPHOMR, SecretSpec, SetSpec,
    largest_log_pq,
};
use omr_protocol::request::MAX_BOUND;
use omr_protocol::sophomr::{
    DetectionKey, FinalNoise, FinalRingSpec, MASK_BITS, Outline, Params, ParamsSpec,
};
use omr_protocol::{ClueKind, ParamsError, Request};
use omr_ring::Kernels;

fn default_spec() -> ParamsSpec {
    ParamsSpec::published()
        .into_iter()
        .find(|spec| spec.name == SOPHOMR)
        .unwrap()
}

fn last() -> FinalRingSpec {
    default_spec().final_ring
}

fn with_final(final_ring: FinalRingSpec) -> ParamsSpec {
    ParamsSpec {
        final_ring,
        ..default_spec()
    }
}

fn refused(spec: ParamsSpec) -> ParamsError {
    Params::new(spec, Kernels::detect())
        .err()
        .expect("a refused set")
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    // Sets of version 1 were never released, so they are unknown.
    for name in ["sophomr-v0", "sophomr-v1", "insecure-tiny-v1"] {
        let error = Params::named(name).err().unwrap();
        assert!(matches!(&error, ParamsError::Unknown(Mismatch { found, .. }) if found == name));
        let text = error.to_string();
        for known in ["hybrid-v4", "sophomr-v5", "instantomr-v2"] {
            assert!(text.contains(known), "{text}");
        }
        assert!(text.contains("omr params list"), "{text}");
    }
}

#[test]
fn error_rates() {
    let spec = default_spec();
    assert!(spec.miss_log2() <= -30.0, "{}", spec.miss_log2());
    assert!(
        spec.false_positive_log2() <= -26.0,
        "{}",
        spec.false_positive_log2()
    );
    // A much narrower window misses too many messages, a much wider one has too many false positives.
    let with_range = |range| {
        let mut spec = default_spec();
        spec.range = range;
        spec
    };
    assert!(with_range(10).miss_log2() > -30.0);
    assert!(with_range(60).false_positive_log2() > -26.0);
}

#[test]
fn keys_of_published_sets_are_secure() {
    let params = Params::named(SOPHOMR).unwrap();
    for set in SetSpec::published() {
        assert_eq!(set.insecure, set.name.starts_with("insecure-"));
        assert_eq!(set.insecure, set.security().is_none());
        assert_eq!(!set.insecure, set.security_bits() >= 128.0, "{}", set.name);
        assert!(set.insecure || set.key_bits >= 128.0, "{}", set.name);
        if let Some(bulk) = &set.sophomr {
            assert_eq!(bulk.insecure, set.insecure);
            assert!(bulk.security_bits() >= set.security_bits());
        }
    }
    let keys = params.key_moduli();
    assert_eq!(keys.len(), 6);
    for (n, weight, found) in keys {
        let limit = largest_log_pq(n, weight);
        assert!(
            found > 0.0 && found <= limit,
            "{found} of {limit} bits in dimension {n}"
        );
    }
}

/// The bits of security of detection keys are those at these moduli (`reference/security.py`).
#[test]
fn the_largest_moduli_of_detection_keys_are_the_stated_ones() {
    for set in SetSpec::published().iter().filter(|set| !set.insecure) {
        let Some(spec) = &set.sophomr else { continue };
        let params = Params::named(spec.name).unwrap();
        let large = params.key_moduli().into_iter();
        let large = large.filter(|(n, ..)| *n == spec.n);
        let found = large.map(|(.., bits)| bits).fold(0.0, f64::max);
        assert!((found - 1735.7).abs() < 0.05, "{}: {found}", spec.name);
    }
}

/// The recipient multiplies a mask by a ternary secret modulo one prime, with an exact result.
#[test]
fn masks_fit_the_decoding_prime() {
    for spec in ParamsSpec::published() {
        let params = Params::named(spec.name).unwrap();
        let largest = (params.final_ring.n() as u64) << MASK_BITS;
        assert!(
            params.final_ring.modulus(0).value() > 2 * largest,
            "{}",
            spec.name
        );
    }
}

#[test]
fn weakened_sets_are_refused() {
    let weak = [
        ParamsSpec {
            rotation_digits: 1,
            ..default_spec()
        },
        ParamsSpec {
            small_n: 1 << 11,
            ..default_spec()
        },
        ParamsSpec {
            weight: 4095,
            ..default_spec()
        },
        with_final(FinalRingSpec { n: 1024, ..last() }),
        ParamsSpec {
            n: 1 << 15,
            ..default_spec()
        },
    ];
    for spec in weak {
        let description = format!("{spec:?}");
        match refused(spec) {
            ParamsError::Insecure { n, limit, found } => {
                assert!(found > limit, "{description}");
                let text = ParamsError::Insecure { n, limit, found }.to_string();
                assert!(text.contains(&n.to_string()) && text.contains(&format!("{found:.1}")));
            }
            other => panic!("{description}: {other}"),
        }
    }
}

/// The estimates of `check_security` are those that the script prints, row by row. Its rows name a modulus unless it is
/// p.
#[test]
fn estimates_are_those_of_the_script() {
    let text = include_str!("../../../../testdata/security/clues.json");
    let rows: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
    let row = |estimate: &ClueEstimate| {
        let bits = estimate.bits;
        let mut row = serde_json::json!({
            "block": estimate.block, "weight": estimate.weight, "sigma": estimate.sigma,
            "listed": bits.listed, "sparse_dual": bits.sparse_dual,
            "rotated": bits.rotated, "fourier": bits.fourier,
        });
        if estimate.q != default_spec().p {
            row["modulus"] = estimate.q.into();
        }
        row
    };
    assert_eq!(rows, CLUE_ESTIMATES.iter().map(row).collect::<Vec<_>>());
}

/// Clue secrets, senders' randomness and errors that are too weak, in the parameters of either engine.
#[test]
fn weak_clues_are_refused() {
    let clue = ClueSpec {
        secret: SecretSpec::Ternary { weight: 140 },
        ..SetSpec::named("instantomr-v2").unwrap().clue
    };
    let sparse = SecretSpec::Ternary { weight: 84 };
    let blocks = |block, weight| SecretSpec::Blocks { block, weight };
    let weak = [
        (clue.clone(), sparse.clone(), 84, 0.5, "clue key", 119.6),
        (clue.clone(), sparse, 140, 0.5, "clue key", 119.6),
        (
            clue.clone(),
            blocks(5, 161..=167),
            96,
            0.5,
            "senders",
            122.0,
        ),
        (
            clue.clone(),
            blocks(8, 106..=112),
            140,
            0.5,
            "clue key",
            120.0,
        ),
        (
            clue.clone(),
            clue.secret.clone(),
            140,
            0.44,
            "estimate",
            0.0,
        ),
        (
            clue.clone(),
            clue.secret.clone(),
            139,
            0.4495,
            "estimate",
            0.0,
        ),
        (
            ClueSpec {
                n: 512,
                ..clue.clone()
            },
            clue.secret,
            140,
            0.4495,
            "estimate",
            0.0,
        ),
    ];
    for (clue, secret, weight, sigma, weak_part, least) in weak {
        let clue = ClueSpec {
            secret,
            weight,
            sigma,
            ..clue
        };
        let mut errors = vec![clue.check_security().unwrap_err()];
        // A ternary secret does not fit InstantOMR.
        if let SecretSpec::Blocks { .. } = clue.secret {
            let set = SetSpec {
                clue,
                ..SetSpec::named("instantomr-v2").unwrap()
            };
            let refused = InstantParams::new(set, Kernels::detect());
            errors.push(refused.err().expect("a refused set"));
        }
        for error in errors {
            let ParamsError::WeakClue { part, found } = error else {
                panic!("{weak_part}: {error}");
            };
            assert!(
                part.contains(weak_part) && (least..128.0).contains(&found),
                "{part} {found}"
            );
        }
    }
}

#[test]
fn sets_of_sophomr_with_weak_clues_are_refused() {
    let clue = default_spec().clue;
    let sparse = SecretSpec::Ternary { weight: 315 };
    for clue in [
        ClueSpec {
            weight: 315,
            ..clue.clone()
        },
        ClueSpec {
            secret: sparse,
            ..clue.clone()
        },
        ClueSpec { sigma: 0.5, ..clue },
    ] {
        let spec = ParamsSpec {
            clue,
            ..default_spec()
        };
        let outline = Outline::new(spec.clone()).err().expect("a refused set");
        for error in [outline, refused(spec)] {
            assert!(
                matches!(error, ParamsError::WeakClue { found: 0.0, .. }),
                "{error}"
            );
        }
    }
}

#[test]
fn dimensions_that_do_not_fit() {
    let clue = default_spec().clue;
    let wrong = [
        ParamsSpec {
            n: 3 << 14,
            ..default_spec()
        },
        ParamsSpec {
            n: 1 << 17,
            ..default_spec()
        },
        ParamsSpec {
            small_n: 32,
            ..default_spec()
        },
        ParamsSpec {
            small_n: 1 << 17,
            ..default_spec()
        },
        ParamsSpec {
            block: 6,
            ..default_spec()
        },
        with_final(FinalRingSpec {
            n: 3 << 9,
            ..last()
        }),
        with_final(FinalRingSpec { n: 16, ..last() }),
        with_final(FinalRingSpec {
            n: 1 << 14,
            ..last()
        }),
        with_final(FinalRingSpec {
            bodies: 0,
            ..last()
        }),
        with_final(FinalRingSpec {
            bodies: 6,
            ..last()
        }),
        with_final(FinalRingSpec {
            modulus_bits: 40,
            ..last()
        }),
        with_final(FinalRingSpec {
            modulus_bits: 51,
            ..last()
        }),
        with_final(FinalRingSpec {
            digits: 0,
            ..last()
        }),
        with_final(FinalRingSpec {
            digits: usize::MAX,
            ..last()
        }),
        with_final(FinalRingSpec {
            digit_bits: 25,
            ..last()
        }),
        ParamsSpec {
            clue: omr_protocol::params::ClueSpec {
                coordinates: 1,
                ..clue.clone()
            },
            ..default_spec()
        },
        ParamsSpec {
            clue: omr_protocol::params::ClueSpec {
                posting: Posting::Rounded(1 << 10),
                ..clue.clone()
            },
            ..default_spec()
        },
        ParamsSpec {
            clue: omr_protocol::params::ClueSpec { n: 1 << 15, ..clue },
            ..default_spec()
        },
    ];
    for spec in wrong {
        let description = format!("{spec:?}");
        let error = refused(spec);
        assert!(
            matches!(error, ParamsError::Dimension(_)),
            "{description}: {error}"
        );
    }
}

#[test]
fn published_primes_are_those_of_the_wire_format() {
    let keys = include_str!("../../src/sophomr/key.rs");
    let wire = include_str!("../../../../docs/wire.md");
    for name in ["sophomr-v5", "hybrid-v4"] {
        let params = Params::named(name).unwrap();
        let primes: Vec<u64> = params
            .ring
            .everything()
            .ids()
            .iter()
            .map(|&id| params.ring.modulus(id).value())
            .collect();
        let last = params.final_ring.modulus(0).value();
        for prime in primes.into_iter().chain([last]) {
            assert!(
                keys.contains(&prime.to_string()),
                "a published set never changes: {prime} of {name} is not in the documentation of detection keys"
            );
        }
    }
    let instant = InstantParams::named("hybrid-v4").unwrap();
    for prime in [instant.ring.q(), instant.small.q()] {
        assert!(wire.contains(&prime.to_string()), "{prime}");
    }
}

/// Rates of missed messages, of false positives, and of wrong coefficients of a full group's digest.
#[test]
fn rates_of_sets_with_instantomr() {
    for name in ["hybrid-v4", "instantomr-v2"] {
        let params = InstantParams::named(name).unwrap();
        // The least window that misses rarely enough, in the unit that clues are rounded to.
        let half = params.spec().half;
        let grid = (2 * params.ring.n() as u64).min(params.clue.spec().modulus());
        let unit = (2 * params.ring.n() as u64 / grid) as u32;
        let least = params.least_window(-30.0).unwrap();
        assert_eq!(least.div_ceil(unit) * unit, half, "{name}");
        let rates = (params.miss_log2(), params.false_positive_log2());
        let most = if name == DEFAULT { -26.0 } else { -20.0 };
        assert!(rates.0 <= -30.0 && rates.1 <= most, "{name}: {rates:?}");
        let failure = params.failure_log2(38_000);
        assert!(failure <= -30.0, "{name}: 2^{failure}");
        // A full group of twice as many messages would fail too often.
        let double = InstantSpec {
            group: 2 * params.spec().group,
            ..params.spec().clone()
        };
        let set = SetSpec {
            instantomr: Some(double),
            ..SetSpec::named(name).unwrap()
        };
        let double = InstantParams::new(set, Kernels::detect()).unwrap();
        assert!(double.failure_log2(38_000) > -30.0, "{name}");
    }
    let bulk = ParamsSpec::published();
    for bulk in bulk.iter().filter(|spec| !spec.insecure) {
        let rates = (bulk.miss_log2(), bulk.false_positive_log2());
        assert!(rates.0 <= -30.0 && rates.1 <= -26.0, "{rates:?}");
    }
}

/// A group with messages in double precision is no noisier than a full group without any, whatever its length; with a
/// few more it would be.
#[test]
fn double_precision_keeps_to_the_noise_of_a_full_group() {
    for (name, all) in [("hybrid-v4", 1407), ("instantomr-v2", 437)] {
        let params = InstantParams::named(name).unwrap();
        let group = params.spec().group;
        let full = params.coefficient_sd(group, 0);
        assert_eq!(params.in_double_precision(all), all, "{name}");
        assert!(params.in_double_precision(all + 1) <= all, "{name}");
        for messages in (all + 1..=group).step_by(997).chain([group]) {
            let doubles = params.in_double_precision(messages);
            assert!(params.coefficient_sd(messages, doubles) <= full);
            assert!(params.coefficient_sd(messages, doubles + 2) > full);
        }
        assert_eq!(params.in_double_precision(group), 0);
        assert_eq!(params.in_double_precision(u64::MAX), 0);
    }
    // The number of messages that the hybrid scheme leaves to InstantOMR.
    let params = InstantParams::named("hybrid-v4").unwrap();
    assert_eq!(params.in_double_precision(1024), 1024);
}

/// Sums of a full group of sets with exact counters are rarely wrong; a wrong sum contradicts the others.
#[test]
fn large_bounds_of_counted_sets_do_not_fail() {
    for name in ["hybrid-v4", "instantomr-v2"] {
        let params = InstantParams::named(name).unwrap();
        for (bound, limit) in [(50, -34.0), (512, -30.0), (MAX_BOUND, -27.0)] {
            let request = Request::new(0..params.spec().group, bound, Some(612));
            let plan = InstantPlan::new(&params, request).unwrap();
            let plan = plan.for_clues(ClueKind::Bound);
            let failure = params.failure_log2(plan.sums());
            assert!(failure <= limit, "{name}, bound {bound}: 2^{failure}");
            // Counters of a default request need no additional product.
            if bound == 50 {
                let codes: usize = plan.code_sums().iter().sum();
                assert_eq!(plan.parts_of_group(), codes.div_ceil(params.ring.n()));
            }
        }
    }
}

#[test]
fn instant_sets_that_do_not_fit_are_refused() {
    let set = || SetSpec::named("instantomr-v2").unwrap();
    let with = |change: &dyn Fn(&mut InstantSpec)| {
        let mut set = set();
        set.instantomr.as_mut().map(change).unwrap();
        set
    };
    let ternary = SetSpec {
        clue: SetSpec::named("sophomr-v5").unwrap().clue,
        ..set()
    };
    let wrong = [
        ternary,
        with(&|spec| spec.n = 3 << 9),
        with(&|spec| spec.n = 512),
        with(&|spec| spec.half = 1024),
        with(&|spec| spec.group = 912_673),
        with(&|spec| spec.bodies = 0),
    ];
    for set in wrong {
        let error = InstantParams::new(set, Kernels::detect()).err().unwrap();
        assert!(matches!(error, ParamsError::Dimension(_)), "{error}");
    }
    let weak = with(&|spec| spec.n = 1024);
    let error = InstantParams::new(weak, Kernels::detect()).err().unwrap();
    assert!(matches!(error, ParamsError::Insecure { .. }), "{error}");
    for (name, bulk) in [("instantomr-v2", true), ("sophomr-v5", false)] {
        let missing = if bulk {
            Params::named(name).err()
        } else {
            InstantParams::named(name).err()
        };
        assert!(matches!(missing, Some(ParamsError::NoEngine { .. })));
    }
}

/// `g1^2 + g1 g2 + c g2^2` with `g2 != 0` is zero only at a root of `x^2 + x + c`.
#[test]
fn the_norm_has_no_zeros_but_one() {
    let params = Params::named("insecure-tiny-v4").unwrap();
    let p = params.p();
    assert_eq!(params.norm_constant(), -1);
    let c = p.from_i64(params.norm_constant());
    assert!((0..p.value()).all(|x| p.add(p.add(p.mul(x, x), x), c) != 0));
}

#[test]
fn outlines_are_those_of_whole_sets() {
    for spec in ParamsSpec::published() {
        let outline = Outline::new(spec.clone()).unwrap();
        let params = Params::named(spec.name).unwrap();
        assert_eq!(outline.chain, params.chain);
        assert_eq!(outline.step_shape, params.step_shape);
        assert_eq!(outline.giant_shape, params.giant_shape);
        assert_eq!(outline.product_shape, params.product_shape);
        assert_eq!(outline.lowered_shapes, params.lowered_shapes);
        assert_eq!(outline.descent_shape, params.descent_shape);
        assert_eq!(outline.small_shape, params.small_shape);
        for clues in ClueKind::ALL {
            assert_eq!(
                outline.detection_key_bytes(clues),
                DetectionKey::body_bytes(&params, clues)
            );
        }
    }
    let weak = ParamsSpec {
        rotation_digits: 1,
        ..default_spec()
    };
    let error = Outline::new(weak).err();
    assert!(matches!(error, Some(ParamsError::Insecure { .. })));
}

/// Seven merged batches: packed ciphertexts of one have a standard deviation of 0.0116 of a step.
#[test]
fn digests_do_not_fail() {
    for spec in ParamsSpec::published() {
        let noise = FinalNoise::new(&Params::named(spec.name).unwrap());
        assert!(noise.sd(0.0) < 0.02, "{}: {noise:?}", spec.name);
        assert!(
            noise.failure_log2(0.0116 * 7f64.sqrt(), 12_800) < -40.0,
            "{noise:?}"
        );
    }
}
