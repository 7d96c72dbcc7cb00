//! Test vectors of every operation at an insecure small dimension, with four primes of ciphertexts.

use crate::Outcome;
use crate::image::{Image, Op, OpKind};
use crate::machine::{Machine, key_of};
use crate::operators::{self, Context};
use chacha20::ChaCha20Rng;
use omr_bgv::{Chain, Ciphertext, Evaluator, GaloisKey, Plain, encrypt_symmetric};
use omr_ring::{Automorphism, Basis, Ring, primes_below, primes_near};
use omr_rlwe::{KeyShape, MaskSeed, Secret};
use rand_core::{Rng, SeedableRng};

const P: u64 = 786_433;
const N: usize = 1 << 10;
const GIANTS: usize = 3;
const BABIES: usize = 4;
const COORDINATES: usize = 2;

struct Toy {
    ring: Ring,
    plain: Plain,
    chain: Chain,
    secret: Secret,
    rng: ChaCha20Rng,
    step_shape: KeyShape,
    giant_shape: KeyShape,
}

impl Toy {
    /// Returns four primes of 48 bits in two digits, with special primes as in real sets: two of 50 bits, and a
    /// small one for the baby step.
    fn new() -> Outcome<Self> {
        let wide = 1 << 16;
        let mut primes = primes_near(48.1, wide, 4, &[P])?;
        primes.extend(primes_below(50, wide, 2, &primes)?);
        primes.extend(primes_near(31.0, wide, 1, &primes)?);
        let ring = Ring::new(N, &primes)?;
        let plain = Plain::new(P, N, ring.kernels())?;
        let basis = Basis::new(0..4);
        let mut rng = ChaCha20Rng::seed_from_u64(22);
        Ok(Self {
            secret: Secret::fixed_weight(&mut rng, N, 64, 20.0),
            step_shape: KeyShape::new(&basis, 2, &Basis::new([4, 5, 6])),
            giant_shape: KeyShape::new(&basis, 2, &Basis::new([4, 5])),
            chain: Chain::new(vec![basis]),
            ring,
            plain,
            rng,
        })
    }

    fn basis(&self) -> &Basis {
        self.chain.basis(0)
    }

    fn slots(&mut self) -> Vec<u32> {
        (0..N).map(|_| (self.rng.next_u64() % P) as u32).collect()
    }

    fn encrypt(&mut self, index: u64) -> Ciphertext {
        let slots = self.slots();
        let s = self.secret.poly(&self.ring, self.chain.basis(0));
        let (ring, plain, chain) = (&self.ring, &self.plain, &self.chain);
        let at = MaskSeed::new(&[1; 32], index);
        encrypt_symmetric(ring, plain, chain, 0, &s, &slots, at, &mut self.rng)
    }

    fn galois(&mut self, shape: &KeyShape, steps: usize) -> GaloisKey {
        let s = self.secret.poly(&self.ring, &shape.extended());
        let g = Automorphism::rotation(N, steps);
        let at = MaskSeed::new(&[3; 32], steps as u64);
        GaloisKey::generate(&self.ring, shape, &s, g, P, at, &mut self.rng)
    }
}

/// Returns the image of all tests.
pub(crate) fn image() -> Outcome<Image> {
    let mut toy = Toy::new()?;
    let (step_shape, giant_shape) = (toy.step_shape.clone(), toy.giant_shape.clone());
    let step = toy.galois(&step_shape, 1);
    let giant = toy.galois(&giant_shape, BABIES);
    let inputs = [toy.encrypt(0), toy.encrypt(1)];
    let diagonals: Vec<Vec<u32>> = (0..GIANTS * BABIES).map(|_| toy.slots()).collect();
    let rows = operators::random_rows(&toy.ring, &step_shape.extended(), &mut toy.rng);
    let toy = toy;
    let mut machine = Machine::new("toy", &toy.ring, toy.plain.p(), toy.basis());
    machine.load_key(0, &key_of(&step, [3; 32], 1, 1));
    machine.load_key(1, &key_of(&giant, [3; 32], BABIES as u64, BABIES));
    machine.reserve_work(&[&step_shape, &giant_shape]);
    let ev = Evaluator {
        ring: &toy.ring,
        plain: &toy.plain,
        chain: &toy.chain,
        stop: None,
    };
    let cx = Context { ev, key: &step };
    operators::transforms(&cx, &mut machine, &rows, rows.basis().len());
    operators::conversions(&cx, &mut machine, &rows);
    let slots = [&diagonals[0], &diagonals[1]].map(Vec::as_slice);
    operators::sums_and_products(&cx, &mut machine, &inputs, slots)?;
    operators::automorphism(&cx, &mut machine, &inputs[0]);
    operators::key_switch(&cx, &mut machine, &inputs[0]);
    let turned = ev.automorphism(&inputs[0], &step)?;
    operators::rotation(&mut machine, &inputs[0], &turned);
    matrix(&cx, &mut machine, &inputs[0], &diagonals, &giant)?;
    Ok(machine.image)
}

/// Adds the schedule of the affine transform: coordinate j uses the diagonals j baby steps further on.
fn matrix(
    cx: &Context,
    machine: &mut Machine,
    input: &Ciphertext,
    diagonals: &[Vec<u32>],
    giant: &GaloisKey,
) -> Outcome<()> {
    let (ev, step) = (cx.ev, cx.key);
    let limbs = machine.basis.len();
    let plains: Vec<_> = diagonals.iter().map(|slots| cx.lift(slots)).collect();
    let mut babies = vec![input.clone()];
    for _ in 1..BABIES + COORDINATES - 1 {
        let last = &babies[babies.len() - 1];
        babies.push(ev.automorphism(last, step)?);
    }
    let mut expected = Vec::new();
    for j in 0..COORDINATES {
        let mut sum: Option<Ciphertext> = None;
        for g in (0..GIANTS).rev() {
            let mut product = babies[j].clone();
            ev.mul_plain_assign(&mut product, &plains[g * BABIES]);
            for b in 1..BABIES {
                ev.mul_plain_add(&mut product, &babies[b + j], &plains[g * BABIES + b])?;
            }
            if let Some(sum) = &sum {
                ev.add_assign(&mut product, &ev.automorphism(sum, giant)?)?;
            }
            sum = Some(product);
        }
        expected.extend(sum);
    }
    let vector = machine.put_ciphertext(input);
    machine.reserve(2 * limbs * (babies.len() - 1));
    let factors: Vec<usize> = plains
        .iter()
        .map(|plain| machine.put_factor(plain))
        .collect();
    let sum = machine.reserve(2 * limbs);
    let out = machine.reserve(2 * limbs * COORDINATES);
    let turned = machine.reserve(2 * limbs);
    let config = [
        GIANTS,
        BABIES,
        COORDINATES,
        vector,
        factors[0],
        sum,
        out,
        turned,
    ];
    for (i, value) in config.into_iter().enumerate() {
        machine.configure(40 + i, value);
    }
    let results = expected.iter().enumerate();
    let expected = results
        .flat_map(|(j, ct)| Machine::expect(out + 2 * limbs * j, ct))
        .collect();
    machine.test("matmul", vec![Op::new(OpKind::MatMul)], expected);
    Ok(())
}
