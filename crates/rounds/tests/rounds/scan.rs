//! The first round.

use chacha20::ChaCha20Rng;
use omr_bgv::Plain;
use omr_opening::{
    BlockOfClues, ClueShape, ModuleSecret, OpeningSpec, PackingKey, pack, packing_secret,
};
use omr_ring::{Gadget, Kernels, NarrowGaussian, fixed_weight};
use omr_rlwe::{MaskSeed, Secret, SecretPoly};
use omr_rounds::scan::{
    COORDINATES, Packed, Scan, ScanKey, ScanPart, ScanSecret, ScanSpec, share, switch_key,
};
use rand_core::{Rng, SeedableRng};

/// The modulus in which clues are read, twice that of their ring.
const Q: u64 = 2 * 4_188_161;
/// The standard deviation of the clues' own errors, in units of the modulus.
const CLUE_ERROR: f64 = 25.0;

struct World {
    scan: Scan,
    clue: Vec<i64>,
    secrets: Vec<ScanSecret>,
    keys: Vec<ScanKey>,
    rng: ChaCha20Rng,
}

fn scan(limits: [f64; COORDINATES]) -> Scan {
    let kernels = Kernels::detect();
    let clue = ClueShape {
        n: 64,
        q: Q,
        coordinates: COORDINATES,
    };
    let packing = OpeningSpec {
        n: 64,
        packing_rank: 4,
        packing_bits: 50,
        packing_sigma: 0.62,
        rank: 3,
        weight: 20,
        narrow_bits: 29.5,
        gadget: Gadget {
            bits: 2,
            digits: 13,
        },
        points: 16,
        baby: 4,
    };
    let spec = ScanSpec {
        n: 256,
        modulus_bits: 50,
        parts: 8,
        digits: 2,
        digit_bits: 16,
        body_bits: [15, 9],
        mask_bits: [22, 16],
        limits,
    };
    let plain = Plain::new(786_433, 2048, kernels).unwrap();
    Scan::new(clue, packing, &plain, spec, kernels).unwrap()
}

impl World {
    /// Two recipients of one clue secret, whose keys share masks.
    fn new(limits: [f64; COORDINATES], seed: u64) -> Self {
        let scan = scan(limits);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let clue = fixed_weight(&mut rng, 64, 16);
        let masks = [7; 32];
        let (mut secrets, mut keys) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let packing: ModuleSecret = packing_secret(scan.opening(), &mut rng);
            let ring = scan.ring();
            let finals: Vec<Secret> = (0..scan.spec().parts)
                .map(|_| Secret::uniform_ternary(&mut rng, ring.n()))
                .collect();
            let polys = || -> Vec<SecretPoly> {
                let poly = |secret: &Secret| secret.poly(ring, &ring.everything());
                finals.iter().map(poly).collect()
            };
            let rank = scan.opening().spec().packing_rank;
            let mut switch = Vec::new();
            for l in 0..rank {
                let at = MaskSeed::new(&masks, 10 + l as u64);
                switch.push(switch_key(&scan, &packing, l, &polys(), at, &mut rng));
            }
            let at = MaskSeed::new(&masks, 1);
            let packing_key =
                PackingKey::generate(scan.opening(), &clue, &[], &packing, at, &mut rng);
            keys.push(ScanKey {
                packing: packing_key,
                switch,
            });
            secrets.push(ScanSecret::new(&scan, polys()));
        }
        Self {
            scan,
            clue,
            secrets,
            keys,
            rng,
        }
    }

    /// Residues a and b of a clue whose distance is small if it is pertinent and else uniform.
    fn message(&mut self, pertinent: bool) -> (Vec<u32>, [u32; COORDINATES]) {
        let n = self.clue.len();
        let a: Vec<u32> = (0..n).map(|_| (self.rng.next_u64() % Q) as u32).collect();
        let errors = NarrowGaussian::new(CLUE_ERROR).sample(&mut self.rng, COORDINATES);
        let product = |c: usize| {
            let term = |(j, &x): (usize, &u32)| match c.checked_sub(j) {
                Some(at) => i128::from(x) * i128::from(self.clue[at]),
                None => -i128::from(x) * i128::from(self.clue[n + c - j]),
            };
            a.iter().enumerate().map(term).sum::<i128>()
        };
        let b = [0, 1].map(|c| {
            let own = product(c) + i128::from(errors[c]);
            let other = i128::from(self.rng.next_u64());
            let b = if pertinent { own } else { other };
            b.rem_euclid(i128::from(Q)) as u32
        });
        (a, b)
    }

    /// The packed clues of a section, in which only the blocks of `present` have messages.
    fn blocks(&mut self, present: &[usize], pertinent: &[bool]) -> Vec<Packed> {
        let (block, blocks) = (self.scan.block(), self.scan.blocks());
        let mut packed: Vec<Packed> = (0..blocks).map(|_| None).collect();
        for &number in present {
            let mut a = Vec::new();
            let mut b = vec![Vec::new(); COORDINATES];
            for y in 0..block {
                let (row, own) = self.message(pertinent[number * block + y]);
                a.extend(row);
                b[0].push(own[0]);
                b[1].push(own[1]);
            }
            let keys: Vec<&PackingKey> = self.keys.iter().map(|key| &key.packing).collect();
            let clues = BlockOfClues {
                a,
                b,
                extra: Vec::new(),
            };
            packed[number] = Some(pack(self.scan.opening(), &keys, &[clues]).remove(0));
        }
        packed
    }
}

/// Every tenth message or so.
fn pattern(messages: usize) -> Vec<bool> {
    (0..messages).map(|m| m * 40_503 % 11 == 3).collect()
}

#[test]
fn pertinent_messages_of_both_recipients_are_found() {
    let mut world = World::new([1.31, 0.96], 1);
    let pertinent = pattern(world.scan.section());
    let all: Vec<usize> = (0..world.scan.blocks()).collect();
    let blocks = world.blocks(&all, &pertinent);
    let groups: Vec<usize> = (0..world.scan.spec().parts).collect();
    let parts: Vec<Vec<ScanPart>> = [0, 1]
        .map(|r| share(&world.scan, &world.keys[r], r, &blocks))
        .into();
    // One seed, so one mask; the secrets differ.
    for (first, second) in parts[0].iter().zip(&parts[1]) {
        assert_eq!(first.mask, second.mask);
        assert_ne!(first.bodies, second.bodies);
    }
    for (secret, own) in world.secrets.iter().zip(&parts) {
        let found = secret.inside(&world.scan, &groups, own).unwrap().concat();
        assert!(found == pertinent);
    }
}

#[test]
fn noise_is_that_of_the_formula() {
    let mut world = World::new([1.31, 0.96], 2);
    let pertinent = vec![true; world.scan.section()];
    let all: Vec<usize> = (0..world.scan.blocks()).collect();
    let blocks = world.blocks(&all, &pertinent);
    let groups: Vec<usize> = (0..world.scan.spec().parts).collect();
    let parts = share(&world.scan, &world.keys[0], 0, &blocks);
    let expected = world.scan.noise(CLUE_ERROR / Q as f64, 1.0);
    for c in 0..COORDINATES {
        let spec = world.scan.spec();
        let unit = f64::from(1 << (spec.mask_bits[c] - spec.body_bits[c]));
        let distances = world.secrets[0]
            .distances(&world.scan, &groups, c, &parts[c])
            .unwrap();
        let all: Vec<f64> = distances
            .concat()
            .iter()
            .map(|&x| x as f64 / unit)
            .collect();
        let sd = (all.iter().map(|x| x * x).sum::<f64>() / all.len() as f64).sqrt();
        // A rounded body is off by up to half a step.
        let predicted = expected[c].hypot(1.0 / 12f64.sqrt());
        assert!(
            (sd / predicted - 1.0).abs() < 0.06,
            "{c}: {sd}, {predicted}"
        );
    }
}

#[test]
fn strangers_pass_as_often_as_the_windows_allow() {
    // A wide first coordinate, and a second one that lets all pass.
    let mut world = World::new([300.0, 255.9], 3);
    let pertinent = vec![false; world.scan.section()];
    let all: Vec<usize> = (0..world.scan.blocks()).collect();
    let blocks = world.blocks(&all, &pertinent);
    let groups: Vec<usize> = (0..world.scan.spec().parts).collect();
    let parts = share(&world.scan, &world.keys[0], 0, &blocks);
    let found = world.secrets[0]
        .inside(&world.scan, &groups, &parts)
        .unwrap();
    let count = found.concat().iter().filter(|inside| **inside).count() as f64;
    let expected = pertinent.len() as f64 * world.scan.window_log2(0).exp2();
    assert!(expected > 30.0, "{expected}");
    assert!(
        (count - expected).abs() < 4.0 * expected.sqrt(),
        "{count}, {expected}"
    );
}

#[test]
fn groups_without_messages_have_no_body() {
    let mut world = World::new([1.31, 0.96], 4);
    let pertinent = pattern(world.scan.section());
    // Blocks of groups 1 and 3; the rest of these groups has no messages.
    let present = [5, 6, 12];
    let blocks = world.blocks(&present, &pertinent);
    let parts = share(&world.scan, &world.keys[0], 0, &blocks);
    assert!(parts.iter().all(|part| part.bodies.len() == 2));
    let found = world.secrets[0]
        .inside(&world.scan, &[1, 3], &parts)
        .unwrap();
    let (block, step) = (world.scan.block(), world.scan.step());
    for number in present {
        let row = &found[usize::from(number / step == 3)][number % step * block..][..block];
        assert_eq!(row, &pertinent[number * block..][..block]);
    }
    let error = world.secrets[0]
        .inside(&world.scan, &[1], &parts)
        .unwrap_err();
    assert_eq!(error.to_string(), "expected 1 bodies, found 2");
}
