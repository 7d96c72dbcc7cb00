//! Lines of the log, to the standard error output or systemd's journal behind it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// The standard error output. If systemd's journal reads it, each line begins with the priority of its level, which the
/// journal removes (sd-daemon(3)).
pub(crate) struct Lines {
    to_journal: bool,
}

/// The writer of one line.
pub(crate) struct Line {
    prefix: &'static str,
}

impl Lines {
    pub(crate) fn new() -> Self {
        let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let output = io::stderr().as_fd().try_clone_to_owned();
        Self {
            to_journal: output.is_ok_and(|output| is_stream(&File::from(output), &stream)),
        }
    }

    fn line(&self, level: Level) -> Line {
        Line {
            prefix: if self.to_journal { priority(level) } else { "" },
        }
    }
}

/// Returns whether a file is the one that `JOURNAL_STREAM` names by device and inode.
fn is_stream(file: &File, stream: &str) -> bool {
    let found = file.metadata();
    found.is_ok_and(|found| stream == format!("{}:{}", found.dev(), found.ino()))
}

fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        _ => "<7>",
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        self.line(Level::INFO)
    }

    fn make_writer_for(&self, metadata: &Metadata<'_>) -> Line {
        self.line(*metadata.level())
    }
}

impl Write for Line {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        // In one piece, because other threads write lines, too.
        io::stderr().write_all(&[self.prefix.as_bytes(), text].concat())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
