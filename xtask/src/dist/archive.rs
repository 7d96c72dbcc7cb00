//! Archives whose bytes are the same on every machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, fresh};
use crate::ci::succeed;
use crate::error::XtaskError;

/// Packs a folder as `omr-VERSION` and a suffix, under that name.
pub(super) fn tar(release: &Release<'_>, suffix: &str, folder: &Path) -> Result<(), XtaskError> {
    let inside = format!("omr-{}{suffix}", release.version);
    tar_as(release, &format!("{suffix}.tar.gz"), &inside, folder)
}

/// Packs a folder into a file under a name, or what it contains: in the order of names, with the commit's time and
/// nobody's name.
pub(super) fn tar_as(
    release: &Release<'_>,
    file: &str,
    inside: &str,
    folder: &Path,
) -> Result<(), XtaskError> {
    let compress = if release.is_small { "-9" } else { "-1" };
    let named = if inside.is_empty() {
        "--transform=s,^\\./,,".to_owned()
    } else {
        format!("--transform=s,^\\.,{inside},SH")
    };
    let mut command = Command::new("tar");
    command
        .args(["--create", "--format=ustar", "--sort=name"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        .arg("--mode=u=rwX,go=rX")
        .arg(format!("--use-compress-program=gzip -n {compress}"))
        .arg(format!("--mtime=@{}", release.epoch))
        .arg(named)
        .arg("--file")
        .arg(release.file(file))
        .arg("--directory")
        .args([folder, Path::new(".")]);
    succeed(&mut command)
}

/// Packs the source of the commit that is checked out; gives a folder with a copy of it.
pub(super) fn source(release: &Release<'_>) -> Result<PathBuf, XtaskError> {
    let copy = fresh(&release.root.join("target/dist-source"))?;
    let file = copy.join("source.tar");
    let mut command = Command::new("git");
    command.current_dir(release.root);
    command.args(["archive", "--format=tar", "HEAD", "--output"]);
    succeed(command.arg(&file))?;
    let mut command = Command::new("tar");
    command.current_dir(&copy).args(["--extract", "--file"]);
    succeed(command.arg(&file))?;
    std::fs::remove_file(&file).map_err(XtaskError::io(&file))?;
    tar(release, "-source", &copy)?;
    Ok(copy)
}
