//! All checks that a change must pass, in order.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::arch;
use crate::error::XtaskError;
use crate::{browser, builds, deny, hardware, pages, proto, python, sizes, targets, timing, wheel};

/// How long tests may print nothing: several times what the slowest test binary takes.
const SILENCE: Duration = Duration::from_secs(15 * 60);

type Step<'a> = &'a dyn Fn() -> Result<(), XtaskError>;

/// Everything that a change must pass, cheapest first; stops at the first failure.
pub(crate) fn ci(root: &Path) -> Result<(), XtaskError> {
    let steps: [(&str, Step<'_>); 16] = [
        ("format", &|| {
            cargo(root, &["fmt", "--all", "--check"], None)
        }),
        ("arch", &|| arch::check(root)),
        ("pages", &|| pages::check(root)),
        ("sizes", &|| sizes::check(root)),
        ("deny", &|| deny::check(root)),
        ("proto", &|| proto::check(root)),
        ("clippy", &|| {
            let args = [
                "clippy",
                "--workspace",
                "--all-targets",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ];
            cargo(root, &args, None)
        }),
        ("builds", &|| builds::check(root)),
        ("targets", &|| targets::check(root)),
        ("docs", &|| {
            let args = ["doc", "--workspace", "--no-deps", "--quiet"];
            cargo(root, &args, Some(("RUSTDOCFLAGS", "-D warnings")))
        }),
        ("timing", &|| timing::check(root)),
        ("test", &|| test(root, &[])),
        ("hardware", &|| hardware::check(root)),
        ("browser", &|| browser::check(root)),
        ("python", &|| python::check(root)),
        ("wheel", &|| wheel::check(root)),
    ];
    for (name, step) in steps {
        let start = Instant::now();
        println!("== {name}");
        step()?;
        println!("== {name}: ok, {:.0} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

pub(crate) fn cargo(
    root: &Path,
    args: &[&str],
    env: Option<(&str, &str)>,
) -> Result<(), XtaskError> {
    let mut command = cargo_command(root, args);
    command.envs(env);
    succeed(&mut command)
}

/// Runs all tests, optimised, one test binary after another, then prints the sums. Stops tests that
/// hang; the last line says which.
pub(crate) fn test(root: &Path, extra: &[&str]) -> Result<(), XtaskError> {
    let tests = ["test", "--workspace", "--profile", "tested", "--quiet"];
    // First, because compilers may be silent for long.
    let which = extra.split(|arg| *arg == "--").next().unwrap_or_default();
    cargo(root, &[&tests[..], which, &["--no-run"]].concat(), None)?;
    // Without --no-fail-fast the sums would miss whatever follows the first failure.
    let args = [&tests[..], &["--no-fail-fast"], extra].concat();
    let mut command = cargo_command(root, &args);
    // A group of its own, so that its end is that of the tests, too.
    command.stdout(Stdio::piped()).process_group(0);
    let mut child = command
        .spawn()
        .map_err(|source| start_error(&command, source))?;
    let mut tally = Tally::default();
    if !follow(&mut child, |line| tally.add(line)) {
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = child.wait();
        return Err(XtaskError::Silent { limit: SILENCE });
    }
    let status = child
        .wait()
        .map_err(|source| start_error(&command, source))?;
    println!(
        "tests: {} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.ignored
    );
    success(&command, status)?;
    if tally.passed == 0 {
        Err(XtaskError::NoTests)
    } else {
        Ok(())
    }
}

/// Prints a program's lines as they come. False: none came for [`SILENCE`].
fn follow(child: &mut Child, mut each: impl FnMut(&str)) -> bool {
    let Some(out) = child.stdout.take() else {
        return true;
    };
    let (to, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(out).lines();
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

/// Sums over the closing lines of test binaries.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl Tally {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; skips any other.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for (count, what) in counts.split("; ").filter_map(|part| part.split_once(' ')) {
            let sum = match what {
                "passed" => &mut self.passed,
                "failed" => &mut self.failed,
                "ignored" => &mut self.ignored,
                _ => continue,
            };
            *sum += count.parse::<usize>().unwrap_or(0);
        }
    }
}

/// Cargo at the workspace root: the one that started this program, if any.
pub(crate) fn cargo_command(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(args);
    command
}

pub(crate) fn start_error(command: &Command, source: std::io::Error) -> XtaskError {
    XtaskError::Start {
        command: shown(command),
        source,
    }
}

pub(crate) fn success(
    command: &Command,
    status: std::process::ExitStatus,
) -> Result<(), XtaskError> {
    if status.success() {
        return Ok(());
    }
    Err(XtaskError::Failed {
        command: shown(command),
        status,
    })
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), XtaskError> {
    let status = command.status();
    let status = status.map_err(|source| start_error(command, source))?;
    success(command, status)
}

/// Runs a command that must succeed; what it prints to standard output.
pub(crate) fn printed(command: &mut Command) -> Result<Vec<u8>, XtaskError> {
    let output = command.output();
    let output = output.map_err(|source| start_error(command, source))?;
    success(command, output.status)?;
    Ok(output.stdout)
}

fn shown(command: &Command) -> String {
    let args: Vec<_> = command
        .get_args()
        .map(|arg| arg.to_string_lossy())
        .collect();
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    format!("{name} {}", args.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up_over_binaries() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s",
            "test passed_through ... ok",
            "test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            tally.add(line);
        }
        assert_eq!(
            tally,
            Tally {
                passed: 5,
                failed: 4,
                ignored: 1
            }
        );
    }
}
