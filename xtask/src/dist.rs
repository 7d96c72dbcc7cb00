//! The parts of a release, below `target/parts`: archives and packages of the command with the page for letters,
//! packages for npm, wheels, the chart, the image of a container, the source, the book, a bill of materials, digests of
//! all.

mod archive;
mod chart;
mod command;
mod contents;
mod debian;
mod image;
mod materials;
mod packages;
mod sign;
mod trial;
mod version;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::{book, built, files, npm, web, wheel};

/// A release that is being made.
struct Release<'a> {
    root: &'a Path,
    version: &'static str,
    /// The commit's time, which stands in archives in place of the clock's.
    epoch: String,
    /// The folder that its files are written to.
    out: PathBuf,
    /// Whether archives are made as small as they get, which takes minutes.
    is_small: bool,
}

impl<'a> Release<'a> {
    /// Begins a release in an empty folder.
    fn begin(
        root: &'a Path,
        version: &'static str,
        out: &str,
        is_small: bool,
    ) -> Result<Self, XtaskError> {
        Ok(Self {
            root,
            version,
            epoch: git(root, &["log", "-1", "--format=%ct"])?,
            out: fresh(&root.join(out))?,
            is_small,
        })
    }

    /// The path of a file of the release: `omr-VERSION` and what follows.
    fn file(&self, rest: &str) -> PathBuf {
        self.out.join(format!("omr-{}{rest}", self.version))
    }
}

/// Makes all files of a release and installs those of this system into empty folders; with a tag, those of its commit,
/// without one a rehearsal.
pub(crate) fn make(root: &Path, tag: Option<&str>) -> Result<(), XtaskError> {
    let version = version::checked(root, tag)?;
    let release = Release::begin(root, version, "target/parts", true)?;
    let Some(page) = web::built(root, "dist")? else {
        return Ok(());
    };
    let Some(contents) = command::packages(&release, &page)? else {
        return npm::skip("dist", "python");
    };
    let source = archive::source(&release)?;
    materials::list(&release, &source)?;
    for wheel in wheel::release(root, true)? {
        copy_into(&wheel, &release.out)?;
    }
    archive::tar(&release, "-book", &book::build(root)?)?;
    finish(&release, &page, &contents)
}

/// Makes the packages of this system below `target/packages`, of the command as tests have it, and installs each into
/// an empty folder.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let version = version::checked(root, None)?;
    let release = Release::begin(root, version, "target/packages", false)?;
    let Some(page) = web::built(root, "packages")? else {
        return Ok(());
    };
    let omr = built::command(root)?;
    let contents = contents::gather(&release, &omr, &page)?;
    archive::tar(&release, &format!("-{}", command::HOST), &contents)?;
    debian::pack(&release, command::HOST, &contents, "")?;
    finish(&release, &page, &contents)?;
    sign::trial(&release)
}

/// Adds what is made of other packages or of none, installs everything into empty folders, and writes the digests.
fn finish(release: &Release<'_>, page: &web::Web, contents: &Path) -> Result<(), XtaskError> {
    packages::npm(release, page)?;
    chart::pack(release)?;
    image::save(release, command::HOST)?;
    let upgrade = debian::pack(release, command::HOST, contents, "+upgrade")?;
    trial::all(release, command::HOST, &upgrade)?;
    files::remove(&upgrade)?;
    sign::sums(release)
}

/// Returns the output of git, without the line's end.
fn git(root: &Path, args: &[&str]) -> Result<String, XtaskError> {
    let said = printed(Command::new("git").current_dir(root).args(args))?;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

/// A folder with nothing in it.
fn fresh(folder: &Path) -> Result<PathBuf, XtaskError> {
    files::clear(folder)?;
    std::fs::create_dir_all(folder).map_err(XtaskError::io(folder))?;
    Ok(folder.to_owned())
}

/// Copies a file or a folder into a folder.
fn copy_into(from: &Path, to: &Path) -> Result<(), XtaskError> {
    succeed(Command::new("cp").arg("-RL").arg(from).arg(to))
}
