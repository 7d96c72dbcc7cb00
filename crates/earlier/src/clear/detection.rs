//! What the sets of the earlier schemes detect with: the rings and chain of `sophomr-v3`, longer or shorter.

use super::{EarlierClue, EarlierScheme, EarlierSet};
use crate::params::{ClueSpec, INSECURE_TINY_V2, SOPHOMR_V3, SecretSpec};
use crate::sophomr::{ParamsSpec, Posted};

/// The rings of published sets: their dimension and modulus, our chain.
const AS_PUBLISHED: ParamsSpec = ParamsSpec {
    insecure: true,
    p: 65_537,
    n: 1 << 15,
    rotation_digits: 7,
    product_digits: 8,
    ..SOPHOMR_V3
};

/// The ring modulo `p` whose clues LWE clues are made to. Nobody samples there: secret and randomness are those of LWE.
const fn ring(n: usize, p: u64, coordinates: usize) -> ClueSpec {
    ClueSpec {
        n,
        q: p,
        secret: SecretSpec::Ternary { weight: 0 },
        weight: 0,
        sigma: 0.5,
        coordinates,
        rounded: p,
    }
}

impl EarlierSet {
    /// What this set detects with.
    ///
    /// Published sets have their authors' clue, codes, ring dimension and plaintext modulus, and our circuit, whose chain
    /// is longer than theirs: its bits of security are lower (`reference/security.py`).
    pub fn detection(&self) -> ParamsSpec {
        let tiny = self.slots == INSECURE_TINY_V2.n;
        let base = match (self.published, tiny) {
            (true, _) => AS_PUBLISHED,
            (_, true) => INSECURE_TINY_V2,
            (_, false) => ParamsSpec {
                old: self.insecure,
                ..SOPHOMR_V3
            },
        };
        let spec = match &self.clue {
            EarlierClue::Ring { name, spec, range } => ParamsSpec {
                clue: spec.clone(),
                posted: Posted::Of(name),
                range: (*range).into(),
                ..base
            },
            EarlierClue::Lwe { name, spec } => ParamsSpec {
                clue: ring(spec.n.next_power_of_two(), base.p, spec.coordinates),
                posted: Posted::Lwe { name, spec: *spec },
                range: spec.range.into(),
                rotation_digits: base.rotation_digits.max(3),
                product_digits: base.product_digits.max(3),
                ..base
            },
        };
        let spec = match self.published {
            true => self.as_published_circuit(spec),
            false => self.repaired_circuit(spec, tiny),
        };
        ParamsSpec {
            name: self.name,
            expansion: self.scheme != EarlierScheme::Omd1p,
            key_bits: if tiny { 0.0 } else { spec.key_bits },
            ..spec
        }
    }

    fn repaired_circuit(&self, spec: ParamsSpec, tiny: bool) -> ParamsSpec {
        match self.scheme {
            EarlierScheme::Omd1p | EarlierScheme::Omr1p | EarlierScheme::Omr2p => ParamsSpec {
                // Two secrets to turn: fewer steps of each.
                baby: if tiny { 4 } else { 32 },
                block: 64,
                key_bits: 129.7,
                ..spec
            },
            EarlierScheme::DosPerfomr => ParamsSpec {
                baby: if tiny { 4 } else { 32 },
                block: 16,
                key_bits: 132.6,
                ..spec
            },
            EarlierScheme::Perfomr2 => ParamsSpec {
                baby: if tiny { 8 } else { 128 },
                block: if tiny { 32 } else { 128 },
                rotation_digits: 2,
                key_bits: 136.0,
                ..spec
            },
            EarlierScheme::Perfomr1 => spec,
        }
    }

    fn as_published_circuit(&self, spec: ParamsSpec) -> ParamsSpec {
        let (whole, baby, block, key_bits) = match self.scheme {
            // A window of 851 squares and a power take 13 levels more.
            EarlierScheme::Omd1p | EarlierScheme::Omr1p | EarlierScheme::Omr2p => {
                (true, 32, 128, 121.2)
            }
            EarlierScheme::Perfomr1 => (false, 64, 8, 108.7),
            EarlierScheme::Perfomr2 => (false, 64, 128, 129.7),
            EarlierScheme::DosPerfomr => (false, 32, 16, 99.3),
        };
        ParamsSpec {
            whole,
            baby,
            block,
            key_bits,
            ..spec
        }
    }

    /// What the set of this name detects with, if it is one of these.
    pub(crate) fn detection_named(name: &str) -> Option<ParamsSpec> {
        let mut sets = Self::all().into_iter().chain(Self::tiny());
        sets.find(|set| set.name == name).map(|set| set.detection())
    }

    /// Messages of a batch and plaintext modulus of the tiny sets are those of `insecure-tiny-v2`.
    pub(super) const fn tiny_of(
        name: &'static str,
        scheme: EarlierScheme,
        clue: EarlierClue,
        bundle: u32,
    ) -> Self {
        Self {
            name,
            scheme,
            insecure: true,
            published: false,
            clue_bits: 0.0,
            clue,
            p: INSECURE_TINY_V2.p as u32,
            slots: INSECURE_TINY_V2.n,
            bundle,
        }
    }
}
