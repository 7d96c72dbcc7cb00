/// What can be wrong with parameters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// No published set has this name.
    #[error("expected one of the parameter sets {known}, found {found:?}")]
    Unknown {
        /// The published names.
        known: String,
        /// The name asked for.
        found: String,
    },
    /// A key would fall below 128 bits of security.
    #[error(
        "expected log2(PQ) of at most {limit} bits in dimension {n} for 128-bit security, found {found:.1}"
    )]
    Insecure {
        /// Ring dimension.
        n: usize,
        /// The largest modulus that is estimated secure.
        limit: f64,
        /// The key's modulus.
        found: f64,
    },
    /// A prime does not exist or does not fit.
    #[error(transparent)]
    Ring(#[from] omr_ring::RingError),
    /// The sparse-recovery code does not fit the plaintext modulus.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
}

/// A query that cannot be planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The bound is 0 or too large.
    #[error("expected a bound of 1 to {limit} rows, found {found}", limit = crate::plan::MAX_BOUND)]
    Bound {
        /// The bound.
        found: usize,
    },
    /// The circuit is too deep for the parameters.
    #[error(
        "expected a query of at most {expected} products one after another, found {found}: ask for fewer \
         conditions at once, or shorter ones"
    )]
    Depth {
        /// What the parameters offer.
        expected: usize,
        /// The shallowest circuit.
        found: usize,
    },
    /// The query does not fit the table.
    #[error(transparent)]
    Query(#[from] omr_table::QueryError),
    /// The columns do not make a row.
    #[error(transparent)]
    Row(#[from] omr_table::RowError),
}
