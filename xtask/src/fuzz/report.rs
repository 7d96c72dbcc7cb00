//! Reads libFuzzer's report of a run.

use std::path::Path;

use serde::Serialize;

/// A target's run.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Report {
    target: String,
    /// Inputs tried.
    runs: u64,
    runs_a_second: u64,
    /// Edges of the code that inputs reached, and these with how often.
    edges: u64,
    features: u64,
    /// Inputs kept, each for something that no other reaches.
    inputs: u64,
    /// The command that runs the failing input again, or the program where there is no such input.
    pub(super) broken: Option<String>,
}

impl Report {
    /// From what a program wrote, and whether it ended well.
    pub(super) fn of(target: &str, program: &Path, said: &str, well: bool) -> Self {
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
        let statistic = |name: &str| {
            let line = said.lines().rev().find_map(|line| line.strip_prefix(name));
            number(line.map(str::trim))
        };
        // #2097152 pulse  cov: 812 ft: 2301 corp: 301/22Kb ...
        let progress = |name: &str| {
            let of = |line: &str| {
                let mut words = line.split_whitespace().skip_while(|word| *word != name);
                let value = words.nth(1)?.split('/').next()?;
                value.parse().ok()
            };
            said.lines().rev().find_map(of).unwrap_or(0)
        };
        let tried = |line: &str| {
            let count: String = line
                .strip_prefix('#')?
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            count.parse().ok()
        };
        let broken = (!well).then(|| {
            let written = "Test unit written to ";
            let input = said
                .lines()
                .find_map(|line| Some(line.split_once(written)?.1));
            format!("{} {}", program.display(), input.unwrap_or(""))
                .trim()
                .to_owned()
        });
        Self {
            target: target.to_owned(),
            // A broken run has no statistics.
            runs: match statistic("stat::number_of_executed_units:") {
                0 => said.lines().rev().find_map(tried).unwrap_or(0),
                runs => runs,
            },
            runs_a_second: statistic("stat::average_exec_per_sec:"),
            edges: progress("cov:"),
            features: progress("ft:"),
            inputs: progress("corp:"),
            broken,
        }
    }

    /// How to run what broke the target again.
    pub(super) fn again(&self) -> Option<String> {
        self.broken.clone()
    }
}

/// Reports as a table.
pub(super) fn table(reports: &[Report]) -> String {
    let mut text = format!(
        "{:<10} {:>11} {:>8} {:>7} {:>9} {:>7}  found\n",
        "target", "runs", "runs/s", "edges", "features", "inputs"
    );
    for report in reports {
        let found = if report.broken.is_some() {
            "an input"
        } else {
            "-"
        };
        text += &format!(
            "{:<10} {:>11} {:>8} {:>7} {:>9} {:>7}  {found}\n",
            report.target,
            report.runs,
            report.runs_a_second,
            report.edges,
            report.features,
            report.inputs
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libfuzzer_says_is_read() {
        let said = "#2\tINITED cov: 9 ft: 10 corp: 1/1b exec/s: 0 rss: 30Mb\n\
            #2048\tDONE   cov: 812 ft: 2301 corp: 301/22Kb lim: 4096 exec/s: 512 rss: 44Mb\n\
            Done 2048 runs in 4 second(s)\n\
            stat::number_of_executed_units: 2048\n\
            stat::average_exec_per_sec:     512\n";
        let report = Report::of("clues", Path::new("/x/clues"), said, true);
        let expected = Report {
            target: "clues".into(),
            runs: 2048,
            runs_a_second: 512,
            edges: 812,
            features: 2301,
            inputs: 301,
            broken: None,
        };
        assert_eq!(report, expected);
        assert!(
            table(&[report])
                .contains("clues             2048      512     812      2301     301  -")
        );
    }

    #[test]
    fn an_input_that_breaks_a_target_is_named() {
        let said = "#77\tNEW    cov: 5 ft: 6 corp: 3/9b lim: 4 exec/s: 0 rss: 30Mb\n\
            thread panicked\n\
            artifact_prefix='/f/clues-'; Test unit written to /f/clues-crash-12\n";
        let report = Report::of("clues", Path::new("/x/clues"), said, false);
        assert_eq!(
            report.again().as_deref(),
            Some("/x/clues /f/clues-crash-12")
        );
        assert_eq!((report.runs, report.edges), (77, 5));
    }
}
