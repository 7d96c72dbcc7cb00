//! A design: the parallelism of each unit, and the resources that it needs.

use crate::FpgaError;
use crate::blocks::Blocks;
use crate::circuit::Circuit;
use crate::cost::Cost;
use crate::device::{Device, WORD_BYTES};
use crate::schedule::UNITS;
use serde::Serialize;

/// The source of transformed diagonals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Diagonals {
    /// They are transformed once for a board and stored in the card's memory.
    Cached,
    /// They are transformed again for every recipient.
    OnTheFly,
}

/// The parallelism of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Design {
    /// The number of transform cores.
    pub cores: usize,
    /// The number of butterflies in a core.
    pub butterflies: usize,
    /// Products of basis conversions in a cycle.
    pub conversion_lanes: usize,
    /// Key products, scalings and additions in a cycle.
    pub key_lanes: usize,
    /// Products of diagonals with baby steps in a cycle.
    pub sum_lanes: usize,
    /// The number of baby steps that are multiplied by all diagonals together.
    pub block: usize,
    /// The number of rotations computed from one decomposition, each with its own key. If 1, each rotation is
    /// computed from the previous one with one key, as in the evaluator.
    pub hoisted: usize,
    /// The source of diagonals.
    pub diagonals: Diagonals,
    /// True if conversions and sums add up products before they reduce them.
    pub summed: bool,
}

/// The resources that a design needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Resources {
    /// DSP slices.
    pub dsp: u32,
    /// Look-up tables.
    pub lut: u32,
    /// Flip-flops.
    pub ff: u32,
    /// Block RAMs of 36 Kb.
    pub bram36: u32,
    /// UltraRAMs.
    pub uram: u32,
    /// Bytes of the card's memory.
    pub hbm_bytes: f64,
}

impl Design {
    /// Returns the number of units of each kind.
    #[must_use]
    pub fn units(&self) -> [usize; UNITS] {
        [self.cores, 1, 1, 1]
    }

    /// Returns the number of rotation keys on the card.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.hoisted + 1
    }

    /// Returns whether the evaluator of this software computes equal ciphertexts from equal keys.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.hoisted == 1
    }

    /// Returns the resources of the design: units, their control, memories. The connection of several cores to
    /// the card's memory is not modelled.
    ///
    /// Errors: `PrimeBits`, `Ring`, `Part`; `Limit` if the card has too little of a resource.
    pub fn resources(
        &self,
        circuit: &Circuit,
        blocks: &Blocks,
        device: &Device,
    ) -> Result<Resources, FpgaError> {
        circuit.check()?;
        self.check(circuit)?;
        let fabric = self.fabric(blocks);
        let resources = Resources {
            dsp: fabric.dsp.ceil() as u32,
            lut: fabric.lut.ceil() as u32,
            ff: fabric.ff.ceil() as u32,
            hbm_bytes: self.hbm_bytes(circuit),
            ..self.memories(circuit, blocks, device)
        };
        resources.check(device)?;
        Ok(resources)
    }

    /// Returns the cost of all lanes and of their control.
    #[must_use]
    pub fn fabric(&self, blocks: &Blocks) -> Cost {
        self.unit_costs(blocks)
            .into_iter()
            .zip(self.units())
            .map(|(cost, units)| cost.times(units as f64))
            .fold(blocks.leading(), Cost::plus)
    }

    /// Returns the cost of one unit of each kind.
    #[must_use]
    pub fn unit_costs(&self, blocks: &Blocks) -> [Cost; UNITS] {
        let lanes = self.unit_lanes();
        let each = blocks.each_cost(self.summed, self.block);
        std::array::from_fn(|unit| each[unit].times(lanes[unit] as f64))
    }

    /// Returns the number of butterflies or lanes in one unit of each kind.
    fn unit_lanes(&self) -> [usize; UNITS] {
        [
            self.butterflies,
            self.conversion_lanes,
            self.key_lanes,
            self.sum_lanes,
        ]
    }

    /// Returns the memories of the design. As many cores as block RAM has room for have their banks there, the
    /// others in UltraRAM. Sums store two parts of a block's baby steps for as many residues as are processed
    /// in a cycle, in banks of one UltraRAM.
    fn memories(&self, circuit: &Circuit, blocks: &Blocks, device: &Device) -> Resources {
        let core = blocks.transform_memory(circuit.n, self.butterflies);
        let leading = blocks.leading().bram36.ceil() as u32;
        let (cores, all) = (
            self.cores as u64,
            u64::from(device.bram36.saturating_sub(leading)),
        );
        let twiddles = cores * core.twiddles_bram36;
        let banks = (core.bram36 - core.twiddles_bram36).max(1);
        let in_bram = (all.saturating_sub(twiddles) / banks).min(cores);
        let products = 2 * circuit.coordinates;
        let sums = 2 * (self.sum_lanes / products).max(1) as u64;
        Resources {
            dsp: 0,
            lut: 0,
            ff: 0,
            bram36: leading + (twiddles + in_bram * banks) as u32,
            uram: ((cores - in_bram) * core.uram + sums) as u32,
            hbm_bytes: 0.0,
        }
    }

    /// Returns the bytes of the card's memory: keys, baby steps, sums of all giant steps, intermediate rows of
    /// a rotation, factors of the transforms of all primes in both directions, plaintexts modulo p, and the
    /// transformed plaintexts if they are stored.
    fn hbm_bytes(&self, circuit: &Circuit) -> f64 {
        let keys = self.hoisted * circuit.step.key_rows() + circuit.giant.key_rows();
        let ciphertext = 2 * circuit.limbs;
        let ciphertexts = circuit.baby_steps + circuit.coordinates * circuit.giant_steps;
        let primes = circuit.limbs + circuit.step.special + circuit.result_limbs;
        let rows = keys + ciphertexts * ciphertext + 4 * circuit.step.key_rows() + 2 * primes;
        let transformed = match self.diagonals {
            Diagonals::Cached => circuit.plaintexts() * circuit.limbs,
            Diagonals::OnTheFly => 2 * self.block * circuit.limbs,
        };
        let plain = circuit.plaintexts() as f64 * f64::from(circuit.plain_bits) / 8.0;
        ((rows + transformed) as f64 * WORD_BYTES + plain) * circuit.n as f64
    }

    fn check(&self, circuit: &Circuit) -> Result<(), FpgaError> {
        let part = |good: bool, part, expected, found| {
            if good {
                Ok(())
            } else {
                Err(FpgaError::Part {
                    part,
                    expected,
                    found,
                })
            }
        };
        let power = |x: usize| x.is_power_of_two();
        let (n, baby) = (circuit.n, circuit.baby);
        part(self.cores > 0, "cores", "1 or more", self.cores)?;
        let fits = power(self.butterflies) && 2 * self.butterflies <= n;
        part(
            fits,
            "butterflies",
            "a power of two up to half the ring",
            self.butterflies,
        )?;
        let lanes = [self.conversion_lanes, self.key_lanes, self.sum_lanes];
        for found in lanes {
            part(
                (1..=n).contains(&found),
                "lanes",
                "from 1 to the ring's dimension",
                found,
            )?;
        }
        let divides = |x: usize| power(x) && x <= baby;
        part(
            divides(self.block),
            "baby steps of a block",
            "a power of two up to all",
            self.block,
        )?;
        part(
            divides(self.hoisted),
            "hoisted rotations",
            "a power of two up to all",
            self.hoisted,
        )
    }
}

impl Resources {
    fn check(&self, device: &Device) -> Result<(), FpgaError> {
        let limit = |resource, most: f64, found: f64| {
            if found <= most {
                Ok(())
            } else {
                Err(FpgaError::Limit {
                    resource,
                    most: most as u64,
                    found: found as u64,
                })
            }
        };
        limit("DSP slices", device.dsp.into(), self.dsp.into())?;
        limit("LUTs", device.lut.into(), self.lut.into())?;
        limit("flip-flops", device.ff.into(), self.ff.into())?;
        limit("BRAM36", device.bram36.into(), self.bram36.into())?;
        limit("UltraRAMs", device.uram.into(), self.uram.into())?;
        limit("bytes of HBM", device.hbm_bytes, self.hbm_bytes)
    }
}
