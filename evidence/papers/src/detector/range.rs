//! The range check of any number of coordinates: 1 if all of them are in the window, else 0.
//!
//! *PVW, LWEmongrass* (Liu and Tromer 2021; Liu, Sotiraki, Tromer and Wang 2025). The published polynomial of
//! degree p - 1 is 0 on the window and 1 elsewhere modulo p. It equals `(prod_(i <= r) (x^2 - i^2))^(p-1)`,
//! which is evaluated here: the window in `Y = x^2`, the norm of both coordinates, and one power.
//!
//! *Integers* (PerfOMR2). a and b are lifted to `-q/2 .. q/2`, q = 408, and `d = b - a s` is never reduced: an
//! integer of at most 13,260 in absolute value. The function of `u = d^2` is 0 if d is within 35 of a multiple
//! of q and 1 elsewhere, interpolated at all 13,261 distances. The pertinency is the product of 1 minus its
//! value over eight coordinates.

use super::{PaperDetector, check_stopped};
use crate::EvenFunction;
use crate::clear::DistanceTest;
use omr_bgv::Ciphertext;
use omr_detector::sophomr::range_check;
use omr_detector::{DetectorError, Progress};

impl PaperDetector {
    /// Returns the pertinency vector, at the last level, from the distances that [`PaperDetector::affine`]
    /// returns.
    ///
    /// Errors: `Eval` if the parameters do not fit the circuit; `Stopped`.   Panics: without coordinates.
    pub fn range_check(
        &self,
        d: &[Ciphertext],
        progress: &dyn Progress,
    ) -> Result<Ciphertext, DetectorError> {
        let stop = || progress.is_stopped();
        let ev = self.evaluator().stopped_by(&stop);
        let rings = &self.params.params;
        let inside = match &self.params.test {
            DistanceTest::Window(_) => d
                .chunks(2)
                .map(|pair| range_check(&ev, rings, &self.key().product, pair, progress))
                .collect::<Result<_, _>>()?,
            DistanceTest::Whole(even) => self.whole(even, d, progress)?,
        };
        self.all(inside)
    }

    /// Returns 1 minus the polynomial's value, for each coordinate. Coordinates are evaluated one after
    /// another, because powers take much memory.
    fn whole(
        &self,
        even: &EvenFunction,
        d: &[Ciphertext],
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        let (ev, key) = (self.evaluator(), self.key());
        progress.stage("range check", (d.len() * even.products()) as u64);
        let mut inside = Vec::with_capacity(d.len());
        for coordinate in d {
            let mut value =
                even.evaluate(&ev, coordinate, &key.product, &|| progress.advance(1))?;
            // 1 less the slots.
            ev.neg_assign(&mut value);
            ev.add_constant_assign(&mut value, 1);
            inside.push(value);
            check_stopped(progress)?;
        }
        Ok(inside)
    }

    /// Returns the product of values that are 0 or 1.
    fn all(&self, mut values: Vec<Ciphertext>) -> Result<Ciphertext, DetectorError> {
        let (ev, key) = (self.evaluator(), self.key());
        while values.len() > 1 {
            let last = (values.len() % 2 == 1).then(|| values.pop()).flatten();
            let mut products: Vec<Ciphertext> = values
                .chunks(2)
                .map(|pair| ev.mul(&pair[0], &pair[1], &key.product))
                .collect::<Result<_, _>>()?;
            if let Some(last) = last {
                products.push(ev.into_level(last, products[0].level())?);
            }
            values = products;
        }
        Ok(values.remove(0))
    }
}
