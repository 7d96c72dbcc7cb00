//! Plans as text.

use super::files;
use crate::commands::full::pdq::{Bounded, SET};
use crate::error::CliError;
use crate::io;
use omr_console::thousands;
use omr_pdq::plan::{Cost, Op, Source, SourceKind};
use omr_pdq::{Params, Plan};
use omr_table::Schema;
use serde::Serialize;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct PdqPlan {
    /// SELECT columns FROM table WHERE condition [LIMIT bound]
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// The table's schema, as `omr pdq schema` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// Highest number of rows of the answer [default: the query's LIMIT, or 16]
    #[arg(long, value_name = "S")]
    pub(crate) bound: Option<u64>,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = SET)]
    pub(crate) params: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const PDQ_PLAN: &str = concat!(
    "\
Examples:
  omr pdq plan --schema people.json \\
    \"SELECT * FROM people WHERE name LIKE 'Ann%'\"

",
    seen!()
);

/// A plan as JSON.
#[derive(Serialize)]
struct Report<'a> {
    shape: String,
    params: &'a str,
    bound: usize,
    rows: u64,
    blocks: usize,
    sources: Vec<SourceReport>,
    most_depth: usize,
    #[serde(flatten)]
    cost: Cost,
    memory_bytes: u64,
    transform_seconds: f64,
    seconds_of_one_thread: f64,
}

#[derive(Serialize)]
struct SourceReport {
    column: String,
    compared_by: &'static str,
    digits: usize,
    radix: usize,
}

pub(super) fn run(args: &PdqPlan) -> Result<(), CliError> {
    let public = files::public(&args.schema)?;
    let schema = public.schema();
    let params = files::params(&args.params)?;
    let asked = Bounded::parse(&args.sql, schema, args.bound)?;
    let plan = super::planned(&public, &params, &asked)?;
    if args.json {
        Ok(io::print_json(&report(&params, schema, &plan))?)
    } else {
        Ok(io::print(&format!("{}\n", words(&params, schema, &plan)))?)
    }
}

fn report<'a>(params: &'a Params, schema: &Schema, plan: &Plan) -> Report<'a> {
    let transform_seconds = params.transform_seconds();
    Report {
        shape: plan.shape.render(schema),
        params: params.name(),
        bound: plan.bound,
        rows: schema.rows,
        blocks: plan.blocks,
        sources: compared(plan)
            .map(|source| SourceReport {
                column: schema.columns[source.column].name.clone(),
                compared_by: compared_by(source),
                digits: source.digits,
                radix: source.radix,
            })
            .collect(),
        most_depth: params.depth(),
        cost: plan.cost,
        memory_bytes: plan.memory_bytes(params),
        transform_seconds,
        seconds_of_one_thread: plan.cost.seconds(transform_seconds),
    }
}

/// Returns the description of a plan, line by line.
pub(super) fn words(params: &Params, schema: &Schema, plan: &Plan) -> String {
    let cost = &plan.cost;
    let unit = params.transform_seconds();
    let plural = |count: usize, thing: &str| match count {
        1 => format!("1 {thing}"),
        _ => format!("{} {thing}s", thousands(count as u64)),
    };
    let mut lines = vec![
        format!("the server sees: {}", plan.shape.render(schema)),
        format!(
            "parameters {}, bound {}: {} in {} of {}",
            params.name(),
            plural(plan.bound, "row"),
            plural(schema.rows as usize, "row"),
            plural(plan.blocks, "block"),
            thousands(params.slots() as u64)
        ),
    ];
    let mut sources: Vec<(String, usize)> = Vec::new();
    for source in compared(plan) {
        let line = format!(
            "  {}, by {}: {} of radix {}",
            schema.columns[source.column].name,
            compared_by(source),
            plural(source.digits, "digit"),
            source.radix
        );
        match sources.last_mut().filter(|(last, _)| *last == line) {
            Some((_, times)) => *times += 1,
            None => sources.push((line, 1)),
        }
    }
    lines.extend(sources.into_iter().map(|(line, times)| match times {
        1 => line,
        _ => format!("{line}, at {times} places"),
    }));
    lines.push(format!(
        "{} in {}; for each block {} and {}; depth {} of {}",
        plural(cost.constants, "encrypted constant"),
        plural(cost.query_ciphertexts, "ciphertext"),
        plural(cost.masks, "mask"),
        plural(cost.relinearisations, "relinearisation"),
        cost.depth,
        params.depth()
    ));
    lines.push(format!(
        "about {:.1} s of one thread here: {} transforms of {:.1} us, and what goes with them",
        cost.seconds(unit),
        thousands(cost.transforms),
        unit * 1e6
    ));
    lines.push(format!(
        "{} bytes up, {} bytes down; {} bytes of the server's memory beside the table",
        thousands(cost.query_bytes),
        thousands(cost.answer_bytes),
        thousands(plan.memory_bytes(params))
    ));
    lines.join("\n")
}

/// Returns the sources that are compared with constants; of the others only the absence of a value counts.
fn compared(plan: &Plan) -> impl Iterator<Item = &Source> {
    let circuit = &plan.circuit;
    let is_compared = move |&(place, _): &(usize, &Source)| {
        let selects = |op: &Op| matches!(op, Op::Select { source, .. } if *source == place);
        circuit.ops.iter().any(selects)
    };
    let sources = circuit.sources.iter().enumerate();
    sources.filter(is_compared).map(|(_, source)| source)
}

fn compared_by(source: &Source) -> &'static str {
    match source.kind {
        SourceKind::Ordinal => "value",
        SourceKind::Text => "fingerprint",
        SourceKind::Like { .. } => "fingerprint of the pattern's places",
    }
}
