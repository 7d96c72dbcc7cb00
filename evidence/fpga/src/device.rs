//! What a card has.

/// Bytes of a residue in the card's memory: ten of 50 bits in a beat of 512 bits.
pub const WORD_BYTES: f64 = 6.4;

/// Bits of a residue in the RTL.
pub const WORD_BITS: u32 = 50;

/// Coefficients that a transform's memory holds.
pub const MAX_RING: usize = 1 << 16;

/// Limits of a card, and the clock that is assumed on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// DSP slices.
    pub all_dsp: u32,
    /// Those that a design may use.
    pub dsp: u32,
    /// Look-up tables.
    pub all_lut: u32,
    /// Those that a design may use.
    pub lut: u32,
    /// Flip-flops.
    pub all_ff: u32,
    /// Those that a design may use.
    pub ff: u32,
    /// Block RAMs of 36 Kb.
    pub bram36: u32,
    /// UltraRAMs of 288 Kb.
    pub uram: u32,
    /// Bytes of high-bandwidth memory.
    pub hbm_bytes: f64,
    /// Bytes a second from and to it, together.
    pub hbm_bytes_per_s: f64,
    /// Bytes a second over PCIe, in one direction.
    pub pcie_bytes_per_s: f64,
    /// Cycles a second.
    pub clock_hz: f64,
}

impl Device {
    /// The AMD Alveo U55C at 200 MHz, with 80 % of its 9,024 DSP slices, 1,304,000 look-up tables and 2,607,000
    /// flip-flops: the rest is for what joins card and host, and for routes.
    ///
    /// PCIe: 16 lanes of 8 GT/s carry 15.75 GB/s; 12 GB/s are taken for what transfers reach. The clock is assumed.
    pub const U55C: Self = Self {
        all_dsp: 9024,
        dsp: 9024 * 8 / 10,
        all_lut: 1_304_000,
        lut: 1_304_000 / 10 * 8,
        all_ff: 2_607_000,
        ff: 2_607_000 / 10 * 8,
        bram36: 2016,
        uram: 960,
        hbm_bytes: 16e9,
        hbm_bytes_per_s: 460e9,
        pcie_bytes_per_s: 12e9,
        clock_hz: 200e6,
    };

    /// Cycles that bytes take from and to the card's memory.
    #[must_use]
    pub fn hbm_cycles(&self, bytes: f64) -> f64 {
        bytes / self.hbm_bytes_per_s * self.clock_hz
    }

    /// Cycles that bytes take over PCIe.
    #[must_use]
    pub fn pcie_cycles(&self, bytes: f64) -> f64 {
        bytes / self.pcie_bytes_per_s * self.clock_hz
    }

    /// Milliseconds of cycles.
    #[must_use]
    pub fn ms(&self, cycles: f64) -> f64 {
        cycles / self.clock_hz * 1e3
    }
}
