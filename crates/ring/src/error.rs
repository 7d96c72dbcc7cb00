//! The error of building rings and bases.

/// An error in building a ring or a basis.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// A prime does not suit the ring.
    #[error("modulus: {0}")]
    Modulus(#[from] omr_kernels::KernelError),
    /// Two equal primes in one universe.
    #[error("expected distinct primes, found {0} twice")]
    Repeated(u64),
    /// Not enough primes of the wanted size.
    #[error("expected {expected} primes of {bits} bits that are 1 mod {step}, found {found}")]
    TooFewPrimes {
        /// The number of primes asked for.
        expected: usize,
        /// The number of primes that exist.
        found: usize,
        /// Their size in bits.
        bits: u32,
        /// The step 2n.
        step: u64,
    },
}
