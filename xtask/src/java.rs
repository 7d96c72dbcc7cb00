//! Compiles what a client in Java is generated from the protocol, and makes calls of a running server with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{built, fetched, files, npm, proto};

/// The folder of the test, below the root.
const TEST: &str = "java";
/// The libraries and generators in Maven Central, with their hashes, in that folder.
const ARTIFACTS: &str = "artifacts.sha256";
/// Where the artifacts are.
const CENTRAL: &str = "https://repo.maven.apache.org/maven2";

/// Options with which a compiler that runs once takes a third of the time.
const BRIEF: [&str; 3] = [
    "-J-XX:TieredStopAtLevel=1",
    "-J-XX:+UseSerialGC",
    "-proc:none",
];

/// Generates and compiles the calls, and starts the test.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    // The generators are programs of this system.
    let here = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    if !here || !npm::starts("javac") || !npm::starts("curl") {
        return npm::skip("java", "java");
    }
    let Some(tools) = npm::tools(root)? else {
        return npm::skip("java", "npm");
    };
    let out = root.join("target/java");
    let list = root.join(TEST).join(ARTIFACTS);
    let Some(artifacts) = fetched::files(&list, CENTRAL, &out.join("maven"))? else {
        return npm::skip("java", "java");
    };
    let (libraries, generators): (Vec<_>, Vec<_>) = artifacts
        .into_iter()
        .partition(|file| file.extension().is_some_and(|kind| kind == "jar"));
    succeed(Command::new("chmod").arg("u+x").args(generators))?;
    let [sources, classes] = ["sources", "classes"].map(|name| out.join(name));
    files::clear(&sources)?;
    files::clear(&classes)?;
    succeed(&mut proto::buf(&tools, &root.join(TEST), &["generate"]))?;
    let mut all = vec![root.join(TEST).join("Calls.java")];
    let generated = sources.join("io/github/omr_project/v1");
    for entry in fs::read_dir(&generated).map_err(XtaskError::io(&generated))? {
        all.push(entry.map_err(XtaskError::io(&generated))?.path());
    }
    let mut compiler = Command::new("javac");
    compiler.args(BRIEF).args(["-nowarn", "-d"]).arg(&classes);
    // With the folder of the classes, so that compiler and test share it.
    let path =
        std::env::join_paths([vec![classes.clone()], libraries].concat()).unwrap_or_default();
    compiler.env("CLASSPATH", &path);
    succeed(compiler.args(all))?;
    let mut test = Command::new("java");
    test.env("CLASSPATH", path)
        .env("OMR_COMMAND", built::command(root)?);
    succeed(test.arg("Calls").arg(&out))
}
