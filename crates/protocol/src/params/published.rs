//! The published sets. A published set never changes.

use super::{
    ClueSpec, PACKING_KEY_BITS, Posting, ROTATION_KEY_BITS, SecondSecret, SecretSpec, SetSpec,
};
use crate::instantomr::InstantSpec;
use crate::rounds::RoundsSpec;
use crate::sophomr::{FinalRingSpec, ParamsSpec};
use omr_opening::OpeningSpec;
use omr_ring::Gadget;
use omr_rounds::fetch::FetchSpec;
use omr_rounds::scan::ScanSpec;

/// The set of SophOMR alone. Clues are posted without the lowest bits of their residues; this rounding is their only
/// error.
pub(crate) const SOPHOMR_V5: ParamsSpec = ParamsSpec {
    name: "sophomr-v5",
    insecure: false,
    key_bits: PACKING_KEY_BITS,
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
        q: 4_188_161,
        secret: SecretSpec::Ternary { weight: 316 },
        second: None,
        weight: 316,
        sigma: 0.52,
        coordinates: 2,
        posting: Posting::Halved,
    },
    range: 24,
    opening: OpeningSpec {
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
    },
    block: 8,
    rotation_digits: 2,
    product_digits: 2,
};

/// Two rounds of the clues of [`SOPHOMR_V5`]. Limits are those of blocks full of hostile clues.
const ROUNDS: RoundsSpec = RoundsSpec {
    scan: ScanSpec {
        n: 2048,
        modulus_bits: 50,
        parts: 8,
        digits: 2,
        digit_bits: 16,
        body_bits: [15, 9],
        mask_bits: [22, 16],
        limits: [1.31, 0.96],
    },
    fetch: FetchSpec {
        p: 786_433,
        n: 8192,
        buckets: 64,
        choices: 4,
        page: 1824,
        fetched: 56,
        sum_bits: 32,
        level_bits: 36,
        special_bits: 50,
        final_n: 2048,
        final_bits: 50,
        digits: 2,
        digit_bits: 16,
        parts: 2,
        mask_bits: 29,
        body_bits: [21, 23],
        short: 72,
    },
};

/// The set of both engines: one address and one clue, with a secret and coordinates for each engine. Four coordinates
/// for InstantOMR make false positives rare, and long blocks reduce the effect of wide errors.
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
    n: 2048,
    modulus_bits: 50,
    sigma: 0.62,
    digit_bits: 16,
    half: 15,
    verdict: [2, 3],
    offset_bits: 2,
    switch_bits: 24,
    switch_sigma: 112.1,
    switch: Gadget { bits: 3, digits: 5 },
    trace: Gadget { bits: 7, digits: 6 },
    bodies: 10,
    group: 1 << 16,
};

/// The set of InstantOMR alone. Clues are rounded to 10 bits and have 1,300 bytes; this takes two more coordinates.
const INSTANTOMR_V2: SetSpec = SetSpec {
    name: "instantomr-v2",
    insecure: false,
    key_bits: ROTATION_KEY_BITS,
    clue: ClueSpec {
        n: 1024,
        q: 786_433,
        secret: SecretSpec::Blocks {
            block: 5,
            weight: 161..=167,
        },
        second: None,
        weight: 140,
        sigma: 0.4775,
        coordinates: 5,
        posting: Posting::Rounded(1 << 10),
    },
    sophomr: None,
    rounds: None,
    instantomr: Some(InstantSpec {
        digit_bits: 17,
        half: 4 * 24,
        verdict: [1, 2],
        offset_bits: 5,
        switch_sigma: 9.9,
        switch: Gadget { bits: 5, digits: 4 },
        group: 1 << 15,
        ..HYBRID_V4_INSTANT
    }),
};

/// A small set for tests, with the circuit and the clues of [`SOPHOMR_V5`].
const INSECURE_TINY_V4: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-v4",
    insecure: true,
    key_bits: 0.0,
    n: 1 << 11,
    small_n: 1 << 8,
    final_ring: FinalRingSpec {
        n: 1 << 6,
        ..SOPHOMR_V5.final_ring
    },
    weight: 128,
    clue: ClueSpec {
        n: 64,
        secret: SecretSpec::Ternary { weight: 16 },
        weight: 16,
        ..SOPHOMR_V5.clue
    },
    opening: OpeningSpec {
        n: 64,
        weight: 20,
        points: 16,
        baby: 4,
        ..SOPHOMR_V5.opening
    },
    ..SOPHOMR_V5
};

/// Two rounds of the clues of [`INSECURE_TINY_V4`].
const INSECURE_TINY_ROUNDS: RoundsSpec = RoundsSpec {
    scan: ScanSpec {
        n: 256,
        ..ROUNDS.scan
    },
    fetch: FetchSpec {
        n: 256,
        buckets: 16,
        page: 48,
        fetched: 14,
        final_n: 64,
        ..ROUNDS.fetch
    },
};

/// A small set for tests of both engines, with the clues of [`HYBRID_V4`].
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
    n: 512,
    half: 7,
    group: 1 << 12,
    ..HYBRID_V4_INSTANT
};

impl SetSpec {
    /// Returns every published set, the default first.
    pub fn published() -> Vec<Self> {
        vec![
            Self::of(SOPHOMR_V5, None, ROUNDS),
            Self::of(HYBRID_V4, Some(HYBRID_V4_INSTANT), ROUNDS),
            INSTANTOMR_V2,
            Self::of(INSECURE_TINY_V4, None, INSECURE_TINY_ROUNDS),
            Self::of(
                INSECURE_TINY_HYBRID_V4,
                Some(INSECURE_TINY_INSTANT_V4),
                INSECURE_TINY_ROUNDS,
            ),
        ]
    }
}
