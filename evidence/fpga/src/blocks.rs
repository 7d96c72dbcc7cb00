//! Cycles and resources of the RTL's blocks, and what they are at another size or parallelism.

use crate::FpgaError;
use crate::cost::{BUTTERFLY, Cost, Lanes, ROW_LANE, SUM_LANE, WEIGHING_LANE};
use crate::schedule::UNITS;
use serde::{Deserialize, Serialize};

/// Where the cycles of blocks come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Read from counters in simulated RTL, as all files are that do not say otherwise.
    #[default]
    Rtl,
    /// Computed.
    Formula,
}

/// A way of transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From coefficients.
    Forward,
    /// To coefficients.
    Inverse,
}

impl Way {
    /// Times that a core of B butterflies is busy with the `n / 2B` rows of one of several transforms: a forward one's last
    /// stage goes out while the next one's rows come in, an inverse one goes out while they do.
    fn passes(self, n: f64) -> f64 {
        match self {
            Self::Forward => n.log2(),
            Self::Inverse => n.log2() + 1.0,
        }
    }
}

/// A block as it was measured: `ops` operations one after another on rows of `n` residues, `lanes` residues at a time.
///
/// A transform has as many butterflies as pairs of lanes. Each operation has one row, but that of a basis conversion,
/// which makes `limbs` rows from `special` ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Coefficients of a row.
    pub n: u64,
    /// Rows of a ciphertext.
    pub limbs: u64,
    /// Special rows of a key.
    pub special: u64,
    /// Residues in a cycle.
    pub lanes: u64,
    /// Operations.
    pub ops: u64,
    /// Cycles of all operations, from the command to the last word written.
    pub cycles: u64,
    /// DSP slices at these lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsp: Option<u64>,
    /// Block RAMs of 36 Kb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bram36: Option<u64>,
    /// UltraRAMs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uram: Option<u64>,
    /// Look-up tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lut: Option<u64>,
    /// Flip-flops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ff: Option<u64>,
}

/// The blocks that a design is made of. Fields of the file that are not here are of wholes, which the model predicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    /// Where cycles come from.
    #[serde(default)]
    pub source: Source,
    /// A forward transform.
    pub ntt: Block,
    /// An inverse one.
    pub intt: Block,
    /// Addition of ciphertexts.
    pub ccadd: Block,
    /// Product of a plaintext with a ciphertext.
    pub pcmul: Block,
    /// One target row of a basis conversion.
    pub bconv: Block,
    /// The permutation of a row.
    pub automorphism: Block,
    /// Lanes that add products up, 16 to a reducer; none: assumed, without RTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_lane: Option<Lanes>,
    /// The same, 8 to a reducer: for sums of 8 to 15 products.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_lane_8: Option<Lanes>,
    /// A basis conversion on lanes of sums, with what weighs its sources; none: put together from both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bconv_sums: Option<Block>,
    /// A whole engine: one core, one unit of conversions and one of rows, and what leads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rot: Option<Cost>,
}

/// Products of each sum where 16 lanes share a reducer.
const SUMMED_BY_ONE: usize = 16;

/// Lanes of a conversion that share one that weighs sources, and so the cycles that each source of a row takes.
const LANES_OF_WEIGHING: usize = 12;

/// Cycles from the last source of a row to its quotient, when the row is weighted beside lanes of sums.
const QUOTIENT: usize = 30;

/// Cycles of a row of a conversion on lanes of sums. Sources are weighted one row ahead and no more, so that two rows take
/// no less than the products of one, the weighing of another and its quotient: `conversion_on_sums` of `hw/tb/formulas.h`.
fn sums_slots(products: usize, weighing: usize) -> usize {
    let waiting = (products + weighing + QUOTIENT).div_ceil(2);
    products.max(weighing).max(waiting)
}

/// BRAM36 of a transform of 65,536 points by 64 butterflies: two memories of 128 banks, 108 for twiddles.
const NTT_BRAM36: u64 = 364;

impl Blocks {
    /// The blocks of `hw/`.
    ///
    /// Errors: `Cycles`, `Block`.
    pub fn of_repository() -> Result<Self, FpgaError> {
        Self::parse(include_str!("cycles.json"))
    }

    /// Reads what `hw/model/cycles.json` holds.
    ///
    /// Errors: `Cycles`; `Block` for one that is quicker than its lanes allow, or takes more than four times as long.
    pub fn parse(json: &str) -> Result<Self, FpgaError> {
        let blocks: Self = serde_json::from_str(json)?;
        for (name, block, ideal) in blocks.each() {
            block.check(name, ideal)?;
        }
        Ok(blocks)
    }

    /// Blocks at 65,536 points by the formulas `(n / 2B + 15) log n + n / 2B` of a transform by B butterflies with its row
    /// brought in, `n / 2B` more where it is brought out, and words over lanes for all others.
    #[must_use]
    pub fn formula() -> Self {
        let (n, lanes) = (1 << 16, 128);
        let rows = n / lanes;
        let block = |cycles: u64, lane: Cost| Block {
            n,
            limbs: 24,
            special: 12,
            lanes,
            ops: 1,
            cycles,
            dsp: Some((lanes as f64 * lane.dsp).round() as u64),
            bram36: None,
            uram: None,
            lut: Some((lanes as f64 * lane.lut).round() as u64),
            ff: Some((lanes as f64 * lane.ff).round() as u64),
        };
        let ntt = Block {
            bram36: Some(NTT_BRAM36),
            ..block((rows + 15) * 16 + rows, BUTTERFLY.times(0.5))
        };
        let intt = Block {
            cycles: ntt.cycles + rows,
            ..ntt
        };
        Self {
            source: Source::Formula,
            ntt,
            intt,
            ccadd: block(rows, Cost::default()),
            pcmul: block(rows, ROW_LANE),
            bconv: block(rows * (12 + 24 * 13), WEIGHING_LANE),
            automorphism: block(rows, Cost::default()),
            sum_lane: None,
            sum_lane_8: None,
            bconv_sums: None,
            rot: None,
        }
    }

    /// Each block with its name and the fewest cycles that its lanes allow for an operation.
    fn each(&self) -> [(&'static str, &Block, f64); 6] {
        [
            ("ntt", &self.ntt, self.ntt.transform_ideal(Way::Forward)),
            ("intt", &self.intt, self.intt.transform_ideal(Way::Inverse)),
            ("ccadd", &self.ccadd, self.ccadd.row_ideal()),
            ("pcmul", &self.pcmul, self.pcmul.row_ideal()),
            ("bconv", &self.bconv, self.bconv.conversion_ideal(true)),
            (
                "automorphism",
                &self.automorphism,
                self.automorphism.row_ideal(),
            ),
        ]
    }

    /// Cycles that one of several transforms of `n` points holds B butterflies: `(n / 2B) log n + f log n`, `n / 2B` more
    /// for an inverse one, with the fill f of each stage as measured.
    #[must_use]
    pub fn transform_cycles(&self, n: usize, butterflies: usize, way: Way) -> f64 {
        let block = match way {
            Way::Forward => &self.ntt,
            Way::Inverse => &self.intt,
        };
        let fill = block.excess(block.transform_ideal(way)) / (block.n as f64).log2();
        let n = n as f64;
        n / (2.0 * butterflies as f64) * way.passes(n) + fill * n.log2()
    }

    /// Cycles from when a core takes the next row to when the last of its results is out.
    #[must_use]
    pub fn transform_tail(&self, n: usize, butterflies: usize) -> f64 {
        n as f64 / (2.0 * butterflies as f64)
    }

    /// Cycles of a basis conversion: a product of each coefficient for every source and the quotient with each target, so
    /// many in a cycle. Each product reduced, sources are weighted by the same lanes; where sums are (`summed`), beside
    /// them, in as many cycles as lanes share what weighs.
    #[must_use]
    pub fn conversion_cycles(
        &self,
        n: usize,
        [sources, targets]: [usize; 2],
        lanes: usize,
        summed: bool,
    ) -> f64 {
        let (products, ideal) = (targets * (sources + 1), Block::conversion_ideal);
        let (slots, fill) = match (summed, self.bconv_sums) {
            (false, _) => (
                products + sources,
                self.bconv.excess(ideal(&self.bconv, true)),
            ),
            (true, block) => (
                sums_slots(products, sources * LANES_OF_WEIGHING),
                block.map_or(0.0, |block| block.excess(ideal(&block, false))),
            ),
        };
        slots as f64 * n as f64 / lanes as f64 + fill
    }

    /// Cycles of `rows` rows of products, so many residues a cycle.
    #[must_use]
    pub fn product_cycles(&self, n: usize, rows: usize, lanes: usize) -> f64 {
        rows as f64 * n as f64 / lanes as f64 + self.pcmul.excess(self.pcmul.row_ideal())
    }

    /// Cycles of adding a row.
    #[must_use]
    pub fn addition_cycles(&self, n: usize, lanes: usize) -> f64 {
        n as f64 / lanes as f64 + self.ccadd.excess(self.ccadd.row_ideal())
    }

    /// Cycles by which the permutation of a row is behind its words.
    #[must_use]
    pub fn permutation_fill(&self) -> f64 {
        self.automorphism.excess(self.automorphism.row_ideal())
    }

    /// What a butterfly takes, a product in a basis conversion, a lane of key products, and a lane of the sums over
    /// `block` baby steps. `summed`: conversions and sums add products up before they reduce.
    #[must_use]
    pub fn each_cost(&self, summed: bool, block: usize) -> [Cost; UNITS] {
        // A lane is half a butterfly.
        let butterfly = self.ntt.lane(BUTTERFLY.times(0.5)).times(2.0);
        let product = self.pcmul.lane(ROW_LANE);
        let weighing = self.bconv.lane(WEIGHING_LANE);
        let [few, many] = [self.sum_lane_8, self.sum_lane]
            .map(|lanes| lanes.and_then(Lanes::each).unwrap_or(SUM_LANE));
        let sum = if block < SUMMED_BY_ONE { few } else { many };
        // Of 12 sources and a quotient.
        let shared = few.plus(weighing.times(1.0 / LANES_OF_WEIGHING as f64));
        let conversion = self.bconv_sums.map_or(shared, |block| block.lane(shared));
        if summed {
            [butterfly, conversion, product, sum]
        } else {
            [butterfly, weighing, product, product]
        }
    }

    /// What leads the units: of the measured engine what its units do not take.
    #[must_use]
    pub fn leading(&self) -> Cost {
        let units = [&self.ntt, &self.pcmul, &self.bconv];
        let units = units.map(|block| Cost {
            bram36: block.bram36.unwrap_or(0) as f64,
            ..block.lane(Cost::default()).times(block.lanes as f64)
        });
        self.rot.map_or(Cost::default(), |whole| {
            let rest = units
                .into_iter()
                .fold(whole, |rest, unit| rest.plus(unit.times(-1.0)));
            Cost {
                dsp: rest.dsp.max(0.0),
                bram36: rest.bram36.max(0.0),
                lut: rest.lut.max(0.0),
                ff: rest.ff.max(0.0),
            }
        })
    }

    /// BRAM36 of a transform of `n` points, its banks in block RAM, and of one with its banks in UltraRAM with their
    /// number.
    ///
    /// A core has two memories of `2 B` banks. What a measured core has beside the banks is twiddles.
    #[must_use]
    pub fn transform_memory(&self, n: usize, butterflies: usize) -> TransformMemory {
        let banks = |n: u64, lanes: u64, depth: u64| 4 * lanes * (n / (2 * lanes)).div_ceil(depth);
        let (block, n, lanes) = (&self.ntt, n as u64, butterflies as u64);
        let measured = block.bram36.unwrap_or(NTT_BRAM36);
        let twiddles = measured.saturating_sub(banks(block.n, block.lanes / 2, 512));
        TransformMemory {
            bram36: banks(n, lanes, 512) + twiddles,
            twiddles_bram36: twiddles,
            uram: banks(n, lanes, 4096),
        }
    }
}

/// Memories of a transform's core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransformMemory {
    /// BRAM36 with all of it there.
    pub bram36: u64,
    /// BRAM36 with its banks in UltraRAM.
    pub twiddles_bram36: u64,
    /// UltraRAMs of its banks.
    pub uram: u64,
}

impl Block {
    /// What a lane takes; `otherwise` what the block does not say. Memories are not counted by lanes.
    fn lane(&self, otherwise: Cost) -> Cost {
        let of = |found: Option<u64>, otherwise: f64| {
            found.map_or(otherwise, |found| found as f64 / self.lanes as f64)
        };
        Cost {
            dsp: of(self.dsp, otherwise.dsp),
            bram36: 0.0,
            lut: of(self.lut, otherwise.lut),
            ff: of(self.ff, otherwise.ff),
        }
    }

    /// Residues of a row over those of a cycle.
    fn row_ideal(&self) -> f64 {
        self.n as f64 / self.lanes as f64
    }

    /// Butterflies of one of several over those of a cycle, and its part of the time when the first row comes in or the
    /// last one goes out, with no other beside it.
    fn transform_ideal(&self, way: Way) -> f64 {
        self.row_ideal() * (way.passes(self.n as f64) + 1.0 / self.ops as f64)
    }

    /// Products of a basis conversion over those of a cycle. `weigh`: those of sources with their weights are among them.
    fn conversion_ideal(&self, weigh: bool) -> f64 {
        let products = self.limbs * (self.special + 1) + if weigh { self.special } else { 0 };
        products as f64 * self.row_ideal()
    }

    /// Cycles of an operation beyond the fewest: fill and drain.
    fn excess(&self, ideal: f64) -> f64 {
        self.cycles as f64 / self.ops as f64 - ideal
    }

    fn check(&self, block: &'static str, ideal: f64) -> Result<(), FpgaError> {
        let refuse = |expected, found| {
            Err(FpgaError::Block {
                block,
                expected,
                found,
            })
        };
        let cycles = self.cycles as f64 / self.ops.max(1) as f64;
        match self {
            _ if !self.n.is_power_of_two() || self.n < 2 => {
                refuse("n a power of two from 2 on", self.n)
            }
            _ if self.ops == 0 => refuse("1 operation or more", 0),
            _ if self.lanes < 2 || self.lanes > self.n => refuse("lanes from 2 to n", self.lanes),
            _ if cycles < ideal => refuse("no fewer cycles than its lanes allow", self.cycles),
            _ if cycles > 4.0 * ideal + 1024.0 => {
                refuse("at most four times the fewest cycles", self.cycles)
            }
            _ => Ok(()),
        }
    }
}
