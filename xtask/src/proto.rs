//! Lints the protocol definitions and compares them with their baseline.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::ci::{start_error, success};
use crate::error::XtaskError;
use crate::{files, npm};

/// The protocol as it was when it was last accepted, below the folder of the protocol.
const BASELINE: &str = "baseline/omr-v1.txtpb";

/// The protocol as it is, seen from there.
const NOW: &str = "../target/proto-now.txtpb";

/// The exit code of buf if it found something.
const FOUND: i32 = 100;

/// Fields whose numbers are changed to see that buf finds it: file, field, the same with another number.
const BREAK: [&str; 3] = [
    "omr/v1/board.proto",
    "bytes board_id = 1;",
    "bytes board_id = 1001;",
];

/// Lints the protocol and compares it with its baseline; no change may break a client.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let Some(npm) = npm::tools(root)? else {
        return npm::skip("proto", "npm");
    };
    let proto = root.join("proto");
    for args in [&["lint"][..], &["breaking", "--against", BASELINE]] {
        let mut command = buf(&npm, &proto, args);
        let status = run(&mut command)?;
        success(&command, status)?;
    }
    is_renewed(&proto, &npm)?;
    finds_a_break(root, &npm)
}

/// Makes the protocol as it is the baseline.
pub(crate) fn accept(root: &Path) -> Result<(), XtaskError> {
    let Some(npm) = npm::tools(root)? else {
        return npm::skip("proto", "npm");
    };
    build(&root.join("proto"), &npm, BASELINE)
}

/// Writes the protocol as it is.
fn build(proto: &Path, npm: &Path, to: &str) -> Result<(), XtaskError> {
    let args = ["build", "--exclude-source-info", "-o", to];
    let mut command = buf(npm, proto, &args);
    let status = run(&mut command)?;
    success(&command, status)
}

/// Checks that the baseline is current. Fields that were added but never accepted could be changed or removed unnoticed.
fn is_renewed(proto: &Path, npm: &Path) -> Result<(), XtaskError> {
    build(proto, npm, NOW)?;
    let read = |name| {
        let path = proto.join(name);
        fs::read(&path).map_err(XtaskError::io(&path))
    };
    if read(BASELINE)? == read(NOW)? {
        Ok(())
    } else {
        Err(XtaskError::Baseline {
            path: proto.join(BASELINE),
        })
    }
}

/// A check that passes whatever it is given checks nothing: a changed number must not pass.
fn finds_a_break(root: &Path, npm: &Path) -> Result<(), XtaskError> {
    let [file, field, changed] = BREAK;
    let copy = root.join("target/proto-break");
    if copy.exists() {
        fs::remove_dir_all(&copy).map_err(XtaskError::io(&copy))?;
    }
    files::copy_folder(&root.join("proto"), &copy)?;
    let path = copy.join(file);
    let text = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
    if !text.contains(field) {
        return Err(XtaskError::Marker {
            path,
            expected: field,
        });
    }
    fs::write(&path, text.replace(field, changed)).map_err(XtaskError::io(&path))?;
    let mut command = buf(npm, &copy, &["breaking", "--against", BASELINE]);
    let output = command
        .output()
        .map_err(|source| start_error(&command, source))?;
    match output.status.code() {
        Some(FOUND) => Ok(()),
        _ => Err(XtaskError::BreakNotFound {
            status: output.status,
        }),
    }
}

pub(crate) fn buf(npm: &Path, folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(npm.join("node_modules/.bin/buf"));
    command
        .current_dir(folder)
        .args(args)
        .env("BUF_CACHE_DIR", npm.join("buf-cache"));
    command
}

fn run(command: &mut Command) -> Result<ExitStatus, XtaskError> {
    command
        .status()
        .map_err(|source| start_error(command, source))
}
