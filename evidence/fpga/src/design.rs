//! A design: how much of each unit, and what it takes of a card.

use crate::FpgaError;
use crate::blocks::Blocks;
use crate::circuit::Circuit;
use crate::cost::Cost;
use crate::device::{Device, WORD_BYTES};
use crate::schedule::UNITS;
use serde::Serialize;

/// Where transformed diagonals come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Diagonals {
    /// Transformed once for a board and kept in the card's memory.
    Cached,
    /// Transformed anew for every recipient.
    OnTheFly,
}

/// Parallelism of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Design {
    /// Cores of transforms.
    pub cores: usize,
    /// Butterflies of a core.
    pub butterflies: usize,
    /// Products of basis conversions in a cycle.
    pub conversion_lanes: usize,
    /// Key products, scalings and additions in a cycle.
    pub key_lanes: usize,
    /// Products of diagonals with baby steps in a cycle.
    pub sum_lanes: usize,
    /// Baby steps that meet all diagonals together.
    pub block: usize,
    /// Rotations made from one decomposition, each with a key of its own. 1: each from the one before, with one key,
    /// as the evaluator does.
    pub hoisted: usize,
    /// Where diagonals come from.
    pub diagonals: Diagonals,
    /// Whether conversions and sums add products up before they reduce.
    pub summed: bool,
}

/// What a design takes of a card.
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
    /// How many units of each kind.
    #[must_use]
    pub fn units(&self) -> [usize; UNITS] {
        [self.cores, 1, 1, 1]
    }

    /// Rotation keys on the card.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.hoisted + 1
    }

    /// Whether the evaluator of this software makes the same ciphertexts from the same keys.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.hoisted == 1
    }

    /// What the design takes: units, what leads them, memories. What joins several cores to the card's memory is not modelled.
    ///
    /// Errors: `PrimeBits`, `Ring`, `Part`, `Limit` where the card has too little.
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

    /// Lanes times what each takes, and what leads them.
    #[must_use]
    pub fn fabric(&self, blocks: &Blocks) -> Cost {
        let units = self.unit_costs(blocks).into_iter().zip(self.units());
        let units = units.map(|(cost, units)| cost.times(units as f64));
        units.fold(blocks.leading(), Cost::plus)
    }

    /// What one unit of each kind takes.
    #[must_use]
    pub fn unit_costs(&self, blocks: &Blocks) -> [Cost; UNITS] {
        let lanes = self.unit_lanes();
        let each = blocks.each_cost(self.summed, self.block);
        std::array::from_fn(|unit| each[unit].times(lanes[unit] as f64))
    }

    /// Butterflies or lanes of one unit of each kind.
    fn unit_lanes(&self) -> [usize; UNITS] {
        [
            self.butterflies,
            self.conversion_lanes,
            self.key_lanes,
            self.sum_lanes,
        ]
    }

    /// As many cores as block RAM has room for have their banks there, the others in UltraRAM. Sums hold two parts of
    /// the baby steps of a block for as many residues as meet in a cycle, in banks of one UltraRAM.
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

    /// Keys, baby steps, sums of all giant steps, what a rotation works in, factors of transforms of all primes both
    /// ways, plaintexts modulo p, and the transformed ones where they are kept.
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
