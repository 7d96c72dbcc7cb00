//! The predicted time of a design for the affine transform of a batch.

use crate::FpgaError;
use crate::blocks::{Blocks, Source};
use crate::circuit::Circuit;
use crate::design::{Design, Resources};
use crate::device::{Device, WORD_BYTES};
use crate::schedule::{Timeline, UNITS};
use crate::transform::{STAGES, tasks};
use serde::Serialize;

/// The prediction for one stage of the transform on the card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// The name of the stage.
    pub stage: &'static str,
    /// The cycles of the stage.
    pub cycles: u64,
    /// Milliseconds at the assumed clock.
    pub ms: f64,
    /// The average share of the card's DSP slices that are busy.
    pub dsp_share: f64,
    /// The share of the memory's bandwidth.
    pub hbm_share: f64,
    /// The share of PCIe's bandwidth.
    pub pcie_share: f64,
}

/// The share of time that each kind of unit is busy, over the whole computation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Busy {
    /// Cores of transforms.
    pub transforms: f64,
    /// Products of basis conversions.
    pub conversions: f64,
    /// Key products, scalings, additions.
    pub keys: f64,
    /// Products of diagonals with baby steps.
    pub sums: f64,
}

/// Shares of the card's limits. All DSP slices, look-up tables and flip-flops of the card count, not only those
/// that a design may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// DSP slices.
    pub dsp: f64,
    /// Look-up tables.
    pub lut: f64,
    /// Flip-flops.
    pub ff: f64,
    /// Block RAMs.
    pub bram36: f64,
    /// UltraRAMs.
    pub uram: f64,
    /// Bytes of memory.
    pub hbm_filled: f64,
    /// Bandwidth of memory, over the whole time.
    pub hbm: f64,
    /// Bandwidth of PCIe, over the whole time.
    pub pcie: f64,
}

/// The prediction for one transform.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The source of the blocks' cycles.
    pub source: Source,
    /// True if plaintexts of a new board are uploaded and transformed.
    pub cold: bool,
    /// The stages in order.
    pub stages: Vec<Stage>,
    /// The cycles of all stages.
    pub cycles: u64,
    /// Milliseconds at the assumed clock.
    pub ms: f64,
    /// The busy shares of the units during the computation.
    pub busy: Busy,
    /// The resources of the design.
    pub resources: Resources,
    /// The resources as shares of the card's.
    pub shares: Shares,
}

/// The bytes that are transferred over PCIe.
struct Transfers {
    /// The first keys and the encrypted secret; for a new board also its plaintexts.
    before: f64,
    /// The giant step's key, during the baby steps.
    beside: f64,
    /// The results.
    after: f64,
}

impl Transfers {
    fn new(circuit: &Circuit, design: &Design, cold: bool) -> Self {
        let row = circuit.n as f64 * WORD_BYTES;
        let plaintext = circuit.n as f64 * f64::from(circuit.plain_bits) / 8.0;
        let secrets = 2 * circuit.limbs * (1 + usize::from(circuit.offsets > 0));
        let keys = design.hoisted * circuit.step.key_rows();
        let board = if cold { circuit.plaintexts() } else { 0 };
        // With each request: b of all coordinates.
        let plaintexts = (board + circuit.coordinates) as f64 * plaintext;
        Self {
            before: (keys + secrets) as f64 * row + plaintexts,
            beside: circuit.giant.key_rows() as f64 * row,
            after: (2 * circuit.coordinates * circuit.result_limbs) as f64 * row,
        }
    }
}

/// Predicts one transform with all coordinates, for a recipient whose keys are sent with the request.
///
/// ```text
/// time = upload + max(baby, giant key over PCIe) + giant + lower + download
/// ```
///
/// The upload contains the input of the first rotation: its key, the encrypted secret, b, and for a new board
/// (`cold`) the plaintexts modulo p. Baby, giant (with the remaining products) and lower are intervals of the
/// schedule of [`crate::transform`]. Each takes the longer of the time of its tasks and the time to move its
/// rows, `rows n 6.4 B / HBM`. Download follows, because the last rows finish last. The processor's work on
/// clues before they are diagonals, and the driver's work, are not counted.
///
/// Errors: `Part`, `Limit`.
pub fn predict(
    circuit: &Circuit,
    blocks: &Blocks,
    design: &Design,
    device: &Device,
    cold: bool,
) -> Result<Prediction, FpgaError> {
    let resources = design.resources(circuit, blocks, device)?;
    let timeline = tasks(circuit, blocks, design, cold).run(design.units());
    let transfers = Transfers::new(circuit, design, cold);
    let mut stages = vec![transfer("upload", transfers.before, device)];
    let row = circuit.n as f64 * WORD_BYTES;
    let each = design.unit_costs(blocks);
    let mut from = 0;
    for (number, name) in STAGES.into_iter().enumerate() {
        let to = timeline.stage_end[number].max(from);
        let pcie = if number == 0 { transfers.beside } else { 0.0 };
        let within = timeline.within(from, to);
        let bytes = Moved {
            hbm: within.rows * row,
            pcie,
        };
        let stage = computed(name, (to - from) as f64, bytes, device);
        let at_work: f64 = (0..UNITS)
            .map(|unit| within.busy[unit] * each[unit].dsp)
            .sum();
        stages.push(Stage {
            dsp_share: at_work / (stage.cycles as f64 * f64::from(device.all_dsp)),
            ..stage
        });
        from = to;
    }
    stages.push(transfer("download", transfers.after, device));
    let cycles = stages.iter().map(|stage| stage.cycles).sum();
    let moved: f64 = timeline.done.iter().map(|done| done.work.rows * row).sum();
    let transferred = transfers.before + transfers.beside + transfers.after;
    let share = |cycles_of: f64| cycles_of / cycles as f64;
    Ok(Prediction {
        source: blocks.source,
        cold,
        cycles,
        ms: device.ms(cycles as f64),
        busy: Busy::new(&timeline, design.units()),
        shares: Shares {
            hbm: share(device.hbm_cycles(moved)),
            pcie: share(device.pcie_cycles(transferred)),
            ..resources.shares(device)
        },
        resources,
        stages,
    })
}

/// The bytes that a stage moves from and to the card's memory and over PCIe.
struct Moved {
    hbm: f64,
    pcie: f64,
}

/// Returns the prediction of a stage that takes at least `cycles`, and as long as it moves bytes.
fn computed(stage: &'static str, cycles: f64, bytes: Moved, device: &Device) -> Stage {
    let hbm = device.hbm_cycles(bytes.hbm);
    let pcie = device.pcie_cycles(bytes.pcie);
    let cycles = cycles.max(hbm).max(pcie).ceil().max(1.0);
    Stage {
        stage,
        cycles: cycles as u64,
        ms: device.ms(cycles),
        dsp_share: 0.0,
        hbm_share: hbm / cycles,
        pcie_share: pcie / cycles,
    }
}

/// Returns the prediction of a transfer over PCIe, which also goes to or from the card's memory.
fn transfer(stage: &'static str, bytes: f64, device: &Device) -> Stage {
    let moved = Moved {
        hbm: bytes,
        pcie: bytes,
    };
    computed(stage, 0.0, moved, device)
}

impl Busy {
    fn new(timeline: &Timeline, units: [usize; UNITS]) -> Self {
        let share = |unit: usize| {
            timeline.busy[unit] as f64 / (timeline.end * units[unit] as u64).max(1) as f64
        };
        Self {
            transforms: share(0),
            conversions: share(1),
            keys: share(2),
            sums: share(3),
        }
    }
}

impl Resources {
    fn shares(&self, device: &Device) -> Shares {
        Shares {
            dsp: f64::from(self.dsp) / f64::from(device.all_dsp),
            lut: f64::from(self.lut) / f64::from(device.all_lut),
            ff: f64::from(self.ff) / f64::from(device.all_ff),
            bram36: f64::from(self.bram36) / f64::from(device.bram36),
            uram: f64::from(self.uram) / f64::from(device.uram),
            hbm_filled: self.hbm_bytes / device.hbm_bytes,
            hbm: 0.0,
            pcie: 0.0,
        }
    }
}
