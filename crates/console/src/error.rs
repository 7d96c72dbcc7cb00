//! Why a file, standard output or the threads could not be used.

pub use omr_errors::chain;
use std::io;
use std::path::PathBuf;

/// Why a file, standard output or the threads could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsoleError {
    /// A file could not be read.
    #[error("{}", .0.display())]
    Read(PathBuf, #[source] ReadError),
    /// A file could not be written.
    #[error("writing {}", .0.display())]
    Write(PathBuf, #[source] WriteError),
    /// This file is in the way.
    #[error("{} exists: pass --force to replace it", .0.display())]
    Exists(PathBuf),
    /// What is written would replace this file, which is read.
    #[error("{} is what is read: expected another file to write", .0.display())]
    Source(PathBuf),
    /// Standard output failed.
    #[error("standard output")]
    Output(#[source] io::Error),
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// More bytes than so many, which is what such a file may have.
    #[error("expected a file of at most {0} bytes, found more")]
    TooLarge(u64),
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A folder where a file is to go.
    #[error("expected a file's name, found a folder: name a file in it")]
    IsFolder,
    /// A file where a folder is to be.
    #[error("expected a folder, found a file in its place")]
    NoFolder,
}

impl ConsoleError {
    /// A failed write with the file it is about.
    pub fn write(path: impl Into<PathBuf>, source: impl Into<WriteError>) -> Self {
        Self::Write(path.into(), source.into())
    }
}
