//! Errors in reading chain data.

/// Chain data cannot be read, or payloads cannot be cut from it.
///
/// Offsets are bytes from the start of the chain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionsError {
    /// The requested payload size is too small to keep the payloads distinct.
    #[error("payloads have at least {expected} bytes, found {found}")]
    PayloadTooShort {
        /// The smallest allowed size.
        expected: usize,
        /// The requested size.
        found: usize,
    },
    /// The chain data ends inside a field.
    #[error("byte {offset}: expected {expected} more bytes, found {found}")]
    Truncated {
        /// The start of the field.
        offset: usize,
        /// Length of the field, saturated at `u64::MAX`.
        expected: u64,
        /// The number of remaining bytes.
        found: usize,
    },
    /// Bytes follow the last transaction of a block that must end the data.
    #[error("byte {offset}: expected the end of the block, found {found} more bytes")]
    TrailingBytes {
        /// The end of the block.
        offset: usize,
        /// The number of remaining bytes.
        found: usize,
    },
    /// A compact size has more bytes than it needs.
    #[error("byte {offset}: the compact size {found} is {width} bytes wide, expected fewer")]
    NonCanonicalSize {
        /// The start of the compact size.
        offset: usize,
        /// The value of the compact size.
        found: u64,
        /// The number of bytes of the value, without the marker.
        width: usize,
    },
    /// A block header contains an Equihash solution whose size differs from the main chain's.
    #[error("byte {offset}: expected a solution of {expected} bytes, found {found}")]
    SolutionSize {
        /// The position of the size.
        offset: usize,
        /// The main chain's size.
        expected: u64,
        /// The size in the header.
        found: u64,
    },
    /// A transaction starts with an unknown header word.
    #[error("byte {offset}: expected a transaction of version 1 to 5, found header {found:#010x}")]
    TransactionHeader {
        /// The start of the transaction.
        offset: usize,
        /// The header word: the version, and the overwinter flag in the top bit.
        found: u32,
    },
    /// The version group of a transaction does not belong to its version.
    #[error("byte {offset}: expected version group {expected:#010x}, found {found:#010x}")]
    VersionGroup {
        /// The position of the version group.
        offset: usize,
        /// The group of the transaction's version.
        expected: u32,
        /// The group in the transaction.
        found: u32,
    },
    /// The flag after a segregated-witness marker is unknown.
    #[error("byte {offset}: expected witness flag {expected}, found {found}")]
    WitnessFlag {
        /// The position of the flag.
        offset: usize,
        /// The only flag in use.
        expected: u8,
        /// The flag in the transaction.
        found: u8,
    },
}
