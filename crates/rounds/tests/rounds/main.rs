//! Both rounds, encrypted, against messages in the clear.
#![allow(missing_docs)]

mod fetch;
mod scan;
mod world;
