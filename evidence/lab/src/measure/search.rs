//! A search for InstantOMR's parameter sets: blocks of the secret, coordinates of clues, the rounding of clues,
//! digits of accumulators.

use chacha20::ChaCha20Rng;
use omr_protocol::instantomr::{InstantKey, InstantParams, InstantSpec};
use omr_protocol::params::{Bits, ClueSpec, LEAST_BITS, Posting, SecretSpec, SetSpec};
use omr_protocol::{ClueKind, ParamsError};
use omr_ring::Kernels;
use omr_rlwe::Secret;
use omr_tfhe::{BlockSecret, BootstrapKey, FourierKey, Lwe, Rotation};
use rand_core::{Rng, SeedableRng};
use std::ops::RangeInclusive;
use std::time::Instant;

/// Blocks and weights for which there are estimates.
const SECRETS: [(usize, RangeInclusive<usize>); 6] = [
    (10, 86..=92),
    (8, 106..=112),
    (7, 120..=128),
    (6, 141..=149),
    (5, 161..=167),
    (4, 195..=203),
];
/// log2 of the highest allowed rate of missed messages.
const MISS: f64 = -30.0;
/// log2 of the highest allowed rates of false positives: if InstantOMR has its own clue secret, and if it uses
/// SophOMR's.
const PASS: [f64; 2] = [-26.0, -20.0];
/// log2 of the highest allowed rate of digests that are wrong because of noise.
const WRONG: f64 = -35.0;
const COEFFICIENTS: usize = 38_000;
/// The number of rotations that are timed together.
const TOGETHER: usize = 24;

/// A set that keeps all rates.
#[derive(Clone, Debug)]
pub struct InstantCandidate {
    /// The clues and the engine.
    pub set: SetSpec,
    /// The number of coefficients in a block.
    pub block: usize,
    /// log2 of the rate of missed messages.
    pub miss_log2: f64,
    /// log2 of the rate of false positives.
    pub false_positive_log2: f64,
    /// Bytes of a clue.
    pub clue_bytes: usize,
    /// Bytes of the detection key.
    pub key_bytes: u64,
    /// Seconds of a message's rotations, measured one by one with several in flight.
    pub seconds: f64,
}

/// The result of the search.
pub struct InstantFound {
    /// The sets that no other beats in time, clue and group at once, the fastest first.
    pub best: Vec<InstantCandidate>,
    /// The number of sets tried.
    pub tried: usize,
    /// The number of these below 128 bits.
    pub insecure: usize,
}

/// A variation of a set.
#[derive(Clone, Copy)]
struct Shape {
    /// The number of coordinates of a clue for InstantOMR.
    coordinates: usize,
    /// The modulus that posted clues are rounded to; that of clues if they are not rounded.
    rounded: u64,
    /// The number of bits of an accumulator's digit.
    digit_bits: u32,
}

/// Returns the shapes to try.
fn shapes(base: &SetSpec, quick: bool) -> Vec<Shape> {
    let (most, mut roundings, digits) = if quick {
        (5, vec![base.clue.q, 1 << 10], 16..=17)
    } else {
        (6, vec![base.clue.q, 1 << 11, 1 << 10], 15..=18)
    };
    if base.clue.second.is_some() {
        roundings.truncate(1); // Clues that SophOMR opens are posted as they are.
    }
    let mut shapes = Vec::new();
    for coordinates in 3..=most {
        for &rounded in &roundings {
            shapes.extend(digits.clone().map(|digit_bits| Shape {
                coordinates,
                rounded,
                digit_bits,
            }));
        }
    }
    shapes
}

/// Searches sets around each of `bases`, which have InstantOMR. If `quick`, only those next to each base, with its
/// secret.
///
/// Errors: `Dimension` if dimensions do not fit.
pub fn search_instant(bases: &[SetSpec], quick: bool) -> Result<InstantFound, ParamsError> {
    search_at(bases, quick, rotations)
}

/// Searches, with `rotations` as the times of rotations for a base and a secret.
fn search_at(
    bases: &[SetSpec],
    quick: bool,
    rotations: impl Fn(&SetSpec, &SecretSpec) -> Result<[f64; 2], ParamsError>,
) -> Result<InstantFound, ParamsError> {
    let mut found = InstantFound {
        best: Vec::new(),
        tried: 0,
        insecure: 0,
    };
    let mut all = Vec::new();
    for (base, (block, weight)) in bases
        .iter()
        .flat_map(|base| SECRETS.into_iter().map(move |secret| (base, secret)))
    {
        let secret = SecretSpec::Blocks {
            block,
            weight: weight.clone(),
        };
        if quick && secret != *base.clue.instant().spec {
            continue;
        }
        let shapes = shapes(base, quick);
        found.tried += shapes.len();
        if bits(base, &secret) < LEAST_BITS {
            found.insecure += shapes.len();
            continue;
        }
        let costs = rotations(base, &secret)?;
        for shape in shapes {
            all.extend(candidate(base, &secret, block, shape, costs)?);
        }
    }
    let beaten = |a: &InstantCandidate| all.iter().any(|b| beats(b, a));
    found.best = all.iter().filter(|a| !beaten(a)).cloned().collect();
    found.best.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(found)
}

/// Returns the least bits of security of clues with this secret.
fn bits(base: &SetSpec, secret: &SecretSpec) -> f64 {
    let least = |bits: [Bits; 2]| bits[0].least().min(bits[1].least());
    let clue = with_secret(&base.clue, secret);
    clue.security().map_or(0.0, least)
}

/// Returns clues with another secret for InstantOMR.
fn with_secret(clue: &ClueSpec, secret: &SecretSpec) -> ClueSpec {
    let (mut clue, secret) = (clue.clone(), secret.clone());
    match &mut clue.second {
        Some(second) => second.secret = secret,
        None => clue.secret = secret,
    }
    clue
}

/// Returns clues with `coordinates` coordinates for InstantOMR.
fn with_coordinates(mut clue: ClueSpec, coordinates: usize) -> ClueSpec {
    let first = clue.coordinates - clue.instant().coordinates.len();
    clue.coordinates = first + coordinates;
    if let Some(second) = &mut clue.second {
        second.coordinates = coordinates;
    }
    clue
}

fn group(candidate: &InstantCandidate) -> u64 {
    candidate
        .set
        .instantomr
        .as_ref()
        .map_or(0, |spec| spec.group)
}

fn beats(a: &InstantCandidate, b: &InstantCandidate) -> bool {
    let no_worse = a.seconds <= b.seconds && a.clue_bytes <= b.clue_bytes && group(a) >= group(b);
    let better = a.seconds < b.seconds || a.clue_bytes < b.clue_bytes || group(a) > group(b);
    no_worse && better
}

/// Returns the set with the smallest window that misses rarely enough and the largest group whose digests are
/// correct; `None` if too many strangers pass, or if there is no such group.
fn candidate(
    base: &SetSpec,
    secret: &SecretSpec,
    block: usize,
    shape: Shape,
    [first, second]: [f64; 2],
) -> Result<Option<InstantCandidate>, ParamsError> {
    let with = |half: u32, group: u64| SetSpec {
        clue: ClueSpec {
            posting: if shape.rounded == base.clue.q {
                base.clue.posting
            } else {
                Posting::Rounded(shape.rounded)
            },
            ..with_coordinates(with_secret(&base.clue, secret), shape.coordinates)
        },
        instantomr: base.instantomr.as_ref().map(|spec| InstantSpec {
            digit_bits: shape.digit_bits,
            half,
            group,
            ..spec.clone()
        }),
        sophomr: None,
        ..base.clone()
    };
    let made = |half, group| InstantParams::new(with(half, group), Kernels::detect());
    let Some(half) = made(1, 1)?.least_window(MISS) else {
        return Ok(None);
    };
    let params = made(half, 1)?;
    if params.false_positive_log2() > PASS[usize::from(base.clue.second.is_none())] {
        return Ok(None);
    }
    for group in (10..=19).rev().map(|k| 1 << k) {
        let params = made(half, group)?;
        if params.failure_log2(COEFFICIENTS) > WRONG {
            continue;
        }
        return Ok(Some(InstantCandidate {
            set: with(half, group),
            block,
            miss_log2: params.miss_log2(),
            false_positive_log2: params.false_positive_log2(),
            clue_bytes: ClueKind::Bound.bytes(&params.clue),
            key_bytes: InstantKey::file_bytes_of(&params, ClueKind::Bound),
            seconds: shape.coordinates as f64 * first + second,
        }));
    }
    Ok(None)
}

/// Returns the seconds of a rotation of the first layer and of the second, with several in flight, for one thread.
fn rotations(base: &SetSpec, secret: &SecretSpec) -> Result<[f64; 2], ParamsError> {
    let set = SetSpec {
        clue: with_secret(&base.clue, secret),
        sophomr: None,
        ..base.clone()
    };
    let params = InstantParams::new(set, Kernels::detect())?;
    let (ring, mut rng) = (&params.ring, ChaCha20Rng::seed_from_u64(1));
    let SecretSpec::Blocks { block, weight } = secret else {
        unreachable!("the search's own secrets");
    };
    let bits = BlockSecret::new(&mut rng, params.clue.spec().n, *block, weight.clone());
    let z = Secret::uniform_ternary(&mut rng, ring.n()).poly(ring, &ring.everything());
    let (gadget, at) = (params.bootstrap().gadget, (&[1; 32], 0));
    let key = BootstrapKey::generate(ring, gadget, &bits, &z, at, &params.noise, &mut rng);
    let floats = FourierKey::new(ring, &key, 1);
    let turn = 2 * ring.n() as u64;
    let mut start = || -> Vec<Rotation> {
        let [window, _] = params.windows();
        let random =
            |_| Rotation::new(ring, &random_lwe(&mut rng, bits.bits().len(), turn), window);
        (0..TOGETHER).map(random).collect()
    };
    let mut timed = |turn: &dyn Fn(Vec<Rotation>) -> usize| {
        let rotations = start();
        let clock = Instant::now();
        turn(rotations);
        clock.elapsed().as_secs_f64() / TOGETHER as f64
    };
    let mut least = |turn: &dyn Fn(Vec<Rotation>) -> usize| {
        (0..3).map(|_| timed(turn)).fold(f64::INFINITY, f64::min)
    };
    let first = least(&|rotations| floats.rotate(ring, rotations).len());
    let second = least(&|rotations| key.rotate(ring, 2, rotations).len());
    Ok([first, second])
}

fn random_lwe(rng: &mut impl Rng, n: usize, turn: u64) -> Lwe {
    Lwe {
        body: rng.next_u64() % turn,
        mask: (0..n).map(|_| rng.next_u64() % turn).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No set beats the published ones if a rotation under InstantOMR's own secret takes 0.6 of the time of one under
    /// SophOMR's.
    #[test]
    fn published_sets_are_beaten_by_none() {
        let bases = ["hybrid-v4", "instantomr-v2"].map(|name| SetSpec::named(name).unwrap());
        let costs = |base: &SetSpec, _: &SecretSpec| match base.clue.second {
            Some(_) => Ok([0.6, 0.6]),
            None => Ok([1.0, 0.8]),
        };
        let found = search_at(&bases, true, costs).unwrap();
        let best: Vec<_> = found
            .best
            .iter()
            .map(|one| (one.set.name, group(one)))
            .collect();
        let expected = [
            ("hybrid-v4", 65_536),
            ("instantomr-v2", 32_768),
            ("instantomr-v2", 32_768),
        ];
        assert_eq!(best, expected);
        assert_eq!((found.tried, found.insecure), (18, 0));
    }
}
