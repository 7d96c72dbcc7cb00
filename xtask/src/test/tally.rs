//! Adds up the last lines of test runners.

use std::fmt;

/// How many tests passed, failed, were skipped.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    /// Adds a closing line; skips any other.
    pub(super) fn add(&mut self, line: &str) {
        let counts = binary(line).or_else(|| nextest(line)).unwrap_or_default();
        for (count, what) in counts
            .split([',', ';'])
            .filter_map(|part| part.trim().split_once(' '))
        {
            let sum = match what.split(" (").next().unwrap_or_default() {
                "passed" => &mut self.passed,
                "failed" | "exec failed" | "timed out" => &mut self.failed,
                "ignored" | "skipped" => &mut self.skipped,
                _ => continue,
            };
            *sum += count.parse::<usize>().unwrap_or(0);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(
            f,
            "tests: {passed} passed, {failed} failed, {skipped} skipped"
        )
    }
}

/// The counts of `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
fn binary(line: &str) -> Option<&str> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    Some(counts)
}

/// The counts of `Summary [ 0.1s] 5 tests run: 4 passed (1 slow), 1 timed out, 2 skipped`.
fn nextest(line: &str) -> Option<&str> {
    let (_, counts) = line
        .trim_start()
        .strip_prefix("Summary [")?
        .split_once(" run: ")?;
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_runners_count() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s",
            "test passed_through ... ok",
            "test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
            "        PASS [   0.006s] (1/9) omr-codec run: 5 passed",
            "     Summary [ 161.120s] 9/10 tests run: 5 passed (2 slow, 1 flaky), 2 failed, 1 exec failed, 1 timed out, 8 skipped",
        ] {
            tally.add(line);
        }
        assert_eq!(tally.to_string(), "tests: 10 passed, 8 failed, 9 skipped");
    }
}
