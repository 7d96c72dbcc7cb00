//! The sections of a file with a parameter set. The definitions mirror the specifications, whose documentation describes
//! each field.

use omr_opening::OpeningSpec;
use omr_protocol::instantomr::InstantSpec;
use omr_protocol::params::{ClueSpec, DEFAULT, Posting, SecondSecret, SecretSpec, SetSpec};
use omr_protocol::rounds::RoundsSpec;
use omr_protocol::sophomr::{FinalRingSpec, ParamsSpec};
use omr_ring::Gadget;
use omr_rounds::fetch::FetchSpec;
use omr_rounds::scan::{COORDINATES, ScanSpec};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The parts of a set.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sections {
    #[serde(with = "ClueDef")]
    clue: ClueSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    sophomr: Option<Sophomr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instantomr: Option<Instantomr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<Rounds>,
}

#[derive(Serialize, Deserialize)]
struct Sophomr(#[serde(with = "SophomrDef")] ParamsSpec);

#[derive(Serialize, Deserialize)]
struct Instantomr(#[serde(with = "InstantomrDef")] InstantSpec);

#[derive(Serialize, Deserialize)]
struct Rounds(#[serde(with = "RoundsDef")] RoundsSpec);

impl Sections {
    /// Returns the parts of a set.
    pub(super) fn of(set: &SetSpec) -> Self {
        Self {
            clue: set.clue.clone(),
            sophomr: set.sophomr.clone().map(Sophomr),
            instantomr: set.instantomr.clone().map(Instantomr),
            rounds: set.rounds.clone().map(Rounds),
        }
    }

    /// Returns a set with these parts. Its keys have the security of those of `base`.
    pub(super) fn into_set(self, name: &'static str, base: &SetSpec) -> SetSpec {
        let (insecure, key_bits) = (base.insecure, base.key_bits);
        let clue = self.clue;
        SetSpec {
            name,
            insecure,
            key_bits,
            sophomr: self.sophomr.map(|part| ParamsSpec {
                name,
                insecure,
                key_bits,
                clue: clue.clone(),
                ..part.0
            }),
            clue,
            instantomr: self.instantomr.map(|part| part.0),
            rounds: self.rounds.map(|part| part.0),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SecretSpec", rename_all = "lowercase", deny_unknown_fields)]
enum SecretDef {
    Ternary {
        weight: usize,
    },
    Blocks {
        block: usize,
        weight: RangeInclusive<usize>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Posting", rename_all = "lowercase")]
enum PostingDef {
    Whole,
    Rounded(u64),
    Halved,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SecondSecret", deny_unknown_fields)]
struct SecondDef {
    #[serde(with = "SecretDef")]
    secret: SecretSpec,
    sigma: f64,
    coordinates: usize,
}

/// The second secret, which a set may lack.
mod second {
    use super::{SecondDef, SecondSecret};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Second(#[serde(with = "SecondDef")] SecondSecret);

    pub(super) fn serialize<S: Serializer>(
        second: &Option<SecondSecret>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        second.clone().map(Second).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<SecondSecret>, D::Error> {
        Ok(Option::<Second>::deserialize(from)?.map(|second| second.0))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ClueSpec", deny_unknown_fields)]
struct ClueDef {
    n: usize,
    q: u64,
    #[serde(with = "SecretDef")]
    secret: SecretSpec,
    weight: usize,
    sigma: f64,
    coordinates: usize,
    #[serde(with = "PostingDef")]
    posting: Posting,
    #[serde(with = "second", default, skip_serializing_if = "Option::is_none")]
    second: Option<SecondSecret>,
}

/// Returns any clues: the section of clues replaces them.
fn any_clue() -> ClueSpec {
    SetSpec::named(DEFAULT).expect("published").clue
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ParamsSpec", deny_unknown_fields)]
struct SophomrDef {
    #[serde(skip)]
    name: &'static str,
    #[serde(skip)]
    insecure: bool,
    #[serde(skip)]
    key_bits: f64,
    p: u64,
    n: usize,
    small_n: usize,
    weight: usize,
    embedding_bound: f64,
    #[serde(skip, default = "any_clue")]
    clue: ClueSpec,
    range: u64,
    block: usize,
    rotation_digits: usize,
    product_digits: usize,
    #[serde(with = "FinalRingDef")]
    final_ring: FinalRingSpec,
    #[serde(with = "OpeningDef")]
    opening: OpeningSpec,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "FinalRingSpec", deny_unknown_fields)]
struct FinalRingDef {
    n: usize,
    bodies: usize,
    modulus_bits: u32,
    digits: usize,
    digit_bits: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Gadget", deny_unknown_fields)]
struct GadgetDef {
    bits: u32,
    digits: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OpeningSpec", deny_unknown_fields)]
struct OpeningDef {
    n: usize,
    packing_rank: usize,
    packing_bits: u32,
    packing_sigma: f64,
    rank: usize,
    weight: usize,
    narrow_bits: f64,
    points: usize,
    baby: usize,
    #[serde(with = "GadgetDef")]
    gadget: Gadget,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "InstantSpec", deny_unknown_fields)]
struct InstantomrDef {
    n: usize,
    modulus_bits: u32,
    sigma: f64,
    digit_bits: u32,
    half: u32,
    verdict: [u32; 2],
    offset_bits: u32,
    switch_bits: u32,
    switch_sigma: f64,
    bodies: usize,
    group: u64,
    #[serde(with = "GadgetDef")]
    switch: Gadget,
    #[serde(with = "GadgetDef")]
    trace: Gadget,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RoundsSpec", deny_unknown_fields)]
struct RoundsDef {
    #[serde(with = "ScanDef")]
    scan: ScanSpec,
    #[serde(with = "FetchDef")]
    fetch: FetchSpec,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ScanSpec", deny_unknown_fields)]
struct ScanDef {
    n: usize,
    modulus_bits: u32,
    parts: usize,
    digits: usize,
    digit_bits: u32,
    body_bits: [u32; COORDINATES],
    mask_bits: [u32; COORDINATES],
    limits: [f64; COORDINATES],
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "FetchSpec", deny_unknown_fields)]
struct FetchDef {
    p: u64,
    n: usize,
    buckets: usize,
    choices: usize,
    page: usize,
    fetched: usize,
    sum_bits: u32,
    level_bits: u32,
    special_bits: u32,
    final_n: usize,
    final_bits: u32,
    digits: usize,
    digit_bits: u32,
    parts: usize,
    mask_bits: u32,
    body_bits: [u32; 2],
    short: usize,
}
