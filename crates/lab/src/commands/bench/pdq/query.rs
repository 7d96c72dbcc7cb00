//! A whole query.

use crate::args::PdqWhole;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::pdq::{Params, Quiet, STAGES};
use crate::measure::pdq::{PdqBenchError, QueryBench, QueryFigures};
use omr_console::{start_threads, thousands};

pub(super) fn run(args: &PdqWhole) -> Result<(), LabError> {
    start_threads(args.threads)?;
    let bench = QueryBench {
        params: Params::named(&args.params).map_err(PdqBenchError::from)?,
        rows: args.rows,
        bound: args.bound,
        on_text: args.text,
        seed: args.seed,
    };
    let figures = bench.run(&Quiet)?;
    show(args.json, &figures, table)?;
    super::super::all_exact(figures.exact.into(), 1)
}

fn table(figures: &QueryFigures) -> String {
    let mut text = format!(
        "{}, {} rows (synthetic), bound {}, {} threads: {}\n",
        figures.params,
        thousands(figures.rows as u64),
        figures.bound,
        figures.threads,
        figures.shape,
    );
    let mut row = |name: &str, value: String| text += &format!("  {name:<16} {value:>18}\n");
    let bytes = |bytes: u64| format!("{} bytes", thousands(bytes));
    row("keygen", format!("{:.3} s", figures.keygen_s));
    row("encrypt", format!("{:.3} s", figures.encrypt_s));
    row("answer", format!("{:.3} s", figures.answer_s));
    for stage in STAGES {
        let seconds = figures.stages.get(stage).copied().unwrap_or_default();
        row(&format!("  {stage}"), format!("{seconds:.3} s"));
    }
    if let (Some(us), Some(ntts)) = (figures.yardstick_us, figures.answer_ntts) {
        row("yardstick", format!("{us:.1} us"));
        row("answer", format!("{} NTTs", thousands(ntts as u64)));
    }
    row("decode", format!("{:.3} s", figures.decode_s));
    row("key, once", bytes(figures.key_bytes));
    row("query", bytes(figures.query_bytes as u64));
    row("answer", bytes(figures.answer_bytes as u64));
    row("a row", bytes(figures.row_bytes as u64));
    row("peak memory", bytes(figures.peak_rss_bytes));
    row("matching", thousands(figures.matching as u64));
    row("exact", if figures.exact { "yes" } else { "NO" }.to_owned());
    text
}
