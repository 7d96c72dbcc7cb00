//! A comparison of two builds of the command, which run in turns.

use crate::measure::median::median;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

/// The endings of the names of figures that are compared: times and sizes.
const UNITS: [&str; 6] = ["_s", "_ms", "_us", "_kb", "_bytes", "_ntts"];
/// The ending of the name of a speed, which is no time.
const SPEED: &str = "_per_s";
/// The name of an object whose fields are seconds, regardless of their names.
const SECONDS: &str = "stages";

/// Two builds cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A build does not start.
    #[error("{}: expected a build of omr that runs", path.display())]
    Start {
        /// The path of the build.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A run failed.
    #[error("{}: expected exit code 0, found {status}: {stderr}", path.display())]
    Failed {
        /// The path of the build.
        path: PathBuf,
        /// The exit status of the run.
        status: ExitStatus,
        /// The standard error of the run.
        stderr: String,
    },
    /// The output is not one JSON object in each line.
    #[error("{}: expected one JSON object a line", path.display())]
    Output {
        /// The path of the build.
        path: PathBuf,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// The builds print no common figure.
    #[error("expected times or sizes that both builds print, found none")]
    NoFigures,
}

/// One figure of both builds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildRatio {
    /// The figure's name, prefixed by the names of the enclosing objects.
    pub figure: String,
    /// The least value of the old build.
    pub old_least: f64,
    /// The least value of the new build.
    pub new_least: f64,
    /// The median of the old build.
    pub old_median: f64,
    /// The median of the new build.
    pub new_median: f64,
    /// The ratio of the new build's least value to the old build's.
    pub least_ratio: f64,
    /// The median of the rounds' ratios, new to old.
    pub median_ratio: f64,
    /// The lowest ratio of a round.
    pub lowest_ratio: f64,
    /// The highest ratio of a round.
    pub highest_ratio: f64,
}

/// Times and sizes by name.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Runs both builds once in each of `rounds` rounds. The build that runs first alternates, so that a machine that
/// becomes slower or faster favours neither. `arguments` follow `omr-lab bench`.
///
/// Errors: `Start`; `Failed`; `Output`; `NoFigures`.
pub fn compare_builds(
    [old, new]: [&Path; 2],
    arguments: &[String],
    rounds: usize,
    mut advance: impl FnMut(),
) -> Result<Vec<BuildRatio>, BuildError> {
    let mut pairs = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let mut run = |path| {
            let figures = run(path, arguments);
            advance();
            figures
        };
        pairs.push(if round % 2 == 0 {
            let old = run(old)?;
            (old, run(new)?)
        } else {
            let new = run(new)?;
            (run(old)?, new)
        });
    }
    ratios(&pairs)
}

fn run(path: &Path, arguments: &[String]) -> Result<Figures, BuildError> {
    let mut figures = Figures::new();
    let arguments: Vec<String> = ["bench".to_owned()]
        .into_iter()
        .chain(arguments.iter().cloned())
        .collect();
    for object in printed(path, &arguments)? {
        times_and_sizes("", &object, &mut figures);
    }
    Ok(figures)
}

/// Runs a command with a build of `omr-lab` and returns the JSON objects that it prints.
///
/// Errors: a build that does not start, a run that fails, output that is no JSON.
pub(crate) fn printed(path: &Path, arguments: &[String]) -> Result<Vec<Value>, BuildError> {
    let mut command = Command::new(path);
    command.args(arguments).arg("--json");
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().map_err(|source| BuildError::Start {
        path: path.to_owned(),
        source,
    })?;
    if !status.success() {
        return Err(BuildError::Failed {
            path: path.to_owned(),
            status,
            stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
        });
    }
    let objects = serde_json::Deserializer::from_slice(&stdout).into_iter();
    let objects: Result<Vec<Value>, _> = objects.collect();
    objects.map_err(|source| BuildError::Output {
        path: path.to_owned(),
        source,
    })
}

/// Adds the times and sizes of a JSON object to `figures`, with `name` and a dot before their names. A repeated name
/// replaces the earlier value.
pub(crate) fn times_and_sizes(name: &str, value: &Value, figures: &mut Figures) {
    match value {
        Value::Number(number) => figures.extend(number.as_f64().map(|x| (name.to_owned(), x))),
        Value::Object(fields) => {
            for (field, value) in fields {
                let has_unit = UNITS.iter().any(|unit| field.ends_with(unit));
                let compares = value.is_object()
                    || name.ends_with(SECONDS)
                    || (has_unit && !field.ends_with(SPEED));
                if compares {
                    let dot = if name.is_empty() { "" } else { "." };
                    times_and_sizes(&format!("{name}{dot}{field}"), value, figures);
                }
            }
        }
        _ => {}
    }
}

/// Returns the ratios of the figures above 0 that every run has.
fn ratios(pairs: &[(Figures, Figures)]) -> Result<Vec<BuildRatio>, BuildError> {
    let names = pairs.first().into_iter().flat_map(|(old, _)| old.keys());
    let ratios: Vec<_> = names.filter_map(|name| ratio(name, pairs)).collect();
    if ratios.is_empty() {
        Err(BuildError::NoFigures)
    } else {
        Ok(ratios)
    }
}

fn ratio(figure: &str, pairs: &[(Figures, Figures)]) -> Option<BuildRatio> {
    let of = |pair: &(Figures, Figures)| {
        let pair = (*pair.0.get(figure)?, *pair.1.get(figure)?);
        (pair.0 > 0.0 && pair.1 > 0.0).then_some(pair)
    };
    let pairs: Vec<_> = pairs.iter().map(of).collect::<Option<_>>()?;
    let sorted = |value: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (old, new) = (sorted(|pair| pair.0), sorted(|pair| pair.1));
    let rounds = sorted(|pair| pair.1 / pair.0);
    Some(BuildRatio {
        figure: figure.to_owned(),
        old_least: old[0],
        new_least: new[0],
        old_median: median(old.iter().copied()),
        new_median: median(new.iter().copied()),
        least_ratio: new[0] / old[0],
        median_ratio: median(rounds.iter().copied()),
        lowest_ratio: rounds[0],
        highest_ratio: rounds[rounds.len() - 1],
    })
}

#[cfg(test)]
mod tests {
    use super::{BuildError, Figures, compare_builds, ratios, times_and_sizes};
    use serde_json::json;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    #[test]
    fn times_and_sizes_of_every_object_compare() {
        let mut found = Figures::new();
        for object in [
            json!({"digest_s": 4.0, "messages": 9, "stages": {"clues": 1.5}, "cost": {"key_bytes": 7}}),
            json!({"decode_ms": 2, "list_s": [1.0], "name_s": "x", "messages_per_s": 3.0}),
        ] {
            times_and_sizes("", &object, &mut found);
        }
        let expected = [
            ("cost.key_bytes", 7.0),
            ("decode_ms", 2.0),
            ("digest_s", 4.0),
            ("stages.clues", 1.5),
        ];
        assert_eq!(found, expected.map(|(name, x)| (name.to_owned(), x)).into());
    }

    #[test]
    fn ratios_are_of_rounds() {
        let of = |old: f64, new: f64| {
            let figures = |x| [("a_s".to_owned(), x)].into();
            (figures(old), figures(new))
        };
        let found = ratios(&[of(4.0, 2.0), of(2.0, 3.0), of(5.0, 5.0)]).unwrap();
        let [ratio] = &found[..] else {
            panic!("one figure")
        };
        assert_eq!((ratio.old_least, ratio.new_least), (2.0, 2.0));
        assert_eq!((ratio.old_median, ratio.new_median), (4.0, 3.0));
        assert_eq!((ratio.least_ratio, ratio.median_ratio), (1.0, 1.0));
        assert_eq!((ratio.lowest_ratio, ratio.highest_ratio), (0.5, 1.5));
        assert!(matches!(
            ratios(&[of(1.0, 0.0)]),
            Err(BuildError::NoFigures)
        ));
    }

    fn build(dir: &Path, name: &str, script: &str) -> PathBuf {
        let path = dir.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn builds_take_turns_and_failures_have_reasons() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let print = |name: &str, x: f64| {
            let log = log.display();
            let script = format!("echo {name} $* >> {log}; echo '{{\"digest_s\": {x}}}'");
            build(dir.path(), name, &script)
        };
        let (old, new) = (print("old", 4.0), print("new", 1.0));
        let arguments = ["digest".to_owned()];
        let mut runs = 0;
        let found = compare_builds([&old, &new], &arguments, 2, || runs += 1).unwrap();
        assert_eq!((found[0].median_ratio, runs), (0.25, 4));
        let turns = ["old", "new", "new", "old"]
            .map(|name| format!("{name} bench digest --json\n"))
            .concat();
        assert_eq!(fs::read_to_string(log).unwrap(), turns);

        let none = dir.path().join("none");
        let run = |new: &Path| compare_builds([&old, new], &arguments, 1, || ()).unwrap_err();
        assert!(matches!(run(&none), BuildError::Start { .. }));
        let words = build(dir.path(), "words", "echo hello");
        assert!(matches!(run(&words), BuildError::Output { .. }));
        let broken = build(dir.path(), "broken", "echo no such set >&2; exit 3");
        let text = run(&broken).to_string();
        assert!(text.contains("no such set") && text.contains('3'), "{text}");
    }
}
