//! Packages for Debian and its relatives, by Debian's `dpkg-deb`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::contents::{COMMAND, CONFIGURATION, CONTAINER, LICENCES, MANUAL, PAGE, SHELLS, UNITS};
use super::{Release, copy_into, fresh};
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{files, npm};

/// Debian's names of the systems that have a package.
const ARCHITECTURES: [(&str, &str); 2] = [
    ("x86_64-unknown-linux-gnu", "amd64"),
    ("aarch64-unknown-linux-gnu", "arm64"),
];

/// The scripts that Debian runs when it installs, upgrades and removes a package.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Where each shell looks for its completions.
const COMPLETIONS: [(&str, &str); 3] = [
    (SHELLS[0], "usr/share/bash-completion/completions/omr"),
    (SHELLS[1], "usr/share/fish/vendor_completions.d/omr.fish"),
    (SHELLS[2], "usr/share/zsh/vendor-completions/_omr"),
];

/// The path of a system's package, with something behind the version.
pub(super) fn path(release: &Release<'_>, target: &str, suffix: &str) -> Option<PathBuf> {
    let (_, architecture) = ARCHITECTURES.iter().find(|(name, _)| *name == target)?;
    let name = format!("omr_{}{suffix}_{architecture}.deb", release.version);
    Some(release.out.join(name))
}

/// Packs the contents for a system, which Debian has. Returns the path.
pub(super) fn pack(
    release: &Release<'_>,
    target: &str,
    contents: &Path,
    suffix: &str,
) -> Result<PathBuf, XtaskError> {
    let to = path(release, target, suffix).ok_or_else(|| XtaskError::Target {
        known: ARCHITECTURES.map(|(name, _)| name).join(", "),
        found: target.to_owned(),
    })?;
    if !npm::starts("dpkg-deb") {
        npm::skip("deb", "dpkg-deb")?;
        return Ok(to);
    }
    let folder = fresh(&release.root.join("target/dist-debian"))?;
    lay_out(contents, &folder)?;
    control(release, target, suffix, &folder)?;
    succeed(
        Command::new("chmod")
            .args(["-R", "u=rwX,go=rX"])
            .arg(&folder),
    )?;
    let mut command = Command::new("dpkg-deb");
    command
        .args(["--root-owner-group", "-Zxz"])
        .args((!release.is_small).then_some("-z0"))
        .arg("--build")
        .args([&folder, &to])
        .env("SOURCE_DATE_EPOCH", &release.epoch);
    succeed(&mut command)?;
    Ok(to)
}

/// Puts everything where Debian has it.
fn lay_out(contents: &Path, folder: &Path) -> Result<(), XtaskError> {
    let put = |name: &str, to: &str| {
        let to = folder.join(to);
        let parent = to.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(XtaskError::io(parent))?;
        files::copy(&contents.join(name), &to)
    };
    put(COMMAND, "usr/bin/omr")?;
    put(CONFIGURATION, "etc/omr/omr.toml")?;
    put(CONTAINER, "usr/share/omr/container.toml")?;
    for (shell, to) in COMPLETIONS {
        put(&format!("omr.{shell}"), to)?;
    }
    for name in ["README.md", "CHANGELOG.md", "SECURITY.md", LICENCES] {
        put(name, &format!("usr/share/doc/omr/{name}"))?;
    }
    for (from, to) in [
        (PAGE, "usr/share/omr/mail"),
        (UNITS, "usr/lib/systemd/system"),
        (MANUAL, "usr/share/man/man1"),
    ] {
        files::copy_folder(&contents.join(from), &folder.join(to))?;
    }
    // For who has a card.
    let card = "omr-gpu.conf";
    let units = folder.join("usr/lib/systemd/system");
    let to = folder.join("usr/share/omr").join(card);
    fs::rename(units.join(card), &to).map_err(XtaskError::io(&to))?;
    let pages = folder.join("usr/share/man/man1");
    succeed(Command::new("gzip").args(["-n", "-9", "-r"]).arg(&pages))?;
    let mut copyright = String::from("omr: MIT or Apache-2.0, at your choice.\n");
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let path = contents.join(name);
        copyright += "\n";
        copyright += &fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
    }
    let path = folder.join("usr/share/doc/omr/copyright");
    fs::write(&path, copyright).map_err(XtaskError::io(&path))
}

/// Writes what Debian reads about the package, and the scripts that it runs.
fn control(
    release: &Release<'_>,
    target: &str,
    suffix: &str,
    folder: &Path,
) -> Result<(), XtaskError> {
    let from = release.root.join("packaging/debian");
    let to = fresh(&folder.join("DEBIAN"))?;
    let template = from.join("control");
    let text = fs::read_to_string(&template).map_err(XtaskError::io(&template))?;
    let architecture = ARCHITECTURES.iter().find(|(name, _)| *name == target);
    let text = text
        .replace("VERSION", &format!("{}{suffix}", release.version))
        .replace("ARCHITECTURE", architecture.map_or("", |(_, name)| name));
    for (name, text) in [("control", &*text), ("conffiles", "/etc/omr/omr.toml\n")] {
        let path = to.join(name);
        fs::write(&path, text).map_err(XtaskError::io(&path))?;
    }
    for script in SCRIPTS {
        copy_into(&from.join(script), &to)?;
        succeed(Command::new("chmod").arg("755").arg(to.join(script)))?;
    }
    Ok(())
}
