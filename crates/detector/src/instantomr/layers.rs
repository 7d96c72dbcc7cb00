//! Evaluation of the layers of messages, on the processor or on a device.

use super::{FIRST_DIGITS, SECOND_DIGITS};
use crate::DetectorError;
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_tfhe::{FourierKey, Lwe, RingCipher, Rotation, Window};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;

/// Number of messages that the processor scans together; they use the key side by side.
const TOGETHER: u64 = 64;
/// Number of messages that a device scans together.
const TOGETHER_AWAY: u64 = 256;

/// Evaluation of layers, which takes most of a message's time, with one recipient's key in the memory of a device.
/// Every residue of the results equals that of [`super::InstantDetector::exact`].
pub trait Layers: Send + Sync {
    /// Returns the name of the device, for messages.
    fn name(&self) -> String;

    /// Begins first layers: for every `each` ciphertexts the sum of their rotations with one digit. Of the bodies only
    /// the constant coefficients are used.
    ///
    /// Errors: the failure as text.
    fn hits(
        &self,
        coordinates: &[Lwe],
        each: usize,
        window: Window,
    ) -> Result<Box<dyn Coming>, String>;

    /// Begins second layers: the traces of rotations with both digits.
    ///
    /// Errors: the failure as text.
    fn verdicts(&self, sums: &[Lwe], window: Window) -> Result<Box<dyn Coming>, String>;
}

/// Ciphertexts that a device is computing. Results arrive in the order of the calls, and the processor can prepare
/// others meanwhile.
pub trait Coming: Send {
    /// Waits for the ciphertexts.
    ///
    /// Errors: the failure as text.
    fn wait(self: Box<Self>) -> Result<Vec<RingCipher>, String>;
}

/// A device to which keys can be loaded.
pub trait LayersEngine: Send + Sync {
    /// Loads a key to the device.
    ///
    /// Errors: the failure as text.
    fn bring(&self, key: &InstantKey) -> Result<Box<dyn Layers>, String>;
}

/// The way in which a detector evaluates its layers.
pub(super) enum Evaluation {
    /// On the processor: the first layer in double precision, the second in double precision for some messages.
    Rounded(Rounded),
    /// On the processor in exact integers.
    Exact,
    /// Exactly, on a device.
    Away(Box<dyn Layers>),
}

/// The bootstrapping key in double precision.
pub(super) struct Rounded {
    /// The key for the first digit.
    first: FourierKey,
    /// The key for both digits, made when it is first needed.
    second: OnceLock<FourierKey>,
}

impl Rounded {
    pub(super) fn new(params: &InstantParams, key: &InstantKey) -> Self {
        Self {
            first: FourierKey::new(&params.ring, &key.bootstrap, FIRST_DIGITS),
            second: OnceLock::new(),
        }
    }
}

/// A layer that was begun.
pub(super) enum Layer {
    Here(Vec<RingCipher>),
    Away(Box<dyn Coming>),
}

/// A recipient's key and the evaluation of its layers.
pub(super) struct Run<'a> {
    pub(super) params: &'a InstantParams,
    pub(super) key: &'a InstantKey,
    pub(super) evaluation: &'a Evaluation,
}

impl Evaluation {
    /// Returns whether layers are evaluated on a device.
    pub(super) fn is_away(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    /// Returns the number of messages that are scanned together.
    pub(super) fn together(&self) -> u64 {
        if self.is_away() {
            TOGETHER_AWAY
        } else {
            TOGETHER
        }
    }
}

fn failed(evaluation: &Evaluation, failure: String) -> DetectorError {
    let engine = match evaluation {
        Evaluation::Away(layers) => layers.name(),
        _ => String::new(),
    };
    DetectorError::Engine { engine, failure }
}

impl Run<'_> {
    /// Returns the result of a layer that was begun.
    ///
    /// Errors: `Engine`.
    pub(super) fn done(&self, layer: Layer) -> Result<Vec<RingCipher>, DetectorError> {
        match (layer, self.evaluation) {
            (Layer::Here(cts), _) => Ok(cts),
            (Layer::Away(coming), evaluation) => {
                coming.wait().map_err(|failure| failed(evaluation, failure))
            }
        }
    }

    /// Begins first layers: for each message the encrypted number of its coordinates in the window.
    ///
    /// Errors: `Engine`.
    pub(super) fn hits(&self, coordinates: &[Lwe]) -> Result<Layer, DetectorError> {
        let (ring, [window, _]) = (&self.params.ring, self.params.windows());
        let each = self.params.coordinates();
        let start = || rotations(self.params, coordinates, window);
        let hits = match self.evaluation {
            Evaluation::Rounded(keys) => keys.first.rotate(ring, start()),
            Evaluation::Exact => self.key.bootstrap.rotate(ring, FIRST_DIGITS, start()),
            Evaluation::Away(layers) => {
                let hits = layers.hits(coordinates, each, window);
                return self.on_device(hits);
            }
        };
        let sum = |hits: &[RingCipher]| {
            let mut sum = hits[0].clone();
            let (k, m) = (ring.kernels(), ring.modulus(0));
            for hit in &hits[1..] {
                sum.body[0] = m.add(sum.body[0], hit.body[0]);
                k.add_assign(m, &mut sum.mask, &hit.mask);
            }
            sum
        };
        Ok(Layer::Here(hits.par_chunks(each).map(sum).collect()))
    }

    fn on_device(&self, coming: Result<Box<dyn Coming>, String>) -> Result<Layer, DetectorError> {
        coming
            .map(Layer::Away)
            .map_err(|failure| failed(self.evaluation, failure))
    }

    /// Begins second layers: for each message whether all its coordinates are hits. On the processor, the traces remain
    /// to be done. If evaluation is rounded, messages with the numbers `doubles` are evaluated in double precision.
    ///
    /// Errors: `Engine`.
    pub(super) fn all_hit(
        &self,
        sums: &[Lwe],
        doubles: Range<usize>,
    ) -> Result<Layer, DetectorError> {
        let (ring, [_, window]) = (&self.params.ring, self.params.windows());
        let key = &self.key.bootstrap;
        let start = |sums: &[Lwe]| rotations(self.params, sums, window);
        let exact = |sums| key.rotate(ring, SECOND_DIGITS, start(sums));
        let all = match self.evaluation {
            Evaluation::Away(layers) => {
                let verdicts = layers.verdicts(sums, window);
                return self.on_device(verdicts);
            }
            Evaluation::Exact => exact(sums),
            Evaluation::Rounded(_) if doubles.is_empty() => exact(sums),
            Evaluation::Rounded(keys) => {
                let floats = keys
                    .second
                    .get_or_init(|| keys.first.with_digits(ring, key, SECOND_DIGITS));
                let mut all = exact(&sums[..doubles.start]);
                all.extend(floats.rotate(ring, start(&sums[doubles.clone()])));
                all.extend(exact(&sums[doubles.end..]));
                all
            }
        };
        Ok(Layer::Here(all))
    }
}

fn rotations(params: &InstantParams, cts: &[Lwe], window: Window) -> Vec<Rotation> {
    cts.iter()
        .map(|ct| Rotation::new(&params.ring, ct, window))
        .collect()
}
