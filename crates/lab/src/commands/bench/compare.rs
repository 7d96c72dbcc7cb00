use crate::args::BenchCompare;
use crate::error::LabError;
use crate::measure::{Compared, Report};
use omr_console::files;
use serde::Serialize;
use std::path::Path;

/// More than any report has.
const LIMIT: u64 = 1 << 20;

#[derive(Serialize)]
struct Comparison<'a> {
    old: &'a str,
    new: &'a str,
    figures: &'a [Compared],
}

pub(super) fn run(args: &BenchCompare) -> Result<(), LabError> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let figures = old.compare(&new)?;
    if args.json {
        return Ok(files::print_json(&Comparison {
            old: &old.build,
            new: &new.build,
            figures: &figures,
        })?);
    }
    let mut text = format!(
        "old {}, new {}; ratios are new over old\n",
        old.build, new.build
    );
    text += &format!(
        "  {:<42} {:>14} {:>14} {:>8} {:>10}\n",
        "seconds or bytes", "old", "new", "ratio", "NTT ratio"
    );
    text.extend(figures.iter().map(row));
    Ok(files::print(&text)?)
}

fn read(path: &Path) -> Result<Report, LabError> {
    let bytes = files::read_file(path, LIMIT)?;
    serde_json::from_slice(&bytes).map_err(|source| LabError::Report {
        path: path.to_owned(),
        source,
    })
}

fn row(figure: &Compared) -> String {
    let number = |value: Option<f64>| match value {
        Some(value) if value.fract() == 0.0 => format!("{value}"),
        Some(value) => format!("{value:.6}"),
        None => "-".to_owned(),
    };
    let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    format!(
        "  {:<42} {:>14} {:>14} {:>8} {:>10}\n",
        figure.name,
        number(figure.old),
        number(figure.new),
        ratio(figure.ratio),
        ratio(figure.ntts_ratio)
    )
}
