//! `omr bench card`.

use super::{Output, all_exact};
use crate::error::LabError;
use crate::measure::CardBench;
use omr_console::start_threads;

pub(super) fn run(bench: &CardBench, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(bench.setting.start.threads)?;
    let figures = out.under_bar(|bar| bench.run(bar))?;
    out.show(&figures)?;
    all_exact(figures.equal as u64, figures.digests as u64)
}
