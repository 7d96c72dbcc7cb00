//! The error of reading chain data.

/// Why real payloads could not be served.
///
/// Offsets are bytes from the start of the chain data being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionsError {
    /// The payload size asked for is too small to keep the payloads distinct.
    #[error("payloads have at least {expected} bytes, found {found}")]
    PayloadTooShort {
        /// The smallest size served.
        expected: usize,
        /// The size asked for.
        found: usize,
    },
    /// The chain data ends inside a field.
    #[error("byte {offset}: expected {expected} more bytes, found {found}")]
    Truncated {
        /// Where the field starts.
        offset: usize,
        /// Length of the field, saturated at `u64::MAX`.
        expected: u64,
        /// Bytes left.
        found: usize,
    },
    /// Bytes follow the last transaction of a block that has to end the data.
    #[error("byte {offset}: expected the end of the block, found {found} more bytes")]
    TrailingBytes {
        /// Where the block ends.
        offset: usize,
        /// Bytes left.
        found: usize,
    },
    /// A compact size is written in more bytes than it needs.
    #[error("byte {offset}: the compact size {found} is {width} bytes wide, expected fewer")]
    NonCanonicalSize {
        /// Where the compact size starts.
        offset: usize,
        /// The value of the compact size.
        found: u64,
        /// Bytes of the value, marker not counted.
        width: usize,
    },
    /// A block header carries an Equihash solution of another size than the main chain's.
    #[error("byte {offset}: expected a solution of {expected} bytes, found {found}")]
    SolutionSize {
        /// Where the size is written.
        offset: usize,
        /// The main chain's size.
        expected: u64,
        /// The size read.
        found: u64,
    },
    /// A transaction starts with a header word this parser does not know.
    #[error("byte {offset}: expected a transaction of version 1 to 5, found header {found:#010x}")]
    TransactionHeader {
        /// Where the transaction starts.
        offset: usize,
        /// The header word: the version, and the overwinter flag in the top bit.
        found: u32,
    },
    /// The version group of a transaction does not belong to its version.
    #[error("byte {offset}: expected version group {expected:#010x}, found {found:#010x}")]
    VersionGroup {
        /// Where the version group is written.
        offset: usize,
        /// The group of the transaction's version.
        expected: u32,
        /// The group read.
        found: u32,
    },
    /// The flag behind a segregated-witness marker is unknown.
    #[error("byte {offset}: expected witness flag {expected}, found {found}")]
    WitnessFlag {
        /// Where the flag is written.
        offset: usize,
        /// The one flag in use.
        expected: u8,
        /// The flag read.
        found: u8,
    },
}
