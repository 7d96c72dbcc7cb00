//! Digests of all files of a release, and their signature by minisign.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, fresh};
use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::npm;

/// The file of digests, as `sha256sum --check` reads it.
const SUMS: &str = "SHA256SUMS";

/// The variable with the path of the secret key of releases. minisign asks for its passphrase.
const KEY: &str = "OMR_SIGNING_KEY";

/// Writes the digests of all files and signs them, where a key is named.
pub(super) fn sums(release: &Release<'_>) -> Result<(), XtaskError> {
    let out = &release.out;
    let mut names = Vec::new();
    for entry in fs::read_dir(out).map_err(XtaskError::io(out))? {
        names.push(entry.map_err(XtaskError::io(out))?.file_name());
    }
    names.sort();
    let mut command = Command::new("sha256sum");
    let sums = printed(command.current_dir(out).arg("--").args(names))?;
    print!("{}", String::from_utf8_lossy(&sums));
    let path = out.join(SUMS);
    fs::write(&path, sums).map_err(XtaskError::io(&path))?;
    match std::env::var_os(KEY) {
        Some(key) => sign(out, Path::new(&key)),
        None => {
            println!("{SUMS} is not signed: {KEY} names the secret key of releases");
            Ok(())
        }
    }
}

/// Signs the digests in a folder.
fn sign(out: &Path, key: &Path) -> Result<(), XtaskError> {
    let mut command = Command::new("minisign");
    command.args(["-S", "-s"]).arg(key).arg("-m");
    succeed(command.arg(out.join(SUMS)))
}

/// Signs with a key that is thrown away, as SECURITY.md has it verified, and checks that a changed digest is found.
pub(super) fn trial(release: &Release<'_>) -> Result<(), XtaskError> {
    if Command::new("minisign").arg("-v").output().is_err() {
        return npm::skip("signature", "minisign");
    }
    let folder = fresh(&release.root.join("target/dist-signature"))?;
    let (secret, public) = (folder.join("secret.key"), folder.join("public.key"));
    let mut command = Command::new("minisign");
    command.args(["-G", "-W", "-s"]).arg(&secret).arg("-p");
    printed(command.arg(&public))?;
    sign(&release.out, &secret)?;
    let sums = release.out.join(SUMS);
    verify(&sums, &public)?;
    let mut command = Command::new("sha256sum");
    succeed(
        command
            .current_dir(&release.out)
            .args(["--check", "--quiet", SUMS]),
    )?;
    let changed = change(&release.out, &folder)?;
    if verify(&changed, &public).is_ok() {
        return Err(XtaskError::Unsigned { path: changed });
    }
    // Nobody has the key of this signature.
    crate::files::remove(&release.out.join(format!("{SUMS}.minisig")))
}

/// Copies the digests and their signature to a folder, with another first digit.
fn change(out: &Path, folder: &Path) -> Result<PathBuf, XtaskError> {
    let changed = folder.join(SUMS);
    let signature = format!("{SUMS}.minisig");
    crate::files::copy(&out.join(&signature), &folder.join(&signature))?;
    let mut text = fs::read(out.join(SUMS)).map_err(XtaskError::io(out))?;
    text[0] = if text[0] == b'0' { b'1' } else { b'0' };
    fs::write(&changed, text).map_err(XtaskError::io(&changed))?;
    Ok(changed)
}

/// Verifies the signature beside a file.
fn verify(file: &Path, public: &Path) -> Result<(), XtaskError> {
    let mut command = Command::new("minisign");
    command
        .args(["-V", "-q", "-p"])
        .arg(public)
        .arg("-m")
        .arg(file);
    succeed(&mut command)
}
