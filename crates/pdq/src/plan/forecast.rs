//! The noise of a circuit before it runs.

use super::Masks;
use super::circuit::{Circuit, Op};
use crate::{Params, noise as ours};
use omr_rlwe::noise::{self, NoiseModel};

/// The noise of the index at the last level, when constants are encrypted at level `start`.
pub(super) fn index(params: &Params, circuit: &Circuit, start: usize, masks: Masks) -> f64 {
    let forecast = Forecast {
        params,
        model: params.noise_model(),
        start,
        masks,
    };
    let mut noises: Vec<f64> = Vec::with_capacity(circuit.ops.len());
    for (op, &level) in circuit.ops.iter().zip(&circuit.levels) {
        let at = |id: usize, level: usize| forecast.lowered(noises[id], circuit.levels[id], level);
        let noise = match op {
            Op::Select { source, .. } => forecast.selected(circuit.sources[*source].radix),
            Op::Known { .. } => forecast.model.floor(),
            Op::Complement { of, .. } => noises[*of],
            Op::Minus(a, b) => noise::add(at(*a, level), at(*b, level)),
            Op::Sum(terms) => terms
                .iter()
                .map(|&id| at(id, level))
                .reduce(noise::add)
                .unwrap_or(0.0),
            Op::Dot(pairs) => {
                let product = |&(a, b): &(usize, usize)| {
                    forecast.model.product(at(a, level - 1), at(b, level - 1))
                };
                let sum = pairs.iter().map(product).reduce(noise::add);
                forecast.dropped(sum.unwrap_or(0.0), level - 1)
            }
        };
        noises.push(noise);
    }
    let last = params.last_level() - start;
    match (noises.last(), circuit.levels.last()) {
        (Some(&noise), Some(&level)) => forecast.lowered(noise, level, last),
        _ => f64::INFINITY,
    }
}

struct Forecast<'a> {
    params: &'a Params,
    model: NoiseModel,
    start: usize,
    masks: Masks,
}

impl Forecast<'_> {
    /// After the prime of `level` (of the circuit) is dropped.
    fn dropped(&self, noise: f64, level: usize) -> f64 {
        let [from, to] = [0, 1].map(|i| {
            self.params
                .chain
                .log2(&self.params.ring, self.start + level + i)
        });
        self.model.switched(noise, from - to)
    }

    /// Brought to the scale of a lower level on the way.
    fn lowered(&self, noise: f64, from: usize, to: usize) -> f64 {
        (from..to).fold(noise, |noise, level| {
            self.dropped(self.model.times_scalar(noise), level)
        })
    }

    fn selected(&self, radix: usize) -> f64 {
        let constant = ours::expanded(self.params.spec());
        let product = match self.masks {
            Masks::Clear => self.model.times_plain(constant),
            Masks::Encrypted => self.model.product(self.model.fresh(), constant),
        };
        self.dropped(noise::sum(product, radix), 0)
    }
}
