//! The error of building a modulus or a transform table.

/// Why a [`Modulus`](crate::Modulus) or an [`NttTable`](crate::NttTable) was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The modulus needs more bits than the kernels carry.
    #[error("modulus {found} is too large: expected one below 2^{max_bits}")]
    ModulusTooLarge {
        /// The modulus given.
        found: u64,
        /// Moduli have at most this many bits.
        max_bits: u32,
    },
    /// The modulus is 2 or is not prime.
    #[error("modulus {0} is not an odd prime")]
    NotAnOddPrime(u64),
    /// The transform size is not a power of two, or is out of range.
    #[error("transform size {found}: expected a power of two from {min} to {max}")]
    TransformSize {
        /// The size given.
        found: usize,
        /// Smallest size.
        min: usize,
        /// Largest size.
        max: usize,
    },
    /// The modulus has no primitive `order`-th root of unity.
    #[error("modulus {modulus} is not 1 modulo {order}")]
    NoRootOfUnity {
        /// The modulus given.
        modulus: u64,
        /// The order needed: twice the transform size.
        order: u64,
    },
}
