//! Archives of the command for every system that it can be built for here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, archive, copy_into, fresh};
use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::{built, npm, targets, wheel};

/// Systems and the oldest C library that they may have. The first one is this system, whose command writes the pages of
/// the manual.
pub(super) const TARGETS: [(&str, &str); 3] = [
    (HOST, ".2.17"),
    ("aarch64-unknown-linux-gnu", ".2.17"),
    ("x86_64-unknown-linux-musl", ""),
];
const HOST: &str = "x86_64-unknown-linux-gnu";

/// The files of an archive beside the command.
const TEXTS: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// Builds the command as the guide has it, and packs it with its manual, completions and licences.
pub(super) fn archives(release: &Release<'_>) -> Result<(), XtaskError> {
    let Some(tools) = wheel::release_tools(release.root)? else {
        return npm::skip("command", "python");
    };
    let shared = fresh(&release.root.join("target/dist-shared"))?;
    for (target, library) in TARGETS {
        if !targets::is_installed(target)? {
            npm::skip(target, "targets")?;
            continue;
        }
        let omr = build(release, &tools, target, library)?;
        if target == HOST {
            write_help(&omr, &shared)?;
        }
        let folder = fresh(&release.root.join("target/dist-command"))?;
        copy_into(&omr, &folder)?;
        copy_into(&shared.join("."), &folder)?;
        for text in TEXTS {
            copy_into(&release.root.join(text), &folder)?;
        }
        archive::tar(release, &format!("-{target}"), &folder)?;
    }
    Ok(())
}

/// Builds the command without symbols and without paths of this machine; gives its path.
fn build(
    release: &Release<'_>,
    tools: &Path,
    target: &str,
    library: &str,
) -> Result<PathBuf, XtaskError> {
    let mut command = Command::new(tools.join("cargo-zigbuild"));
    command
        .current_dir(release.root)
        .args([
            "zigbuild",
            "--profile",
            "dist",
            "--locked",
            "--package",
            "omr-cli",
        ])
        .args(["--bin", "omr", "--features", "full"])
        .args(["--target", &format!("{target}{library}")])
        .env("PATH", wheel::path_with(tools))
        .env("CARGO_ENCODED_RUSTFLAGS", built::remap(release.root))
        .env("SOURCE_DATE_EPOCH", &release.epoch);
    succeed(&mut command)?;
    let folder = release.root.join("target").join(target);
    Ok(folder.join("dist/omr"))
}

/// The manual's pages and the completions of shells.
fn write_help(omr: &Path, to: &Path) -> Result<(), XtaskError> {
    succeed(
        Command::new(omr)
            .args(["man", "--out"])
            .arg(to.join("man1")),
    )?;
    for shell in ["bash", "fish", "zsh"] {
        let mut command = Command::new(omr);
        let text = printed(command.args(["completions", shell]))?;
        let path = to.join(format!("omr.{shell}"));
        fs::write(&path, text).map_err(XtaskError::io(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::HOST;

    /// The value of a key of a manifest.
    fn value<'a>(manifest: &'a str, key: &str) -> &'a str {
        let line = |line: &'a str| line.strip_prefix(key)?.strip_prefix(" = \"");
        let found = manifest.lines().find_map(line).unwrap();
        found.trim_end_matches('"')
    }

    #[test]
    fn binstall_finds_the_command_in_its_archive() {
        let manifest = include_str!("../../../crates/cli/Cargo.toml");
        let filled = |key| {
            let words = [
                ("{ repo }", "REPO"),
                ("{ version }", "1.2.3"),
                ("{ target }", HOST),
                ("{ bin }", "omr"),
            ];
            let text = value(manifest, key).to_owned();
            let fill = |text: String, (word, with): (&str, &str)| text.replace(word, with);
            words.into_iter().fold(text, fill)
        };
        let archive = format!("omr-1.2.3-{HOST}");
        let url = format!("REPO/releases/download/v1.2.3/{archive}.tar.gz");
        assert_eq!(filled("pkg-url"), url);
        assert_eq!(filled("bin-dir"), format!("{archive}/omr"));
        assert_eq!(filled("pkg-fmt"), "tgz");
    }
}
