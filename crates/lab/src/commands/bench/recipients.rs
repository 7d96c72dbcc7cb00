use crate::args::BenchDigest;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{DigestBench, RecipientsBench, RecipientsFigures, RecipientsTimes};
use omr_console::{Ui, thousands};

/// Several recipients of one board, whose own messages and keys follow from `digest`.
pub(super) fn run(
    args: &BenchDigest,
    digest: DigestBench,
    recipients: usize,
    ui: &Ui,
) -> Result<(), LabError> {
    let bench = RecipientsBench {
        digest,
        recipients,
        cache_bytes: args.cache_bytes,
        keep_baby_steps: args.keep_baby_steps,
    };
    let bar = ui.bar();
    let figures = bench.run(&bar);
    drop(bar);
    let figures = figures?;
    show(args.json, &figures, table)?;
    super::all_exact(figures.exact as u64, figures.recipients as u64)
}

fn table(figures: &RecipientsFigures) -> String {
    let mut text = format!(
        "{:?}, {}, {} recipients, {} messages, {} pertinent to each, bound {}, payloads of {} \
         bytes, {} threads ({}), seed {}\n",
        figures.scheme,
        figures.params,
        figures.recipients,
        thousands(figures.messages),
        figures.pertinent,
        figures.bound,
        figures.payload_bytes,
        figures.threads,
        figures.kernels,
        figures.seed,
    );
    for (name, times) in [
        ("baby steps included", &figures.digests),
        ("kept baby steps", &figures.digests_with_kept_baby_steps),
    ] {
        text += &times
            .as_ref()
            .map_or_else(String::new, |times| rows(name, times));
    }
    for (name, bytes) in [
        ("cache", figures.cache_bytes as u64),
        ("peak memory", figures.peak_rss_bytes),
    ] {
        text += &format!("  {name:<16} {:>16} bytes\n", thousands(bytes));
    }
    text + &format!("  {:<16} {:>16}\n", "exact", figures.exact)
}

fn rows(kind: &str, times: &RecipientsTimes) -> String {
    let mut text = format!("  digests, {kind}\n");
    let mut row =
        |name: &str, value: f64, unit| text += &format!("  {name:<16} {value:>16.3}{unit}\n");
    row("  without cache", times.alone_s, " s");
    row("  first", times.first_s, " s");
    for &seconds in &times.further_s {
        row("  further", seconds, " s");
    }
    for (stage, &seconds) in &times.last_stages {
        row(&format!("    {stage}"), seconds, " s");
    }
    for (name, ratio) in [
        ("  further/first", times.further_over_first),
        ("  further/alone", times.further_over_alone),
    ] {
        ratio.into_iter().for_each(|ratio| row(name, ratio, ""));
    }
    text
}
