//! The errors of building and packing ([`CodecError`]) and of decoding ([`DecodeError`]).

use omr_errors::Mismatch;

/// An error of construction, packing or unpacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The modulus is not an odd prime below `2^31`.
    #[error("modulus: expected an odd prime below 2^31, found {0}")]
    Modulus(u32),
    /// The slot count is not a power of two that divides `p - 1`.
    #[error("slots: expected a power of two dividing {}, found {}", .0.expected, .0.found)]
    Slots(Mismatch<u32, usize>),
    /// More batches, or fewer, than the field has nodes for.
    #[error("batches: expected 1 to {}, found {}", .0.expected, .0.found)]
    Batches(Mismatch<usize>),
    /// The bound of a code is zero or too large.
    #[error("bound: expected 1 to {}, found {}", .0.expected, .0.found)]
    Bound(Mismatch<usize>),
    /// Numbers of a code that do not fit each other.
    #[error("dimension: {0}")]
    Dimension(Mismatch<&'static str, u64>),
    /// The payload length of a packing is zero or too large.
    #[error("payload length: expected 1 to {} bytes, found {}", .0.expected, .0.found)]
    PayloadBytes(Mismatch<usize>),
    /// A payload does not have the length the packing was built for.
    #[error("payload: expected {} bytes, found {}", .0.expected, .0.found)]
    PayloadLength(Mismatch<usize>),
    /// A row of symbols does not have the length of one packed payload.
    #[error("symbols: {0}")]
    SymbolCount(Mismatch<usize>),
    /// The symbol at this place of a payload is not a residue below the modulus.
    #[error("symbol {}: expected a value below {}, found {}", .0, .1.expected, .1.found)]
    SymbolRange(usize, Mismatch<u32>),
    /// The symbols of a block encode a number that no block of bytes packs to.
    #[error("block {block}: expected a value of at most {expected_bits} bits, found {found_bits}")]
    NotCanonical {
        /// The block's place in the payload.
        block: usize,
        /// The bits the block's bytes hold.
        expected_bits: u32,
        /// The bits the symbols' value needs.
        found_bits: u32,
    },
    /// The coefficients after the last digit of a payload, put together bit by bit, are not zero.
    #[error("padding of the last symbol: expected zeros, found {0}")]
    Padding(u32),
}

/// An error of decoding sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// More pertinent messages than the digest was dimensioned for.
    #[error(
        "overflow: {count} pertinent messages, expected at most {bound}; ask for a larger bound or \
         for sums over fewer messages"
    )]
    Overflow {
        /// The number of pertinent messages the sums claim; of a cubic code modulo 97.
        count: usize,
        /// The bound given.
        bound: usize,
    },
    /// Too few sums to determine the unknowns.
    #[error("sums: expected at least {}, found {}", .0.expected, .0.found)]
    TooFewSums(Mismatch<usize>),
    /// The sums are not as many as the code has.
    #[error("sums: expected {} coefficients, found {}", .0.expected, .0.found)]
    SumCount(Mismatch<usize>),
    /// The sum of this exponent is not a residue below the modulus.
    #[error("sum {}: expected a value below {}, found {}", .0, .1.expected, .1.found)]
    SumRange(usize, Mismatch<u32>),
    /// No set of messages explains the sums.
    #[error("inconsistent sums: {0}")]
    Inconsistent(Inconsistency),
}

/// How sums contradict themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inconsistency {
    /// The locator polynomial has too few distinct roots among the nodes of the messages there are. Expected are as many as the first sum claims.
    #[error("expected {} distinct nodes, found {}", .0.expected, .0.found)]
    Roots(Mismatch<usize>),
    /// The exact counters of a cubic code do not fit the number of messages modulo 97.
    #[error("counters: expected {} messages modulo 97, found {}", .0.expected, .0.found)]
    Counters(Mismatch<usize>),
    /// The redundant sum of this exponent is not the one that the others determine; cubic elements stand as
    /// `c0 + 97 c1 + 97^2 c2`.
    #[error("sum {0}: {1}")]
    Sum(usize, Mismatch<u32>),
}

impl From<Inconsistency> for DecodeError {
    fn from(cause: Inconsistency) -> Self {
        DecodeError::Inconsistent(cause)
    }
}
