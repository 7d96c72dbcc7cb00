//! `omr-lab papers`.

use super::output::{Output, csv};
use crate::error::LabError;
use crate::measure::published::{Figures, Published, tables};
use crate::measure::{BuildError, Report};
use clap::Args;
use omr_console::{ConsoleError, files};
use omr_protocol::Mismatch;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The figures of this repository.
const FIGURES: &str = include_str!("../../../../docs/figures.json");
const FIGURES_PATH: &str = "docs/figures.json";

#[derive(Args)]
pub(crate) struct Papers {
    /// Papers, by their names in the table; all unless given
    #[arg(value_name = "PAPER")]
    papers: Vec<String>,
    /// Output of `omr-lab bench all --json` with our figures; docs/figures.json unless given
    #[arg(long, value_name = "FILE")]
    figures: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Print a row of CSV for each figure
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Published figures beside ours.
#[derive(Serialize)]
struct Beside<'a> {
    here: Here<'a>,
    tables: Vec<Source<'a>>,
    figures: Vec<Published<'a>>,
}

/// The origin of our figures.
#[derive(Serialize)]
struct Here<'a> {
    cpu: &'a str,
    cores: usize,
    kernels: &'a str,
    build: &'a str,
    date: &'a str,
}

/// The origin of a table.
#[derive(Serialize)]
struct Source<'a> {
    paper: &'a str,
    table: &'a str,
    source: &'a str,
    setting: &'a str,
}

pub(super) fn run(args: &Papers, out: &Output<'_>) -> Result<(), LabError> {
    let report = args.report()?;
    let mut tables = tables();
    let papers: BTreeSet<String> = tables.iter().map(|table| table.paper.clone()).collect();
    if let Some(unknown) = args.papers.iter().find(|name| !papers.contains(*name)) {
        let expected: Vec<String> = papers.into_iter().collect();
        return Err(LabError::Paper(Mismatch::new(
            expected.join(", "),
            unknown.clone(),
        )));
    }
    tables.retain(|table| args.papers.is_empty() || args.papers.contains(&table.paper));
    let program = std::env::current_exe().map_err(|source| BuildError::Start {
        path: "omr-lab".into(),
        source,
    })?;
    let mut ours = Figures::new(&program, &report);
    let mut figures = Vec::new();
    for table in &tables {
        figures.extend(table.compared(&mut ours)?);
    }
    if args.csv {
        let rows: Result<Vec<Value>, _> = figures.iter().map(serde_json::to_value).collect();
        let rows = rows.map_err(|error| ConsoleError::Output(error.into()))?;
        let first = ["paper", "table", "row", "column", "published", "here"];
        return Ok(files::print(&csv(&rows, &first)?)?);
    }
    let machine = &report.machine;
    out.show(&Beside {
        here: Here {
            cpu: &machine.cpu,
            cores: machine.cores,
            kernels: &machine.kernels,
            build: &report.build,
            date: &report.date,
        },
        tables: tables
            .iter()
            .map(|table| Source {
                paper: &table.paper,
                table: &table.table,
                source: &table.source,
                setting: &table.setting,
            })
            .collect(),
        figures,
    })
}

impl Papers {
    /// Returns the report of our figures.
    ///
    /// Errors: `Console`; `Report`.
    fn report(&self) -> Result<Report, LabError> {
        match &self.figures {
            Some(path) => super::bench::report(path),
            None => serde_json::from_str(FIGURES)
                .map_err(|source| LabError::Report(FIGURES_PATH.into(), source)),
        }
    }
}
