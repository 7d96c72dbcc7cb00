//! What runs kernels: a card, or the processor in tests.

use std::sync::Arc;

/// What a machine says when it fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// There is no driver, or no card.
    #[error("expected an NVIDIA card and its driver (CUDA 13.0 or later), found {0}")]
    Absent(String),
    /// No memory is left.
    #[error("expected {needed} bytes of the card's memory, found {free} free")]
    Memory {
        /// Bytes that were asked for.
        needed: usize,
        /// Bytes that are free.
        free: usize,
    },
    /// Any other failure of the driver.
    #[error("expected {call} to succeed, found {found}")]
    Call {
        /// What was called.
        call: &'static str,
        /// What came back.
        found: String,
    },
}

/// What transforms are computed in. Both give the same residues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Integers.
    Whole,
    /// Double precision: for cards with about as many units for it as for integers.
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
    Convert,
    /// Permutation of words.
    Permute,
    /// Small residues modulo primes.
    Lift,
    /// Blind rotations with one digit, four a block.
    RotateOne,
    /// Blind rotations with two digits, two a block.
    RotateTwo,
    /// Traces.
    Trace,
    /// Fused multiply-adds of doubles, for measuring.
    RateFloating,
    /// Multiply-adds of 32-bit integers, for measuring.
    RateWhole,
    /// Multiply-adds of 32-bit integers into 64 bits, for measuring.
    RateWide,
}

impl Kernel {
    /// All of them.
    pub const ALL: [Self; 19] = [
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
        Self::Convert,
        Self::Permute,
        Self::Lift,
        Self::RotateOne,
        Self::RotateTwo,
        Self::Trace,
        Self::RateFloating,
        Self::RateWhole,
        Self::RateWide,
    ];

    /// Its place in [`Kernel::ALL`].
    #[cfg(any(feature = "driver", feature = "emulated"))]
    pub(crate) fn number(self) -> usize {
        let place = Self::ALL.iter().position(|&kernel| kernel == self);
        place.expect("all kernels are listed")
    }

    /// Its name in the source.
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
            Self::Convert => "convert",
            Self::Permute => "permute",
            Self::Lift => "lift",
            Self::RotateOne => "rotate_one",
            Self::RotateTwo => "rotate_two",
            Self::Trace => "trace",
            Self::RateFloating => "rate_floating",
            Self::RateWhole => "rate_whole",
            Self::RateWide => "rate_wide",
        }
    }

    /// The file of `kernels/` that it stands in, by its place in `SOURCES`.
    #[cfg(any(feature = "driver", feature = "emulated"))]
    pub(crate) const fn source(self) -> usize {
        match self {
            Self::Combine | Self::Multiply | Self::Convert | Self::Permute | Self::Lift => 0,
            Self::ForwardFirst(arithmetic)
            | Self::ForwardSecond(arithmetic)
            | Self::InverseFirst(arithmetic)
            | Self::InverseSecond(arithmetic) => match arithmetic {
                Arithmetic::Whole => 1,
                Arithmetic::Floating => 2,
            },
            Self::RateFloating | Self::RateWhole | Self::RateWide => 3,
            Self::RotateOne | Self::RotateTwo | Self::Trace => 4,
        }
    }
}

/// The sources of the kernels.
#[cfg(feature = "emulated")]
pub(crate) const SOURCES: [&str; 5] = [
    "rows.cu",
    "transform_whole.cu",
    "transform_floating.cu",
    "rates.cu",
    "messages.cu",
];

/// One run of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel.
    pub kernel: Kernel,
    /// Blocks of each row.
    pub blocks: u32,
    /// Rows.
    pub rows: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory that a block takes beside what its kernel says.
    pub shared: u32,
    /// Its only argument.
    pub call: &'a [u64],
}

/// Words on their way from a machine's memory.
pub trait Reading: Send {
    /// Waits for them.
    ///
    /// Errors: `Call`, also for what was asked before.
    fn words(&mut self) -> Result<&[u64], MachineError>;
}

/// Memory and kernels. What is asked is done in the order of the calls, perhaps after they have returned.
pub trait Machine: Send + Sync {
    /// What it is, for people.
    fn name(&self) -> String;

    /// What transforms are the fastest in.
    fn arithmetic(&self) -> Arithmetic;

    /// Bytes of shared memory that a block may take.
    ///
    /// Errors: `Call`.
    fn most_shared(&self) -> Result<usize, MachineError>;

    /// Takes memory of so many words.
    ///
    /// Errors: `Memory`, `Call`.
    fn allocate(&self, words: usize) -> Result<u64, MachineError>;

    /// Gives memory back, after all that was asked before.
    fn release(&self, address: u64, words: usize);

    /// Writes words.
    ///
    /// Errors: `Call`.
    fn write(&self, address: u64, words: &[u64]) -> Result<(), MachineError>;

    /// Reads words, after all that was asked before.
    ///
    /// Errors: `Call`, also for what was asked before.
    fn read(&self, address: u64, words: &mut [u64]) -> Result<(), MachineError>;

    /// Begins to read words, after all that was asked before; what is asked then does not wait for it.
    ///
    /// Errors: `Call`, `Memory`.
    fn start_reading(
        self: Arc<Self>,
        address: u64,
        words: usize,
    ) -> Result<Box<dyn Reading>, MachineError>;

    /// Writes zeros.
    ///
    /// Errors: `Call`.
    fn clear(&self, address: u64, words: usize) -> Result<(), MachineError>;

    /// Copies words that do not overlap.
    ///
    /// Errors: `Call`.
    fn copy(&self, from: u64, to: u64, words: usize) -> Result<(), MachineError>;

    /// Runs a kernel.
    ///
    /// Errors: `Call`.
    fn launch(&self, launch: Launch<'_>) -> Result<(), MachineError>;
}
