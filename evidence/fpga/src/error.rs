//! Errors of the model.

/// Blocks, designs or parameter sets do not fit together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FpgaError {
    /// A file does not contain the cycles of blocks.
    #[error("expected the cycles of blocks as `make -C hw full` writes them")]
    Cycles(#[from] serde_json::Error),
    /// The figures of a measured block are impossible.
    #[error("block {block}: expected {expected}, found {found}")]
    Block {
        /// The name of the block.
        block: &'static str,
        /// The expected value of the figure.
        expected: &'static str,
        /// The figure.
        found: u64,
    },
    /// The multipliers are too narrow for a prime.
    #[error(
        "set {set}: expected primes of at most {most} bits, which the multipliers hold, found one of {found}"
    )]
    PrimeBits {
        /// The name of the parameter set.
        set: &'static str,
        /// The number of bits of a residue in the RTL.
        most: u32,
        /// The number of bits of the widest prime.
        found: u32,
    },
    /// The transform's memory is too small for the ring.
    #[error(
        "set {set}: expected a ring of at most {most} coefficients, which a core's memory holds, found {found}"
    )]
    Ring {
        /// The name of the parameter set.
        set: &'static str,
        /// The number of words in a core's memory.
        most: usize,
        /// The number of coefficients in the ring.
        found: usize,
    },
    /// A design needs more than a card has.
    #[error("the design needs {found} {resource}, expected at most {most}")]
    Limit {
        /// The name of the resource.
        resource: &'static str,
        /// The amount that a design may use.
        most: u64,
        /// The amount that the design needs.
        found: u64,
    },
    /// A parallelism is zero or too large, or is no power of two where it must be one.
    #[error("the design has {found} {part}, expected {expected}")]
    Part {
        /// The name of the part.
        part: &'static str,
        /// The allowed numbers of the part.
        expected: &'static str,
        /// The number of the part in the design.
        found: usize,
    },
    /// No design of the grid fits the card.
    #[error("set {set}: no design of the grid fits the card")]
    NothingFits {
        /// The name of the parameter set.
        set: &'static str,
    },
}
