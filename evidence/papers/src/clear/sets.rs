//! The earlier schemes' parameter sets: as published, and repaired.

mod table;

use super::circuit::{sophomr, tiny_sophomr};
use super::noise::{false_positive_log2, miss_log2};
use super::{LweParams, LweSpec, SetError};
use crate::codec::{BitmapOrder, BucketShape, CombinationShape};
use omr_protocol::Mismatch;
use omr_protocol::ParamsError;
use omr_protocol::params::{ClueParams, ClueSpec};
use omr_ring::Kernels;
use std::sync::Arc;

/// A scheme before SophOMR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierScheme {
    /// Indices: a bit for each message.
    Omd1p,
    /// Payloads: a bit for each message, sparse combinations.
    Omr1p,
    /// Payloads: buckets, sparse combinations.
    Omr2p,
    /// Payloads: ring LWE clues, buckets of bundles, dense combinations.
    Perfomr1,
    /// The same with integers in place of residues.
    Perfomr2,
    /// PerfOMR1 with LWEmongrass clues, which no forger aims at all recipients.
    DosPerfomr,
}

impl EarlierScheme {
    /// Every scheme.
    pub const ALL: [Self; 6] = [
        Self::Omd1p,
        Self::Omr1p,
        Self::Omr2p,
        Self::Perfomr1,
        Self::Perfomr2,
        Self::DosPerfomr,
    ];

    /// Its name in commands and sets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Omd1p => "omd1p",
            Self::Omr1p => "omr1p",
            Self::Omr2p => "omr2p",
            Self::Perfomr1 => "perfomr1",
            Self::Perfomr2 => "perfomr2",
            Self::DosPerfomr => "dos-perfomr",
        }
    }

    /// Whether it is one of OMR's first paper, whose clues are PVW's.
    pub(super) fn is_omr(self) -> bool {
        matches!(self, Self::Omd1p | Self::Omr1p | Self::Omr2p)
    }
}

impl std::str::FromStr for EarlierScheme {
    type Err = SetError;

    /// Errors: `Scheme`.
    fn from_str(name: &str) -> Result<Self, SetError> {
        let unknown = || {
            SetError::Scheme(Mismatch::new(
                Self::ALL.map(Self::name).join(", "),
                name.to_owned(),
            ))
        };
        let mut schemes = Self::ALL.into_iter();
        schemes
            .find(|scheme| scheme.name() == name)
            .ok_or_else(unknown)
    }
}

/// A set's clue.
#[derive(Clone, Debug, PartialEq)]
pub enum EarlierClue {
    /// Ring LWE, as SophOMR has it.
    Ring {
        /// Its name in clues and files.
        name: &'static str,
        /// The specification.
        spec: ClueSpec,
        /// Pertinent: all distances in `[-range, range]`.
        range: u32,
    },
    /// LWE.
    Lwe {
        /// Its name in clues and files.
        name: &'static str,
        /// The specification.
        spec: LweSpec,
    },
}

impl EarlierClue {
    /// Its name in clues and files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ring { name, .. } | Self::Lwe { name, .. } => name,
        }
    }
}

/// The numbers of a set's circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitSpec {
    /// Baby steps of the affine transform.
    pub baby: usize,
    /// Powers in one block of the polynomial that decides.
    pub block: usize,
    /// Digits of the rotation keys.
    pub rotation_digits: usize,
    /// Digits of the relinearisation key.
    pub product_digits: usize,
    /// Bits of security of the detection key; 0 of tiny sets.
    pub key_bits: f64,
}

/// A parameter set of an earlier scheme.
///
/// Bits of security are those of the clue by `reference/security.py`, the least of all attacks; of clues as published,
/// lattice-estimator's (commit 27a581bb8e9d49f5e9e2db315bd48ac769d5f5f5). A published set never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierSet {
    /// Versioned name.
    pub name: &'static str,
    /// The scheme.
    pub scheme: EarlierScheme,
    /// Whether the set is below 128 bits and is there for comparison or tests only.
    pub insecure: bool,
    /// Whether clue and codes are as published.
    pub published: bool,
    /// Bits of security of the clue.
    pub clue_bits: f64,
    /// The clue.
    pub clue: EarlierClue,
    /// Plaintext modulus.
    pub p: u32,
    /// Messages of a batch.
    pub slots: usize,
    /// Messages of a bundle.
    pub bundle: u32,
    /// The circuit.
    pub circuit: CircuitSpec,
}

impl EarlierSet {
    /// Every set but the tiny ones.
    ///
    /// The published detection keys are another matter than ours with published clues: PerfOMR1's log2(PQ) of 917
    /// gives 120.9 bits in dimension 2^15, DoS-PerfOMR's 970 about 114; those of the others, up to 808, more than 128.
    pub fn all() -> Vec<Self> {
        table::all()
    }

    /// A set for tests of every scheme, in tiny dimensions and without any security.
    pub fn tiny() -> Vec<Self> {
        table::tiny()
    }

    pub(super) fn is_tiny(&self) -> bool {
        self.slots < 1 << 15
    }

    /// The repaired set of a scheme.
    pub fn of(scheme: EarlierScheme) -> Self {
        let mut sets = Self::all().into_iter();
        let own = |set: &Self| set.scheme == scheme && !set.published;
        sets.find(own).expect("every scheme has a repaired set")
    }

    /// The set of this name. One below 128 bits only where `allow_insecure` says so.
    ///
    /// Errors: `Unknown`; `Weak`.
    pub fn named(name: &str, allow_insecure: bool) -> Result<Self, SetError> {
        let sets = Self::all();
        let known: Vec<&str> = sets.iter().map(|set| set.name).collect();
        let mut sets = sets.into_iter().chain(Self::tiny());
        let unknown = SetError::Unknown(Mismatch::new(known.join(", "), name.to_owned()));
        let set = sets.find(|set| set.name == name);
        let set = set.ok_or(unknown)?;
        if set.insecure && !allow_insecure {
            Err(SetError::Weak {
                name: set.name,
                bits: set.clue_bits,
            })
        } else {
            Ok(set)
        }
    }

    /// The LWE clue; `None` for PerfOMR1.
    ///
    /// Errors: `Dimension`.
    pub fn lwe(&self) -> Option<Result<LweParams, ParamsError>> {
        match self.clue {
            EarlierClue::Lwe { name, spec } => Some(LweParams::new(name, spec)),
            EarlierClue::Ring { .. } => None,
        }
    }

    /// The ring LWE clue, ready to use; `None` for all but PerfOMR1.
    ///
    /// Errors: `Ring`.
    pub fn ring(&self) -> Option<Result<Arc<ClueParams>, ParamsError>> {
        match &self.clue {
            EarlierClue::Ring { name, spec, .. } => {
                Some(ClueParams::new(name, spec.clone(), Kernels::detect()).map(Arc::new))
            }
            EarlierClue::Lwe { .. } => None,
        }
    }

    /// log2 of the probability that a pertinent message is missed.
    pub fn miss_log2(&self) -> f64 {
        match &self.clue {
            EarlierClue::Ring { spec, range, .. } => {
                miss_log2(&spec.noise(), *range, spec.coordinates)
            }
            EarlierClue::Lwe { spec, .. } => spec.miss_log2(),
        }
    }

    /// log2 of the probability that an impertinent message passes.
    pub fn false_positive_log2(&self) -> f64 {
        match &self.clue {
            EarlierClue::Ring { spec, range, .. } => {
                false_positive_log2(spec.q as f64, *range, spec.coordinates)
            }
            EarlierClue::Lwe { spec, .. } => spec.false_positive_log2(),
        }
    }

    /// How a bitmap index is laid out; `None` for schemes with buckets.
    pub fn bitmap(&self) -> Option<BitmapOrder> {
        match self.scheme {
            EarlierScheme::Omd1p => Some(BitmapOrder::Batches { slots: self.slots }),
            EarlierScheme::Omr1p => Some(BitmapOrder::Packed),
            _ => None,
        }
    }

    /// The buckets of the index for at most `bound` pertinent messages; `None` for schemes with bitmaps.
    pub fn buckets(&self, bound: usize) -> Option<BucketShape> {
        match (self.bitmap(), self.published, self.scheme) {
            (Some(_), ..) => None,
            (None, false, _) => Some(BucketShape::for_bound(bound)),
            (None, true, EarlierScheme::Omr2p) => Some(BucketShape::omr2p(self.slots)),
            (None, true, _) => Some(BucketShape::PERFOMR),
        }
    }

    /// The combinations of payloads for at most `bound` pertinent messages; `None` for OMD1p.
    pub fn combinations(&self, bound: usize) -> Option<CombinationShape> {
        match (self.scheme, self.published) {
            (EarlierScheme::Omd1p, _) => None,
            (EarlierScheme::Omr1p | EarlierScheme::Omr2p, _) => {
                Some(CombinationShape::sparse(bound))
            }
            (_, true) => Some(CombinationShape::perfomr(bound)),
            (_, false) => Some(CombinationShape::dense(bound)),
        }
    }
}
