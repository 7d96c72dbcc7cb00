//! Both rounds, encrypted, against messages in the clear.
#![allow(missing_docs)]

mod fetch;
mod known;
mod scan;
mod world;
