//! Resources that parts of a design use in the fabric of a card.

use serde::{Deserialize, Serialize};

/// Lanes and the logic that they share. Their cycles are those of their products alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lanes {
    /// The number of lanes.
    pub lanes: u64,
    /// DSP slices of all lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsp: Option<f64>,
    /// Look-up tables of all lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lut: Option<f64>,
    /// Flip-flops of all lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ff: Option<f64>,
}

impl Lanes {
    /// Returns the cost of one lane, if it was measured.
    pub(crate) fn each(self) -> Option<Cost> {
        let all = cost(self.dsp?, self.lut?, self.ff?);
        Some(all.times(1.0 / self.lanes.max(1) as f64))
    }
}

/// The cost of a part in the fabric of a card.
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
    /// Returns the cost of `count` such parts.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self {
            dsp: count * self.dsp,
            bram36: count * self.bram36,
            lut: count * self.lut,
            ff: count * self.ff,
        }
    }

    /// Returns the sum of both costs.
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

/// A butterfly with its share of a core, if no block states it: see hw/README.md. Its multiplier of 50 bits has
/// one result in a cycle. It uses 6 DSPs for the product, in pieces of 26 and 17 bits, and 6 for its reduction
/// by three words of 17 bits.
pub(crate) const BUTTERFLY: Cost = cost(12.0, 2101.0, 2417.0);

/// A lane that multiplies, adds and permutes, if no block states it.
pub(crate) const ROW_LANE: Cost = cost(12.0, 1616.0, 2151.0);

/// A lane that also weights sources and sums their quotients, if no block states it: 6 DSPs more.
pub(crate) const WEIGHING_LANE: Cost = cost(18.0, 1354.0, 2260.0);

/// A lane that adds up products before one reduction, assumed if no block states it: 6 DSPs for a product, 6
/// more shared by twelve lanes, and for each DSP as many look-up tables and flip-flops as the measured
/// multiplier has.
pub(crate) const SUM_LANE: Cost = cost(6.5, 6.5 * 626.0 / 12.0, 6.5 * 1458.0 / 12.0);
