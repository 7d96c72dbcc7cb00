//! Runs the program in a separate folder, with insecure tiny parameters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const PARAMS: &str = "insecure-tiny-v4";

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Done {
    /// Checks that the run succeeded and printed nothing on standard error; returns standard output.
    #[track_caller]
    pub(crate) fn quietly(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        String::from_utf8(self.stdout).unwrap()
    }

    /// Checks that the run failed with this code, after one line `omr: ` with every text.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        assert!(self.stderr.starts_with("omr: "), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} not in {self:?}");
        }
    }

    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.quietly()).unwrap()
    }
}

/// A folder of a test.
pub(crate) struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn empty() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        let mut command = Command::new(env!("CARGO_BIN_EXE_omr-lab"));
        let output = command
            .current_dir(self.dir.path())
            .args(args)
            .output()
            .unwrap();
        Done {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Splits a command line into words.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}
