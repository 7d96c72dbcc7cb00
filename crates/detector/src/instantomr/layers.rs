//! Where the layers of messages are evaluated.

use super::{FIRST_DIGITS, SECOND_DIGITS};
use crate::DetectorError;
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_tfhe::{FourierKey, Lwe, RingCipher, Rotation, Window};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;

/// Messages looked at together: so many go through the key side by side.
const TOGETHER: u64 = 64;
/// The same on a card.
const TOGETHER_AWAY: u64 = 256;

/// What takes most of a message's time, with one recipient's key in memory that is not the processor's, that of a graphics
/// card. Every residue equals that of [`super::InstantDetector::exact`].
pub trait Layers: Send + Sync {
    /// What it is, for people.
    fn name(&self) -> String;

    /// Begins first layers: for each `each` ciphertexts the sum of their rotations with one digit. Of its body only the
    /// constant coefficient counts.
    ///
    /// Errors: what failed.
    fn hits(
        &self,
        coordinates: &[Lwe],
        each: usize,
        window: Window,
    ) -> Result<Box<dyn Coming>, String>;

    /// Begins second layers: the traces of rotations with both digits.
    ///
    /// Errors: what failed.
    fn verdicts(&self, sums: &[Lwe], window: Window) -> Result<Box<dyn Coming>, String>;
}

/// Ciphertexts that are made elsewhere, in the order in which they were asked for, while others are prepared here.
pub trait Coming: Send {
    /// Waits for them.
    ///
    /// Errors: what failed.
    fn wait(self: Box<Self>) -> Result<Vec<RingCipher>, String>;
}

/// Where keys are brought for [`Layers`].
pub trait LayersEngine: Send + Sync {
    /// Brings a key there.
    ///
    /// Errors: what failed.
    fn bring(&self, key: &InstantKey) -> Result<Box<dyn Layers>, String>;
}

/// How a detector evaluates its layers.
pub(super) enum Evaluation {
    /// On the processor: the first layer in double precision, the second as messages allow it.
    Rounded(Rounded),
    /// On the processor in exact integers.
    Exact,
    /// Exactly, elsewhere.
    Away(Box<dyn Layers>),
}

/// The bootstrapping key in double precision.
pub(super) struct Rounded {
    /// The first digit.
    first: FourierKey,
    /// Both digits, once they are needed.
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

/// What a layer gives.
pub(super) enum Layer {
    Here(Vec<RingCipher>),
    Away(Box<dyn Coming>),
}

/// A recipient's key and where it works.
pub(super) struct Run<'a> {
    pub(super) params: &'a InstantParams,
    pub(super) key: &'a InstantKey,
    pub(super) evaluation: &'a Evaluation,
}

impl Evaluation {
    /// Whether it is done elsewhere.
    pub(super) fn is_away(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    /// Messages looked at together.
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
    /// What a layer that was begun gives.
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

    /// Begins first layers: for each message the sum of what its coordinates became, how many of them lie in the window.
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
                return self.begun(hits);
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

    fn begun(&self, coming: Result<Box<dyn Coming>, String>) -> Result<Layer, DetectorError> {
        let coming = coming.map_err(|failure| failed(self.evaluation, failure));
        Ok(Layer::Away(coming?))
    }

    /// Begins second layers: for each message whether all its coordinates hit; traces are left to do, but for what is done
    /// elsewhere. Where evaluation is rounded, those numbered `doubles` are in double precision.
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
                return self.begun(verdicts);
            }
            Evaluation::Exact => exact(sums),
            Evaluation::Rounded(_) if doubles.is_empty() => exact(sums),
            Evaluation::Rounded(keys) => {
                let floats = || keys.first.with_digits(ring, key, SECOND_DIGITS);
                let floats = keys.second.get_or_init(floats);
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
    let cts = cts.iter();
    cts.map(|ct| Rotation::new(&params.ring, ct, window))
        .collect()
}
