//! The service over the network, in this process, with small parameters.

mod access;
mod addresses;
mod attacks;
mod board;
mod bound;
mod figures;
mod jobs;
mod keys;
mod ledger;
mod mail;
mod orders;
mod reflection;
mod rounds;
mod sessions;
mod together;
mod traces;
mod workers;
mod world;
