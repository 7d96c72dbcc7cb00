//! Packages for npm: the recipient of browsers, and the sender.

use std::path::Path;
use std::process::Command;

use super::Release;
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::web::Web;
use crate::{files, npm, typescript};

/// Packs both packages.
pub(super) fn npm(release: &Release<'_>, web: &Web) -> Result<(), XtaskError> {
    pack(release, web.package())?;
    match typescript::built(release.root)? {
        Some(sender) => pack(release, &sender),
        None => npm::skip("sender", "npm"),
    }
}

/// Packs the package of a folder, as `NAME-VERSION.tgz`.
fn pack(release: &Release<'_>, folder: &Path) -> Result<(), XtaskError> {
    let mut command = Command::new("npm");
    command
        .current_dir(folder)
        .args(["pack", "--silent", "--ignore-scripts", "--pack-destination"])
        .arg(files::absolute(&release.out)?);
    succeed(&mut command)
}
