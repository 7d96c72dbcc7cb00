//! Cycles and resources of the RTL's blocks, and their extrapolation to another size or parallelism.

use crate::FpgaError;
use crate::cost::{BUTTERFLY, Cost, Lanes, ROW_LANE, SUM_LANE, WEIGHING_LANE};
use crate::schedule::UNITS;
use serde::{Deserialize, Serialize};

/// The source of the blocks' cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Counters in simulated RTL; the default of files that state no source.
    #[default]
    Rtl,
    /// A formula.
    Formula,
}

/// The direction of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From coefficients to evaluations.
    Forward,
    /// From evaluations to coefficients.
    Inverse,
}

impl Way {
    /// Returns how often a core of B butterflies processes the `n / 2B` rows of a transform in a sequence of
    /// transforms. A forward transform's last stage leaves while the next one's rows enter; an inverse
    /// transform's results leave while they do.
    fn passes(self, n: f64) -> f64 {
        match self {
            Self::Forward => n.log2(),
            Self::Inverse => n.log2() + 1.0,
        }
    }
}

/// The measurement of a block: `ops` operations in sequence on rows of `n` residues, `lanes` residues at a
/// time.
///
/// A transform has as many butterflies as pairs of lanes. Each operation processes one row, except a basis
/// conversion, which computes `limbs` rows from `special` rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The number of coefficients in a row.
    pub n: u64,
    /// The number of rows in a ciphertext.
    pub limbs: u64,
    /// The number of special rows of a key.
    pub special: u64,
    /// The number of residues processed in one cycle.
    pub lanes: u64,
    /// The number of operations.
    pub ops: u64,
    /// The cycles of all operations, from the command to the last word written.
    pub cycles: u64,
    /// DSP slices for these lanes.
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

/// The blocks of a design. The file has other fields for measurements of whole transforms, which the model
/// predicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    /// The source of the cycles.
    #[serde(default)]
    pub source: Source,
    /// A forward transform.
    pub ntt: Block,
    /// An inverse transform.
    pub intt: Block,
    /// The addition of ciphertexts.
    pub ccadd: Block,
    /// The product of a plaintext with a ciphertext.
    pub pcmul: Block,
    /// The basis conversion of all target rows.
    pub bconv: Block,
    /// The permutation of a row.
    pub automorphism: Block,
    /// Lanes that add up products, 16 to a reducer; `None`: assumed without RTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_lane: Option<Lanes>,
    /// Lanes that add up products, 8 to a reducer, for sums of 8 to 15 products; `None`: assumed without RTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_lane_8: Option<Lanes>,
    /// A basis conversion on lanes of sums, with the lanes that weight its sources; `None`: composed of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bconv_sums: Option<Block>,
    /// A whole engine: one core, one unit of conversions, one unit of rows, and their control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rot: Option<Cost>,
}

/// The number of products in each sum if 16 lanes share a reducer.
const SUMMED_BY_ONE: usize = 16;

/// The number of lanes of a conversion that share one lane for weighting sources, and so the cycles that each
/// source of a row takes.
const LANES_OF_WEIGHING: usize = 12;

/// The cycles from the last source of a row to its quotient, if the row is weighted beside lanes of sums.
const QUOTIENT: usize = 30;

/// Returns the cycles of a row of a conversion on lanes of sums. Sources are weighted only one row ahead, so
/// two rows take at least the products of one row, the weighting of another, and its quotient:
/// `conversion_on_sums` of `hw/tb/formulas.h`.
fn sums_slots(products: usize, weighing: usize) -> usize {
    let waiting = (products + weighing + QUOTIENT).div_ceil(2);
    products.max(weighing).max(waiting)
}

/// BRAM36 of a transform of 65,536 points by 64 butterflies: two memories of 128 banks, and 108 for twiddles.
const NTT_BRAM36: u64 = 364;

impl Blocks {
    /// Returns the blocks of `hw/`.
    ///
    /// Errors: `Cycles`, `Block`.
    pub fn of_repository() -> Result<Self, FpgaError> {
        Self::parse(include_str!("cycles.json"))
    }

    /// Parses the content of `hw/model/cycles.json`.
    ///
    /// Errors: `Cycles`; `Block` for a block that is faster than its lanes allow, or takes more than four times
    /// as long.
    pub fn parse(json: &str) -> Result<Self, FpgaError> {
        let blocks: Self = serde_json::from_str(json)?;
        for (name, block, ideal) in blocks.each() {
            block.check(name, ideal)?;
        }
        Ok(blocks)
    }

    /// Returns blocks for 65,536 points by formulas: a transform by B butterflies takes
    /// `(n / 2B + 15) log n + n / 2B` cycles including the input of its row, and `n / 2B` more with the output;
    /// all other blocks take their words divided by the lanes.
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

    /// Returns each block with its name and the fewest cycles that its lanes allow for an operation.
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

    /// Returns the cycles that one transform of `n` points in a sequence occupies B butterflies:
    /// `(n / 2B) log n + f log n`, and `n / 2B` more for an inverse transform. The fill f of each stage is
    /// measured.
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

    /// Returns the cycles from the time a core accepts the next row until the last of its results is out.
    #[must_use]
    pub fn transform_tail(&self, n: usize, butterflies: usize) -> f64 {
        n as f64 / (2.0 * butterflies as f64)
    }

    /// Returns the cycles of a basis conversion: for each coefficient, one product for every pair of source and
    /// target and one quotient for each target, distributed over the lanes. If each product is reduced, the
    /// same lanes weight the sources. If sums are reduced (`summed`), other lanes weight them at the same time;
    /// each of these is shared by `LANES_OF_WEIGHING` lanes and takes as many cycles for each source.
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

    /// Returns the cycles of `rows` rows of products, `lanes` residues in a cycle.
    #[must_use]
    pub fn product_cycles(&self, n: usize, rows: usize, lanes: usize) -> f64 {
        rows as f64 * n as f64 / lanes as f64 + self.pcmul.excess(self.pcmul.row_ideal())
    }

    /// Returns the cycles of the addition of a row.
    #[must_use]
    pub fn addition_cycles(&self, n: usize, lanes: usize) -> f64 {
        n as f64 / lanes as f64 + self.ccadd.excess(self.ccadd.row_ideal())
    }

    /// Returns the latency of the permutation of a row, in cycles.
    #[must_use]
    pub fn permutation_fill(&self) -> f64 {
        self.automorphism.excess(self.automorphism.row_ideal())
    }

    /// Returns the cost of a butterfly, of a product in a basis conversion, of a lane of key products, and of a
    /// lane of the sums over `block` baby steps. If `summed`, conversions and sums add up products before they
    /// reduce them.
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

    /// Returns the cost of the control: that of the measured engine minus that of its units.
    #[must_use]
    pub fn leading(&self) -> Cost {
        let units = [&self.ntt, &self.pcmul, &self.bconv].map(|block| Cost {
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

    /// Returns the memory of a transform of `n` points, with its banks in block RAM or in UltraRAM.
    ///
    /// A core has two memories of `2 B` banks. The rest of a measured core's memory is twiddles.
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

/// The memories of a transform's core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransformMemory {
    /// BRAM36 with all memories in block RAM.
    pub bram36: u64,
    /// BRAM36 with the banks in UltraRAM.
    pub twiddles_bram36: u64,
    /// UltraRAMs of the banks.
    pub uram: u64,
}

impl Block {
    /// Returns the cost of a lane; `otherwise` has the values that the block lacks. Memories are not counted by
    /// lanes.
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

    /// Returns the fewest cycles of an operation on one row.
    fn row_ideal(&self) -> f64 {
        self.n as f64 / self.lanes as f64
    }

    /// Returns the fewest cycles of one transform in a sequence, with its share of the time in which the first
    /// row enters or the last row leaves with no other beside it.
    fn transform_ideal(&self, way: Way) -> f64 {
        self.row_ideal() * (way.passes(self.n as f64) + 1.0 / self.ops as f64)
    }

    /// Returns the fewest cycles of a basis conversion. If `weigh`, they include the products of sources with
    /// their weights.
    fn conversion_ideal(&self, weigh: bool) -> f64 {
        let products = self.limbs * (self.special + 1) + if weigh { self.special } else { 0 };
        products as f64 * self.row_ideal()
    }

    /// Returns the cycles of an operation in excess of the fewest: fill and drain.
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
