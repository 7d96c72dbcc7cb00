//! How long a design takes for the affine transform of a batch.

use crate::FpgaError;
use crate::blocks::{Blocks, Source};
use crate::circuit::Circuit;
use crate::design::{Design, Resources};
use crate::device::{Device, WORD_BYTES};
use crate::schedule::{Timeline, UNITS};
use crate::transform::{STAGES, tasks};
use serde::Serialize;

/// A stage of the transform on the card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Its name.
    pub stage: &'static str,
    /// Cycles.
    pub cycles: u64,
    /// Milliseconds at the assumed clock.
    pub ms: f64,
    /// DSP slices at work, on average, over all of the card.
    pub dsp_share: f64,
    /// Share of the memory's bandwidth.
    pub hbm_share: f64,
    /// Share of the bandwidth of PCIe.
    pub pcie_share: f64,
}

/// Busy shares of the units over the whole computation.
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

/// Shares of the card's limits. Of DSP slices, look-up tables and flip-flops all are counted, not only those that a design
/// may use.
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

/// What the model says of one transform.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Where the cycles of blocks come from.
    pub source: Source,
    /// Whether plaintexts of a new board were uploaded and transformed.
    pub cold: bool,
    /// In their order.
    pub stages: Vec<Stage>,
    /// Cycles of all stages.
    pub cycles: u64,
    /// Milliseconds at the assumed clock.
    pub ms: f64,
    /// How busy units are while they compute.
    pub busy: Busy,
    /// What the design takes.
    pub resources: Resources,
    /// The same as shares.
    pub shares: Shares,
}

/// Bytes over PCIe.
struct Transfers {
    /// The first keys and the encrypted secret; of a new board its plaintexts.
    before: f64,
    /// The giant step's key, while baby steps are made.
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

/// Predicts one transform, all coordinates, for a recipient whose keys come with the request.
///
/// ```text
/// time = upload + max(baby, giant key over PCIe) + giant + lower + download
/// ```
///
/// The upload is what the first rotation waits for: its key, the encrypted secret, b, and of a new board (`cold`) the
/// plaintexts modulo p. Baby, giant (with what is left of products) and lower are intervals of the schedule that
/// [`crate::transform`] states; each lasts for its tasks or for the rows that they move, `rows n 6.4 B / HBM`, whichever
/// is more. Download follows, as the last rows are the last to be done. Not counted: the processor's work on clues
/// before they are diagonals, and the driver's.
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
        let stage = computed(name, (to - from) as f64, (within.rows * row, pcie), device);
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

fn computed(stage: &'static str, cycles: f64, (hbm, pcie): (f64, f64), device: &Device) -> Stage {
    let (hbm, pcie) = (device.hbm_cycles(hbm), device.pcie_cycles(pcie));
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

/// What goes over PCIe goes to or from the memory.
fn transfer(stage: &'static str, bytes: f64, device: &Device) -> Stage {
    computed(stage, 0.0, (bytes, bytes), device)
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
