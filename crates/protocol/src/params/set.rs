//! The published sets: clues, and the engines that serve them.

use super::{ClueParams, ClueSpec, FinalRingSpec, InstantParams, InstantSpec};
use super::{Params, ParamsError, ParamsSpec, Posted, SecretSpec};
use omr_ring::{Gadget, Kernels};
use std::sync::{Arc, OnceLock};

/// A published parameter set, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSpec {
    /// Versioned name; a published set never changes.
    pub name: &'static str,
    /// Whether the set is for tests only.
    pub insecure: bool,
    /// Bits of security, the least over clue and keys.
    pub security_bits: f64,
    /// Clues.
    pub clue: ClueSpec,
    /// SophOMR and SophOMD.
    pub bulk: Option<ParamsSpec>,
    /// InstantOMR and InstantOMD.
    pub instant: Option<InstantSpec>,
}

pub(crate) const SOPHOMR_V2: ParamsSpec = ParamsSpec {
    name: "sophomr-v2",
    insecure: false,
    security_bits: 128.4,
    p: 786_433,
    n: 1 << 16,
    small_n: 1 << 13,
    final_ring: FinalRingSpec {
        n: 1 << 11,
        bodies: 8,
        modulus_bits: 50,
        digits: 2,
        digit_bits: 16,
    },
    weight: 4096,
    embedding_bound: 12.0,
    clue: ClueSpec {
        n: 1024,
        q: 786_433,
        secret: SecretSpec::Ternary { weight: 84 },
        weight: 84,
        sigma: 0.5,
        coordinates: 2,
        rounded: 786_433,
    },
    posted: Posted::Own,
    range: 38,
    baby: 64,
    block: 8,
    rotation_digits: 2,
    product_digits: 2,
    whole: false,
    expansion: false,
};

/// Secret, randomness and errors alike, so that none of them is the easiest to guess: 140 of 1,024 are as
/// dense as errors of standard deviation 0.3801.
const SOPHOMR_V3: ParamsSpec = ParamsSpec {
    name: "sophomr-v3",
    security_bits: 128.0,
    clue: ClueSpec {
        secret: SecretSpec::Ternary { weight: 140 },
        weight: 140,
        sigma: 0.4495,
        ..SOPHOMR_V2.clue
    },
    range: 40,
    ..SOPHOMR_V2
};

pub(crate) const INSECURE_TINY_V2: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-v2",
    insecure: true,
    security_bits: 0.0,
    n: 1 << 11,
    small_n: 1 << 8,
    final_ring: FinalRingSpec {
        n: 1 << 6,
        ..SOPHOMR_V2.final_ring
    },
    weight: 128,
    clue: ClueSpec {
        n: 64,
        secret: SecretSpec::Ternary { weight: 16 },
        weight: 16,
        ..SOPHOMR_V2.clue
    },
    baby: 8,
    ..SOPHOMR_V2
};

/// One clue for both engines: a secret in blocks, three coordinates.
const HYBRID_CLUE: ClueSpec = ClueSpec {
    secret: SecretSpec::Blocks {
        block: 6,
        weight: 141..=149,
    },
    weight: 96,
    coordinates: 3,
    ..SOPHOMR_V2.clue
};

const HYBRID_V1: ParamsSpec = ParamsSpec {
    name: "hybrid-v1",
    security_bits: 128.2,
    clue: HYBRID_CLUE,
    range: 46,
    block: 16,
    ..SOPHOMR_V2
};

const HYBRID_V1_INSTANT: InstantSpec = InstantSpec {
    n: 2048,
    modulus_bits: 50,
    sigma: 0.62,
    digit_bits: 16,
    half: 18,
    switch_bits: 24,
    switch_sigma: 9.9,
    switch: Gadget { bits: 5, digits: 4 },
    trace: Gadget { bits: 7, digits: 6 },
    bodies: 10,
    group: 1 << 16,
    counted: false,
};

/// The fallback, should blocks of 6 turn out weak: blocks of 5, a twelfth more time a message.
const HYBRID_STRONG_V1: ParamsSpec = ParamsSpec {
    name: "hybrid-strong-v1",
    clue: ClueSpec {
        secret: SecretSpec::Blocks {
            block: 5,
            weight: 161..=167,
        },
        ..HYBRID_CLUE
    },
    range: 47,
    ..HYBRID_V1
};

const HYBRID_STRONG_V1_INSTANT: InstantSpec = InstantSpec {
    half: 19,
    ..HYBRID_V1_INSTANT
};

/// One clue for both engines: a secret in blocks of 5, senders' weight and errors that keep it above 128 bits.
const HYBRID_CLUE_V2: ClueSpec = ClueSpec {
    secret: SecretSpec::Blocks {
        block: 5,
        weight: 161..=167,
    },
    weight: 140,
    sigma: 0.4775,
    coordinates: 3,
    ..SOPHOMR_V2.clue
};

const HYBRID_V2: ParamsSpec = ParamsSpec {
    name: "hybrid-v2",
    security_bits: 128.0,
    clue: HYBRID_CLUE_V2,
    range: 47,
    block: 16,
    ..SOPHOMR_V2
};

const HYBRID_V2_INSTANT: InstantSpec = InstantSpec {
    half: 19,
    counted: true,
    ..HYBRID_V1_INSTANT
};

const INSTANTOMR_V2: SetSpec = SetSpec {
    name: "instantomr-v2",
    insecure: false,
    security_bits: 128.2,
    clue: ClueSpec {
        coordinates: 5,
        rounded: 1 << 10,
        ..HYBRID_CLUE_V2
    },
    bulk: None,
    instant: Some(InstantSpec {
        digit_bits: 17,
        half: 4 * 24,
        group: 1 << 15,
        ..HYBRID_V2_INSTANT
    }),
};

/// Clues of 1,292 bytes: rounded to 10 bits, which takes two coordinates more.
const INSTANTOMR_V1: SetSpec = SetSpec {
    name: "instantomr-v1",
    insecure: false,
    security_bits: 128.2,
    clue: ClueSpec {
        coordinates: 5,
        rounded: 1 << 10,
        ..HYBRID_CLUE
    },
    bulk: None,
    instant: Some(InstantSpec {
        digit_bits: 17,
        half: 4 * 22,
        group: 1 << 15,
        ..HYBRID_V1_INSTANT
    }),
};

const INSECURE_TINY_HYBRID_V1: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-hybrid-v1",
    clue: ClueSpec {
        secret: SecretSpec::Blocks {
            block: 6,
            weight: 7..=10,
        },
        coordinates: 3,
        ..INSECURE_TINY_V2.clue
    },
    ..INSECURE_TINY_V2
};

const INSECURE_TINY_INSTANT_V1: InstantSpec = InstantSpec {
    n: 512,
    half: 7,
    group: 1 << 12,
    ..HYBRID_V1_INSTANT
};

/// The same with exact counters.
const INSECURE_TINY_HYBRID_V2: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-hybrid-v2",
    ..INSECURE_TINY_HYBRID_V1
};

const INSECURE_TINY_INSTANT_V2: InstantSpec = InstantSpec {
    counted: true,
    ..INSECURE_TINY_INSTANT_V1
};

impl SetSpec {
    fn of(bulk: ParamsSpec, instant: Option<InstantSpec>) -> Self {
        Self {
            name: bulk.name,
            insecure: bulk.insecure,
            security_bits: bulk.security_bits,
            clue: bulk.clue.clone(),
            bulk: Some(bulk),
            instant,
        }
    }

    /// Every published set, the default first.
    pub fn published() -> Vec<Self> {
        vec![
            Self::of(SOPHOMR_V2, None),
            Self::of(HYBRID_V1, Some(HYBRID_V1_INSTANT)),
            Self::of(HYBRID_STRONG_V1, Some(HYBRID_STRONG_V1_INSTANT)),
            INSTANTOMR_V1,
            Self::of(SOPHOMR_V3, None),
            Self::of(HYBRID_V2, Some(HYBRID_V2_INSTANT)),
            INSTANTOMR_V2,
            Self::of(INSECURE_TINY_V2, None),
            Self::of(INSECURE_TINY_HYBRID_V1, Some(INSECURE_TINY_INSTANT_V1)),
            Self::of(INSECURE_TINY_HYBRID_V2, Some(INSECURE_TINY_INSTANT_V2)),
        ]
    }

    /// The published set of this name.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        let sets = Self::published();
        let known: Vec<&str> = sets.iter().map(|set| set.name).collect();
        let unknown = ParamsError::Unknown {
            known: known.join(", "),
            found: name.to_owned(),
        };
        let mut sets = sets.into_iter();
        sets.find(|set| set.name == name).ok_or(unknown)
    }
}

/// A published set whose engines' tables are made when they are first asked for.
pub struct ParamSet {
    spec: SetSpec,
    clue: ClueParams,
    bulk: OnceLock<Arc<Params>>,
    instant: OnceLock<Arc<InstantParams>>,
}

impl ParamSet {
    /// The published set of this name, on the best kernels of this CPU.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        let spec = SetSpec::named(name)?;
        Ok(Self {
            clue: ClueParams::new(spec.name, spec.clue.clone(), Kernels::detect())?,
            spec,
            bulk: OnceLock::new(),
            instant: OnceLock::new(),
        })
    }

    /// The set's versioned name.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The specification.
    pub fn spec(&self) -> &SetSpec {
        &self.spec
    }

    /// Clues.
    pub fn clue(&self) -> &ClueParams {
        &self.clue
    }

    /// SophOMR.
    ///
    /// Errors: `NoEngine`.
    pub fn bulk(&self) -> Result<&Arc<Params>, ParamsError> {
        if self.bulk.get().is_none() {
            let made = Params::named(self.spec.name)?;
            return Ok(self.bulk.get_or_init(|| made));
        }
        Ok(self.bulk.get().expect("just seen"))
    }

    /// InstantOMR.
    ///
    /// Errors: `NoEngine`.
    pub fn instant(&self) -> Result<&Arc<InstantParams>, ParamsError> {
        if self.instant.get().is_none() {
            let made = InstantParams::named(self.spec.name)?;
            return Ok(self.instant.get_or_init(|| made));
        }
        Ok(self.instant.get().expect("just seen"))
    }
}
