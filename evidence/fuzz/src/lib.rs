//! Fuzz targets for every parser of other people's bytes. For any bytes a parser must not panic, must not allocate
//! more memory than is proportional to the bytes, and must write what it read to equal bytes.
//!
//! libFuzzer runs them in the folder `fuzz/` of the repository; a test of this crate runs every target over its seeds
//! and some thousand changes of them.
#![forbid(unsafe_code)]

mod input;
mod memory;

pub mod addresses;
pub mod boards;
pub mod clues;
pub mod csv;
pub mod decoding;
pub mod digests;
pub mod exports;
pub mod frames;
pub mod headers;
pub mod inboxes;
pub mod keys;
pub mod letters;
pub mod locked;
pub mod parquet;
pub mod partials;
pub mod queries;
pub mod rounds;
pub mod sealed;
pub mod secrets;
pub mod service;
pub mod sessions;
pub mod settings;
pub mod sql;
pub mod stores;
pub mod tables;

/// A parser, or several of one kind, and inputs to begin with.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the module.
    pub name: &'static str,
    run: Run,
    /// A function that returns inputs that most of the parser accepts.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// True if the code under test turns panics inside it into errors, so that only panics that leave it count.
    pub catches: bool,
}

/// The input of a target.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// All bytes.
    Whole(fn(&[u8])),
    /// The first byte as a choice among parsers, and the bytes after it.
    Chosen(fn(usize, &[u8])),
}

impl Target {
    const fn new(name: &'static str, run: fn(usize, &[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Self {
        Self {
            name,
            run: Run::Chosen(run),
            seeds,
            catches: false,
        }
    }

    const fn catching(self) -> Self {
        Self {
            catches: true,
            ..self
        }
    }

    /// Runs the target on any bytes.
    ///
    /// Panics: if the parser panics or breaks a promise.
    pub fn run(&self, bytes: &[u8]) {
        match self.run {
            Run::Whole(run) => run(bytes),
            Run::Chosen(run) => {
                if let Some((choice, rest)) = input::chosen(bytes) {
                    run(choice, rest);
                }
            }
        }
    }
}

/// All targets.
pub const TARGETS: [Target; 25] = [
    addresses::TARGET,
    boards::TARGET,
    clues::TARGET,
    csv::TARGET,
    decoding::TARGET,
    digests::TARGET,
    exports::TARGET,
    frames::TARGET,
    headers::TARGET,
    inboxes::TARGET,
    keys::TARGET,
    letters::TARGET,
    locked::TARGET,
    parquet::TARGET,
    partials::TARGET,
    queries::TARGET,
    rounds::TARGET,
    sealed::TARGET,
    secrets::TARGET,
    sessions::TARGET,
    settings::TARGET,
    sql::TARGET,
    stores::TARGET,
    tables::TARGET,
    // The last target, because its threads continue.
    service::TARGET,
];
