//! Archives of the command for every system that it can be built for here.

use std::path::{Path, PathBuf};

use super::{Release, archive, contents, debian};
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::web::Web;
use crate::{built, npm, targets, tools, wheel};

/// Systems and the oldest C library that they may have. The first one is this system, whose command writes the pages of
/// the manual.
pub(super) const TARGETS: [(&str, &str); 3] = [
    (HOST, ".2.17"),
    ("aarch64-unknown-linux-gnu", ".2.17"),
    ("x86_64-unknown-linux-musl", ""),
];
pub(super) const HOST: &str = "x86_64-unknown-linux-gnu";

/// The features of the command that is published.
pub(super) const FEATURES: &str = "everything";

/// Builds the command for every system that it can be built for here, and packs it with what comes with it. Returns the
/// folder of contents with the command of this system; nothing without the tools.
pub(super) fn packages(release: &Release<'_>, web: &Web) -> Result<Option<PathBuf>, XtaskError> {
    let Some(tools) = wheel::release_tools(release.root)? else {
        return Ok(None);
    };
    let mut host = PathBuf::new();
    let mut contents = PathBuf::new();
    for (target, library) in TARGETS {
        if !targets::is_installed(target)? {
            npm::skip(target, "targets")?;
            continue;
        }
        let omr = build(release, &tools, target, library)?;
        if target == HOST {
            contents = contents::gather(release, &omr, web)?;
            host = omr;
        } else {
            contents::put_command(&contents, &omr)?;
        }
        archive::tar(release, &format!("-{target}"), &contents)?;
        if debian::path(release, target, "").is_some() {
            debian::pack(release, target, &contents, "")?;
        }
    }
    contents::put_command(&contents, &host)?;
    Ok(Some(contents))
}

/// Builds the command without symbols and without paths of this machine; gives its path.
fn build(
    release: &Release<'_>,
    tools: &Path,
    target: &str,
    library: &str,
) -> Result<PathBuf, XtaskError> {
    // Lists the crates in a section of the command, where `cargo audit` finds them.
    let mut command = tools::command(release.root, &tools::AUDITABLE)?;
    command
        .current_dir(release.root)
        .args(["auditable", "zigbuild", "--profile", "dist", "--locked"])
        .args(["--package", "omr-cli", "--bin", "omr"])
        .args(["--features", FEATURES])
        .args(["--target", &format!("{target}{library}")])
        .env("PATH", wheel::path_with(tools))
        .env("CARGO_ENCODED_RUSTFLAGS", built::remap(release.root))
        .env("SOURCE_DATE_EPOCH", &release.epoch);
    succeed(&mut command)?;
    let folder = release.root.join("target").join(target);
    Ok(folder.join("dist/omr"))
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
