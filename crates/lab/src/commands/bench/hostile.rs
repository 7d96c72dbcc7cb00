//! `omr bench hostile`: a server among clients that mean it harm.

use super::trial::program;
use crate::args::BenchHostile;
use crate::commands::show;
use crate::error::LabError;
use crate::trials::{Hostile, HostileFigures, TrialError};
use omr_console::{Ui, thousands};

/// Faults that are shown.
const SHOWN: usize = 20;

pub(super) fn run(args: &BenchHostile, ui: &Ui) -> Result<(), LabError> {
    let hostile = Hostile {
        program: program()?,
        dir: args.dir.clone(),
        seconds: args.seconds,
        connections: args.connections,
        seed: args.seed,
    };
    ui.note(&format!("{} s of hostile clients", args.seconds));
    let figures = hostile.run()?;
    show(args.json, &figures, text)?;
    match figures.faults.len() {
        0 => Ok(()),
        faults => Err(TrialError::Broken(format!("{faults} promises did not hold")).into()),
    }
}

fn text(figures: &HostileFigures) -> String {
    let mut text = String::new();
    for (name, count) in &figures.attempts {
        text += &format!("  {name:<34} {:>12}\n", thousands(*count));
    }
    text += "answers\n";
    for (name, count) in &figures.answers {
        text += &format!("  {name:<34} {:>12}\n", thousands(*count));
    }
    let rows = [
        ("idle connections held", figures.connections),
        ("calls of the canary", figures.canary_calls),
        ("most memory, kB", figures.peak_kb),
        ("  allowed", figures.allowed_kb),
        ("open files before", figures.files_before),
        ("open files after", figures.files_after),
    ];
    for (name, value) in rows {
        text += &format!("{name:<36} {:>12}\n", thousands(value));
    }
    text += &format!(
        "{:<36} {:>12.1} ms\n",
        "worst latency of the canary", figures.canary_worst_ms
    );
    for fault in figures.faults.iter().take(SHOWN) {
        text += &format!("BROKEN: {fault}\n");
    }
    text + &format!("{:<36} {:>12}\n", "broken promises", figures.faults.len())
}
