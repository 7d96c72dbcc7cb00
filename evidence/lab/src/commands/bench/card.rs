//! `omr-lab bench card`.

use super::{Output, all_exact};
use crate::error::LabError;
use crate::measure::CardBench;
use omr_console::start_threads;

pub(super) fn run(bench: &CardBench, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(bench.setting.start.threads)?;
    let figures = out.under_bar(|bar| bench.run(bar))?;
    out.show(&figures)?;
    let messages = figures.instantomr.as_ref();
    let [equal, batches] = messages.map_or([0, 0], |one| [one.equal, one.batches]);
    all_exact(
        (figures.equal + equal) as u64,
        (figures.digests + batches) as u64,
    )
}
