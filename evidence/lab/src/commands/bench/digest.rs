//! `omr-lab bench digest`.

use super::{Output, all_exact, enough_messages, just_pertinent};
use crate::error::LabError;
use crate::measure::{DigestBench, RecipientsBench};
use clap::Args;
use clap::builder::RangedI64ValueParser;
use omr_protocol::EngineKind;

/// Enough for one batch at full size.
pub(super) const CACHE_BYTES: usize = 14 << 30;

/// Recipients of one board.
pub(super) fn recipients() -> RangedI64ValueParser<u16> {
    RangedI64ValueParser::new().range(1..=1000)
}

#[derive(Args)]
pub(crate) struct BenchDigest {
    #[command(flatten)]
    bench: DigestBench,
    /// Runs, each with the next seed
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Recipients of one board, each with pertinent messages of her own: served together where they
    /// share masks, else one after another with a shared cache
    #[arg(long, value_name = "R", conflicts_with = "runs", value_parser = recipients())]
    recipients: Option<u16>,
    /// Bytes that the shared cache may hold: at full size a batch takes 13.4 GB; 0 turns it off
    #[arg(long, value_name = "B", default_value_t = CACHE_BYTES, requires = "recipients")]
    cache_bytes: usize,
    /// Make the baby steps before the clock starts, as if kept from earlier batches
    #[arg(long, requires = "recipients")]
    keep_baby_steps: bool,
}

pub(super) fn run(args: &BenchDigest, out: &Output<'_>) -> Result<(), LabError> {
    let (bench, setting) = (&args.bench, &args.bench.setting);
    let pertinent = bench.pertinent * usize::from(args.recipients.unwrap_or(1));
    enough_messages(setting.messages, pertinent)?;
    omr_console::start_threads(setting.start.threads)?;
    if let Some(count) = args.recipients {
        return several(args, count.into(), out);
    }
    let mut verdict = Ok(());
    for run in 0..args.runs {
        let mut bench = bench.clone();
        bench.setting.start.seed = setting.start.seed.wrapping_add(run.into());
        let figures = out.under_bar(|bar| bench.run(bar))?;
        out.show(&figures)?;
        let strangers = figures.false_positives;
        verdict = verdict.and(just_pertinent(bench.pertinent, figures.exact(), strangers));
    }
    verdict
}

/// Several recipients of one board, whose own messages and keys follow from the bench.
fn several(args: &BenchDigest, recipients: usize, out: &Output<'_>) -> Result<(), LabError> {
    if args.bench.setting.engine() != EngineKind::Sophomr {
        return Err(LabError::Recipients);
    }
    let bench = RecipientsBench {
        digest: args.bench.clone(),
        recipients,
        cache_bytes: args.cache_bytes,
        keep_baby_steps: args.keep_baby_steps,
    };
    let figures = out.under_bar(|bar| bench.run(bar))?;
    out.show(&figures)?;
    all_exact(figures.exact as u64, figures.recipients as u64)
}
