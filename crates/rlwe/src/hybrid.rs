//! The steps of a hybrid key switch: digits, products with the key, division by the special primes.

use crate::away::{self, Division, Part};
use crate::{Rlwe, SwitchingKey};
use omr_ring::parallel::*;
use omr_ring::{Automorphism, Backend, Basis, Coeff, Conversion, Eval, Modulus, Poly, Ring};
use std::collections::HashMap;

/// Residues of a piece of the inner products: a piece of the key stays in cache for all inputs.
const PIECE: usize = 4096;

/// Hybrid key switching of one or more ciphertexts, with all that can be done at its cost: adding
/// a ciphertext, dropping primes, an automorphism.
///
/// Bytes moved decide its speed, so everything about one target prime is done while its rows are in
/// cache: transforms of the digits, both inner products, rescaling, permutation. Several inputs
/// read the key once.
pub struct KeySwitch<'a> {
    /// The key, from `s_from` to `s_to`.
    pub key: &'a SwitchingKey,
    /// Primes of the results. Those that the inputs lack multiply, those of the inputs that are not among them divide.
    pub to: &'a Basis,
    /// The automorphism that is applied to the results, if any.
    pub image: Option<&'a Automorphism>,
}

/// One input of a switch, over one basis, a subset of the key's primes.
#[derive(Clone, Copy)]
pub struct SwitchInput<'a> {
    /// The polynomial that `s_from` multiplies.
    pub c: &'a Poly<Eval>,
    /// Polynomials that are added to body and mask.
    pub add: [Option<&'a Poly<Eval>>; 2],
}

/// A digit: its part of the key, its primes, and the conversion to all others.
struct Digit<'a> {
    body: &'a Poly<Eval>,
    mask: &'a Poly<Eval>,
    own: Basis,
    conversion: Conversion,
}

/// A target prime with its row of each digit of each input; none where the prime is the digit's own.
pub(crate) struct Target<'a> {
    pub(crate) id: usize,
    pub(crate) raised: Vec<Vec<Option<&'a mut [u64]>>>,
}

/// One run of [`KeySwitch::apply`].
struct Run<'a> {
    ring: &'a Ring,
    switch: &'a KeySwitch<'a>,
    inputs: &'a [SwitchInput<'a>],
    /// The key with the fewest primes that serves.
    key: &'a SwitchingKey,
    digits: Vec<Digit<'a>>,
    dropped: Basis,
    added: Basis,
    division: Conversion,
}

impl KeySwitch<'_> {
    /// `add + c s_from` under `s_to` for each input, and by what the messages modulo `p` were
    /// multiplied. Panics: when there is no input.
    pub fn apply(&self, ring: &Ring, inputs: &[SwitchInput], p: &Modulus) -> (Vec<Rlwe>, u64) {
        let key = self.key.least(inputs[0].c.basis());
        let special = key.shape().special();
        let all = inputs[0].c.basis().union(special);
        let (dropped, added) = (all.minus(self.to), self.to.minus(&all));
        let factor = p.mul(
            ring.product_mod(&special.union(&added), p),
            p.inv(ring.product_mod(&dropped, p)),
        );
        let run = Run {
            ring,
            switch: self,
            inputs,
            key,
            digits: digits(key, ring, inputs[0].c.basis(), &all),
            division: Conversion::division(ring, &dropped, self.to, &added, p),
            dropped,
            added,
        };
        (run.results(&all), factor)
    }
}

fn digits<'a>(key: &'a SwitchingKey, ring: &Ring, basis: &Basis, all: &Basis) -> Vec<Digit<'a>> {
    let shape = key.shape().digits().iter();
    shape
        .zip(key.parts())
        .map(|(primes, key)| (primes.intersection(basis), key))
        .filter(|(own, _)| !own.is_empty())
        .map(|(own, (body, mask))| Digit {
            conversion: Conversion::raise(ring, &own, &all.minus(&own)),
            own,
            body,
            mask,
        })
        .collect()
}

impl Run<'_> {
    fn results(&self, all: &Basis) -> Vec<Rlwe> {
        let (ring, to) = (self.ring, self.switch.to);
        let digits: Vec<_> = self
            .digits
            .iter()
            .map(|digit| (&digit.own, &digit.conversion))
            .collect();
        if let Some(backend) = ring.backend() {
            return self.results_away(&**backend, &digits, all);
        }
        let mut raised: Vec<Vec<Poly<Coeff>>> = self
            .inputs
            .iter()
            .map(|input| raised(ring, input.c, &digits))
            .collect();
        let mut targets = targets(all, &mut raised);
        // An added prime meets neither digits nor the key.
        let none = |&id: &usize| Target { id, raised: vec![] };
        let mut take = |basis: &Basis| -> Vec<Target> {
            let ids = basis.ids().iter();
            ids.map(|id| targets.remove(id).unwrap_or_else(|| none(id)))
                .collect()
        };
        let (gone, kept) = (take(&self.dropped), take(to));

        // Body and mask of each input.
        let parts = 2 * self.inputs.len();
        let mut rest: Vec<Poly<Coeff>> = scratch(ring, &self.dropped, parts);
        each(ring, gone, rows(&mut rest), |target, rows| {
            self.drop_prime(target, rows);
        });
        // What is subtracted; its rows are transformed when their prime's turn comes.
        let divide = |rest: Poly<Coeff>| {
            let sources: Vec<&[u64]> = rest.rows().collect();
            let mut delta = Poly::scratch(ring, to);
            self.division.apply_rows(ring, &sources, delta.rows_mut());
            delta
        };
        let mut delta: Vec<Poly<Eval>> = rest.into_iter().map(divide).collect();
        let mut out: Vec<Poly<Eval>> = scratch(ring, to, parts);
        let both = rows(&mut out).into_iter().zip(rows(&mut delta)).collect();
        each(ring, kept, both, |target, (out, delta)| {
            if self.added.contains(target.id) {
                self.add_prime(target.id, out, delta)
            } else {
                self.keep_prime(target, out, delta)
            }
        });
        // An image is permuted out of place, into the rows of the differences.
        let image = self.switch.image.is_some();
        let mut parts = if image { delta } else { out }.into_iter();
        std::iter::from_fn(|| Some(Rlwe::new(parts.next()?, parts.next()?))).collect()
    }

    /// Computes the results where polynomials lie in a backend's memory.
    fn results_away(
        &self,
        backend: &dyn Backend,
        digits: &[(&Basis, &Conversion)],
        all: &Basis,
    ) -> Vec<Rlwe> {
        let (ring, to) = (self.ring, self.switch.to);
        let inputs: Vec<&Poly<Eval>> = self.inputs.iter().map(|input| input.c).collect();
        let raised = away::raised(ring, backend, &inputs, digits, all);
        let stays = to.intersection(all);
        let keys = [
            self.digits.iter().map(|d| d.body).collect::<Vec<_>>(),
            self.digits.iter().map(|d| d.mask).collect(),
        ];
        let part = |add| Part {
            rest: Poly::scratch(ring, &self.dropped),
            kept: Poly::scratch(ring, to),
            add,
        };
        let parts: Vec<Part> = self
            .inputs
            .iter()
            .flat_map(|input| input.add.map(part))
            .collect();
        let mut sums = Vec::new();
        for (raised, parts) in raised.iter().zip(parts.as_chunks::<2>().0) {
            for (part, key) in parts.iter().zip(&keys) {
                sums.extend(away::inner_products(raised, key, &self.dropped, &part.rest));
                sums.extend(away::inner_products(raised, key, &stays, &part.kept));
            }
        }
        backend.multiply(&sums);
        drop(sums);
        drop(raised);
        let division = Division {
            conversion: &self.division,
            dropped: &self.dropped,
            to,
            added: &self.added,
            image: self.switch.image,
        };
        let special = |m: &Modulus| self.key.special_mod(ring, m);
        let mut parts = division.apply(ring, backend, parts, special).into_iter();
        std::iter::from_fn(|| Some(Rlwe::new(parts.next()?, parts.next()?))).collect()
    }

    /// `sum_d digit_d key_d` modulo one prime, for body and mask of each input.
    fn inner_products(&self, target: Target, out: &mut [&mut [u64]]) {
        let (ring, id) = (self.ring, target.id);
        let mut factors: Vec<Vec<&[u64]>> = Vec::with_capacity(self.inputs.len());
        for (raised, input) in target.raised.into_iter().zip(self.inputs) {
            let digits = raised.into_iter().map(|row| match row {
                Some(row) => {
                    ring.kernels().ntt_factors(ring.table(id), row);
                    &*row
                }
                None => input.c.row_of(id),
            });
            factors.push(digits.collect());
        }
        let keys: [Vec<&[u64]>; 2] = [
            self.digits.iter().map(|d| d.body.row_of(id)).collect(),
            self.digits.iter().map(|d| d.mask.row_of(id)).collect(),
        ];
        let piece = if self.inputs.len() > 1 {
            PIECE
        } else {
            ring.n()
        };
        for start in (0..ring.n()).step_by(piece) {
            let range = start..(start + piece).min(ring.n());
            let of_keys = keys.each_ref().map(|key| pieces(key, &range));
            for (digits, out) in factors.iter().zip(out.as_chunks_mut::<2>().0) {
                ring.kernels().dot_pair(
                    ring.modulus(id),
                    out.each_mut().map(|row| &mut row[range.clone()]),
                    &pieces(digits, &range),
                    of_keys.each_ref().map(Vec::as_slice),
                );
            }
        }
    }

    /// The inner products modulo a prime that is divided out, ready for the conversion.
    fn drop_prime(&self, target: Target, mut out: Vec<&mut [u64]>) {
        let (ring, id) = (self.ring, target.id);
        let (m, table) = (ring.modulus(id), ring.table(id));
        self.inner_products(target, &mut out);
        for (i, row) in out.into_iter().enumerate() {
            // Modulo special primes, P times it is nothing.
            let add = self.inputs[i / 2].add[i % 2];
            if let Some((add, limb)) = add.and_then(|add| Some((add, add.basis().position(id)?))) {
                let factor = self.key.special_mod(ring, m);
                ring.kernels()
                    .scale_add_assign(m, row, add.row(limb), factor);
            }
            ring.kernels()
                .ntt_inverse_scaled(table, row, self.division.weight(id));
        }
    }

    /// The results modulo one prime, from the rows that are subtracted.
    fn keep_prime(&self, target: Target, mut out: Vec<&mut [u64]>, delta: Vec<&mut [u64]>) {
        let (ring, id) = (self.ring, target.id);
        let (m, k) = (ring.modulus(id), ring.kernels());
        self.inner_products(target, &mut out);
        let divided = m.inv(ring.product_mod(&self.dropped, m));
        let unit = m.mul(divided, ring.product_mod(&self.added, m));
        let factor = m.mul(unit, self.key.special_mod(ring, m));
        for (i, (row, delta)) in out.into_iter().zip(delta).enumerate() {
            k.ntt_factors(ring.table(id), delta);
            match self.inputs[i / 2].add[i % 2] {
                Some(add) => {
                    k.sub_scale_add_assign(m, row, delta, unit, add.row_of(id), factor);
                }
                None => k.sub_scale_assign(m, row, delta, unit),
            }
            if let Some(image) = self.switch.image {
                image.apply_row(ring, delta, row);
            }
        }
    }

    /// The results modulo a prime that the inputs lack: what the division leaves of a multiple of it.
    fn add_prime(&self, id: usize, out: Vec<&mut [u64]>, delta: Vec<&mut [u64]>) {
        let ring = self.ring;
        for (row, delta) in out.into_iter().zip(delta) {
            row.copy_from_slice(delta);
            ring.kernels().ntt_forward(ring.table(id), row);
            if let Some(image) = self.switch.image {
                image.apply_row(ring, delta, row);
            }
        }
    }
}

/// The digits of a polynomial modulo all other primes, as coefficients: of each its primes, and the conversion.
pub(crate) fn raised(
    ring: &Ring,
    c: &Poly<Eval>,
    digits: &[(&Basis, &Conversion)],
) -> Vec<Poly<Coeff>> {
    let mut coeffs = Poly::<Coeff>::scratch(ring, c.basis());
    ring.each_row(&mut coeffs, |id, row| {
        let digit = digits.iter().find(|(own, _)| own.contains(id));
        let (_, conversion) = digit.expect("every prime has a digit");
        let weight = conversion.weight(id);
        ring.kernels()
            .ntt_inverse_scaled_from(ring.table(id), row, c.row_of(id), weight);
    });
    let raise = |(own, conversion): &(&Basis, &Conversion)| {
        let own = own.ids().iter();
        let sources: Vec<&[u64]> = own.map(|&id| coeffs.row_of(id)).collect();
        conversion.apply(ring, &sources)
    };
    digits.iter().map(raise).collect()
}

pub(crate) fn pieces<'a>(rows: &[&'a [u64]], range: &std::ops::Range<usize>) -> Vec<&'a [u64]> {
    rows.iter().map(|row| &row[range.clone()]).collect()
}

/// The rows of all digits of all inputs, by prime.
pub(crate) fn targets<'a>(
    all: &Basis,
    raised: &'a mut [Vec<Poly<Coeff>>],
) -> HashMap<usize, Target<'a>> {
    let ids = all.ids().iter();
    let empty = |&id: &usize| (id, Target { id, raised: vec![] });
    let mut targets: HashMap<usize, Target> = ids.map(empty).collect();
    for digits in raised {
        for target in targets.values_mut() {
            let mut row = Vec::new();
            row.resize_with(digits.len(), || None);
            target.raised.push(row);
        }
        for (d, poly) in digits.iter_mut().enumerate() {
            let basis = poly.basis().clone();
            for (id, row) in basis.ids().iter().zip(poly.rows_mut()) {
                let input = targets.get_mut(id).and_then(|t| t.raised.last_mut());
                input.expect("a prime of the key")[d] = Some(row);
            }
        }
    }
    targets
}

pub(crate) fn scratch<D>(ring: &Ring, basis: &Basis, count: usize) -> Vec<Poly<D>> {
    (0..count).map(|_| Poly::scratch(ring, basis)).collect()
}

/// The rows of several polynomials over one basis, prime by prime.
pub(crate) fn rows<D>(polys: &mut [Poly<D>]) -> Vec<Vec<&mut [u64]>> {
    let primes = polys.first().map_or(0, |poly| poly.basis().len());
    let mut rows: Vec<_> = polys.iter_mut().map(Poly::rows_mut).collect();
    (0..primes)
        .map(|_| rows.iter_mut().filter_map(Iterator::next).collect())
        .collect()
}

/// Calls `f` for every target with its rows, on several threads when rows are long.
pub(crate) fn each<'a, R: Send>(
    ring: &Ring,
    targets: Vec<Target<'a>>,
    rows: Vec<R>,
    f: impl Fn(Target<'a>, R) + Sync,
) {
    assert_eq!(targets.len(), rows.len(), "rows for every target");
    let tasks = targets.into_iter().zip(rows);
    if ring.is_parallel() {
        tasks
            .collect::<Vec<_>>()
            .into_par_iter()
            .with_max_len(1)
            .for_each(|(target, rows)| f(target, rows))
    } else {
        tasks.for_each(|(target, rows)| f(target, rows))
    }
}
