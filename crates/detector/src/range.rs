//! The range check: 1 where every coordinate lies in the window, else 0.

use crate::progress::go_on;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator, EvenFunction, RangePolynomial, fermat_depth, fermat_power};
use omr_protocol::params::DistanceTest;
use omr_protocol::{DetectionKey, Params};
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
        DistanceTest::Integers(even) => check.integers(even, d),
    }
}

struct Check<'a> {
    ev: &'a Evaluator<'a>,
    params: &'a Params,
    key: &'a DetectionKey,
    progress: &'a dyn Progress,
}

impl Check<'_> {
    /// Of two coordinates modulo p.
    ///
    /// With `g` zero exactly on the window, `N = g1^2 + g1 g2 + c g2^2` vanishes only where both do,
    /// because its discriminant 1 - 4 c is no square; one Fermat power of N then serves both
    /// coordinates.
    fn window(
        &self,
        window: &RangePolynomial,
        d: &[Ciphertext],
    ) -> Result<Ciphertext, DetectorError> {
        let (ev, params, key, progress) = (self.ev, self.params, self.key, self.progress);
        let powers = fermat_depth(params.p().value()) as u64;
        progress.stage("range check", 3 + powers);
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
        let mut sum = inside[0].clone();
        ev.add_assign(&mut sum, &inside[1])?;
        let mut norm = ev.tensor(&inside[0], &sum)?;
        let mut other = ev.tensor(&inside[1], &inside[1])?;
        ev.mul_scalar_assign(&mut other, params.p().from_i64(params.norm_constant()));
        ev.add_assign(&mut norm, &other)?;
        let norm = ev.relinearise(&norm, &key.product, inside[0].level() + 1)?;
        progress.advance(1);
        go_on(progress)?;
        let pertinent = fermat_power(ev, &norm, &key.product, &mut || progress.advance(1))?;
        Ok(self.complement(pertinent))
    }

    /// Of integers: each coordinate's function is 0 or 1. One after another, since powers take much memory.
    fn integers(&self, even: &EvenFunction, d: &[Ciphertext]) -> Result<Ciphertext, DetectorError> {
        let (ev, key, progress) = (self.ev, self.key, self.progress);
        let steps = d.len() * even.products() + d.len() - 1;
        progress.stage("range check", steps as u64);
        let mut inside = Vec::with_capacity(d.len());
        for coordinate in d {
            let outside = even.evaluate(ev, coordinate, &key.product, &|| progress.advance(1))?;
            inside.push(self.complement(outside));
            go_on(progress)?;
        }
        while inside.len() > 1 {
            let last = (inside.len() % 2 == 1).then(|| inside.pop()).flatten();
            let product = |pair: &[Ciphertext]| {
                progress.advance(1);
                ev.mul(&pair[0], &pair[1], &key.product)
            };
            let mut products: Vec<Ciphertext> =
                inside.chunks(2).map(product).collect::<Result<_, _>>()?;
            if let Some(last) = last {
                products.push(ev.into_level(last, products[0].level())?);
            }
            inside = products;
        }
        Ok(inside.remove(0))
    }

    /// 1 less the slots.
    fn complement(&self, mut ct: Ciphertext) -> Ciphertext {
        self.ev.neg_assign(&mut ct);
        self.ev.add_constant_assign(&mut ct, 1);
        ct
    }
}
