//! Every parser under libFuzzer: the targets of omr-fuzz, built by the stable compiler in the workspace `fuzz/`.

mod report;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::{cargo_command, printed, start_error, succeed, success};
use crate::error::XtaskError;
use crate::npm;
use report::Report;

/// The default seconds of a target.
const SECONDS: u64 = 60;
/// Seconds of one input and megabytes of the process beyond which libFuzzer calls it a fault.
const LIMITS: [&str; 2] = ["-timeout=60", "-rss_limit_mb=4096"];

/// The options of the command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    seconds: Option<u64>,
    runs: Option<u64>,
    json: bool,
    /// All where there is none.
    targets: BTreeSet<String>,
}

impl Options {
    fn parse(args: &[&str], known: &BTreeSet<String>) -> Result<Self, XtaskError> {
        let usage = || XtaskError::Usage {
            found: format!("fuzz {}", args.join(" ")),
        };
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(&arg) = rest.next() {
            let mut number = || {
                let text = rest.next().ok_or_else(usage)?;
                text.parse().map(Some).map_err(|_| usage())
            };
            match arg {
                "--seconds" => options.seconds = number()?,
                "--runs" => options.runs = number()?,
                "--json" => options.json = true,
                target if known.contains(target) => {
                    options.targets.insert(target.to_owned());
                }
                target => {
                    return Err(XtaskError::Target {
                        known: known.iter().cloned().collect::<Vec<_>>().join(", "),
                        found: target.to_owned(),
                    });
                }
            }
        }
        if options.targets.is_empty() {
            options.targets.clone_from(known);
        }
        Ok(options)
    }

    /// How long libFuzzer goes on: seconds, inputs, or whichever comes first.
    fn ends(&self) -> Vec<String> {
        let seconds = self.seconds.or(self.runs.is_none().then_some(SECONDS));
        let seconds = seconds.map(|seconds| format!("-max_total_time={seconds}"));
        let runs = self.runs.map(|runs| format!("-runs={runs}"));
        seconds.into_iter().chain(runs).collect()
    }
}

/// Builds and runs targets, one after another, and prints what each did. An input that breaks one is an error.
pub(crate) fn run(root: &Path, args: &[&str]) -> Result<(), XtaskError> {
    let folder = root.join("fuzz");
    let options = Options::parse(args, &targets(&folder)?)?;
    if !npm::starts("c++") {
        return npm::skip("fuzz", "c++");
    }
    let programs = build(root, &folder, &options.targets)?;
    let mut reports = Vec::new();
    for target in &options.targets {
        eprintln!("{target} ...");
        reports.push(fuzz(&folder, &programs, target, &options.ends())?);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&reports)?)
    } else {
        print!("{}", report::table(&reports))
    }
    let found: Vec<String> = reports.iter().filter_map(Report::again).collect();
    if found.is_empty() {
        Ok(())
    } else {
        Err(XtaskError::Fuzz { found })
    }
}

/// Names of the targets: those of the programs' sources.
fn targets(folder: &Path) -> Result<BTreeSet<String>, XtaskError> {
    let sources = folder.join("src/bin");
    let mut targets = BTreeSet::new();
    for entry in fs::read_dir(&sources).map_err(XtaskError::io(&sources))? {
        let path = entry.map_err(XtaskError::io(&sources))?.path();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy());
        targets.extend(stem.map(|stem| stem.into_owned()));
    }
    Ok(targets)
}

/// Builds programs; gives their folder.
fn build(root: &Path, folder: &Path, targets: &BTreeSet<String>) -> Result<PathBuf, XtaskError> {
    let host = host()?;
    let args = ["build", "--release", "--quiet", "--target", &host];
    let mut command = cargo_command(root, &args);
    command
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"));
    command.arg("--target-dir").arg(folder.join("target"));
    // Puts libFuzzer's counters in.
    command.env("RUSTC_WRAPPER", folder.join("rustc.sh"));
    for target in targets {
        command.args(["--bin", target]);
    }
    succeed(&mut command)?;
    Ok(folder.join("target").join(host).join("release"))
}

/// The machine that the compiler runs on.
fn host() -> Result<String, XtaskError> {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let printed = printed(command.arg("-vV"))?;
    let text = String::from_utf8_lossy(&printed);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or(XtaskError::Host)
}

/// Runs one target from its seeds and what earlier runs kept.
fn fuzz(
    folder: &Path,
    programs: &Path,
    target: &str,
    ends: &[String],
) -> Result<Report, XtaskError> {
    let kept = folder.join("target/inputs").join(target);
    let found = folder.join("target/found");
    for folder in [&kept, &found] {
        fs::create_dir_all(folder).map_err(XtaskError::io(folder))?;
    }
    let program = programs.join(target);
    write_seeds(&program, &kept)?;
    let mut command = Command::new(&program);
    command
        .arg(&kept)
        .args(ends)
        .args(LIMITS)
        .arg("-print_final_stats=1");
    command.arg(format!("-artifact_prefix={}/{target}-", found.display()));
    // Files that targets write on the way belong into memory.
    if Path::new("/dev/shm").is_dir() {
        command.env("TMPDIR", "/dev/shm");
    }
    let output = command
        .output()
        .map_err(|source| start_error(&command, source))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let report = Report::of(target, &program, &said, output.status.success());
    if report.broken.is_some() {
        let lines: Vec<&str> = said.lines().collect();
        eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
    }
    Ok(report)
}

/// Writes the seeds of a target. libFuzzer may print warnings of sanitizers that are not linked before the program's output.
fn write_seeds(program: &Path, to: &Path) -> Result<(), XtaskError> {
    let mut command = Command::new(program);
    let output = command
        .env("OMR_FUZZ_SEEDS", to)
        .output()
        .map_err(|source| start_error(&command, source))?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    success(&command, output.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let known = BTreeSet::from(["clues", "frames"].map(str::to_owned));
        let all = Options::parse(&[], &known).expect("options");
        assert_eq!(
            (all.ends(), all.targets.len()),
            (vec!["-max_total_time=60".into()], 2)
        );
        let args = ["--runs", "2000", "clues", "--json"];
        let one = Options::parse(&args, &known).expect("options");
        assert_eq!(one.ends(), ["-runs=2000"]);
        assert!(one.json && one.targets.len() == 1);
        for wrong in [&["--runs"][..], &["--seconds", "x"], &["clue"]] {
            assert!(Options::parse(wrong, &known).is_err(), "{wrong:?}");
        }
    }
}
