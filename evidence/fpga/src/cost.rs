//! What parts of a design take in the fabric of a card.

use serde::{Deserialize, Serialize};

/// Lanes with what they share, of which cycles are nothing but those of their products.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lanes {
    /// How many.
    pub lanes: u64,
    /// DSP slices of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsp: Option<f64>,
    /// Look-up tables of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lut: Option<f64>,
    /// Flip-flops of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ff: Option<f64>,
}

impl Lanes {
    /// What one takes, if that was measured.
    pub(crate) fn each(self) -> Option<Cost> {
        let all = cost(self.dsp?, self.lut?, self.ff?);
        Some(all.times(1.0 / self.lanes.max(1) as f64))
    }
}

/// What one of something takes in the fabric of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// DSP slices.
    pub dsp: f64,
    /// Block RAMs of 36 Kb.
    #[serde(default)]
    pub bram36: f64,
    /// Look-up tables.
    pub lut: f64,
    /// Flip-flops.
    pub ff: f64,
}

impl Cost {
    /// So many of it.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self {
            dsp: count * self.dsp,
            bram36: count * self.bram36,
            lut: count * self.lut,
            ff: count * self.ff,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            dsp: self.dsp + other.dsp,
            bram36: self.bram36 + other.bram36,
            lut: self.lut + other.lut,
            ff: self.ff + other.ff,
        }
    }
}

const fn cost(dsp: f64, lut: f64, ff: f64) -> Cost {
    let bram36 = 0.0;
    Cost {
        dsp,
        bram36,
        lut,
        ff,
    }
}

/// A butterfly with its part of a core, where no block says: see hw/README.md. Its multiplier of 50 bits has a result a
/// cycle, with 6 DSPs for the product, in pieces of 26 and 17 bits, 6 for its reduction by three words of 17 bits.
pub(crate) const BUTTERFLY: Cost = cost(12.0, 2101.0, 2417.0);

/// A lane that multiplies, adds and permutes, where no block says.
pub(crate) const ROW_LANE: Cost = cost(12.0, 1616.0, 2151.0);

/// A lane that weighs sources too and sums their quotients, where no block says: 6 DSPs more.
pub(crate) const WEIGHING_LANE: Cost = cost(18.0, 1354.0, 2260.0);

/// A lane that adds products up before one reduction, assumed where no block says: 6 DSPs for a product, 6 more that
/// twelve lanes share, and for each DSP as many look-up tables and flip-flops as the measured multiplier has.
pub(crate) const SUM_LANE: Cost = cost(6.5, 6.5 * 626.0 / 12.0, 6.5 * 1458.0 / 12.0);
