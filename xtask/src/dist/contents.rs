//! The files that come with the command: the page for letters, units, the configuration, manual, completions, licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, command, copy_into, fresh};
use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::licences::Licences;
use crate::web::Web;
use crate::{builds, files};

/// Texts of the repository.
const TEXTS: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// The name of the command in a folder of contents.
pub(super) const COMMAND: &str = "omr";
/// The folder of the page for letters, likewise.
pub(super) const PAGE: &str = "mail";
/// The folder of units and what they can be extended by.
pub(super) const UNITS: &str = "systemd";
/// The configuration of a server.
pub(super) const CONFIGURATION: &str = "omr.toml";
/// The configuration of a server in a container.
pub(super) const CONTAINER: &str = "container.toml";
/// The folder of the manual's pages.
pub(super) const MANUAL: &str = "man1";
/// The licences of other projects' work.
pub(super) const LICENCES: &str = "LICENSES.txt";
/// Completions of shells, as `omr.SHELL`.
pub(super) const SHELLS: [&str; 3] = ["bash", "fish", "zsh"];

/// Gathers the command and what comes with it in a folder. The command must run on this system.
pub(super) fn gather(release: &Release<'_>, omr: &Path, web: &Web) -> Result<PathBuf, XtaskError> {
    let folder = fresh(&release.root.join("target/dist-contents"))?;
    put_command(&folder, omr)?;
    let manual = folder.join(MANUAL);
    succeed(Command::new(omr).args(["man", "--out"]).arg(&manual))?;
    for shell in SHELLS {
        let text = printed(Command::new(omr).args(["completions", shell]))?;
        let path = folder.join(format!("omr.{shell}"));
        fs::write(&path, text).map_err(XtaskError::io(&path))?;
    }
    for text in TEXTS {
        copy_into(&release.root.join(text), &folder)?;
    }
    files::copy_folder(&web.page(), &folder.join(PAGE))?;
    let packaging = release.root.join("packaging");
    for name in [CONFIGURATION, CONTAINER] {
        copy_into(&packaging.join(name), &folder)?;
    }
    files::copy_folder(&packaging.join(UNITS), &folder.join(UNITS))?;
    let mut licences = Licences::default();
    let targets = command::TARGETS.map(|(target, _)| ["--target", target]);
    let args = ["--features", command::FEATURES, "-e", "normal"];
    let list = builds::crates(
        release.root,
        "omr-cli",
        &[&args, targets.as_flattened()].concat(),
    )?;
    licences.crates(release.root, &list)?;
    web.licences(release.root, &mut licences)?;
    let path = folder.join(LICENCES);
    fs::write(&path, licences.text()).map_err(XtaskError::io(&path))?;
    Ok(folder)
}

/// Puts a command into a folder of contents, in place of the one that is there.
pub(super) fn put_command(contents: &Path, omr: &Path) -> Result<(), XtaskError> {
    files::copy(omr, &contents.join(COMMAND))
}
