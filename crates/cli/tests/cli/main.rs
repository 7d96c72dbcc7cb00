//! The command, as its users run it.

#![forbid(unsafe_code)]

mod boards;
mod bound;
mod common;
mod conversations;
mod damage;
mod defaults;
mod devices;
mod directory;
#[cfg(target_os = "linux")]
mod disk;
mod documents;
mod errors;
mod examples;
mod expire;
mod figures;
mod flow;
mod keys;
mod letters;
mod mail;
mod masks;
mod operators;
mod paper;
mod pdq;
mod refusals;
mod serve;
mod socket;
mod stated;
mod stream;
mod tokens;
#[cfg(target_os = "linux")]
mod units;
mod watching;
mod workers;
