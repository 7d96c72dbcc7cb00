//! Every operation at an insecure small dimension, with four primes of ciphertexts.

use crate::Outcome;
use crate::image::{Image, Op, OpKind};
use crate::machine::{Machine, key_of};
use chacha20::ChaCha20Rng;
use omr_bgv::{Chain, Ciphertext, Evaluator, GaloisKey, Plain, encrypt_symmetric};
use omr_ring::{Automorphism, Basis, Coeff, Conversion, Poly, Ring, primes_below, primes_near};
use omr_rlwe::{KeyShape, Rlwe, Secret};
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
    /// Four primes of 48 bits in two digits, special primes as real sets have them: two of 50 bits,
    /// and for the baby step a small one.
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
        let at = (&[1; 32], index);
        encrypt_symmetric(ring, plain, chain, 0, &s, &slots, at, &mut self.rng)
    }

    fn galois(&mut self, shape: &KeyShape, steps: usize) -> GaloisKey {
        let s = self.secret.poly(&self.ring, &shape.extended());
        let g = Automorphism::rotation(N, steps);
        let at = (&[3; 32], steps as u64);
        GaloisKey::generate(&self.ring, shape, &s, g, P, at, &mut self.rng)
    }

    fn random_rows(&mut self, basis: &Basis) -> Poly<Coeff> {
        let mut words = Vec::new();
        for &id in basis.ids() {
            let q = self.ring.modulus(id).value();
            words.extend((0..N).map(|i| match i {
                0 => 0,
                1 => q - 1,
                _ => self.rng.next_u64() % q,
            }));
        }
        Poly::from_rows(N, basis, words)
    }
}

/// The image of all tests.
pub(crate) fn image() -> Outcome<Image> {
    let mut toy = Toy::new()?;
    let (step_shape, giant_shape) = (toy.step_shape.clone(), toy.giant_shape.clone());
    let step = toy.galois(&step_shape, 1);
    let giant = toy.galois(&giant_shape, BABIES);
    let inputs = [toy.encrypt(0), toy.encrypt(1)];
    let diagonals: Vec<Vec<u32>> = (0..GIANTS * BABIES).map(|_| toy.slots()).collect();
    let rows = toy.random_rows(&step_shape.extended());
    let toy = toy;
    let mut machine = Machine::new("toy", &toy.ring, toy.plain.p(), toy.basis());
    machine.load_key(0, &key_of(&step, [3; 32], 1, 1));
    machine.load_key(1, &key_of(&giant, [3; 32], BABIES as u64, BABIES));
    machine.reserve_work(&[&step_shape, &giant_shape]);
    transforms(&toy, &mut machine, &rows);
    conversions(&toy, &mut machine, &rows);
    sums_and_products(&toy, &mut machine, &inputs, &diagonals)?;
    rotations(&toy, &mut machine, &inputs[0], &step)?;
    matrix(&toy, &mut machine, &inputs[0], &diagonals, [&step, &giant])?;
    Ok(machine.image)
}

fn evaluator(toy: &Toy) -> Evaluator<'_> {
    Evaluator {
        ring: &toy.ring,
        plain: &toy.plain,
        chain: &toy.chain,
    }
}

fn transforms(toy: &Toy, machine: &mut Machine, rows: &Poly<Coeff>) {
    let at = machine.put(rows.rows());
    let forward = toy.ring.forward(rows.clone());
    let inverse = toy.ring.inverse(rows.clone().into_domain());
    let results: [(&str, OpKind, Vec<&[u64]>); 2] = [
        ("ntt", OpKind::Ntt, forward.rows().collect()),
        ("intt", OpKind::Intt, inverse.rows().collect()),
    ];
    for (name, kind, expected) in results {
        let to = machine.reserve(expected.len());
        let op = |i: usize| Op::new(kind).prime(i).a(at + i, 0).to(to + i);
        let ops = (0..expected.len()).map(op).collect();
        let expected = expected.iter().enumerate();
        let expected = expected.map(|(i, row)| (to + i, row.to_vec())).collect();
        let name = if name == "ntt" { "ntt" } else { "intt" };
        machine.test(name, ops, expected);
    }
}

/// Digits raised, and the division's conversion, at the constants that the keys use.
fn conversions(toy: &Toy, machine: &mut Machine, rows: &Poly<Coeff>) {
    let ring = &toy.ring;
    let limbs = toy.basis().len();
    let special = toy.step_shape.special().clone();
    let all = toy.step_shape.extended();
    let at = machine.put(rows.rows());
    let config = |at: usize| {
        let found = machine.image.config.iter().find(|c| c.0 == at);
        found.expect("loaded with the key").1 as usize
    };
    let (division, raise) = (config(6), config(9));
    let weighted = |conversion: &Conversion, from: &Basis| -> Vec<Vec<u64>> {
        let ids = from.ids().iter();
        ids.map(|&id| {
            let (m, w) = (ring.modulus(id), conversion.weight(id));
            rows.row_of(id).iter().map(|&x| m.mul(x, w)).collect()
        })
        .collect()
    };
    let own = &toy.step_shape.digits()[0];
    let conversion = Conversion::raise(ring, own, &all.minus(own));
    let sources = weighted(&conversion, own);
    let raised = conversion.apply(ring, &sources.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let to = machine.reserve(all.len());
    let op = Op::new(OpKind::Bconv)
        .terms(own.len())
        .targets(all.len() - own.len(), 0..own.len())
        .constants(raise)
        .a(at, 0)
        .to(to);
    let ids = raised.basis().ids().iter().zip(raised.rows());
    let expected = ids.map(|(&id, row)| (to + id, row.to_vec())).collect();
    machine.test("bconv", vec![op], expected);

    let empty = Basis::new([]);
    let conversion = Conversion::division(ring, &special, toy.basis(), &empty, toy.plain.p());
    let sources = weighted(&conversion, &special);
    let delta = conversion.apply(ring, &sources.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let to = machine.reserve(limbs);
    let op = Op::new(OpKind::Bconv)
        .prime(limbs)
        .terms(special.len())
        .targets(limbs, limbs..limbs)
        .constants(division)
        .a(at + limbs, 0)
        .to(to);
    let expected = delta.rows().enumerate();
    let expected = expected.map(|(i, row)| (to + i, row.to_vec())).collect();
    machine.test("bconv", vec![op], expected);
}

fn sums_and_products(
    toy: &Toy,
    machine: &mut Machine,
    inputs: &[Ciphertext; 2],
    diagonals: &[Vec<u32>],
) -> Outcome<()> {
    let ev = evaluator(toy);
    let limbs = toy.basis().len();
    let at = [
        machine.put_ciphertext(&inputs[0]),
        machine.put_ciphertext(&inputs[1]),
    ];
    let mut sum = inputs[0].clone();
    ev.add_assign(&mut sum, &inputs[1])?;
    let to = machine.reserve(2 * limbs);
    let ops = machine.each_limb(|prime, i| {
        let op = Op::new(OpKind::Add).prime(prime).terms(1);
        op.a(at[0] + i, 0).b(at[1] + i, 0).to(to + i)
    });
    machine.test("ccadd", ops, Machine::expect(to, &sum));

    let plains = diagonals[..2].iter().map(|slots| {
        let coeffs = toy.plain.encode(slots);
        toy.ring.lift_plain(&coeffs, P as u32, toy.basis())
    });
    let plains: Vec<_> = plains.collect();
    let factors: Vec<usize> = plains
        .iter()
        .map(|plain| machine.put_factor(plain))
        .collect();
    for terms in [1, 2] {
        let mut product = inputs[0].clone();
        ev.mul_plain_assign(&mut product, &plains[0]);
        if terms == 2 {
            ev.mul_plain_add(&mut product, &inputs[1], &plains[1])?;
        }
        let to = machine.reserve(2 * limbs);
        let ops = machine.each_limb(|prime, i| {
            let op = Op::new(OpKind::Dot).prime(prime).terms(terms);
            op.a(at[0] + i, at[1] - at[0])
                .b(factors[0] + prime, factors[1] - factors[0])
                .to(to + i)
        });
        let name = if terms == 1 { "pcmul" } else { "dot" };
        machine.test(name, ops, Machine::expect(to, &product));
    }
    Ok(())
}

fn rotations(
    toy: &Toy,
    machine: &mut Machine,
    input: &Ciphertext,
    step: &GaloisKey,
) -> Outcome<()> {
    let ring = &toy.ring;
    let limbs = toy.basis().len();
    let at = machine.put_ciphertext(input);
    let images = input
        .parts()
        .iter()
        .map(|p| step.automorphism().apply(ring, p));
    let images: Vec<_> = images.collect();
    let to = machine.reserve(2 * limbs);
    let ops = machine.each_limb(|prime, i| {
        let op = Op::new(OpKind::Copy).prime(prime).terms(1).permute();
        op.a(at + i, 0).to(to + i)
    });
    let rows = images.iter().flat_map(Poly::rows).enumerate();
    let expected = rows.map(|(i, row)| (to + i, row.to_vec())).collect();
    machine.test("automorphism", ops, expected);

    let pair = Rlwe {
        c0: input.parts()[0].clone(),
        c1: input.parts()[1].clone(),
    };
    let switched = step.switching_key().switch(ring, &pair, toy.plain.p());
    let to = machine.reserve(2 * limbs);
    let op = Op::new(OpKind::Switch).a(at, 0).to(to);
    let rows = switched.c0.rows().chain(switched.c1.rows()).enumerate();
    let expected = rows.map(|(i, row)| (to + i, row.to_vec())).collect();
    machine.test("keyswitch", vec![op], expected);

    let turned = evaluator(toy).automorphism(input, step)?;
    let to = machine.reserve(2 * limbs);
    let op = Machine::rotation(0, at, to);
    machine.test("rot", vec![op], Machine::expect(to, &turned));
    Ok(())
}

/// The schedule of the affine transform: coordinate j meets the diagonals j baby steps further on.
fn matrix(
    toy: &Toy,
    machine: &mut Machine,
    input: &Ciphertext,
    diagonals: &[Vec<u32>],
    [step, giant]: [&GaloisKey; 2],
) -> Outcome<()> {
    let ev = evaluator(toy);
    let limbs = toy.basis().len();
    let plains = diagonals.iter().map(|slots| {
        let coeffs = toy.plain.encode(slots);
        toy.ring.lift_plain(&coeffs, P as u32, toy.basis())
    });
    let plains: Vec<_> = plains.collect();
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
    let first = plains.iter().map(|plain| machine.put_factor(plain)).min();
    let sum = machine.reserve(2 * limbs);
    let out = machine.reserve(2 * limbs * COORDINATES);
    let turned = machine.reserve(2 * limbs);
    let first = first.expect("diagonals");
    let config = [GIANTS, BABIES, COORDINATES, vector, first, sum, out, turned];
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
