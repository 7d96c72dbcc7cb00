//! Turns of ciphertexts that share a mask: each recipient's is that of a key switch of hers alone.
use chacha20::ChaCha20Rng;
use omr_ring::*;
use omr_rlwe::*;
use rand_core::SeedableRng;

const P: u64 = 786_433;
const N: usize = 1 << 10;
const PRIMES: usize = 4;
const RECIPIENTS: usize = 3;
/// Of all keys' masks.
const SEED: [u8; 32] = [2; 32];

struct Insecure {
    ring: Ring,
    p: Modulus,
    image: Automorphism,
    keys: Vec<SwitchingKey>,
    /// Two ciphertexts, each with a body for every recipient.
    inputs: Vec<SharedRlwe<Eval>>,
}

impl Insecure {
    /// `level`: primes of the ciphertexts, some of those of the keys.
    fn new(level: usize) -> Self {
        let mut primes = primes_near(40.0, N, PRIMES, &[P]).unwrap();
        primes.extend(primes_below(49, N, 2, &primes).unwrap());
        let ring = Ring::new(N, &primes).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(level as u64);
        let special = Basis::new(PRIMES..PRIMES + 2);
        let shape = KeyShape::new(&Basis::new(0..PRIMES), 2, &special);
        let basis = Basis::new(0..level);
        let uniform = |index| mask(&ring, &basis, &[1; 32], &[index]);
        let input = |i: u64| SharedRlwe {
            mask: uniform(10 * i),
            bodies: (1..=RECIPIENTS as u64)
                .map(|recipient| uniform(10 * i + recipient))
                .collect(),
        };
        let inputs = (0..2).map(input).collect();
        let keys = (0..RECIPIENTS)
            .map(|_| {
                let [from, to] = [(); 2].map(|()| Secret::uniform_ternary(&mut rng, N));
                let [s, t] = [&from, &to].map(|secret| secret.poly(&ring, &shape.extended()));
                SwitchingKey::generate(&ring, &shape, &s, &t, P, MaskSeed::new(&SEED, 0), &mut rng)
            })
            .collect();
        Self {
            image: Automorphism::new(N, 5),
            p: Modulus::new(P).unwrap(),
            ring,
            keys,
            inputs,
        }
    }

    fn turned(&self, inputs: &[SharedRlwe<Eval>], bodies: Bodies) -> Vec<SharedRlwe<Eval>> {
        let turn = SharedTurn {
            keys: self.keys.iter().collect(),
            image: &self.image,
        };
        turn.apply(&self.ring, inputs, bodies, &self.p)
    }

    /// Switches a recipient's body and the mask by the recipient's key alone.
    fn alone(&self, input: &SharedRlwe<Eval>, recipient: usize) -> Rlwe {
        let switch = KeySwitch {
            key: &self.keys[recipient],
            to: input.mask.basis(),
            image: Some(&self.image),
        };
        let input = SwitchInput {
            c: &input.mask,
            add: [Some(&input.bodies[recipient]), None],
        };
        switch.apply(&self.ring, &[input], &self.p).0.remove(0)
    }
}

#[test]
fn divided_bodies_are_those_of_each_key_alone() {
    for level in [PRIMES, PRIMES - 1, 1] {
        let case = Insecure::new(level);
        let turned = case.turned(&case.inputs, Bodies::Divided);
        for (input, found) in case.inputs.iter().zip(&turned) {
            for recipient in 0..RECIPIENTS {
                let expected = case.alone(input, recipient);
                assert_eq!(found.mask.to_words(), expected.c1.to_words());
                let body = found.bodies[recipient].to_words();
                assert_eq!(body, expected.c0.to_words(), "recipient {recipient}");
            }
        }
    }
}

/// Divided in the end, raised bodies differ from divided ones by the rounding of the latter.
#[test]
fn raised_bodies_are_divided_ones_before_the_division() {
    let case = Insecure::new(PRIMES);
    let (ring, special) = (&case.ring, case.keys[0].shape().special());
    let basis = case.inputs[0].mask.basis();
    let all = basis.union(special);
    let raise = Switch::new(ring, basis, &all, &case.p);
    let mut raised = case.inputs.clone();
    for input in &mut raised {
        for body in &mut input.bodies {
            *body = raise.apply(ring, body);
        }
    }
    let raised = case.turned(&raised, Bodies::Raised);
    let divided = case.turned(&case.inputs, Bodies::Divided);
    let down = Switch::new(ring, &all, basis, &case.p);
    for (raised, divided) in raised.iter().zip(&divided) {
        assert_eq!(raised.mask.to_words(), divided.mask.to_words());
        for (raised, divided) in raised.bodies.iter().zip(&divided.bodies) {
            assert_eq!(down.apply(ring, raised).to_words(), divided.to_words());
        }
    }
}

#[test]
#[should_panic(expected = "one body for each key")]
fn bodies_must_be_as_many_as_keys() {
    let mut case = Insecure::new(PRIMES);
    case.inputs[1].bodies.pop();
    case.turned(&case.inputs, Bodies::Divided);
}
