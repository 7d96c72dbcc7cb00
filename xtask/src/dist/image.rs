//! The image of a container, by buildah, which needs no daemon: Debian as mmdebstrap installs it, and the package.

use std::process::Command;

use super::{Release, archive, debian, fresh};
use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::{files, npm};

/// The release of Debian in the image.
const DEBIAN: &str = "bookworm";

/// Where images are kept while they are made; without the file system that needs a kernel's help.
const STORAGE: [&str; 2] = ["--storage-driver", "vfs"];

/// Builds the image and saves it as an archive of the Open Container Initiative.
pub(super) fn save(release: &Release<'_>, target: &str) -> Result<(), XtaskError> {
    for program in ["buildah", "mmdebstrap"] {
        if !npm::starts(program) {
            return npm::skip("image", program);
        }
    }
    if !debian::path(release, target, "").is_some_and(|path| path.exists()) {
        return npm::skip("image", "dpkg-deb");
    }
    let tree = release.root.join("target/dist-debian.tar");
    let mut command = Command::new("mmdebstrap");
    command
        .args(["--quiet", "--variant=minbase", "--include=ca-certificates"])
        .arg(DEBIAN)
        .arg(&tree)
        .env("SOURCE_DATE_EPOCH", &release.epoch);
    succeed(&mut command)?;
    let base = format!("localhost/omr-base:{}", release.version);
    let image = format!("localhost/omr:{}", release.version);
    let container = printed(buildah().args(["from", "scratch"]))?;
    let container = String::from_utf8_lossy(&container).trim().to_owned();
    succeed(buildah().args(["add", "--quiet", &container]).arg(&tree))?;
    let commit = ["commit", "--quiet", "--rm", "--timestamp", &release.epoch];
    succeed(buildah().args(commit).args([&container, &base]))?;
    files::remove(&tree)?;
    let mut build = buildah();
    build
        .args([
            "build",
            "--quiet",
            "--isolation",
            "chroot",
            "--format",
            "oci",
        ])
        .args([
            "--pull-never",
            "--layers=false",
            "--timestamp",
            &release.epoch,
        ])
        .args(["--build-arg", &format!("BASE={base}"), "--tag", &image])
        .arg("--file")
        .arg(release.root.join("packaging/Containerfile"));
    succeed(build.arg(&release.out))?;
    // Not by buildah, whose archives have the clock's time.
    let folder = fresh(&release.root.join("target/dist-image"))?;
    let to = format!("oci:{}:{}", folder.display(), release.version);
    succeed(buildah().args(["push", "--quiet", &image, &to]))?;
    archive::tar_plain(release, "-image.tar", &folder)
}

/// buildah with its storage.
pub(super) fn buildah() -> Command {
    let mut command = Command::new("buildah");
    command.args(STORAGE);
    command
}
