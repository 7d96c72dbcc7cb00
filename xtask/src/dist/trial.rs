//! The files of a release, installed into empty folders and started there.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use super::contents::{COMMAND, CONFIGURATION, LICENCES, MANUAL, PAGE, SHELLS, UNITS};
use super::{Release, debian, fresh, image};
use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::{files, npm};

/// The script that installs, starts, upgrades and purges a package for Debian.
const DEBIAN: &str = include_str!("trial/debian.sh");

/// The script that loads the packages for npm.
const NODE: &str = include_str!("trial/packages.mjs");

/// Tries everything that can be installed on this system.
pub(super) fn all(release: &Release<'_>, target: &str, upgrade: &Path) -> Result<(), XtaskError> {
    let folder = fresh(&release.root.join("target/dist-trial"))?;
    archive(release, target, &folder)?;
    node(release, &folder)?;
    package(release, target, upgrade, &folder)?;
    container(release)
}

/// Unpacks an archive and starts its command.
fn archive(release: &Release<'_>, target: &str, folder: &Path) -> Result<(), XtaskError> {
    let name = format!("omr-{}-{target}", release.version);
    let mut command = Command::new("tar");
    command.current_dir(folder).args(["--extract", "--file"]);
    succeed(command.arg(files::absolute(
        &release.file(&format!("-{target}.tar.gz")),
    )?))?;
    let unpacked = folder.join(&name);
    let omr = unpacked.join(COMMAND);
    let found = printed(Command::new(&omr).arg("--version"))?;
    let found = String::from_utf8_lossy(&found).trim().to_owned();
    let expected = format!("omr {}", release.version);
    if found != expected {
        return Err(XtaskError::Incomplete {
            package: name,
            expected,
        });
    }
    let shells = SHELLS.map(|shell| format!("omr.{shell}"));
    let manual = format!("{MANUAL}/omr-serve.1");
    let page = format!("{PAGE}/index.html");
    let unit = format!("{UNITS}/omr.service");
    let files = [
        CONFIGURATION,
        LICENCES,
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "README.md",
        &manual,
        &page,
        &unit,
    ];
    for file in files.into_iter().chain(shells.iter().map(String::as_str)) {
        has(&name, &unpacked, file)?;
    }
    let keys = folder.join("keys");
    let keygen = ["keygen", "--params", "insecure-tiny-hybrid-v4", "--out"];
    succeed(Command::new(&omr).args(keygen).arg(keys))
}

/// Whether an unpacked package has a file with something in it.
fn has(package: &str, folder: &Path, file: &str) -> Result<(), XtaskError> {
    match fs::metadata(folder.join(file)) {
        Ok(found) if found.len() > 0 => Ok(()),
        _ => Err(XtaskError::Incomplete {
            package: package.to_owned(),
            expected: file.to_owned(),
        }),
    }
}

/// Installs both packages for npm into an empty project, and loads them.
fn node(release: &Release<'_>, folder: &Path) -> Result<(), XtaskError> {
    let project = fresh(&folder.join("npm"))?;
    let script = project.join("packages.mjs");
    fs::write(&script, NODE).map_err(XtaskError::io(&script))?;
    let mut packages = Vec::new();
    for name in ["oblivious-omr", "oblivious-omr-sender"] {
        let file = release.out.join(format!("{name}-{}.tgz", release.version));
        packages.push(files::absolute(&file)?);
    }
    let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
    let mut command = Command::new("npm");
    command.current_dir(&project).args(install);
    succeed(command.arg("--loglevel=error").args(packages))?;
    succeed(Command::new("node").current_dir(&project).arg(script))
}

/// Installs, starts, upgrades and purges the package for Debian in a copy of this machine's files, which is gone
/// afterwards.
fn package(
    release: &Release<'_>,
    target: &str,
    upgrade: &Path,
    folder: &Path,
) -> Result<(), XtaskError> {
    let Some(package) = debian::path(release, target, "").filter(|path| path.exists()) else {
        return npm::skip("deb", "dpkg-deb");
    };
    let script = folder.join("debian.sh");
    fs::write(&script, DEBIAN).map_err(XtaskError::io(&script))?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh"]);
    command.arg(&script);
    let can = command.arg("can").output();
    if !can.is_ok_and(|output| output.status.success()) {
        return npm::skip("deb", "overlay");
    }
    let port = free_port().map_err(XtaskError::io(Path::new("localhost")))?;
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--pid", "--fork", "--kill-child", "sh"])
        .args([
            &script,
            &files::absolute(&package)?,
            &files::absolute(upgrade)?,
        ])
        .args([release.version, &port.to_string()]);
    succeed(&mut command)
}

/// A port that nobody listens on.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Starts the command of the image.
fn container(release: &Release<'_>) -> Result<(), XtaskError> {
    let file = release.file("-image.tar");
    if !file.exists() {
        return Ok(());
    }
    let from = format!("oci-archive:{}", file.display());
    let container = printed(image::buildah().args(["from", "--quiet", &from]))?;
    let container = String::from_utf8_lossy(&container).trim().to_owned();
    let run = ["run", "--isolation", "chroot", &container, "--"];
    for command in [
        &["omr", "--version"][..],
        &["test", "-s", "/usr/share/omr/mail/index.html"],
        &["omr", "serve", "--help"],
    ] {
        printed(image::buildah().args(run).args(command))?;
    }
    printed(image::buildah().args(["rm", &container])).map(drop)
}
