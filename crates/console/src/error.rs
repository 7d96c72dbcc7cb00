//! Errors of using files, standard output and threads.

pub use omr_errors::chain;
use std::io;
use std::path::PathBuf;

/// An error of using a file, standard output or threads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsoleError {
    /// A file could not be read.
    #[error("{}", .0.display())]
    Read(PathBuf, #[source] ReadError),
    /// A file could not be written.
    #[error("writing {}", .0.display())]
    Write(PathBuf, #[source] WriteError),
    /// The file exists and would be replaced.
    #[error("{} exists: pass --force to replace it", .0.display())]
    Exists(PathBuf),
    /// The output would replace this file, which is an input.
    #[error("{} is what is read: expected another file to write", .0.display())]
    Source(PathBuf),
    /// Standard output failed.
    #[error("standard output")]
    Output(#[source] io::Error),
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// An error of reading a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has more than this number of bytes, which is the limit for its kind.
    #[error("expected a file of at most {0} bytes, found more")]
    TooLarge(u64),
}

/// An error of writing a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is a folder at the file's path.
    #[error("expected a file's name, found a folder: name a file in it")]
    IsFolder,
    /// There is a file at the folder's path.
    #[error("expected a folder, found a file in its place")]
    NoFolder,
}

impl ConsoleError {
    /// Makes the error of a failed write to a file.
    pub fn write(path: impl Into<PathBuf>, source: impl Into<WriteError>) -> Self {
        Self::Write(path.into(), source.into())
    }
}
