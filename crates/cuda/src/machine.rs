//! The machine that runs kernels: a card, or the processor in tests.

use std::sync::Arc;

/// An error of a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// There is no driver, or no card.
    #[error("expected an NVIDIA card and its driver (CUDA 13.0 or later), found {0}")]
    Absent(String),
    /// There is not enough memory.
    #[error("expected {needed} bytes of the card's memory, found {free} free")]
    Memory {
        /// Bytes requested.
        needed: usize,
        /// Bytes free.
        free: usize,
    },
    /// Any other failure of the driver.
    #[error("expected {call} to succeed, found {found}")]
    Call {
        /// The call.
        call: &'static str,
        /// The driver's result.
        found: String,
    },
}

/// The arithmetic of transforms and conversions. Both kinds have equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Integers.
    Whole,
    /// Double precision, for cards with about as many units for it as for integers.
    Floating,
}

/// A kernel of `kernels/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Levels over distant values of transforms to the evaluation domain.
    ForwardFirst(Arithmetic),
    /// Levels over neighbours of transforms to the evaluation domain.
    ForwardSecond(Arithmetic),
    /// Levels over neighbours of transforms to the coefficient domain.
    InverseFirst(Arithmetic),
    /// Levels over distant values of transforms to the coefficient domain.
    InverseSecond(Arithmetic),
    /// Sums of rows times factors.
    Combine,
    /// Sums of products of rows.
    Multiply,
    /// Conversion between primes.
    Convert(Arithmetic),
    /// Permutation of words.
    Permute,
    /// Small residues modulo primes.
    Lift,
    /// Sums of products with turned rows.
    Turned,
    /// Uniform residues.
    Draw,
    /// Packed residues modulo primes.
    Unpack,
    /// Blind rotations with one digit, four in a block.
    RotateOne,
    /// Blind rotations with two digits, two in a block.
    RotateTwo,
    /// Traces.
    Trace,
    /// Fused multiply-adds of doubles, for measurements.
    RateFloating,
    /// Multiply-adds of 32-bit integers, for measurements.
    RateWhole,
    /// Multiply-adds of 32-bit integers into 64 bits, for measurements.
    RateWide,
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 23] = [
        Self::ForwardFirst(Arithmetic::Whole),
        Self::ForwardSecond(Arithmetic::Whole),
        Self::InverseFirst(Arithmetic::Whole),
        Self::InverseSecond(Arithmetic::Whole),
        Self::ForwardFirst(Arithmetic::Floating),
        Self::ForwardSecond(Arithmetic::Floating),
        Self::InverseFirst(Arithmetic::Floating),
        Self::InverseSecond(Arithmetic::Floating),
        Self::Combine,
        Self::Multiply,
        Self::Convert(Arithmetic::Whole),
        Self::Convert(Arithmetic::Floating),
        Self::Permute,
        Self::Lift,
        Self::Turned,
        Self::Draw,
        Self::Unpack,
        Self::RotateOne,
        Self::RotateTwo,
        Self::Trace,
        Self::RateFloating,
        Self::RateWhole,
        Self::RateWide,
    ];

    /// Returns the kernel's place in [`Kernel::ALL`].
    #[cfg(any(feature = "driver", feature = "emulated"))]
    pub(crate) fn number(self) -> usize {
        let place = Self::ALL.iter().position(|&kernel| kernel == self);
        place.expect("all kernels are listed")
    }

    /// Returns the kernel's name in the source.
    pub const fn name(self) -> &'static str {
        use Arithmetic::{Floating, Whole};
        match self {
            Self::ForwardFirst(Whole) => "forward_first",
            Self::ForwardSecond(Whole) => "forward_second",
            Self::InverseFirst(Whole) => "inverse_first",
            Self::InverseSecond(Whole) => "inverse_second",
            Self::ForwardFirst(Floating) => "forward_first_floating",
            Self::ForwardSecond(Floating) => "forward_second_floating",
            Self::InverseFirst(Floating) => "inverse_first_floating",
            Self::InverseSecond(Floating) => "inverse_second_floating",
            Self::Combine => "combine",
            Self::Multiply => "multiply",
            Self::Convert(Whole) => "convert",
            Self::Convert(Floating) => "convert_floating",
            Self::Permute => "permute",
            Self::Lift => "lift",
            Self::Turned => "turned",
            Self::Draw => "draw",
            Self::Unpack => "unpack",
            Self::RotateOne => "rotate_one",
            Self::RotateTwo => "rotate_two",
            Self::Trace => "trace",
            Self::RateFloating => "rate_floating",
            Self::RateWhole => "rate_whole",
            Self::RateWide => "rate_wide",
        }
    }

    /// Returns the place in `SOURCES` of the kernel's source file.
    #[cfg(any(feature = "driver", feature = "emulated"))]
    pub(crate) const fn source(self) -> usize {
        match self {
            Self::Combine
            | Self::Multiply
            | Self::Permute
            | Self::Lift
            | Self::Turned
            | Self::Draw
            | Self::Unpack => 0,
            Self::ForwardFirst(arithmetic)
            | Self::ForwardSecond(arithmetic)
            | Self::InverseFirst(arithmetic)
            | Self::InverseSecond(arithmetic) => match arithmetic {
                Arithmetic::Whole => 1,
                Arithmetic::Floating => 2,
            },
            Self::RateFloating | Self::RateWhole | Self::RateWide => 3,
            Self::RotateOne | Self::RotateTwo | Self::Trace => 4,
            Self::Convert(_) => 5,
        }
    }
}

/// The sources of the kernels.
#[cfg(feature = "emulated")]
pub(crate) const SOURCES: [&str; 6] = [
    "rows.cu",
    "transform_whole.cu",
    "transform_floating.cu",
    "rates.cu",
    "messages.cu",
    "conversions.cu",
];

/// Largest number of words of an argument of kernels.
pub(crate) const CALLS: usize = 1 << 20;

/// Largest number of rows of a run of a kernel.
pub(crate) const ROWS: u32 = 65_535;

/// A run of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: Kernel,
    /// Number of blocks of each row.
    pub blocks: u32,
    /// Number of rows.
    pub rows: u32,
    /// Number of threads of a block.
    pub threads: u32,
    /// Bytes of shared memory of a block beside those that the kernel declares.
    pub shared: u32,
}

/// Words that are being read from a machine's memory.
pub trait Reading: Send {
    /// Waits for the words.
    ///
    /// Errors: `Call`, also for earlier work.
    fn words(&mut self) -> Result<&[u64], MachineError>;
}

/// A machine with memory and kernels. It runs calls in their order, possibly after they have returned.
pub trait Machine: Send + Sync {
    /// Returns the machine's name, for messages.
    fn name(&self) -> String;

    /// Returns the fastest arithmetic of transforms and conversions.
    fn arithmetic(&self) -> Arithmetic;

    /// Returns the largest number of bytes of shared memory of a block.
    ///
    /// Errors: `Call`.
    fn most_shared(&self) -> Result<usize, MachineError>;

    /// Allocates memory for this number of words and returns its address.
    ///
    /// Errors: `Memory`, `Call`.
    fn allocate(&self, words: usize) -> Result<u64, MachineError>;

    /// Releases memory after all earlier work.
    fn release(&self, address: u64, words: usize);

    /// Writes bytes, part after part.
    ///
    /// Errors: `Call`.
    fn write(&self, address: u64, parts: &[&[u8]]) -> Result<(), MachineError>;

    /// Writes words.
    ///
    /// Errors: `Call`.
    fn write_words(&self, address: u64, words: &[u64]) -> Result<(), MachineError> {
        self.write(address, &[bytemuck::cast_slice(words)])
    }

    /// Reads words after all earlier work.
    ///
    /// Errors: `Call`, also for earlier work.
    fn read(&self, address: u64, words: &mut [u64]) -> Result<(), MachineError>;

    /// Begins to read words after all earlier work. Later work does not wait for it.
    ///
    /// Errors: `Call`, `Memory`.
    fn start_reading(
        self: Arc<Self>,
        address: u64,
        words: usize,
    ) -> Result<Box<dyn Reading>, MachineError>;

    /// Overwrites words with zeros.
    ///
    /// Errors: `Call`.
    fn clear(&self, address: u64, words: usize) -> Result<(), MachineError>;

    /// Copies words between ranges that do not overlap.
    ///
    /// Errors: `Call`.
    fn copy(&self, from: u64, to: u64, words: usize) -> Result<(), MachineError>;

    /// Runs kernels one after another; `call` is the only argument of each.
    ///
    /// Errors: `Call`.
    fn launch(&self, kernels: &[Launch], call: &[u64]) -> Result<(), MachineError>;
}
