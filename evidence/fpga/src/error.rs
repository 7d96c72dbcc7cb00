//! Why a circuit cannot be modelled.

/// Blocks, designs and parameter sets that do not fit together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FpgaError {
    /// Not a file of block cycles.
    #[error("expected the cycles of blocks as `make -C hw full` writes them")]
    Cycles(#[from] serde_json::Error),
    /// A block that was measured at an impossible point.
    #[error("block {block}: expected {expected}, found {found}")]
    Block {
        /// The block.
        block: &'static str,
        /// What its figure should be.
        expected: &'static str,
        /// The figure.
        found: u64,
    },
    /// Primes that the multipliers do not hold.
    #[error(
        "set {set}: expected primes of at most {most} bits, which the multipliers hold, found one of {found}"
    )]
    PrimeBits {
        /// The parameter set.
        set: &'static str,
        /// Bits of a residue in the RTL.
        most: u32,
        /// Bits of the widest prime.
        found: u32,
    },
    /// A ring that the transform's memory does not hold.
    #[error(
        "set {set}: expected a ring of at most {most} coefficients, which a core's memory holds, found {found}"
    )]
    Ring {
        /// The parameter set.
        set: &'static str,
        /// Words of a core's memory.
        most: usize,
        /// Coefficients of the ring.
        found: usize,
    },
    /// A design that needs more than a card has.
    #[error("the design needs {found} {resource}, expected at most {most}")]
    Limit {
        /// What there is too little of.
        resource: &'static str,
        /// As much as a design may use.
        most: u64,
        /// As much as it needs.
        found: u64,
    },
    /// A parallelism of zero, or butterflies that do not divide the ring.
    #[error("the design has {found} {part}, expected {expected}")]
    Part {
        /// What it is made of.
        part: &'static str,
        /// How many there may be.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// No design of the grid fits the card.
    #[error("set {set}: no design of the grid fits the card")]
    NothingFits {
        /// The parameter set.
        set: &'static str,
    },
}
