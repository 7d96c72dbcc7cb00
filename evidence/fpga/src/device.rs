//! The resources and speeds of a card.

/// The bytes of a residue in the card's memory: ten residues of 50 bits in a beat of 512 bits.
pub const WORD_BYTES: f64 = 6.4;

/// The bits of a residue in the RTL.
pub const WORD_BITS: u32 = 50;

/// The largest number of coefficients in a transform's memory.
pub const MAX_RING: usize = 1 << 16;

/// The limits of a card, and its assumed clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// DSP slices of the card.
    pub all_dsp: u32,
    /// DSP slices that a design may use.
    pub dsp: u32,
    /// Look-up tables of the card.
    pub all_lut: u32,
    /// Look-up tables that a design may use.
    pub lut: u32,
    /// Flip-flops of the card.
    pub all_ff: u32,
    /// Flip-flops that a design may use.
    pub ff: u32,
    /// Block RAMs of 36 Kb.
    pub bram36: u32,
    /// UltraRAMs of 288 Kb.
    pub uram: u32,
    /// Bytes of high-bandwidth memory.
    pub hbm_bytes: f64,
    /// Bandwidth of this memory in bytes per second, both directions together.
    pub hbm_bytes_per_s: f64,
    /// Bandwidth of PCIe in bytes per second, in one direction.
    pub pcie_bytes_per_s: f64,
    /// Cycles per second.
    pub clock_hz: f64,
}

impl Device {
    /// The AMD Alveo U55C at 200 MHz. A design may use 80 % of its 9,024 DSP slices, 1,304,000 look-up tables
    /// and 2,607,000 flip-flops; the rest is for the connection of card and host, and for routing.
    ///
    /// PCIe: 16 lanes of 8 GT/s carry 15.75 GB/s; transfers are assumed to reach 12 GB/s. The clock is assumed.
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

    /// Returns the cycles of a transfer of `bytes` from and to the card's memory.
    #[must_use]
    pub fn hbm_cycles(&self, bytes: f64) -> f64 {
        bytes / self.hbm_bytes_per_s * self.clock_hz
    }

    /// Returns the cycles of a transfer of `bytes` over PCIe.
    #[must_use]
    pub fn pcie_cycles(&self, bytes: f64) -> f64 {
        bytes / self.pcie_bytes_per_s * self.clock_hz
    }

    /// Returns the duration of `cycles` in milliseconds.
    #[must_use]
    pub fn ms(&self, cycles: f64) -> f64 {
        cycles / self.clock_hz * 1e3
    }
}
