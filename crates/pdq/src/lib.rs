//! Private database queries: a server finds the rows of its table that satisfy a condition whose constants it
//! cannot read, and returns them without learning which they are.
//!
//! The *shape* of a query (its columns, operators, numbers of constants) is public, and both sides make the same
//! [`Plan`] from it. The client encrypts truth tables of its constants ([`Client::encrypt`]); the server looks each
//! row's digits up in them, multiplies and adds ([`Server::answer`]), and compresses the rows that are marked as OMR
//! compresses messages: power sums in the clear ring's slots, solved by the client ([`Client::decode`]).
//!
//! Sets with `two-sided` in their name also keep from the client all but the rows that match ([`Flooding`]); with the
//! others the client may learn more of the table. SECURITY.md states the promises.
//!
//! Source: SIMD-aware homomorphic compression and application to private database query (2024), with the table in the
//! clear as in its Remark 7 and ring switching before compression (Section V-C).
#![forbid(unsafe_code)]

mod answer;
mod client;
pub mod compress;
mod encrypted;
mod error;
mod hosted;
mod keys;
mod lock;
mod noise;
mod params;
pub mod plan;
mod progress;
mod query;
mod server;
mod times;

pub use answer::Answer;
pub use client::{Client, DecodeError, Rows};
pub use encrypted::{EncryptedHead, EncryptedServer, EncryptedTable, Indexed};
pub use error::{
    AnswerError, KeyError, ParamsError, PlanError, QueryFileError, ServerError, TableFileError,
};
pub use hosted::{Hosted, Public};
pub use keys::{EvaluationKey, Part, SecretKey};
pub use params::{BODY_BITS, MASK_BITS, Params, Spec};
pub use plan::{Flooding, Plan};
pub use progress::{Progress, Quiet};
pub use query::{EncryptedQuery, QueryHead};
pub use server::{Server, flood};
pub use times::{Stage, Times};
