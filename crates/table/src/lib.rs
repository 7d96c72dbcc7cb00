//! Typed tables and queries in the clear: what a private database query is asked of, and what it means.
//!
//! No cryptography. A [`Schema`] is public: clients plan and encrypt queries with it alone. A [`Query`] has a
//! public [`Shape`] and constants, which the client keeps to herself; `Query::matches` is the plain
//! reference that encrypted answers are judged by.
#![forbid(unsafe_code)]

mod query;
mod schema;
#[cfg(feature = "testing")]
pub mod testing;
mod value;

pub use query::{
    Deriver, Filter, FilterShape, Fingerprints, Leaf, LeafShape, LikeShape, MAX_CONSTANTS,
    MAX_DEPTH, MAX_LEAVES, Pattern, Query, QueryError, Row, Segment, Shape, ShapeError, Test,
    TestShape, derive, fingerprint,
};
pub use schema::{Column, ColumnType, Domain, MAX_TEXT_BYTES, Schema};
pub use value::Value;
