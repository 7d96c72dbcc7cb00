//! The table of all sets. A published row never changes.

use super::PaperScheme::{DosPerfomr, Omd1p, Omr1p, Omr2p, Perfomr1, Perfomr2};
use super::{CircuitSpec, PaperClue, PaperScheme, PaperSet, sophomr, tiny_sophomr};
use crate::clear::LweKind::{Integers, Lwemongrass, Subset};
use crate::clear::{LweKind, LweSpec, Spec};
use omr_protocol::params::{ClueSpec, Posting, SecretSpec};

/// A clue by name.
#[derive(Clone, Copy)]
enum Clue {
    /// SophOMR's clue.
    Sophomr,
    /// SophOMR's clue in tiny dimensions.
    TinySophomr,
    /// PerfOMR1's clue as published.
    Perfomr1,
    /// An LWE clue.
    Lwe(Lwe),
}

/// The name, dimension, modulus, width of the errors, number of coordinates, range of the window, and
/// construction.
type Lwe = (&'static str, usize, u32, f64, usize, u32, LweKind);

#[rustfmt::skip]
mod clues {
    use super::*;

    pub(super) const PVW_AS_PUBLISHED: Clue = Clue::Lwe(("pvw-as-published", 450, 65_537, 1.3, 4, 850, Subset { rows: 16_000 }));
    pub(super) const PVW: Clue = Clue::Lwe(("pvw-v1", 960, 786_433, 0.5, 2, 284, Subset { rows: 19_104 }));
    pub(super) const LWEMONGRASS_AS_PUBLISHED: Clue = Clue::Lwe(("lwemongrass-as-published", 936, 65_537, 0.5, 3, 79, Lwemongrass { rows: 760, large: 1 }));
    pub(super) const LWEMONGRASS: Clue = Clue::Lwe(("lwemongrass-v1", 1024, 786_433, 0.5, 2, 99, Lwemongrass { rows: 944, large: 1 }));
    pub(super) const INTEGERS_AS_PUBLISHED: Clue = Clue::Lwe(("perfomr2-as-published", 512, 400, 0.5, 6, 19, Integers { weight: 32 }));
    /// The weight is 64, though 36 has 131 bits by the estimates: these leave out meet-in-the-middle attacks on
    /// the secret alone, which profit from few non-zero coefficients.
    pub(super) const INTEGERS: Clue = Clue::Lwe(("perfomr2-v1", 1024, 408, 0.5, 8, 35, Integers { weight: 64 }));

    // Tiny sets: their dimensions are no powers of two where the full ones are none; their windows are the full
    // ones.
    pub(super) const TINY_PVW: Clue = Clue::Lwe(("insecure-tiny-pvw-v1", 60, 786_433, 0.5, 2, 284, Subset { rows: 1504 }));
    pub(super) const TINY_LWEMONGRASS: Clue = Clue::Lwe(("insecure-tiny-lwemongrass-v1", 64, 786_433, 0.5, 2, 99, Lwemongrass { rows: 944, large: 1 }));
    pub(super) const TINY_INTEGERS: Clue = Clue::Lwe(("insecure-tiny-perfomr2-v1", 64, 408, 0.5, 8, 35, Integers { weight: 8 }));
}

/// The name, scheme, clue, the clue's bits of security, and messages of a bundle; then of the circuit the baby
/// steps, powers of a block, digits of rotation keys and of the relinearisation key, and bits of security of
/// the detection key.
type Row = (&'static str, PaperScheme, Clue, f64, u32, [usize; 4], f64);

/// OMR's schemes decide by one polynomial: a window of 851 squares and a power would need 13 levels more.
#[rustfmt::skip]
const AS_PUBLISHED: [Row; 6] = [
    ("omd1p-as-published",       Omd1p,      clues::PVW_AS_PUBLISHED,         92.6,  1, [32, 128, 7, 8], 129.5),
    ("omr1p-as-published",       Omr1p,      clues::PVW_AS_PUBLISHED,         92.6,  1, [32, 128, 7, 8], 129.5),
    ("omr2p-as-published",       Omr2p,      clues::PVW_AS_PUBLISHED,         92.6,  1, [32, 128, 7, 8], 129.5),
    ("perfomr1-as-published",    Perfomr1,   Clue::Perfomr1,                  92.7,  8, [64,   8, 7, 8], 112.3),
    ("perfomr2-as-published",    Perfomr2,   clues::INTEGERS_AS_PUBLISHED,    91.0,  2, [64, 128, 7, 8], 135.0),
    ("dos-perfomr-as-published", DosPerfomr, clues::LWEMONGRASS_AS_PUBLISHED, 126.1, 8, [32,  16, 7, 8], 99.9),
];

/// Sets with LWE vectors must rotate two secrets, so they have fewer baby steps for each.
#[rustfmt::skip]
const REPAIRED: [Row; 6] = [
    ("omd1p-v1",       Omd1p,      clues::PVW,                  133.8, 1, [ 32,  64, 3, 3], 132.2),
    ("omr1p-v1",       Omr1p,      clues::PVW,                  133.8, 1, [ 32,  64, 3, 3], 132.2),
    ("omr2p-v1",       Omr2p,      clues::PVW,                  133.8, 1, [ 32,  64, 3, 3], 132.2),
    ("perfomr1-v2",    Perfomr1,   Clue::Sophomr, 128.6, 2, [ 64,   8, 2, 2], 128.8),
    ("perfomr2-v1",    Perfomr2,   clues::INTEGERS,             168.1, 2, [128, 128, 2, 3], 136.0),
    ("dos-perfomr-v1", DosPerfomr, clues::LWEMONGRASS,          130.3, 2, [ 32,  16, 3, 3], 135.2),
];

#[rustfmt::skip]
const TINY: [Row; 6] = [
    ("insecure-tiny-omd1p-v1",       Omd1p,      clues::TINY_PVW,                   0.0, 1, [4, 64, 3, 3], 0.0),
    ("insecure-tiny-omr1p-v1",       Omr1p,      clues::TINY_PVW,                   0.0, 1, [4, 64, 3, 3], 0.0),
    ("insecure-tiny-omr2p-v1",       Omr2p,      clues::TINY_PVW,                   0.0, 1, [4, 64, 3, 3], 0.0),
    ("insecure-tiny-perfomr1-v1",    Perfomr1,   Clue::TinySophomr, 0.0, 2, [8,  8, 2, 2], 0.0),
    ("insecure-tiny-perfomr2-v1",    Perfomr2,   clues::TINY_INTEGERS,              0.0, 2, [8, 32, 2, 3], 0.0),
    ("insecure-tiny-dos-perfomr-v1", DosPerfomr, clues::TINY_LWEMONGRASS,           0.0, 2, [4, 16, 3, 3], 0.0),
];

pub(super) fn all() -> Vec<PaperSet> {
    let published = AS_PUBLISHED.into_iter().map(|row| PaperSet {
        published: true,
        ..set(row, 65_537, 1 << 15)
    });
    let repaired = REPAIRED.into_iter().map(|row| set(row, 786_433, 1 << 16));
    published.chain(repaired).collect()
}

pub(super) fn tiny() -> Vec<PaperSet> {
    let base = tiny_sophomr();
    let rows = TINY.into_iter();
    rows.map(|row| set(row, base.rings.p as u32, base.rings.n))
        .collect()
}

fn set(row: Row, p: u32, slots: usize) -> PaperSet {
    let (name, scheme, clue, clue_bits, bundle, circuit, key_bits) = row;
    let [baby, block, rotation_digits, product_digits] = circuit;
    PaperSet {
        name,
        scheme,
        insecure: clue_bits < 128.0,
        published: false,
        clue_bits,
        clue: clue.specification(),
        p,
        slots,
        bundle,
        circuit: CircuitSpec {
            baby,
            block,
            rotation_digits,
            product_digits,
            key_bits,
        },
    }
}

impl Clue {
    fn specification(self) -> PaperClue {
        match self {
            Self::Sophomr => ring(sophomr()),
            Self::TinySophomr => ring(tiny_sophomr()),
            Self::Perfomr1 => PaperClue::Ring {
                name: "perfomr1-as-published",
                spec: ClueSpec {
                    n: 1024,
                    q: 65_537,
                    secret: SecretSpec::Ternary { weight: 32 },
                    second: None,
                    weight: 32,
                    sigma: 0.5,
                    coordinates: 2,
                    posting: Posting::Whole,
                },
                range: 18,
            },
            Self::Lwe((name, n, q, sigma, coordinates, range, kind)) => PaperClue::Lwe {
                name,
                spec: LweSpec {
                    n,
                    q,
                    sigma,
                    coordinates,
                    range,
                    kind,
                },
            },
        }
    }
}

fn ring(spec: Spec) -> PaperClue {
    PaperClue::Ring {
        name: spec.rings.name,
        range: spec.rings.range as u32,
        spec: spec.clue,
    }
}
