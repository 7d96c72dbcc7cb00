//! The parts of a release, below `target/dist`: archives of the command and the source, the wheel, the book, a bill
//! of materials, the image of a container, and digests of all of them.

mod archive;
mod command;
mod image;
mod materials;
mod version;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::{book, wheel};

/// A release that is being made.
struct Release<'a> {
    root: &'a Path,
    version: &'static str,
    /// The commit's time, which stands in archives in place of the clock's.
    epoch: String,
    /// Where its files go.
    out: PathBuf,
}

impl Release<'_> {
    /// The path of a file of the release: `omr-VERSION` and what follows.
    fn file(&self, rest: &str) -> PathBuf {
        self.out.join(format!("omr-{}{rest}", self.version))
    }
}

/// Makes all files of a release; with a tag, that of its commit, without one a rehearsal.
pub(crate) fn make(root: &Path, tag: Option<&str>) -> Result<(), XtaskError> {
    let version = version::checked(root, tag)?;
    let out = fresh(&root.join("target/dist"))?;
    let epoch = git(root, &["log", "-1", "--format=%ct"])?;
    let release = Release {
        root,
        version,
        epoch,
        out,
    };
    command::archives(&release)?;
    let source = archive::source(&release)?;
    materials::list(&release, &source)?;
    for wheel in wheel::release(root, true)? {
        copy_into(&wheel, &release.out)?;
    }
    archive::tar(&release, "-book", &book::build(root)?)?;
    image::save(&release)?;
    sums(&release.out)
}

/// Digests of all files, as `sha256sum --check` reads them.
fn sums(out: &Path) -> Result<(), XtaskError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(out).map_err(XtaskError::io(out))? {
        names.push(entry.map_err(XtaskError::io(out))?.file_name());
    }
    names.sort();
    let mut command = Command::new("sha256sum");
    let sums = printed(command.current_dir(out).arg("--").args(names))?;
    print!("{}", String::from_utf8_lossy(&sums));
    let path = out.join("SHA256SUMS");
    fs::write(&path, sums).map_err(XtaskError::io(&path))
}

/// Returns the output of git, without the line's end.
fn git(root: &Path, args: &[&str]) -> Result<String, XtaskError> {
    let said = printed(Command::new("git").current_dir(root).args(args))?;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

/// A folder with nothing in it.
fn fresh(folder: &Path) -> Result<PathBuf, XtaskError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(XtaskError::io(folder))?;
    }
    fs::create_dir_all(folder).map_err(XtaskError::io(folder))?;
    Ok(folder.to_owned())
}

/// Copies a file or a folder into a folder.
fn copy_into(from: &Path, to: &Path) -> Result<(), XtaskError> {
    succeed(Command::new("cp").arg("-R").arg(from).arg(to))
}
