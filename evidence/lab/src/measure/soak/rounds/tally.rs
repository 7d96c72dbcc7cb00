//! Sums over the batches of a soak test of two rounds.

use super::{COORDINATES, RoundsLine, WIDER};
use crate::measure::soak::tally::{Rounding, beyond_log2, failure_log2};
use omr_protocol::rounds::RoundsParams;
use serde::Serialize;

/// The deviation of values from those that are expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Deviation {
    /// The number of values.
    pub values: u64,
    /// The root mean square.
    pub rms: f64,
}

impl Deviation {
    pub(super) fn take(&mut self, off: f64) {
        self.add(&Self {
            values: 1,
            rms: off.abs(),
        });
    }

    fn add(&mut self, other: &Self) {
        let squares = |one: &Self| one.rms * one.rms * one.values as f64;
        let values = self.values + other.values;
        self.rms = ((squares(self) + squares(other)) / values.max(1) as f64).sqrt();
        self.values = values;
    }
}

/// Measured noise beside the predicted one, in steps of a rounded body or of a symbol.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Noise {
    /// The number of values.
    pub values: u64,
    /// The standard deviation, with the rounding of bodies.
    pub rounded_sd: f64,
    /// The standard deviation without the rounding of bodies; absent if that accounts for all.
    pub sd: Option<f64>,
    /// The predicted standard deviation without the rounding of bodies.
    pub predicted_sd: f64,
    /// The ratio of both.
    pub ratio: Option<f64>,
}

impl Noise {
    /// Compares noise, which contains that of bodies rounded to whole steps of this width.
    fn new(measured: Deviation, step: f64, predicted_sd: f64) -> Self {
        let variance = measured.rms * measured.rms - step * step / 12.0;
        let sd = (variance > 0.0).then(|| variance.sqrt());
        Self {
            values: measured.values,
            rounded_sd: measured.rms,
            sd,
            predicted_sd,
            ratio: sd.map(|sd| sd / predicted_sd),
        }
    }
}

/// Honest strangers' messages that pass by chance.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Passes {
    /// The number of messages that the formula expects to come back.
    pub expected: f64,
    /// The number in a window that is 16 times as wide in each coordinate.
    pub in_wider_window: usize,
    /// The number that the formula expects there.
    pub expected_in_wider_window: f64,
    /// log2 of the probability that a message passes, from the count in the wider window.
    pub pass_log2: Option<f64>,
    /// log2 of the same probability by the formula.
    pub predicted_pass_log2: f64,
}

/// The noise of both rounds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct NoiseOfRounds {
    /// Distances in the first coordinate.
    pub first_coordinate: Noise,
    /// Distances in the second coordinate.
    pub second_coordinate: Noise,
    /// Coefficients of answers.
    pub answer: Noise,
}

/// Sums over the batches of a soak test of two rounds, of one kind of strangers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RoundsTally {
    /// The number of full batches.
    pub batches: u64,
    /// The number of batches whose messages came back bit for bit.
    pub exact: u64,
    /// The number of messages.
    pub messages: u64,
    /// The number of pertinent messages posted.
    pub pertinent: usize,
    /// The number of these that came back.
    pub found: usize,
    /// The number of these that did not come back.
    pub missed: usize,
    /// log2 of the probability that a message is missed, extrapolated from the noise.
    pub miss_log2: Option<f64>,
    /// log2 of the same probability by the formula.
    pub predicted_miss_log2: f64,
    /// The number of strangers' messages that came back.
    pub false_positives: usize,
    /// The passes of honest strangers beside predictions.
    pub passes: Option<Passes>,
    /// The number of fetches.
    pub fetches: usize,
    /// The number of symbols of all messages that came back.
    pub symbols: usize,
    /// The number of payloads with a wrong symbol.
    pub inexact: usize,
    /// log2 of the probability that an answer has a wrong symbol, extrapolated from the noise.
    pub fetch_failure_log2: Option<f64>,
    /// The noise of both rounds. Predictions are for uniform clues, and among hostile strangers for the longest vectors
    /// that boards accept.
    pub noise: NoiseOfRounds,
    /// The distances of the answers' coefficients from symbols.
    #[serde(flatten)]
    pub rounding: Rounding,
    #[serde(skip)]
    distances: [Deviation; COORDINATES],
    #[serde(skip)]
    in_wider_window: Option<usize>,
}

impl RoundsTally {
    /// Adds a batch.
    pub(crate) fn add(&mut self, line: &RoundsLine) {
        self.batches += 1;
        self.exact += u64::from(line.is_exact());
        self.messages += line.messages;
        self.pertinent += line.pertinent;
        self.found += line.found;
        self.missed += line.missed;
        self.false_positives += line.false_positives;
        if let Some(own) = line.in_wider_window {
            *self.in_wider_window.get_or_insert(0) += own;
        }
        self.fetches += line.fetches;
        self.symbols += line.symbols;
        self.inexact += line.inexact;
        self.rounding.add(&line.rounding);
        for (sum, own) in self.distances.iter_mut().zip(&line.distances) {
            sum.add(own);
        }
    }

    /// Compares the sums with predictions for batches of this number of rows: `norm` is the mean square of the residues
    /// of a block's clues relative to that of uniform ones, `miss_log2` log2 of the probability of a miss.
    pub(super) fn compare(
        &mut self,
        params: &RoundsParams,
        rows: usize,
        norm: f64,
        miss_log2: f64,
    ) {
        let (scan, fetch) = (&params.scan, &params.fetch);
        let predicted = scan.noise(0.0, norm);
        let answers = Deviation {
            values: self.rounding.coefficients,
            rms: self.rounding.rms_rounding,
        };
        let step = fetch.p().value() as f64 / f64::from(fetch.body_bits(rows)).exp2();
        self.noise = NoiseOfRounds {
            first_coordinate: Noise::new(self.distances[0], 1.0, predicted[0]),
            second_coordinate: Noise::new(self.distances[1], 1.0, predicted[1]),
            answer: Noise::new(answers, step, fetch.noise(rows)),
        };
        let each = answers.values as f64 / self.fetches.max(1) as f64;
        self.fetch_failure_log2 = failure_log2(answers.rms, step).map(|one| one + each.log2());
        self.predicted_miss_log2 = miss_log2;
        self.miss_log2 = self.missed_log2(params);
        let strangers = (self.messages - self.pertinent as u64) as f64;
        let predicted = params.false_positive_log2();
        let wider = 2.0 * WIDER.log2();
        self.passes = self.in_wider_window.map(|count| Passes {
            expected: strangers * predicted.exp2(),
            in_wider_window: count,
            expected_in_wider_window: strangers * (predicted + wider).exp2(),
            pass_log2: (count > 0).then(|| (count as f64 / strangers).log2() - wider),
            predicted_pass_log2: predicted,
        });
    }

    /// Returns log2 of the probability that the noise of a scan and that of a clue leave the window in one coordinate
    /// or the other. `None` if the rounding of bodies accounts for all noise.
    fn missed_log2(&self, params: &RoundsParams) -> Option<f64> {
        let spec = params.clue.spec();
        let own = spec.noise_sd(&spec.secrets()[0]);
        let missed = |c: usize| {
            let clue = own * f64::from(params.scan.spec().body_bits[c]).exp2();
            let one = beyond_log2(
                self.distances[c].rms.hypot(clue),
                1.0,
                params.scan.beyond(c),
            );
            one.map(f64::exp2)
        };
        Some((missed(0)? + missed(1)?).log2())
    }
}
