//! Automorphisms of ciphertexts of several recipients that share a mask.

use crate::away::{self, Division, Part};
use crate::hybrid::{Target, each, pieces, raised, rows, scratch, targets};
use crate::{SharedRlwe, SwitchingKey};
use omr_ring::{
    Automorphism, Backend, Basis, Buffer, Coeff, Conversion, Eval, Modulus, Poly, Ring,
};
use std::collections::HashMap;

/// Residues of a piece of the inner products: a piece of the keys stays in cache for all inputs.
const PIECE: usize = 4096;

/// One automorphism for several recipients whose keys were made with one seed: all have the same masks.
///
/// Only masks are cut into digits, so the digits, their transforms and the mask of the result serve all recipients;
/// each of them costs the products with the bodies of a key.
pub struct SharedTurn<'a> {
    /// One key for each recipient. The masks of the first one count for all.
    pub keys: Vec<&'a SwitchingKey>,
    /// The automorphism, that of the keys.
    pub image: &'a Automorphism,
}

/// The treatment of bodies in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// Bodies are divided by the special primes, as masks are.
    Divided,
    /// Bodies enter and leave a turn multiplied by the special primes, over all primes of the key. A body is never cut
    /// into digits, so one division at the end of many turns suffices.
    Raised,
}

/// The digits of a mask: their own primes and the conversion to all others.
struct Digit {
    own: Basis,
    conversion: Conversion,
    /// The index of the digit in the keys.
    number: usize,
}

/// One run of [`SharedTurn::apply`].
struct Run<'a> {
    ring: &'a Ring,
    turn: &'a SharedTurn<'a>,
    inputs: &'a [SharedRlwe<Eval>],
    bodies: Bodies,
    digits: Vec<Digit>,
    division: Conversion,
}

impl SharedTurn<'_> {
    /// The images of ciphertexts over one basis, under the same secrets, same modulus and messages.
    ///
    /// Shape: every input has one body for each key; raised ones lie over the primes of masks and the special primes.
    /// Panics: without a key or an input; where bodies are not one a key.
    pub fn apply(
        &self,
        ring: &Ring,
        inputs: &[SharedRlwe<Eval>],
        bodies: Bodies,
        p: &Modulus,
    ) -> Vec<SharedRlwe<Eval>> {
        for input in inputs {
            assert_eq!(input.bodies.len(), self.keys.len(), "one body for each key");
        }
        let shape = self.keys[0].shape();
        let (basis, special) = (inputs[0].mask.basis(), shape.special());
        let all = basis.union(special);
        let own = shape.digits().iter().map(|digit| digit.intersection(basis));
        let digits = own
            .enumerate()
            .filter(|(_, own)| !own.is_empty())
            .map(|(number, own)| Digit {
                conversion: Conversion::raise(ring, &own, &all.minus(&own)),
                own,
                number,
            });
        let run = Run {
            ring,
            turn: self,
            inputs,
            bodies,
            digits: digits.collect(),
            division: Conversion::division(ring, special, basis, &Basis::new([]), p),
        };
        run.results(basis, special)
    }
}

impl Run<'_> {
    fn results(&self, basis: &Basis, special: &Basis) -> Vec<SharedRlwe<Eval>> {
        let digits: Vec<_> = self
            .digits
            .iter()
            .map(|digit| (&digit.own, &digit.conversion))
            .collect();
        if let Some(backend) = self.ring.backend() {
            return self.results_away(&**backend, &digits, basis, special);
        }
        let mut raised: Vec<Vec<Poly<Coeff>>> = self
            .inputs
            .iter()
            .map(|input| raised(self.ring, &input.mask, &digits))
            .collect();
        let mut targets = targets(&basis.union(special), &mut raised);
        let mut take = |basis: &Basis| -> Vec<Target> {
            let ids = basis.ids().iter();
            ids.filter_map(|id| targets.remove(id)).collect()
        };
        let (gone, kept) = (take(special), take(basis));
        let (masks, bodies) = match self.bodies {
            Bodies::Divided => self.divided(gone, kept, basis, special),
            Bodies::Raised => self.raised(gone, kept, basis, special),
        };
        let mut bodies = bodies.into_iter();
        let result = |mask| SharedRlwe {
            mask,
            bodies: bodies.by_ref().take(self.turn.keys.len()).collect(),
        };
        masks.into_iter().map(result).collect()
    }

    /// Computes the results where polynomials lie in a backend's memory.
    fn results_away(
        &self,
        backend: &dyn Backend,
        digits: &[(&Basis, &Conversion)],
        basis: &Basis,
        special: &Basis,
    ) -> Vec<SharedRlwe<Eval>> {
        let (ring, all) = (self.ring, basis.union(special));
        let masks: Vec<&Poly<Eval>> = self.inputs.iter().map(|input| &input.mask).collect();
        let raised = away::raised(ring, backend, &masks, digits, &all);
        let division = Division {
            conversion: &self.division,
            dropped: special,
            to: basis,
            added: &Basis::new([]),
            image: Some(self.turn.image),
        };
        let part = |add| Part {
            rest: Poly::scratch(ring, special),
            kept: Poly::scratch(ring, basis),
            add,
        };
        // The masks of all inputs; then the bodies of the first, of the second, ...
        let mut parts: Vec<Part> = self.inputs.iter().map(|_| part(None)).collect();
        let bodies: Vec<&Poly<Eval>> = self.inputs.iter().flat_map(|input| &input.bodies).collect();
        let keys = self.turn.keys.len();
        let key_of = |i: usize| self.of_digits(self.turn.keys[i % keys].digit_bodies());
        let products: Vec<Poly<Eval>> = match self.bodies {
            Bodies::Divided => {
                parts.extend(bodies.iter().map(|body| part(Some(body))));
                Vec::new()
            }
            Bodies::Raised => bodies.iter().map(|_| Poly::scratch(ring, &all)).collect(),
        };
        let mut sums = Vec::new();
        let (of_masks, of_bodies) = parts.split_at(self.inputs.len());
        let masks = self.of_digits(self.turn.keys[0].digit_masks());
        for (raised, part) in raised.iter().zip(of_masks) {
            sums.extend(away::inner_products(raised, &masks, special, &part.rest));
            sums.extend(away::inner_products(raised, &masks, basis, &part.kept));
        }
        for (i, part) in of_bodies.iter().enumerate() {
            let (raised, key) = (&raised[i / keys], key_of(i));
            sums.extend(away::inner_products(raised, &key, special, &part.rest));
            sums.extend(away::inner_products(raised, &key, basis, &part.kept));
        }
        for (i, product) in products.iter().enumerate() {
            sums.extend(away::inner_products(
                &raised[i / keys],
                &key_of(i),
                &all,
                product,
            ));
        }
        backend.multiply(&sums);
        drop(sums);
        drop(raised);
        let special_mod = |m: &Modulus| ring.product_mod(special, m);
        let mut masks = division.apply(ring, backend, parts, special_mod);
        let bodies = match self.bodies {
            Bodies::Divided => masks.split_off(self.inputs.len()),
            Bodies::Raised => self.images_away(backend, products, &bodies),
        };
        let mut bodies = bodies.into_iter();
        let result = |mask| SharedRlwe {
            mask,
            bodies: bodies.by_ref().take(keys).collect(),
        };
        masks.into_iter().map(result).collect()
    }

    /// The images of raised bodies.
    fn images_away(
        &self,
        backend: &dyn Backend,
        mut products: Vec<Poly<Eval>>,
        bodies: &[&Poly<Eval>],
    ) -> Vec<Poly<Eval>> {
        let ring = self.ring;
        for (product, body) in products.iter_mut().zip(bodies) {
            ring.add_assign(product, body);
        }
        let out = products
            .iter()
            .map(|product| Poly::scratch(ring, product.basis()))
            .collect();
        self.turn.image.apply_away(backend, &products, out)
    }

    /// Selects those polynomials of a key that belong to the digits.
    fn of_digits<'a>(&self, polys: &'a [Poly<Eval>]) -> Vec<&'a Poly<Eval>> {
        self.digits
            .iter()
            .map(|digit| &polys[digit.number])
            .collect()
    }

    fn divided(
        &self,
        gone: Vec<Target>,
        kept: Vec<Target>,
        basis: &Basis,
        special: &Basis,
    ) -> (Vec<Poly<Eval>>, Vec<Poly<Eval>>) {
        let (ring, count) = (self.ring, self.inputs.len());
        let parts = count * (1 + self.turn.keys.len());
        let mut rest: Vec<Poly<Coeff>> = scratch(ring, special, parts);
        each(ring, gone, rows(&mut rest), |target, mut rows| {
            let id = target.id;
            self.inner_products(target, &mut rows);
            self.to_divide(id, rows);
        });
        let mut masks = self.differences(rest, basis);
        each(ring, kept, rows(&mut masks), |target, rows| {
            let id = target.id;
            let mut buffer = Buffer::any(parts * ring.n());
            let mut products: Vec<&mut [u64]> = buffer.chunks_mut(ring.n()).collect();
            self.inner_products(target, &mut products);
            for (i, (product, row)) in products.into_iter().zip(rows).enumerate() {
                let add = i.checked_sub(count).map(|i| self.body(i, id));
                self.divide(id, product, row, add);
            }
        });
        let bodies = masks.split_off(count);
        (masks, bodies)
    }

    fn raised(
        &self,
        gone: Vec<Target>,
        kept: Vec<Target>,
        basis: &Basis,
        special: &Basis,
    ) -> (Vec<Poly<Eval>>, Vec<Poly<Eval>>) {
        let (ring, count) = (self.ring, self.inputs.len());
        let all = basis.union(special);
        let mut bodies: Vec<Poly<Eval>> = scratch(ring, &all, count * self.turn.keys.len());
        let mut of_prime: HashMap<usize, Vec<&mut [u64]>> =
            all.ids().iter().copied().zip(rows(&mut bodies)).collect();
        let mut bodies_of = |basis: &Basis| -> Vec<Vec<&mut [u64]>> {
            let ids = basis.ids().iter();
            ids.filter_map(|id| of_prime.remove(id)).collect()
        };
        let (of_special, of_basis) = (bodies_of(special), bodies_of(basis));

        let mut rest: Vec<Poly<Coeff>> = scratch(ring, special, count);
        let both = rows(&mut rest).into_iter().zip(of_special).collect();
        each(ring, gone, both, |target, (masks, images): Both| {
            let id = target.id;
            let mut products = Buffer::any(images.len() * ring.n());
            let mut out = masks;
            out.extend(products.chunks_mut(ring.n()));
            self.inner_products(target, &mut out);
            let products = out.split_off(count);
            self.to_divide(id, out);
            self.turned_bodies(id, products, images);
        });
        let mut masks = self.differences(rest, basis);
        let both = rows(&mut masks).into_iter().zip(of_basis).collect();
        each(ring, kept, both, |target, (masks, images): Both| {
            let id = target.id;
            let mut buffer = Buffer::any((count + images.len()) * ring.n());
            let mut products: Vec<&mut [u64]> = buffer.chunks_mut(ring.n()).collect();
            self.inner_products(target, &mut products);
            let of_bodies = products.split_off(count);
            for (product, row) in products.into_iter().zip(masks) {
                self.divide(id, product, row, None);
            }
            self.turned_bodies(id, of_bodies, images);
        });
        (masks, bodies)
    }

    /// The row of a body of the inputs, counted through all of them.
    fn body(&self, i: usize, id: usize) -> &[u64] {
        let keys = self.turn.keys.len();
        self.inputs[i / keys].bodies[i % keys].row_of(id)
    }

    /// Rows modulo a special prime, ready for the conversion.
    fn to_divide(&self, id: usize, rows: Vec<&mut [u64]>) {
        let (k, table) = (self.ring.kernels(), self.ring.table(id));
        for row in rows {
            k.ntt_inverse_scaled(table, row, self.division.weight(id));
        }
    }

    /// Returns the differences that are subtracted before the division: rows that [`Self::divide`] transforms.
    ///
    /// Shape: `rest` contains coefficients.
    fn differences(&self, rest: Vec<Poly<Coeff>>, basis: &Basis) -> Vec<Poly<Eval>> {
        let difference = |rest: Poly<Coeff>| {
            let sources: Vec<&[u64]> = rest.rows().collect();
            let mut out = Poly::scratch(self.ring, basis);
            self.division
                .apply_rows(self.ring, &sources, out.rows_mut());
            out
        };
        rest.into_iter().map(difference).collect()
    }

    /// The image of a product divided by the special primes, in place of what is subtracted of it.
    fn divide(&self, id: usize, product: &mut [u64], row: &mut [u64], add: Option<&[u64]>) {
        let (ring, special) = (self.ring, self.turn.keys[0].shape().special());
        let (m, k) = (ring.modulus(id), ring.kernels());
        let unit = m.inv(ring.product_mod(special, m));
        k.ntt_factors(ring.table(id), row);
        match add {
            Some(add) => k.sub_scale_add_assign(m, product, row, unit, add, m.reduce(1)),
            None => k.sub_scale_assign(m, product, row, unit),
        }
        self.turn.image.apply_row(ring, row, product);
    }

    /// The images of raised bodies.
    fn turned_bodies(&self, id: usize, products: Vec<&mut [u64]>, images: Vec<&mut [u64]>) {
        let (ring, m) = (self.ring, self.ring.modulus(id));
        for (i, (product, image)) in products.into_iter().zip(images).enumerate() {
            ring.kernels().add_assign(m, product, self.body(i, id));
            self.turn.image.apply_row(ring, image, product);
        }
    }

    /// `sum_d digit_d key_d` modulo one prime: the masks of all inputs, then the bodies of the first, of the second, ...
    fn inner_products(&self, target: Target, out: &mut [&mut [u64]]) {
        let (ring, id, count) = (self.ring, target.id, self.inputs.len());
        let (k, m) = (ring.kernels(), ring.modulus(id));
        let mut factors: Vec<Vec<&[u64]>> = Vec::with_capacity(count);
        for (raised, input) in target.raised.into_iter().zip(self.inputs) {
            let digits = raised.into_iter().map(|row| match row {
                Some(row) => {
                    k.ntt_factors(ring.table(id), row);
                    &*row
                }
                None => input.mask.row_of(id),
            });
            factors.push(digits.collect());
        }
        let (masks, bodies) = out.split_at_mut(count);
        let keys = self.keys_of(id);
        for start in (0..ring.n()).step_by(PIECE) {
            let range = start..(start + PIECE).min(ring.n());
            let of_keys: Vec<Vec<&[u64]>> = keys.iter().map(|key| pieces(key, &range)).collect();
            let of_inputs = masks.iter_mut().zip(bodies.chunks_mut(keys.len() - 1));
            for (digits, (mask, bodies)) in factors.iter().zip(of_inputs) {
                let of_digits = pieces(digits, &range);
                let mut sums: Vec<&mut [u64]> = std::iter::once(mask)
                    .chain(bodies)
                    .map(|row| &mut row[range.clone()])
                    .collect();
                for (two, key) in sums.chunks_mut(2).zip(of_keys.chunks(2)) {
                    match two {
                        [x, y] => k.dot_pair(m, [x, y], &of_digits, [&key[0], &key[1]]),
                        [x] => k.dot(m, x, &of_digits, &key[0]),
                        _ => unreachable!("chunks of at most two"),
                    }
                }
            }
        }
    }

    /// The rows of a prime of the keys' masks, then of each key's bodies, digit by digit.
    fn keys_of(&self, id: usize) -> Vec<Vec<&[u64]>> {
        let numbers = || self.digits.iter().map(|digit| digit.number);
        let first = self.turn.keys[0].digit_masks();
        let masks = numbers().map(|d| first[d].row_of(id)).collect();
        let bodies = self.turn.keys.iter().map(|key| {
            let rows = numbers().map(|d| key.digit_bodies()[d].row_of(id));
            rows.collect()
        });
        std::iter::once(masks).chain(bodies).collect()
    }
}

/// The rows of a prime of masks, and of bodies.
type Both<'a> = (Vec<&'a mut [u64]>, Vec<&'a mut [u64]>);
