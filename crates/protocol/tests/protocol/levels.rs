//! Tests of levels whose moduli are products of few primes.

use omr_protocol::params::{SOPHOMR, SetSpec};
use omr_protocol::sophomr::{Outline, Params, ParamsSpec};
use omr_ring::{Basis, Kernels};

/// Returns the specification of the default set for SophOMR.
fn packed() -> ParamsSpec {
    let set = SetSpec::named(SOPHOMR).unwrap();
    set.sophomr.expect("a set with SophOMR")
}

/// Returns the specification of the tiny set for tests.
fn tiny() -> ParamsSpec {
    let set = SetSpec::named("insecure-tiny-v4").unwrap();
    set.sophomr.expect("a set with SophOMR")
}

/// Returns the number of limbs of each level from the first down. Moduli drop what they must and little more.
fn limbs(params: &Params) -> Vec<usize> {
    let chain = &params.chain;
    let log2 = |level: usize| chain.log2(&params.ring, level);
    for (level, &asked) in params
        .spec()
        .rings()
        .window_drops()
        .unwrap()
        .iter()
        .enumerate()
    {
        let found = log2(level + 1) - log2(level + 2);
        assert!(
            found > asked - 1e-4 && found < asked + 0.5,
            "level {} drops {found} bits of {asked}",
            level + 1
        );
    }
    (1..chain.len())
        .map(|level| chain.basis(level).len())
        .collect()
}

#[test]
fn levels_of_packed_clues_have_few_primes() {
    let params = Params::new(packed(), Kernels::detect()).unwrap();
    let limbs = limbs(&params);
    // With one prime a level there would be 29 limbs at first and 434 in all.
    assert_eq!((limbs.len(), limbs[0], limbs[27]), (28, 23, 2));
    assert_eq!(limbs.iter().sum::<usize>(), 351);
    // The key's primes are those of the first level and one that it lacks.
    let digits = params.product_shape.digits().iter();
    let key: f64 = digits.map(|digit| params.ring.log2(digit)).sum();
    assert!(key < params.chain.log2(&params.ring, 1) + 25.0);
}

#[test]
fn levels_of_tests_have_few_primes() {
    let params = Params::new(tiny(), Kernels::detect()).unwrap();
    let limbs = limbs(&params);
    assert_eq!((limbs.len(), limbs[0], limbs[27]), (28, 20, 2));
    assert_eq!(limbs.iter().sum::<usize>(), 317);
}

/// Every prime of every level is one of the relinearisation key's modulus.
#[test]
fn keys_have_all_primes_of_levels() {
    for spec in [packed(), tiny()] {
        let outline = Outline::new(spec).unwrap();
        let key = outline.product_shape.extended();
        for level in 1..outline.chain.len() {
            assert!(outline.chain.basis(level).minus(&key).is_empty());
        }
        let digits = outline.product_shape.digits().iter();
        let rows: usize = digits.map(Basis::len).sum();
        assert_eq!(rows + outline.product_shape.special().len(), key.len());
    }
}

/// The noise of the keys and of their gadgets stays 20 bits below that of a product.
#[test]
fn lowered_keys_have_enough_special_primes() {
    for (spec, special) in [(packed(), [7, 4]), (tiny(), [7, 4])] {
        let params = Params::new(spec, Kernels::detect()).unwrap();
        let (ring, shapes) = (&params.ring, &params.lowered_shapes);
        let found: Vec<usize> = shapes.iter().map(|shape| shape.special().len()).collect();
        assert_eq!(found, special);
        let more = params.spec().noise_model().lowered_key();
        let mut served = 0;
        for shape in shapes {
            for level in (1..params.chain.len() - 1).map(|level| params.chain.basis(level)) {
                if shape.serves(level) {
                    served += 1;
                    for digit in shape.digits() {
                        let bits = ring.log2(&digit.intersection(level));
                        assert!(bits - 20.0 + more <= ring.log2(shape.special()) + 0.1);
                    }
                }
            }
        }
        assert!(served >= 10, "{served} levels, twice where both do");
    }
}
