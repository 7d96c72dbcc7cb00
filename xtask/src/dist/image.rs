//! The image of a container, as an archive that podman and docker load.

use std::process::{Command, Stdio};

use super::Release;
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::npm;

/// A program that builds images, and how it writes one.
struct Builder {
    program: &'static str,
    /// With `IMAGE` and `FILE` in place of both.
    save: &'static [&'static str],
}

const BUILDERS: [Builder; 3] = [
    Builder {
        program: "podman",
        save: &["save", "--output", "FILE", "IMAGE"],
    },
    Builder {
        program: "buildah",
        save: &["push", "IMAGE", "docker-archive:FILE"],
    },
    Builder {
        program: "docker",
        save: &["save", "--output", "FILE", "IMAGE"],
    },
];

/// Builds the image by the first program that can.
pub(super) fn save(release: &Release<'_>) -> Result<(), XtaskError> {
    let Some(builder) = BUILDERS.iter().find(|one| answers(one.program)) else {
        for silent in BUILDERS.iter().filter(|one| npm::starts(one.program)) {
            let program = silent.program;
            println!("image: {program} is here and cannot build: `{program} info` says why");
        }
        return npm::skip("image", "podman");
    };
    let image = format!("localhost/omr:{}", release.version);
    let file = release.file("-image.tar").display().to_string();
    let command = || {
        let mut command = Command::new(builder.program);
        command.current_dir(release.root);
        command
    };
    let build = ["build", "--file", "packaging/Containerfile", "--tag"];
    succeed(command().args(build).args([&image, "."]))?;
    let put = |arg: &&str| arg.replace("IMAGE", &image).replace("FILE", &file);
    succeed(command().args(builder.save.iter().map(put)))
}

/// Whether a program is there and has what it needs, such as a daemon.
fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("info")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
