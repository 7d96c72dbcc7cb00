//! What the sets detect with: the rings and chain of SophOMR, longer or shorter.

use super::circuit::{sophomr, tiny_sophomr};
use super::{Circuit, Params, Spec};
use super::{DistanceTest, EarlierClue, EarlierScheme, EarlierSet, LweKind, LweParams};
use crate::EvenFunction;
use omr_protocol::ParamsError;
use omr_protocol::params::{ClueSpec, Posting, SecretSpec, dimension};
use omr_protocol::sophomr::RingsSpec;
use std::sync::Arc;

/// Most coordinates of a clue that are looked at.
const MOST_COORDINATES: usize = 8;

/// What a set detects with, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    /// Rings and digits. Its clue is the one of the ring that posted clues are made to.
    pub spec: Spec,
    /// The clue as it is posted.
    pub clue: EarlierClue,
    /// Whether one polynomial decides each coordinate of residues, as in OMR, without a power after it.
    pub whole: bool,
    /// Whether detection keys have what oblivious expansion takes.
    pub expansion: bool,
}

/// A set's parameters, checked and ready to use.
pub struct EarlierParams {
    /// Rings, chain and shapes of keys.
    pub params: Arc<Params>,
    /// The clue as it is posted, where it is of LWE.
    pub lwe: Option<LweParams>,
    /// The polynomial that decides.
    pub test: DistanceTest,
}

impl EarlierParams {
    /// The parameters of clues of the ring, whose distances a window decides.
    pub fn of_ring(params: Arc<Params>) -> Self {
        Self {
            test: DistanceTest::Window(params.window.clone()),
            lwe: None,
            params,
        }
    }
}

/// The ring modulo `p` whose clues LWE clues are made to. Nobody samples there: secret and randomness are those of LWE.
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

impl EarlierSet {
    /// What this set detects with.
    ///
    /// Published sets have their authors' clue, codes, ring dimension and plaintext modulus, and our circuit, whose chain
    /// is longer than theirs: its bits of security are lower (`reference/security.py`).
    pub fn detection(&self) -> Detection {
        let base = if self.is_tiny() {
            tiny_sophomr()
        } else {
            sophomr()
        };
        let p = self.p.into();
        let (clue, range) = match &self.clue {
            EarlierClue::Ring { spec, range, .. } => (spec.clone(), *range),
            EarlierClue::Lwe { spec, .. } => (
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
            expansion: self.scheme != EarlierScheme::Omd1p,
        }
    }

    /// The set's parameters, on the best kernels of this CPU.
    ///
    /// Errors: none of published sets.
    pub fn params(&self) -> Result<EarlierParams, ParamsError> {
        self.detection().params()
    }
}

impl Detection {
    /// Checks it and derives the modulus chain, for the best kernels of this CPU.
    ///
    /// Errors: dimensions that do not fit; keys below 128 bits, unless the set is marked insecure.
    pub fn params(&self) -> Result<EarlierParams, ParamsError> {
        let lwe = match &self.clue {
            EarlierClue::Ring { .. } => None,
            EarlierClue::Lwe { name, spec } => Some(LweParams::new(name, *spec)?),
        };
        if let Some(lwe) = &lwe {
            self.check_lwe(lwe)?;
        }
        let circuit = self.circuit(lwe.as_ref())?;
        let params = Params::new(self.spec.clone(), circuit)?;
        Ok(EarlierParams {
            test: DistanceTest::new(params.p(), &self.spec, lwe.as_ref(), self.whole)?,
            params: Arc::new(params),
            lwe,
        })
    }

    /// SophOMR's circuit, but for what this one has otherwise.
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

    /// What levels drop, from what those of a window, norm and power do.
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
