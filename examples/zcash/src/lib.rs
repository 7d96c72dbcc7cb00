//! A demonstration: payments on Zcash that their recipients find by a board of omr beside the chain.
//!
//! `docs/zcash.md` describes the parts: a sender gives a transaction to a [`Node`] and an announcement of it to a [`Bridge`],
//! which feeds the announcements of each block to the board of an omr server; a [`Wallet`] fetches its letters from there,
//! and the few blocks to which they point from the node.
#![forbid(unsafe_code)]

mod address;
mod bridge;
mod chain;
mod demo;
mod error;
mod figures;
mod local;
mod measure;
mod node;
mod pay;
mod pointer;
mod relay;
mod transaction;
mod wallet;
mod windows;

pub use address::PaymentAddress;
pub use bridge::{Bridge, KEPT_BLOCKS};
pub use chain::{Chain, EXPIRY};
pub use demo::demo;
pub use error::ZcashError;
pub use figures::{Costs, Figures, Machine};
pub use local::{Addresses, Local};
pub use measure::{OWN, measure};
pub use node::Node;
pub use pay::Sender;
pub use relay::Traffic;
pub use transaction::{Payment, payment};
pub use wallet::{Note, Received, Wallet};
