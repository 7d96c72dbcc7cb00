//! `omr-lab bench rounds`.

use super::{Output, enough_messages, just_pertinent};
use crate::error::LabError;
use crate::measure::RoundsBench;

pub(super) fn run(bench: &RoundsBench, out: &Output<'_>) -> Result<(), LabError> {
    let recipients = usize::from(bench.recipients);
    enough_messages(bench.setting.messages, bench.pertinent * recipients)?;
    omr_console::start_threads(bench.setting.start.threads)?;
    let figures = out.under_bar(|bar| bench.run(bar))?;
    out.show(&figures)?;
    let expected = figures.expected(bench.pertinent);
    // One stranger of 2^21.7 passes a scan, which is no failure.
    just_pertinent(expected, figures.exact, 0)
}
