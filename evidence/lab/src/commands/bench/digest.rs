//! `omr-lab bench digest`.

use super::{Output, all_exact, enough_messages, just_pertinent};
use crate::error::LabError;
use crate::measure::{DigestBench, RecipientsBench};
use clap::Args;
use clap::builder::RangedI64ValueParser;
use omr_protocol::EngineKind;

/// Parses the number of recipients of one board.
fn recipients() -> RangedI64ValueParser<u16> {
    RangedI64ValueParser::new().range(1..=1000)
}

#[derive(Args)]
pub(crate) struct BenchDigest {
    #[command(flatten)]
    bench: DigestBench,
    /// Runs, each with the next seed
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Recipients of one board, served together, each with pertinent messages of their own
    #[arg(long, value_name = "R", conflicts_with = "runs", value_parser = recipients())]
    recipients: Option<u16>,
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

/// Runs several recipients of one board, each with messages and keys from the seed.
fn several(args: &BenchDigest, recipients: usize, out: &Output<'_>) -> Result<(), LabError> {
    if args.bench.setting.engine() != EngineKind::Sophomr {
        return Err(LabError::Recipients);
    }
    let bench = RecipientsBench {
        digest: args.bench.clone(),
        recipients,
    };
    let figures = out.under_bar(|bar| bench.run(bar))?;
    out.show(&figures)?;
    all_exact(figures.exact as u64, figures.recipients as u64)
}
