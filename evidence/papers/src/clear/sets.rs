//! The parameter sets of the papers' schemes: as published, and repaired to 128 bits of security.

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

/// A scheme published before SophOMR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaperScheme {
    /// OMD1p: a bit for each message as indices, no payloads.
    Omd1p,
    /// OMR1p: a bit for each message, sparse combinations of payloads.
    Omr1p,
    /// OMR2p: buckets, sparse combinations of payloads.
    Omr2p,
    /// PerfOMR1: ring LWE clues, buckets of bundles, dense combinations of payloads.
    Perfomr1,
    /// PerfOMR2: like PerfOMR1, with clues of integers in place of residues.
    Perfomr2,
    /// DoS-PerfOMR: PerfOMR1 with LWEmongrass clues, so that nobody can forge a clue that is pertinent to all
    /// recipients.
    DosPerfomr,
}

impl PaperScheme {
    /// Every scheme.
    pub const ALL: [Self; 6] = [
        Self::Omd1p,
        Self::Omr1p,
        Self::Omr2p,
        Self::Perfomr1,
        Self::Perfomr2,
        Self::DosPerfomr,
    ];

    /// Returns the scheme's name in commands and sets.
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

    /// Returns whether the scheme is of OMR's first paper, which uses PVW's clues.
    pub(super) fn is_omr(self) -> bool {
        matches!(self, Self::Omd1p | Self::Omr1p | Self::Omr2p)
    }
}

impl std::str::FromStr for PaperScheme {
    type Err = SetError;

    /// Returns the scheme that has this name.
    ///
    /// Errors: `Scheme` if there is none.
    fn from_str(name: &str) -> Result<Self, SetError> {
        Self::ALL
            .into_iter()
            .find(|scheme| scheme.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                SetError::Scheme(Mismatch::new(known, name.to_owned()))
            })
    }
}

/// The clue of a set.
#[derive(Clone, Debug, PartialEq)]
pub enum PaperClue {
    /// A ring LWE clue, of the kind that SophOMR has.
    Ring {
        /// The clue's name in clues and files.
        name: &'static str,
        /// The specification.
        spec: ClueSpec,
        /// A message is pertinent if all its distances are in `[-range, range]`.
        range: u32,
    },
    /// An LWE clue.
    Lwe {
        /// The clue's name in clues and files.
        name: &'static str,
        /// The specification.
        spec: LweSpec,
    },
}

impl PaperClue {
    /// Returns the clue's name in clues and files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ring { name, .. } | Self::Lwe { name, .. } => name,
        }
    }
}

/// The numbers that determine a set's circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitSpec {
    /// The number of baby steps of the affine transform.
    pub baby: usize,
    /// The number of powers in one block of the polynomial that decides.
    pub block: usize,
    /// The number of digits of the rotation keys.
    pub rotation_digits: usize,
    /// The number of digits of the relinearisation key.
    pub product_digits: usize,
    /// Bits of security of the detection key; 0 for tiny sets.
    pub key_bits: f64,
}

/// A parameter set of a scheme.
///
/// Bits of security are those of the clue by `reference/security.py`, the least over all attacks; for clues as
/// published, those of lattice-estimator (commit 27a581bb8e9d49f5e9e2db315bd48ac769d5f5f5). A published set
/// never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperSet {
    /// The versioned name.
    pub name: &'static str,
    /// The scheme.
    pub scheme: PaperScheme,
    /// True for a set below 128 bits, which exists for comparison or tests only.
    pub insecure: bool,
    /// True if clue and codes are as their authors published them.
    pub published: bool,
    /// Bits of security of the clue.
    pub clue_bits: f64,
    /// The clue.
    pub clue: PaperClue,
    /// The plaintext modulus.
    pub p: u32,
    /// The number of messages in a batch.
    pub slots: usize,
    /// The number of messages in a bundle.
    pub bundle: u32,
    /// The circuit.
    pub circuit: CircuitSpec,
}

impl PaperSet {
    /// Returns every set but the tiny ones.
    ///
    /// The security of detection keys as published differs from that of our keys with the published clues:
    /// PerfOMR1's log2(PQ) of 917 yields 120.9 bits in dimension 2^15, DoS-PerfOMR's 970 about 114; the other
    /// schemes, up to 808, have more than 128.
    pub fn all() -> Vec<Self> {
        table::all()
    }

    /// Returns a set for tests of every scheme, in tiny dimensions and without any security.
    pub fn tiny() -> Vec<Self> {
        table::tiny()
    }

    pub(super) fn is_tiny(&self) -> bool {
        self.slots < 1 << 15
    }

    /// Returns the repaired set of a scheme.
    pub fn of(scheme: PaperScheme) -> Self {
        let mut sets = Self::all().into_iter();
        sets.find(|set| set.scheme == scheme && !set.published)
            .expect("every scheme has a repaired set")
    }

    /// Returns the set with this name. Sets below 128 bits are returned only if `allow_insecure` is true.
    ///
    /// Errors: `Unknown` if no set has the name; `Weak` if the set has less than 128 bits and `allow_insecure`
    /// is false.
    pub fn named(name: &str, allow_insecure: bool) -> Result<Self, SetError> {
        let sets = Self::all();
        let known: Vec<&str> = sets.iter().map(|set| set.name).collect();
        let set = sets
            .iter()
            .cloned()
            .chain(Self::tiny())
            .find(|set| set.name == name)
            .ok_or_else(|| SetError::Unknown(Mismatch::new(known.join(", "), name.to_owned())))?;
        if set.insecure && !allow_insecure {
            Err(SetError::Weak {
                name: set.name,
                bits: set.clue_bits,
            })
        } else {
            Ok(set)
        }
    }

    /// Returns the LWE clue; `None` for PerfOMR1.
    ///
    /// Errors: `Dimension`.
    pub fn lwe(&self) -> Option<Result<LweParams, ParamsError>> {
        match self.clue {
            PaperClue::Lwe { name, spec } => Some(LweParams::new(name, spec)),
            PaperClue::Ring { .. } => None,
        }
    }

    /// Returns the ring LWE clue, ready to use; `None` for all schemes but PerfOMR1.
    ///
    /// Errors: `Ring`.
    pub fn ring(&self) -> Option<Result<Arc<ClueParams>, ParamsError>> {
        match &self.clue {
            PaperClue::Ring { name, spec, .. } => {
                Some(ClueParams::new(name, spec.clone(), Kernels::detect()).map(Arc::new))
            }
            PaperClue::Lwe { .. } => None,
        }
    }

    /// Returns log2 of the probability that a pertinent message is missed.
    pub fn miss_log2(&self) -> f64 {
        match &self.clue {
            PaperClue::Ring { spec, range, .. } => {
                miss_log2(&spec.noise(), *range, spec.coordinates)
            }
            PaperClue::Lwe { spec, .. } => spec.miss_log2(),
        }
    }

    /// Returns log2 of the probability that an impertinent message passes.
    pub fn false_positive_log2(&self) -> f64 {
        match &self.clue {
            PaperClue::Ring { spec, range, .. } => {
                false_positive_log2(spec.q as f64, *range, spec.coordinates)
            }
            PaperClue::Lwe { spec, .. } => spec.false_positive_log2(),
        }
    }

    /// Returns the layout of a bitmap index; `None` for schemes with buckets.
    pub fn bitmap(&self) -> Option<BitmapOrder> {
        match self.scheme {
            PaperScheme::Omd1p => Some(BitmapOrder::Batches { slots: self.slots }),
            PaperScheme::Omr1p => Some(BitmapOrder::Packed),
            _ => None,
        }
    }

    /// Returns the buckets of the index for at most `bound` pertinent messages; `None` for schemes with
    /// bitmaps.
    pub fn buckets(&self, bound: usize) -> Option<BucketShape> {
        match (self.bitmap(), self.published, self.scheme) {
            (Some(_), ..) => None,
            (None, false, _) => Some(BucketShape::for_bound(bound)),
            (None, true, PaperScheme::Omr2p) => Some(BucketShape::omr2p(self.slots)),
            (None, true, _) => Some(BucketShape::PERFOMR),
        }
    }

    /// Returns the combinations of payloads for at most `bound` pertinent messages; `None` for OMD1p.
    pub fn combinations(&self, bound: usize) -> Option<CombinationShape> {
        match (self.scheme, self.published) {
            (PaperScheme::Omd1p, _) => None,
            (PaperScheme::Omr1p | PaperScheme::Omr2p, _) => Some(CombinationShape::sparse(bound)),
            (_, true) => Some(CombinationShape::perfomr(bound)),
            (_, false) => Some(CombinationShape::dense(bound)),
        }
    }
}
