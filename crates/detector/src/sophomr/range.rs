//! The range check: 1 where every coordinate lies in the window, else 0.

use crate::progress::check_stopped;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator, EvenFunction, RangePolynomial, fermat_depth, fermat_power};
use omr_protocol::sophomr::{DetectionKey, DistanceTest, Params};
use rayon::prelude::*;

/// The pertinency vector from all coordinates of d.
pub(crate) fn check(
    ev: &Evaluator,
    params: &Params,
    key: &DetectionKey,
    d: &[Ciphertext],
    progress: &dyn Progress,
) -> Result<Ciphertext, DetectorError> {
    let check = Check {
        ev,
        params,
        key,
        progress,
    };
    match &params.test {
        DistanceTest::Window(window) => check.window(window, d),
        DistanceTest::Whole(even) => check.whole(even, d),
    }
}

struct Check<'a> {
    ev: &'a Evaluator<'a>,
    params: &'a Params,
    key: &'a DetectionKey,
    progress: &'a dyn Progress,
}

impl Check<'_> {
    /// Of coordinates modulo p.
    ///
    /// With `g` zero exactly on the window, `N = g1^2 + g1 g2 + c g2^2` vanishes only where both do,
    /// because its discriminant 1 - 4 c is no square; one Fermat power of N then serves two
    /// coordinates.
    fn window(
        &self,
        window: &RangePolynomial,
        d: &[Ciphertext],
    ) -> Result<Ciphertext, DetectorError> {
        let (ev, params, key, progress) = (self.ev, self.params, self.key, self.progress);
        let powers = fermat_depth(params.p().value()) * d.len().div_ceil(2);
        progress.stage("range check", (2 * d.len() - 1 + powers) as u64);
        // Side by side: one coordinate's threads need not wait at the other's steps.
        let inside: Vec<Ciphertext> = d
            .par_iter()
            .with_max_len(1)
            .map(|coordinate| {
                let inside = window.evaluate(ev, coordinate, &key.product);
                progress.advance(1);
                inside
            })
            .collect::<Result<_, _>>()?;
        let mut both = Vec::with_capacity(inside.len().div_ceil(2));
        for pair in inside.chunks(2) {
            let outside = self.norm(pair)?;
            check_stopped(progress)?;
            let power = fermat_power(ev, &outside, &key.product, &mut || progress.advance(1))?;
            both.push(self.complement(power));
        }
        self.all(both)
    }

    /// Zero only where the values of a pair are, one level below; of one value, that value.
    fn norm(&self, pair: &[Ciphertext]) -> Result<Ciphertext, DetectorError> {
        let (ev, params) = (self.ev, self.params);
        let level = pair[0].level() + 1;
        let [first, second] = pair else {
            return Ok(ev.at_level(&pair[0], level)?);
        };
        let mut sum = first.clone();
        ev.add_assign(&mut sum, second)?;
        let mut norm = ev.tensor(first, &sum)?;
        let mut other = ev.tensor(second, second)?;
        ev.mul_scalar_assign(&mut other, params.p().from_i64(params.norm_constant()));
        ev.add_assign(&mut norm, &other)?;
        self.progress.advance(1);
        Ok(ev.relinearise(&norm, &self.key.product, level)?)
    }

    /// Each coordinate's function is 0 or 1. One after another, since powers take much memory.
    fn whole(&self, even: &EvenFunction, d: &[Ciphertext]) -> Result<Ciphertext, DetectorError> {
        let (ev, key, progress) = (self.ev, self.key, self.progress);
        let steps = d.len() * even.products() + d.len() - 1;
        progress.stage("range check", steps as u64);
        let mut inside = Vec::with_capacity(d.len());
        for coordinate in d {
            let outside = even.evaluate(ev, coordinate, &key.product, &|| progress.advance(1))?;
            inside.push(self.complement(outside));
            check_stopped(progress)?;
        }
        self.all(inside)
    }

    /// The product of values that are 0 or 1.
    fn all(&self, mut values: Vec<Ciphertext>) -> Result<Ciphertext, DetectorError> {
        while values.len() > 1 {
            let last = (values.len() % 2 == 1).then(|| values.pop()).flatten();
            let product = |pair: &[Ciphertext]| {
                self.progress.advance(1);
                self.ev.mul(&pair[0], &pair[1], &self.key.product)
            };
            let mut products: Vec<Ciphertext> =
                values.chunks(2).map(product).collect::<Result<_, _>>()?;
            if let Some(last) = last {
                products.push(self.ev.into_level(last, products[0].level())?);
            }
            values = products;
        }
        Ok(values.remove(0))
    }

    /// 1 less the slots.
    fn complement(&self, mut ct: Ciphertext) -> Ciphertext {
        self.ev.neg_assign(&mut ct);
        self.ev.add_constant_assign(&mut ct, 1);
        ct
    }
}
