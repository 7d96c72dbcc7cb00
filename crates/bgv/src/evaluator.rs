//! Homomorphic operations on ciphertexts: sums, products, relinearisation, levels, automorphisms.

use crate::{Chain, Ciphertext, EvalError, GaloisKey, Plain};
use omr_errors::Mismatch;
use omr_ring::{Eval, Modulus, Poly, Ring, Switch};
use omr_rlwe::{KeySwitch, Rlwe, SwitchInput, SwitchingKey};

/// A function that returns true if the work is to end before its result is complete. Any thread calls it, and
/// it must return at once. `None`: the work does not stop.
pub type Stop<'a> = Option<&'a (dyn Fn() -> bool + Sync)>;

/// Homomorphic operations. An evaluator contains no secret; it is `Send + Sync`.
#[derive(Clone, Copy)]
pub struct Evaluator<'a> {
    /// The ring.
    pub ring: &'a Ring,
    /// The slots.
    pub plain: &'a Plain,
    /// The modulus chain.
    pub chain: &'a Chain,
    /// Called before each key switch.
    pub stop: Stop<'a>,
}

impl<'a> Evaluator<'a> {
    /// Returns an evaluator whose operations end early, with [`EvalError::Stopped`], once `stop` returns true.
    #[must_use]
    pub fn stopped_by(self, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            stop: Some(stop),
            ..self
        }
    }

    /// Checks whether the work is to go on.
    ///
    /// Errors: `Stopped` if [`Evaluator::stop`] returns true.
    pub fn go_on(&self) -> Result<(), EvalError> {
        if self.stop.is_some_and(|stop| stop()) {
            Err(EvalError::Stopped)
        } else {
            Ok(())
        }
    }

    fn p(&self) -> &Modulus {
        self.plain.p()
    }

    fn same(&self, a: &Ciphertext, b: &Ciphertext) -> Result<(), EvalError> {
        if a.level != b.level {
            return Err(EvalError::Level(Mismatch::new(a.level, b.level)));
        }
        if a.scale != b.scale {
            return Err(EvalError::Scale(Mismatch::new(a.scale, b.scale)));
        }
        if a.parts.len() == b.parts.len() {
            Ok(())
        } else {
            Err(EvalError::Parts(Mismatch::new(
                a.parts.len(),
                b.parts.len(),
            )))
        }
    }

    fn expect_parts(ct: &Ciphertext, expected: usize) -> Result<(), EvalError> {
        match ct.parts.len() {
            found if found == expected => Ok(()),
            found => Err(EvalError::Parts(Mismatch::new(expected, found))),
        }
    }

    /// Checks that the chain has a level.
    ///
    /// Errors: `Exhausted` if it does not.
    pub fn expect_level(&self, level: usize) -> Result<(), EvalError> {
        if level < self.chain.len() {
            Ok(())
        } else {
            Err(EvalError::Exhausted(Mismatch::new(self.chain.len(), level)))
        }
    }

    /// Computes `a += b`.
    ///
    /// Errors: `Level`, `Scale` or `Parts` if the operands differ in these.
    pub fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), EvalError> {
        self.same(a, b)?;
        a.parts
            .iter_mut()
            .zip(&b.parts)
            .for_each(|(x, y)| self.ring.add_assign(x, y));
        Ok(())
    }

    /// Computes `a -= b`.
    ///
    /// Errors: `Level`, `Scale` or `Parts` if the operands differ in these.
    pub fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), EvalError> {
        self.same(a, b)?;
        a.parts
            .iter_mut()
            .zip(&b.parts)
            .for_each(|(x, y)| self.ring.sub_assign(x, y));
        Ok(())
    }

    /// Computes `a = -a`.
    pub fn neg_assign(&self, a: &mut Ciphertext) {
        a.parts.iter_mut().for_each(|x| self.ring.neg_assign(x));
    }

    /// Adds encoded slots.
    pub fn add_plain_assign(&self, a: &mut Ciphertext, coeffs: &[u32]) {
        let p = self.p();
        let scaled: Vec<u32> = coeffs
            .iter()
            .map(|&c| p.mul(u64::from(c), a.scale) as u32)
            .collect();
        let basis = a.parts[0].basis().clone();
        let plain = self.ring.lift_plain(&scaled, p.value() as u32, &basis);
        self.ring.add_assign(&mut a.parts[0], &plain);
    }

    /// Adds the constant `c` to every slot.
    pub fn add_constant_assign(&self, a: &mut Ciphertext, c: u64) {
        let centered = self
            .p()
            .to_centered(self.p().mul(self.p().reduce(c), a.scale));
        self.ring
            .add_constant_assign(&mut a.parts[0], |m| m.from_i64(centered));
    }

    /// Multiplies by an encoded plaintext of scale 1 in the evaluation domain.
    pub fn mul_plain_assign(&self, a: &mut Ciphertext, plain: &Poly<Eval>) {
        a.parts
            .iter_mut()
            .for_each(|x| self.ring.mul_assign(x, plain));
    }

    /// Computes `acc += a * plain`.
    ///
    /// Errors: `Level`, `Scale` or `Parts` if the ciphertexts differ in these.
    pub fn mul_plain_add(
        &self,
        acc: &mut Ciphertext,
        a: &Ciphertext,
        plain: &Poly<Eval>,
    ) -> Result<(), EvalError> {
        self.same(acc, a)?;
        for (x, y) in acc.parts.iter_mut().zip(&a.parts) {
            self.ring.mul_add_assign(x, y, plain);
        }
        Ok(())
    }

    /// Multiplies every slot by the scalar `c`. The noise grows by `|c|`, with `c` centred.
    pub fn mul_scalar_assign(&self, a: &mut Ciphertext, c: u64) {
        let centered = self.p().to_centered(self.p().reduce(c));
        a.parts
            .iter_mut()
            .for_each(|x| self.ring.scale_assign(x, |m| m.from_i64(centered)));
    }

    /// Multiplies by `X^k`.
    pub fn mul_monomial_assign(&self, a: &mut Ciphertext, k: usize) {
        let monomial = self.ring.monomial(a.parts[0].basis(), k, 1);
        self.mul_plain_assign(a, &monomial);
    }

    /// Returns `sum_i c_i * a_i` with the given scale; each scalar compensates its term's scale.
    ///
    /// Errors: `Parts` without terms, or if a term is not relinearised; `Level` if levels differ.
    pub fn linear_combination(
        &self,
        terms: &[(u64, &Ciphertext)],
        scale: u64,
    ) -> Result<Ciphertext, EvalError> {
        let (_, first) = terms.first().ok_or(EvalError::Parts(Mismatch::new(2, 0)))?;
        let (p, scale) = (self.p(), self.p().reduce(scale));
        let mut scaled = Vec::with_capacity(terms.len());
        for (c, term) in terms {
            Self::expect_parts(term, 2)?;
            if term.level != first.level {
                return Err(EvalError::Level(Mismatch::new(first.level, term.level)));
            }
            let factor = p.mul(p.reduce(*c), p.mul(scale, p.inv(term.scale)));
            scaled.push((p.to_centered(factor), term));
        }
        let part = |i: usize| {
            let terms: Vec<_> = scaled.iter().map(|(c, ct)| (*c, &ct.parts[i])).collect();
            self.ring.linear_combination(&terms)
        };
        Ok(Ciphertext {
            parts: vec![part(0), part(1)],
            level: first.level,
            scale,
        })
    }

    /// Returns the product in three parts, not relinearised.
    ///
    /// Errors: `Level`, `Parts`.
    pub fn tensor(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, EvalError> {
        self.dot(&[(a, b)])
    }

    /// Returns the sum of products in three parts, not relinearised.
    ///
    /// Errors: `Parts` without products; `Level` or `Scale` if those of the products differ.
    pub fn dot<'b>(
        &self,
        pairs: &[(&'b Ciphertext, &'b Ciphertext)],
    ) -> Result<Ciphertext, EvalError> {
        let Some(&(a, b)) = pairs.first() else {
            return Err(EvalError::Parts(Mismatch::new(2, 0)));
        };
        let (level, scale) = (a.level, self.p().mul(a.scale, b.scale));
        for &(a, b) in pairs {
            Self::expect_one_level(&[a, b], 2)?;
            let found = self.p().mul(a.scale, b.scale);
            if a.level != level {
                return Err(EvalError::Level(Mismatch::new(level, a.level)));
            }
            if found != scale {
                return Err(EvalError::Scale(Mismatch::new(scale, found)));
            }
        }
        let products = |places: &[(usize, usize)]| -> Vec<(&'b Poly<Eval>, &'b Poly<Eval>)> {
            let pair = |&(a, b): &'_ (&'b Ciphertext, &'b Ciphertext)| (a, b);
            let each = pairs.iter().map(pair);
            each.flat_map(|(a, b)| places.iter().map(move |&(i, j)| (&a.parts[i], &b.parts[j])))
                .collect()
        };
        let parts = vec![
            self.ring.sum_of_products(&products(&[(0, 0)])),
            self.ring.sum_of_products(&products(&[(0, 1), (1, 0)])),
            self.ring.sum_of_products(&products(&[(1, 1)])),
        ];
        Ok(Ciphertext {
            parts,
            level,
            scale,
        })
    }

    /// Relinearises and switches to level `to` in one step: the special primes and those of the level are
    /// dropped together.
    ///
    /// Errors: `Parts` if the ciphertext does not have three parts; `Exhausted` if there is no such level;
    /// `Stopped`.
    pub fn relinearise(
        &self,
        ct: &Ciphertext,
        key: &SwitchingKey,
        to: usize,
    ) -> Result<Ciphertext, EvalError> {
        Ok(self.relinearise_all(&[ct], key, to)?.remove(0))
    }

    /// Relinearises several ciphertexts of one level and switches them to level `to`, reading the key once.
    ///
    /// Errors: `Parts` without ciphertexts, or if one does not have three parts; `Level` if their levels
    /// differ; `Exhausted` if there is no such level; `Stopped`.
    pub fn relinearise_all(
        &self,
        cts: &[&Ciphertext],
        key: &SwitchingKey,
        to: usize,
    ) -> Result<Vec<Ciphertext>, EvalError> {
        self.expect_level(to)?;
        Self::expect_one_level(cts, 3)?;
        self.go_on()?;
        let inputs: Vec<SwitchInput> = cts
            .iter()
            .map(|ct| SwitchInput {
                c: &ct.parts[2],
                add: [Some(&ct.parts[0]), Some(&ct.parts[1])],
            })
            .collect();
        let switch = KeySwitch {
            key,
            to: self.chain.basis(to),
            image: None,
        };
        let (pairs, factor) = switch.apply(self.ring, &inputs, self.p());
        let switched = |(pair, ct): (Rlwe, &&Ciphertext)| Ciphertext {
            parts: vec![pair.c0, pair.c1],
            level: to,
            scale: self.p().mul(ct.scale, factor),
        };
        Ok(pairs.into_iter().zip(cts).map(switched).collect())
    }

    fn expect_one_level(cts: &[&Ciphertext], parts: usize) -> Result<(), EvalError> {
        let Some(first) = cts.first() else {
            return Err(EvalError::Parts(Mismatch::new(parts, 0)));
        };
        for ct in cts {
            Self::expect_parts(ct, parts)?;
            if ct.level != first.level {
                return Err(EvalError::Level(Mismatch::new(first.level, ct.level)));
            }
        }
        Ok(())
    }

    /// Returns the product, one level down.
    ///
    /// Errors: those of [`Self::tensor`] and [`Self::relinearise`].
    pub fn mul(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        key: &SwitchingKey,
    ) -> Result<Ciphertext, EvalError> {
        self.relinearise(&self.tensor(a, b)?, key, a.level + 1)
    }

    /// Returns the ciphertext at a lower level, or a copy at its own level.
    ///
    /// Errors: `Level` if `level` is above the ciphertext's; `Exhausted`; `Parts`.
    pub fn at_level(&self, ct: &Ciphertext, level: usize) -> Result<Ciphertext, EvalError> {
        Self::expect_parts(ct, 2)?;
        self.expect_level(level)?;
        if level < ct.level {
            return Err(EvalError::Level(Mismatch::new(ct.level, level)));
        }
        if level == ct.level {
            return Ok(ct.clone());
        }
        let down = Switch::new(
            self.ring,
            ct.parts[0].basis(),
            self.chain.basis(level),
            self.p(),
        );
        let parts = ct.parts.iter().map(|part| down.apply(self.ring, part));
        Ok(Ciphertext {
            parts: parts.collect(),
            level,
            scale: self.p().mul(ct.scale, down.factor()),
        })
    }

    /// Returns a ciphertext whose noise is at the floor, as that of products is, at a lower level.
    ///
    /// A division would leave as much noise. If the chain allows cuts ([`Chain::with_cuts`]) and the ciphertext
    /// has all primes of the level, the other primes are dropped without a transform: noise and scale stay.
    ///
    /// Errors: as [`Self::at_level`].
    pub fn at_level_from_floor(
        &self,
        ct: &Ciphertext,
        level: usize,
    ) -> Result<Ciphertext, EvalError> {
        Self::expect_parts(ct, 2)?;
        self.expect_level(level)?;
        let (from, to) = (ct.parts[0].basis(), self.chain.basis(level));
        if level <= ct.level || !self.chain.cuts() || !to.minus(from).is_empty() {
            return self.at_level(ct, level);
        }
        let parts = ct.parts.iter().map(|part| part.restrict(to));
        Ok(Ciphertext {
            parts: parts.collect(),
            level,
            scale: ct.scale,
        })
    }

    /// Returns the factor by which [`Self::at_level`] multiplies the scale of a ciphertext at level `from`.
    ///
    /// Panics: if the chain has no such level.
    pub fn level_factor(&self, from: usize, to: usize) -> u64 {
        let (from, to) = (self.chain.basis(from), self.chain.basis(to));
        Switch::new(self.ring, from, to, self.p()).factor()
    }

    /// Moves the ciphertext to a lower level. At its own level it is returned without a copy.
    ///
    /// Errors: as [`Self::at_level`].
    pub fn into_level(&self, ct: Ciphertext, level: usize) -> Result<Ciphertext, EvalError> {
        if ct.parts.len() == 2 && ct.level == level {
            Ok(ct)
        } else {
            self.at_level(&ct, level)
        }
    }

    /// Returns the image under the key's automorphism: a rotation, the swap of rows, or any other.
    ///
    /// Errors: `Parts` if the ciphertext does not have two parts; `Stopped`.
    pub fn automorphism(&self, ct: &Ciphertext, key: &GaloisKey) -> Result<Ciphertext, EvalError> {
        Ok(self.automorphism_all(&[ct], key)?.remove(0))
    }

    /// Returns the images of several ciphertexts of one level under the key's automorphism, reading the key
    /// once.
    ///
    /// Errors: `Parts` without ciphertexts, or if one does not have two parts; `Level` if their levels differ;
    /// `Stopped`.
    pub fn automorphism_all(
        &self,
        cts: &[&Ciphertext],
        key: &GaloisKey,
    ) -> Result<Vec<Ciphertext>, EvalError> {
        Self::expect_one_level(cts, 2)?;
        self.go_on()?;
        let pairs: Vec<_> = cts.iter().map(|ct| (&ct.parts[0], &ct.parts[1])).collect();
        let images = key.apply(self.ring, &pairs, self.p());
        let image = |(pair, ct): (Rlwe, &&Ciphertext)| Ciphertext {
            parts: vec![pair.c0, pair.c1],
            level: ct.level,
            scale: ct.scale,
        };
        Ok(images.into_iter().zip(cts).map(image).collect())
    }
}
