//! Queries: filters over columns, with a public shape and private constants.

mod derived;
mod error;
mod matches;
mod parse;
mod pattern;
mod place;
mod render;
mod shape;
mod walk;

pub use derived::{Deriver, Fingerprints, derive, fingerprint};
pub use error::QueryError;
pub use matches::Row;
pub use parse::compares_null;
pub use shape::ShapeError;
pub use walk::LeafShape;

use serde::{Deserialize, Serialize};

/// `SELECT columns FROM table WHERE filter`, with everything settled against a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Columns to return, by their place in the schema, in the order asked for.
    pub select: Vec<usize>,
    /// The condition that selects rows.
    pub filter: Filter,
}

/// A condition in negation normal form: NOT has been pushed to the leaves, so that a row is selected where the
/// filter is true; absent values make a leaf false, negated or not, as SQL's three-valued logic wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// All of them; at least two.
    And(Vec<Filter>),
    /// Any of them; at least two.
    Or(Vec<Filter>),
    /// One test of one column.
    Leaf(Leaf),
}

/// One test of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The column's place in the schema.
    pub column: usize,
    /// The test.
    pub test: Test,
    /// Whether rows are wanted that fail it (absent values fail both).
    pub negated: bool,
}

impl Leaf {
    /// The rows that pass a test.
    pub const fn new(column: usize, test: Test) -> Self {
        Self {
            column,
            test,
            negated: false,
        }
    }
}

/// A test with its constants.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// The ordinal is one of these (distinct, ascending, at least one; those outside the domain match nothing and are
    /// kept, so that the number of constants does not depend on the domain). Equality has one.
    Ordinals(Vec<i64>),
    /// The ordinal lies in an interval, ends included; a missing end is open. `low > high` matches nothing.
    Range {
        /// Smallest.
        low: Option<i64>,
        /// Largest.
        high: Option<i64>,
    },
    /// The text is one of these (distinct, at least one).
    Texts(Vec<String>),
    /// The text matches a pattern.
    Like(Pattern),
    /// The value is absent, or if negated present. The server sees the whole test, as it has no constant.
    Null,
}

/// A pattern `prefix % infix % suffix`, or exactly `prefix` where `exact`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// No `%` at all: the text has as many characters as the prefix.
    pub exact: bool,
    /// Before the first `%`.
    pub prefix: Segment,
    /// Between two `%`; empty: none.
    pub infix: Segment,
    /// The text after the last `%`.
    pub suffix: Segment,
    /// ILIKE: ASCII and other letters compare without their case.
    pub fold: bool,
}

/// Characters at fixed places beside each other; `None`: any one character (`_`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment(pub Vec<Option<char>>);

/// The part of a query that the server sees: everything but the constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// The columns that rows are returned with, as in [`Query`].
    pub select: Vec<usize>,
    /// The filter without constants.
    pub filter: FilterShape,
}

/// [`Filter`] without constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilterShape {
    /// All of them.
    And(Vec<FilterShape>),
    /// Any of them.
    Or(Vec<FilterShape>),
    /// One test.
    Leaf {
        /// The column's place in the schema.
        column: usize,
        /// The test.
        test: TestShape,
        /// Whether the test is negated, as in [`Leaf`].
        negated: bool,
    },
}

/// [`Test`] without constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TestShape {
    /// The value is one of this number of ordinals.
    Ordinals(usize),
    /// The ordinal lies in an interval.
    Range {
        /// There is a lower end.
        low: bool,
        /// There is an upper end.
        high: bool,
    },
    /// The value is one of this number of texts.
    Texts(usize),
    /// A pattern.
    Like(LikeShape),
    /// Absent.
    Null,
}

/// [`Pattern`] without its characters: for each place whether a certain character is required.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LikeShape {
    /// Whether the pattern has no `%`, as in [`Pattern`].
    pub exact: bool,
    /// The places in front of the first `%`.
    pub prefix: Vec<bool>,
    /// The places between two `%`s.
    pub infix: Vec<bool>,
    /// The places behind the last `%`.
    pub suffix: Vec<bool>,
    /// Whether upper and lower case are equal, as in [`Pattern`].
    pub fold: bool,
}

/// Most leaves of a query.
pub const MAX_LEAVES: usize = 64;

/// Most constants of one `IN`.
pub const MAX_CONSTANTS: usize = 256;

/// Most ANDs and ORs inside each other, and most parentheses in a query's text.
pub const MAX_DEPTH: usize = 32;
