//! Key switches with several inputs, primes dropped, and an image.
use chacha20::ChaCha20Rng;
use omr_ring::*;
use omr_rlwe::*;
use rand_core::SeedableRng;

const P: u64 = 786_433;
/// Primes of ciphertexts; then come two of 49 bits for key switching.
const PRIMES: usize = 4;

/// Two secrets, and a key from the first to the second.
struct Insecure {
    ring: Ring,
    p: Modulus,
    from: Secret,
    to: Secret,
    key: SwitchingKey,
    rng: ChaCha20Rng,
}

impl Insecure {
    fn new(n: usize, dnum: usize, kernels: &'static Kernels) -> Self {
        let mut primes = primes_near(40.0, n, PRIMES, &[P]).unwrap();
        primes.extend(primes_below(49, n, 2, &primes).unwrap());
        let ring = Ring::with_kernels(n, &primes, kernels).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(dnum as u64);
        let [from, to] = [(); 2].map(|()| Secret::uniform_ternary(&mut rng, n));
        let special = Basis::new(PRIMES..PRIMES + 2);
        let shape = KeyShape::new(&Basis::new(0..PRIMES), dnum, &special);
        let [s, t] = [&from, &to].map(|secret| secret.poly(&ring, &shape.extended()));
        let key = SwitchingKey::generate(
            &ring,
            &shape,
            &s,
            &t,
            P,
            MaskSeed::new(&[2; 32], 0),
            &mut rng,
        );
        Self {
            ring,
            p: Modulus::new(P).unwrap(),
            from,
            to,
            key,
            rng,
        }
    }

    fn message(&mut self) -> Vec<u64> {
        let mut coeffs = vec![0; self.ring.n()];
        uniform_residues(&mut self.rng, &self.p, &mut coeffs);
        coeffs
    }

    /// Under the first secret.
    fn encrypt(&mut self, message: &[u64], basis: &Basis, index: u64) -> Rlwe {
        let message: Vec<u32> = message.iter().map(|&c| c as u32).collect();
        let message = self.ring.lift_plain(&message, P as u32, basis);
        let c1 = mask(&self.ring, basis, &[1; 32], &[index]);
        let secret = self.from.poly(&self.ring, basis);
        let c0 = encrypt(&self.ring, &secret, &message, P, &c1, &mut self.rng);
        Rlwe::new(c0, c1)
    }

    /// Under the second secret; `scale` is what the message was multiplied by.
    fn decrypt(&self, ct: &Rlwe, scale: u64) -> Vec<u64> {
        let secret = self.to.poly(&self.ring, ct.basis());
        let value = decrypt_residues(&self.ring, ct, &secret);
        let mut message = centered_mod(&self.ring, value, &self.p);
        let unscale = self.p.inv(scale);
        message
            .iter_mut()
            .for_each(|c| *c = self.p.mul(*c, unscale));
        message
    }

    fn switch<'a>(&'a self, to: &'a Basis, image: Option<&'a Automorphism>) -> KeySwitch<'a> {
        KeySwitch {
            key: &self.key,
            to,
            image,
        }
    }
}

fn input(ct: &Rlwe) -> SwitchInput<'_> {
    SwitchInput {
        c: &ct.c1,
        add: [Some(&ct.c0), None],
    }
}

fn same(a: &Rlwe, b: &Rlwe) -> bool {
    let words = |ct: &Rlwe| [ct.c0.to_words(), ct.c1.to_words()];
    a.basis() == b.basis() && words(a) == words(b)
}

/// Dimensions of short and of padded rows, and one of more than one piece.
const DIMENSIONS: [usize; 3] = [256, 4096, 8192];

#[test]
fn several_inputs_are_switched_as_one_by_one() {
    for (n, dnum) in DIMENSIONS
        .into_iter()
        .flat_map(|n| [(n, 1), (n, 2), (n, 3)])
    {
        let mut t = Insecure::new(n, dnum, Kernels::detect());
        let basis = Basis::new(0..PRIMES);
        let cts: Vec<Rlwe> = (0..3)
            .map(|i| {
                let message = t.message();
                t.encrypt(&message, &basis, i)
            })
            .collect();
        // With a body, with body and mask, with nothing to add.
        let mut inputs: Vec<SwitchInput> = cts.iter().map(input).collect();
        inputs[1].add[1] = Some(&cts[0].c0);
        inputs[2].add = [None, None];
        let image = Automorphism::new(n, 5);
        let fewer = Basis::new(0..PRIMES - 1);
        for (to, image) in [(&basis, None), (&fewer, None), (&fewer, Some(&image))] {
            let switch = t.switch(to, image);
            for count in 1..=3 {
                let (together, factor) = switch.apply(&t.ring, &inputs[..count], &t.p);
                assert_eq!(together.len(), count);
                for (input, found) in inputs.iter().zip(&together) {
                    let (alone, alone_factor) = switch.apply(&t.ring, &[*input], &t.p);
                    assert!(
                        same(found, &alone[0]),
                        "n = {n}, {dnum} digits, {count} inputs"
                    );
                    assert_eq!(factor, alone_factor);
                }
            }
        }
    }
}

#[test]
fn primes_dropped_on_the_way_leave_the_message() {
    for (n, dnum) in [(256, 1), (256, 2), (4096, 2), (256, 4)] {
        let mut t = Insecure::new(n, dnum, Kernels::detect());
        let message = t.message();
        // All primes of the key, and fewer: the first digits alone.
        for primes in 2..=PRIMES {
            let basis = Basis::new(0..primes);
            let ct = t.encrypt(&message, &basis, primes as u64);
            let whole = t.key.switch(&t.ring, &ct, &t.p);
            assert_eq!(t.decrypt(&whole, 1), message, "{primes} primes");
            for left in 1..=primes {
                let to = Basis::new(0..left);
                let (at_once, factor) = t.switch(&to, None).apply(&t.ring, &[input(&ct)], &t.p);
                let found = t.decrypt(&at_once[0], factor);
                assert_eq!(found, message, "{primes} to {left} primes at once");
                let down = Switch::new(&t.ring, &basis, &to, &t.p);
                let [c0, c1] = [&whole.c0, &whole.c1].map(|part| down.apply(&t.ring, part));
                let found = t.decrypt(&Rlwe::new(c0, c1), down.factor());
                assert_eq!(found, message, "{primes} to {left} primes in two steps");
                assert_eq!(factor, down.factor());
            }
        }
    }
}

/// All bases of one prime or more of those of ciphertexts.
fn bases() -> impl Iterator<Item = Basis> {
    let chosen = |set: usize| (0..PRIMES).filter(move |id| set >> id & 1 == 1);
    (1..1 << PRIMES).map(move |set| Basis::new(chosen(set)))
}

/// Results over primes that the input lacks, in place of some or of all of its own.
#[test]
fn primes_added_on_the_way_leave_the_message() {
    for (n, dnum) in [(256, 1), (256, 2), (256, 4), (4096, 2)] {
        let mut t = Insecure::new(n, dnum, Kernels::detect());
        let message = t.message();
        for (i, basis) in bases().enumerate() {
            let ct = t.encrypt(&message, &basis, i as u64);
            for to in bases() {
                let (found, factor) = t.switch(&to, None).apply(&t.ring, &[input(&ct)], &t.p);
                assert_eq!(found[0].basis(), &to);
                let found = t.decrypt(&found[0], factor);
                assert_eq!(found, message, "n = {n}, from {basis:?} to {to:?}");
                let switch = Switch::new(&t.ring, &basis, &to, &t.p);
                assert_eq!(factor, switch.factor());
            }
        }
    }
}

/// The sum of products before the division, over the input's and the special primes, for a key whose masks are
/// drawn again.
fn undivided(t: &Insecure, ct: &Rlwe) -> Rlwe {
    let (ring, shape) = (&t.ring, t.key.shape());
    let all = ct.basis().union(shape.special());
    let mut sums = Rlwe::zero(ring, &all);
    for (d, (digit, body)) in shape.digits().iter().zip(t.key.bodies()).enumerate() {
        let own = digit.intersection(ct.basis());
        if own.is_empty() {
            continue;
        }
        let raise = Conversion::raise(ring, &own, &all.minus(&own));
        let mut coeffs = ring.inverse(ct.c1.restrict(&own));
        ring.each_row(&mut coeffs, |id, row| {
            ring.kernels()
                .scale_assign(ring.modulus(id), row, raise.weight(id));
        });
        let sources: Vec<&[u64]> = coeffs.rows().collect();
        let others = ring.forward(raise.apply(ring, &sources));
        let mut whole = Poly::zero(ring, &all);
        ring.each_row(&mut whole, |id, row| {
            if own.contains(id) {
                row.copy_from_slice(ct.c1.row_of(id))
            } else {
                row.copy_from_slice(others.row_of(id))
            }
        });
        let mask = mask(ring, &shape.extended(), &[2; 32], &[0, d as u64]);
        ring.mul_add_assign(&mut sums.c0, &whole, body);
        ring.mul_add_assign(&mut sums.c1, &whole, &mask);
    }
    ring.each_row(&mut sums.c0, |id, row| {
        if let Some(limb) = ct.basis().position(id) {
            let (m, c0) = (ring.modulus(id), ct.c0.row(limb));
            let factor = t.key.special_mod(ring, m);
            ring.kernels().scale_add_assign(m, row, c0, factor);
        }
    });
    sums
}

/// Bit for bit: the known answers of [`Switch`] are then those of a key switch's division, by whatever image.
#[test]
fn the_division_is_a_modulus_switch() {
    for (n, dnum) in [(256, 1), (256, 3), (4096, 2)] {
        let mut t = Insecure::new(n, dnum, Kernels::detect());
        let message = t.message();
        let image = Automorphism::new(n, 5);
        for (i, basis) in bases().enumerate() {
            let ct = t.encrypt(&message, &basis, i as u64);
            let sums = undivided(&t, &ct);
            for to in bases() {
                let divide = Switch::new(&t.ring, sums.basis(), &to, &t.p);
                let [c0, c1] = [&sums.c0, &sums.c1].map(|part| divide.apply(&t.ring, part));
                let images = [&c0, &c1].map(|part| image.apply(&t.ring, part));
                let [image0, image1] = images;
                for (expected, image) in [
                    (Rlwe::new(c0, c1), None),
                    (Rlwe::new(image0, image1), Some(&image)),
                ] {
                    let switch = t.switch(&to, image);
                    let (found, _) = switch.apply(&t.ring, &[input(&ct)], &t.p);
                    assert!(same(&found[0], &expected), "from {basis:?} to {to:?}");
                }
            }
        }
    }
}

/// Of one special prime, for the first two primes or the first.
#[test]
fn lowered_keys_leave_the_message() {
    for (n, dnum) in [(256, 1), (256, 2), (4096, 2), (256, 4)] {
        let mut t = Insecure::new(n, dnum, Kernels::detect());
        let shape = t.key.shape().clone();
        let one = Basis::new([PRIMES + 1]);
        let lowered = [2, 1].map(|primes| shape.lowered(&Basis::new(0..primes), &one));
        assert!(lowered[0].serves(&Basis::new([1])) && !lowered[1].serves(&Basis::new([1])));
        assert_eq!(lowered[0].extended().len(), 3);
        let message = t.message();
        let bases: Vec<Basis> = bases().collect();
        let cts: Vec<Rlwe> = (0..)
            .zip(&bases)
            .map(|(i, basis)| t.encrypt(&message, basis, i))
            .collect();
        let to = Basis::new([0, 3]);
        let results = |t: &Insecure| -> Vec<(Rlwe, u64)> {
            let result = |ct: &Rlwe| {
                let (mut found, factor) = t.switch(&to, None).apply(&t.ring, &[input(ct)], &t.p);
                (found.remove(0), factor)
            };
            cts.iter().map(result).collect()
        };
        let whole = results(&t);
        let masks = SwitchingKey::masks(&t.ring, &shape, MaskSeed::new(&[2; 32], 0));
        let key = SwitchingKey::from_bodies(&shape, t.key.bodies().cloned().collect(), masks);
        t.key = key.with_lowered(&t.ring, &lowered, &t.p);
        for ((basis, before), (found, factor)) in bases.iter().zip(whole).zip(results(&t)) {
            assert_eq!(t.decrypt(&found, factor), message, "n = {n}, {basis:?}");
            assert_eq!(factor, before.1);
            // Other primes, other noise.
            assert_eq!(same(&found, &before.0), !lowered[0].serves(basis));
        }
    }
}

#[test]
fn an_image_is_that_of_the_switched() {
    for n in DIMENSIONS {
        let mut t = Insecure::new(n, 2, Kernels::detect());
        let (message, basis) = (t.message(), Basis::new(0..PRIMES));
        let ct = t.encrypt(&message, &basis, 7);
        for to in [basis, Basis::new(0..2)] {
            let (plain, _) = t.switch(&to, None).apply(&t.ring, &[input(&ct)], &t.p);
            for g in [3, 5, 2 * n - 1] {
                let image = Automorphism::new(n, g);
                let switch = t.switch(&to, Some(&image));
                let (found, _) = switch.apply(&t.ring, &[input(&ct)], &t.p);
                let expected = Rlwe::new(
                    image.apply(&t.ring, &plain[0].c0),
                    image.apply(&t.ring, &plain[0].c1),
                );
                assert!(same(&found[0], &expected), "n = {n}, g = {g}");
            }
        }
    }
}

#[test]
fn every_back_end_gives_the_same_bits() {
    let results: Vec<Rlwe> = Kernels::available()
        .into_iter()
        .map(|kernels| {
            let mut t = Insecure::new(1024, 2, kernels);
            let (message, basis) = (t.message(), Basis::new(0..PRIMES));
            let ct = t.encrypt(&message, &basis, 7);
            let (to, image) = (Basis::new(0..PRIMES - 1), Automorphism::new(1024, 5));
            let switch = t.switch(&to, Some(&image));
            switch.apply(&t.ring, &[input(&ct)], &t.p).0.remove(0)
        })
        .collect();
    assert!(results.iter().all(|found| same(found, &results[0])));
}
