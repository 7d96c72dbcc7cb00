//! The detectors' parameters of all sets: SophOMR's rings, with a longer or shorter modulus chain.

use super::circuit::{sophomr, tiny_sophomr};
use super::{Circuit, Params, Spec};
use super::{DistanceTest, LweKind, LweParams, PaperClue, PaperScheme, PaperSet};
use crate::EvenFunction;
use omr_protocol::ParamsError;
use omr_protocol::params::{ClueSpec, Posting, SecretSpec, dimension};
use omr_protocol::sophomr::RingsSpec;
use std::sync::Arc;

/// The largest number of a clue's coordinates that a detector evaluates.
const MOST_COORDINATES: usize = 8;

/// A set's parameters for its detector, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    /// The rings and digits. The clue in it is the ring LWE clue that posted clues are converted to.
    pub spec: Spec,
    /// The clue as it is posted.
    pub clue: PaperClue,
    /// True if one polynomial decides each coordinate of residues, as in OMR, without a power after it.
    pub whole: bool,
    /// True if detection keys contain the parts for oblivious expansion.
    pub expansion: bool,
}

/// A set's parameters, checked and ready to use.
pub struct PaperParams {
    /// The rings, modulus chain and shapes of keys.
    pub params: Arc<Params>,
    /// The clue as it is posted, for sets with LWE clues.
    pub lwe: Option<LweParams>,
    /// The polynomial that decides whether a distance is pertinent.
    pub test: DistanceTest,
}

impl PaperParams {
    /// Returns the parameters for ring LWE clues whose distances a window polynomial decides.
    pub fn of_ring(params: Arc<Params>) -> Self {
        Self {
            test: DistanceTest::Window(params.window.clone()),
            lwe: None,
            params,
        }
    }
}

/// Returns the ring modulo `p` that LWE clues are converted to. It needs no distribution of its own: secret and
/// randomness are those of LWE.
fn ring(n: usize, p: u64, coordinates: usize) -> ClueSpec {
    ClueSpec {
        n,
        q: p,
        secret: SecretSpec::Ternary { weight: 0 },
        second: None,
        weight: 0,
        sigma: 0.5,
        coordinates,
        posting: Posting::Whole,
    }
}

impl PaperSet {
    /// Returns this set's parameters for its detector.
    ///
    /// Published sets have their authors' clue, codes, ring dimension and plaintext modulus, but our circuit,
    /// whose modulus chain is longer than theirs, so that the bits of security are lower (`reference/security.py`).
    pub fn detection(&self) -> Detection {
        let base = if self.is_tiny() {
            tiny_sophomr()
        } else {
            sophomr()
        };
        let p = self.p.into();
        let (clue, range) = match &self.clue {
            PaperClue::Ring { spec, range, .. } => (spec.clone(), *range),
            PaperClue::Lwe { spec, .. } => (
                ring(spec.n.next_power_of_two(), p, spec.coordinates),
                spec.range,
            ),
        };
        let circuit = self.circuit;
        let spec = Spec {
            rings: RingsSpec {
                name: self.name,
                insecure: self.published || self.is_tiny(),
                p,
                n: self.slots,
                range: range.into(),
                block: circuit.block,
                rotation_digits: circuit.rotation_digits,
                product_digits: circuit.product_digits,
                ..base.rings
            },
            clue,
            baby: circuit.baby,
            key_bits: circuit.key_bits,
        };
        Detection {
            spec,
            clue: self.clue.clone(),
            whole: self.published && self.scheme.is_omr(),
            expansion: self.scheme != PaperScheme::Omd1p,
        }
    }

    /// Returns the set's checked parameters, for the fastest kernels of this CPU.
    ///
    /// Errors: those of [`Detection::params`]; no published set causes any.
    pub fn params(&self) -> Result<PaperParams, ParamsError> {
        self.detection().params()
    }
}

impl Detection {
    /// Checks these parameters and derives the modulus chain, for the fastest kernels of this CPU.
    ///
    /// Errors: `Dimension` or another [`ParamsError`] if the dimensions do not fit each other, or if keys have
    /// less than 128 bits of security and the set is not marked insecure.
    pub fn params(&self) -> Result<PaperParams, ParamsError> {
        let lwe = match &self.clue {
            PaperClue::Ring { .. } => None,
            PaperClue::Lwe { name, spec } => Some(LweParams::new(name, *spec)?),
        };
        if let Some(lwe) = &lwe {
            self.check_lwe(lwe)?;
        }
        let circuit = self.circuit(lwe.as_ref())?;
        let params = Params::new(self.spec.clone(), circuit)?;
        Ok(PaperParams {
            test: DistanceTest::new(params.p(), &self.spec, lwe.as_ref(), self.whole)?,
            params: Arc::new(params),
            lwe,
        })
    }

    /// Returns SophOMR's circuit with the changes that this set needs.
    fn circuit(&self, lwe: Option<&LweParams>) -> Result<Circuit, ParamsError> {
        let sophomr = Circuit::sophomr(&self.spec)?;
        let own = Circuit {
            clue_name: self.clue.name(),
            least_width: if self.expansion {
                1
            } else {
                sophomr.least_width
            },
            ..sophomr
        };
        let Some(lwe) = lwe else {
            return Ok(own);
        };
        let coordinates = lwe.spec().coordinates;
        Ok(Circuit {
            coordinates,
            secrets: lwe.spec().secrets(),
            nobody: lwe.nobody(),
            drops: self.drops(own.drops, lwe, coordinates),
            ..own
        })
    }

    /// Returns the bits that each level drops, derived from those of a window, norm and power.
    fn drops(&self, window: Vec<f64>, lwe: &LweParams, coordinates: usize) -> Vec<f64> {
        let level = self.spec.rings.level_bits();
        let (mut drops, values) =
            match DistanceTest::whole_degree(&self.spec, Some(lwe), self.whole) {
                None => (window, coordinates.div_ceil(2)),
                Some(degree) => {
                    let block = self.spec.rings.block;
                    let mut drops = vec![level; EvenFunction::depth_of(degree, block)];
                    // Here the products of all blocks are added.
                    let blocks = EvenFunction::blocks_of(degree, block) as f64;
                    *drops.last_mut().expect("at least one level") += blocks.log2() / 2.0;
                    (drops, coordinates)
                }
            };
        drops.extend(vec![level; DistanceTest::product_depth(values)]);
        drops
    }

    fn check_lwe(&self, lwe: &LweParams) -> Result<(), ParamsError> {
        let (spec, clue) = (&self.spec, lwe.spec());
        dimension(
            clue.coordinates <= MOST_COORDINATES,
            "at most 8 coordinates that are looked at",
            clue.coordinates,
        )?;
        let fits = match clue.kind {
            LweKind::Integers { .. } => clue.n == spec.clue.n,
            _ => clue.n <= spec.clue.n && u64::from(clue.q) == spec.rings.p,
        };
        dimension(
            fits,
            "an LWE clue of the ring's dimension and modulus",
            clue.n,
        )?;
        let range = u64::from(clue.range) == spec.rings.range;
        dimension(range, "the window of the clue", spec.rings.range as usize)
    }
}
