//! The published sets. A published set never changes.

use super::{
    ClueSpec, PACKING_KEY_BITS, Posting, ROTATION_KEY_BITS, SecondSecret, SecretSpec, SetSpec,
};
use crate::instantomr::InstantSpec;
use crate::sophomr::{FinalRingSpec, ParamsSpec};
use omr_opening::OpeningSpec;
use omr_ring::Gadget;

/// Clues without the lowest bits of their residues, which are errors enough: 128 bytes fewer.
pub(crate) const SOPHOMR_V5: ParamsSpec = ParamsSpec {
    name: "sophomr-v5",
    clue: ClueSpec {
        secret: SecretSpec::Ternary { weight: 316 },
        weight: 316,
        posting: Posting::Halved,
        ..SOPHOMR_V4.clue
    },
    ..SOPHOMR_V4
};

/// Clues of their own modulus, packed at one small prime and opened in slots.
pub(crate) const SOPHOMR_V4: ParamsSpec = ParamsSpec {
    name: "sophomr-v4",
    key_bits: PACKING_KEY_BITS,
    clue: ClueSpec {
        q: 4_188_161,
        secret: SecretSpec::Ternary { weight: 320 },
        weight: 320,
        sigma: 0.52,
        ..SOPHOMR_V3.clue
    },
    range: 24,
    opening: Some(OpeningSpec {
        n: 512,
        packing_rank: 4,
        packing_bits: 50,
        packing_sigma: 0.62,
        rank: 3,
        weight: 36,
        narrow_bits: 29.5,
        gadget: Gadget {
            bits: 2,
            digits: 13,
        },
        points: 128,
        baby: 8,
    }),
    ..SOPHOMR_V3
};

/// Secret, randomness and errors alike, so that none of them is the easiest to guess: 140 of 1,024 are as
/// dense as errors of standard deviation 0.3801.
pub(crate) const SOPHOMR_V3: ParamsSpec = ParamsSpec {
    name: "sophomr-v3",
    insecure: false,
    old: false,
    key_bits: 128.0,
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
        secret: SecretSpec::Ternary { weight: 140 },
        second: None,
        weight: 140,
        sigma: 0.4495,
        coordinates: 2,
        posting: Posting::Whole,
    },
    range: 40,
    baby: 64,
    opening: None,
    block: 8,
    rotation_digits: 2,
    product_digits: 2,
};

/// One clue for both engines: a secret in blocks of 5, three coordinates.
const HYBRID_CLUE_V2: ClueSpec = ClueSpec {
    secret: SecretSpec::Blocks {
        block: 5,
        weight: 161..=167,
    },
    weight: 140,
    sigma: 0.4775,
    coordinates: 3,
    ..SOPHOMR_V3.clue
};

/// Four coordinates where `hybrid-v3` has three: fewer false positives. Longer blocks, which wider errors allow,
/// make up for it.
const HYBRID_V4: ParamsSpec = ParamsSpec {
    name: "hybrid-v4",
    clue: ClueSpec {
        second: Some(SecondSecret {
            secret: SecretSpec::Blocks {
                block: 10,
                weight: 86..=92,
            },
            sigma: 28.0,
            coordinates: 4,
        }),
        coordinates: 6,
        ..SOPHOMR_V5.clue
    },
    ..SOPHOMR_V5
};

const HYBRID_V4_INSTANT: InstantSpec = InstantSpec {
    half: 15,
    verdict: [2, 3],
    offset_bits: 2,
    switch_sigma: 112.1,
    switch: Gadget { bits: 3, digits: 5 },
    ..HYBRID_V3_INSTANT
};

/// One address and one clue for both engines, a secret for each.
const HYBRID_V3: ParamsSpec = ParamsSpec {
    name: "hybrid-v3",
    clue: ClueSpec {
        second: Some(SecondSecret {
            secret: SecretSpec::Blocks {
                block: 8,
                weight: 106..=112,
            },
            sigma: 6.5,
            coordinates: 3,
        }),
        coordinates: 5,
        ..SOPHOMR_V4.clue
    },
    ..SOPHOMR_V4
};

const HYBRID_V3_INSTANT: InstantSpec = InstantSpec {
    half: 16,
    switch_sigma: 26.1,
    ..HYBRID_V2_INSTANT
};

const HYBRID_V2: ParamsSpec = ParamsSpec {
    name: "hybrid-v2",
    clue: HYBRID_CLUE_V2,
    range: 47,
    block: 16,
    ..SOPHOMR_V3
};

const HYBRID_V2_INSTANT: InstantSpec = InstantSpec {
    n: 2048,
    modulus_bits: 50,
    sigma: 0.62,
    digit_bits: 16,
    half: 19,
    verdict: [1, 2],
    offset_bits: 5,
    switch_bits: 24,
    switch_sigma: 9.9,
    switch: Gadget { bits: 5, digits: 4 },
    trace: Gadget { bits: 7, digits: 6 },
    bodies: 10,
    group: 1 << 16,
    counted: true,
};

/// Clues of 1,300 bytes: rounded to 10 bits, which takes two coordinates more.
const INSTANTOMR_V2: SetSpec = SetSpec {
    name: "instantomr-v2",
    insecure: false,
    old: false,
    key_bits: ROTATION_KEY_BITS,
    clue: ClueSpec {
        coordinates: 5,
        posting: Posting::Rounded(1 << 10),
        ..HYBRID_CLUE_V2
    },
    sophomr: None,
    instantomr: Some(InstantSpec {
        digit_bits: 17,
        half: 4 * 24,
        group: 1 << 15,
        ..HYBRID_V2_INSTANT
    }),
};

/// The first sets. Clues of weight 84, and senders of weight 96, are below 128 bits where one lattice reduction
/// serves all rotations of a sample.
pub(crate) const SOPHOMR_V2: ParamsSpec = ParamsSpec {
    name: "sophomr-v2",
    old: true,
    clue: ClueSpec {
        secret: SecretSpec::Ternary { weight: 84 },
        weight: 84,
        sigma: 0.5,
        ..SOPHOMR_V3.clue
    },
    range: 38,
    ..SOPHOMR_V3
};

const HYBRID_CLUE_V1: ClueSpec = ClueSpec {
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
    clue: HYBRID_CLUE_V1,
    range: 46,
    block: 16,
    ..SOPHOMR_V2
};

const HYBRID_V1_INSTANT: InstantSpec = InstantSpec {
    half: 18,
    counted: false,
    ..HYBRID_V2_INSTANT
};

const HYBRID_STRONG_V1: ParamsSpec = ParamsSpec {
    name: "hybrid-strong-v1",
    clue: ClueSpec {
        secret: SecretSpec::Blocks {
            block: 5,
            weight: 161..=167,
        },
        ..HYBRID_CLUE_V1
    },
    range: 47,
    ..HYBRID_V1
};

const HYBRID_STRONG_V1_INSTANT: InstantSpec = InstantSpec {
    half: 19,
    ..HYBRID_V1_INSTANT
};

const INSTANTOMR_V1: SetSpec = SetSpec {
    name: "instantomr-v1",
    old: true,
    clue: ClueSpec {
        coordinates: 5,
        posting: Posting::Rounded(1 << 10),
        ..HYBRID_CLUE_V1
    },
    instantomr: Some(InstantSpec {
        digit_bits: 17,
        half: 4 * 22,
        group: 1 << 15,
        ..HYBRID_V1_INSTANT
    }),
    ..INSTANTOMR_V2
};

pub(crate) const INSECURE_TINY_V2: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-v2",
    insecure: true,
    old: false,
    key_bits: 0.0,
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

/// Small, with opened clues.
const INSECURE_TINY_V3: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-v3",
    clue: ClueSpec {
        n: 64,
        secret: SecretSpec::Ternary { weight: 16 },
        weight: 16,
        ..SOPHOMR_V4.clue
    },
    range: SOPHOMR_V4.range,
    opening: Some(TINY_OPENING),
    ..INSECURE_TINY_V2
};

/// Small, with opened clues, and a secret for each engine.
const INSECURE_TINY_HYBRID_V3: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-hybrid-v3",
    clue: ClueSpec {
        second: Some(SecondSecret {
            secret: SecretSpec::Blocks {
                block: 8,
                weight: 5..=8,
            },
            sigma: 6.5,
            coordinates: 3,
        }),
        coordinates: 5,
        ..INSECURE_TINY_V3.clue
    },
    ..INSECURE_TINY_V3
};

const INSECURE_TINY_INSTANT_V3: InstantSpec = InstantSpec {
    switch_sigma: HYBRID_V3_INSTANT.switch_sigma,
    ..INSECURE_TINY_INSTANT_V2
};

/// Small, with halved clues.
const INSECURE_TINY_V4: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-v4",
    clue: ClueSpec {
        posting: Posting::Halved,
        ..INSECURE_TINY_V3.clue
    },
    ..INSECURE_TINY_V3
};

/// Small, with halved clues, four coordinates and blocks of 10 for InstantOMR.
const INSECURE_TINY_HYBRID_V4: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-hybrid-v4",
    clue: ClueSpec {
        second: Some(SecondSecret {
            secret: SecretSpec::Blocks {
                block: 10,
                weight: 4..=6,
            },
            sigma: 28.0,
            coordinates: 4,
        }),
        coordinates: 6,
        ..INSECURE_TINY_V4.clue
    },
    ..INSECURE_TINY_V4
};

const INSECURE_TINY_INSTANT_V4: InstantSpec = InstantSpec {
    verdict: HYBRID_V4_INSTANT.verdict,
    offset_bits: HYBRID_V4_INSTANT.offset_bits,
    switch_sigma: HYBRID_V4_INSTANT.switch_sigma,
    switch: HYBRID_V4_INSTANT.switch,
    ..INSECURE_TINY_INSTANT_V2
};

const TINY_OPENING: OpeningSpec = OpeningSpec {
    n: 64,
    packing_rank: 4,
    packing_bits: 50,
    packing_sigma: 0.62,
    rank: 3,
    weight: 20,
    narrow_bits: 29.5,
    gadget: Gadget {
        bits: 2,
        digits: 13,
    },
    points: 16,
    baby: 4,
};

impl SetSpec {
    /// Every published set, the default first.
    pub fn published() -> Vec<Self> {
        vec![
            Self::of(SOPHOMR_V5, None),
            Self::of(HYBRID_V4, Some(HYBRID_V4_INSTANT)),
            Self::of(HYBRID_V3, Some(HYBRID_V3_INSTANT)),
            Self::of(HYBRID_V2, Some(HYBRID_V2_INSTANT)),
            INSTANTOMR_V2,
            Self::of(SOPHOMR_V4, None),
            Self::of(SOPHOMR_V3, None),
            Self::of(SOPHOMR_V2, None),
            Self::of(HYBRID_V1, Some(HYBRID_V1_INSTANT)),
            Self::of(HYBRID_STRONG_V1, Some(HYBRID_STRONG_V1_INSTANT)),
            INSTANTOMR_V1,
            Self::of(INSECURE_TINY_V4, None),
            Self::of(INSECURE_TINY_HYBRID_V4, Some(INSECURE_TINY_INSTANT_V4)),
            Self::of(INSECURE_TINY_V3, None),
            Self::of(INSECURE_TINY_HYBRID_V3, Some(INSECURE_TINY_INSTANT_V3)),
            Self::of(INSECURE_TINY_V2, None),
            Self::of(INSECURE_TINY_HYBRID_V1, Some(INSECURE_TINY_INSTANT_V1)),
            Self::of(INSECURE_TINY_HYBRID_V2, Some(INSECURE_TINY_INSTANT_V2)),
        ]
    }
}
