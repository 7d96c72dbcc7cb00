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
    let mut command = steady(release);
    command
        .arg(format!("--use-compress-program=gzip -n {compress}"))
        .arg(named)
        .arg("--file")
        .arg(release.file(file))
        .arg("--directory")
        .args([folder, Path::new(".")]);
    succeed(&mut command)
}

/// Packs what a folder contains into a file, without compression.
pub(super) fn tar_plain(
    release: &Release<'_>,
    file: &str,
    folder: &Path,
) -> Result<(), XtaskError> {
    let mut command = steady(release);
    command
        .arg("--transform=s,^\\./,,")
        .arg("--file")
        .arg(release.file(file))
        .arg("--directory")
        .args([folder, Path::new(".")]);
    succeed(&mut command)
}

/// Begins a command of tar that depends on names and content alone.
fn steady(release: &Release<'_>) -> Command {
    let mut command = Command::new("tar");
    command
        .args(["--create", "--format=ustar", "--sort=name"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        .arg("--mode=u=rwX,go=rX")
        .arg(format!("--mtime=@{}", release.epoch));
    command
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    /// A folder with two files that were written in an order, at a time and with rights for a group.
    fn folder(at: &Path, names: [&str; 2], seconds: u64, mode: u32) -> PathBuf {
        fs::create_dir(at).unwrap();
        for name in names {
            let path = at.join(name);
            fs::write(&path, name).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            file.set_modified(time).unwrap();
        }
        at.to_owned()
    }

    #[test]
    fn an_archive_depends_on_names_and_content_alone() {
        let temp = tempfile::tempdir().unwrap();
        let packed = |out: &str, names, seconds, mode| {
            let release = Release {
                root: temp.path(),
                version: "1.2.3",
                epoch: "1700000000".to_owned(),
                out: fresh(&temp.path().join(out)).unwrap(),
                is_small: false,
            };
            let from = folder(&release.out.join("from"), names, seconds, mode);
            tar(&release, "-x", &from).unwrap();
            fs::read(release.file("-x.tar.gz")).unwrap()
        };
        let first = packed("here", ["a", "b"], 1_000_000_000, 0o640);
        assert_eq!(packed("there", ["b", "a"], 1_800_000_000, 0o664), first);
        assert_ne!(packed("other", ["a", "c"], 1_000_000_000, 0o640), first);
    }
}
