use crate::args::BenchSizing;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::sizing::{Load, MeasuredCosts, SchemeSizing, Sizing};
use omr_console::{ConsoleError, Ui, start_threads, thousands};
use omr_protocol::ParamSet;
use std::path::Path;
use std::time::SystemTime;

/// Costs of the machine of docs/performance.md.
const COSTS: &str = include_str!("../../../../../docs/measured.json");
/// Where they stand.
const COSTS_PATH: &str = "docs/measured.json";

pub(super) fn run(args: &BenchSizing, ui: &Ui) -> Result<(), LabError> {
    if args.measure {
        // Before anything works: threads are started once.
        start_threads(Some(args.threads))?;
    }
    let set = ParamSet::named(&args.params)?;
    let costs = match (args.measure, &args.costs) {
        (true, _) => measure(args, &set, ui)?,
        (false, Some(path)) => read(
            path,
            &std::fs::read_to_string(path).map_err(|source| LabError::Unread {
                path: path.clone(),
                source,
            })?,
            &set,
        )?,
        (false, None) => read(Path::new(COSTS_PATH), COSTS, &set)?,
    };
    let slower = slower(args, &costs)?;
    let load = Load {
        messages_a_day: args.messages_a_day,
        recipients: args.recipients,
        bound: args.bound as usize,
        payload_bytes: args.payload_bytes as usize,
        digests_a_day: args.digests_a_day,
    };
    let sizing = Sizing::new(&set, load, costs, slower)?;
    show(args.json, &sizing, table)
}

fn read(path: &Path, text: &str, set: &ParamSet) -> Result<MeasuredCosts, LabError> {
    let other = || LabError::Sizing {
        path: path.to_owned(),
        expected: set.name().to_owned(),
    };
    let costs: MeasuredCosts = serde_json::from_str(text).map_err(|_| other())?;
    match costs.is_sound() && costs.params == set.name() {
        true => Ok(costs),
        false => Err(other()),
    }
}

fn measure(args: &BenchSizing, set: &ParamSet, ui: &Ui) -> Result<MeasuredCosts, LabError> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let command = format!(
        "omr bench sizing --measure --params {} --threads {}",
        set.name(),
        args.threads
    );
    let bar = ui.bar();
    let measured = MeasuredCosts::measure(set, (command, now), 1, &bar);
    drop(bar);
    let measured = measured?;
    if let Some(path) = &args.save {
        let text =
            serde_json::to_string_pretty(&measured).map_err(|e| ConsoleError::Output(e.into()))?;
        omr_console::write_result(path, (text + "\n").as_bytes())?;
    }
    Ok(measured)
}

/// How many times as long the machine asked about takes.
fn slower(args: &BenchSizing, costs: &MeasuredCosts) -> Result<f64, LabError> {
    let Some(there) = args.yardstick_us else {
        return Ok(1.0);
    };
    let path = args.costs.as_deref().unwrap_or(Path::new(COSTS_PATH));
    match costs.yardstick_us {
        Some(here) if there.is_finite() && there > 0.0 => Ok(there / here),
        _ => Err(LabError::NoYardstick {
            path: path.to_owned(),
        }),
    }
}

fn table(sizing: &Sizing) -> String {
    let (load, costs) = (&sizing.load, &sizing.costs);
    let mut text = format!(
        "{}: {} messages a day, {} recipients, {} digests a day each, bound {}, payloads of {} bytes\n\
         costs of {} ({}, {}): a batch {:.2} core seconds, a message {:.2} ms, times {:.2}\n\
         the board grows by {} MB a day\n\n{:<34}",
        sizing.params,
        thousands(load.messages_a_day),
        thousands(load.recipients),
        load.digests_a_day,
        load.bound,
        load.payload_bytes,
        costs.machine.cpu,
        costs.machine.kernels,
        costs.date,
        costs.batch_core_s,
        costs.message_core_s * 1e3,
        sizing.slower,
        mega(sizing.board_bytes_a_day),
        ""
    );
    for scheme in &sizing.schemes {
        text += &format!("{:>14}", scheme.scheme);
    }
    text += "\n";
    for (name, value) in ROWS {
        text += &format!("{name:<34}");
        for scheme in &sizing.schemes {
            text += &format!("{:>14}", value(scheme));
        }
        text += "\n";
    }
    text
}

/// A line of the table.
type Row = (&'static str, fn(&SchemeSizing) -> String);

const ROWS: [Row; 10] = [
    ("core seconds a day", |s| {
        thousands(s.core_seconds_a_day.ceil() as u64)
    }),
    ("cores that work all the time", |s| {
        format!("{:.3}", s.cores_busy)
    }),
    ("cores to have (70 % of the time)", |s| thousands(s.cores)),
    ("memory, one key of a kind, MB", |s| mega(s.memory_bytes)),
    ("memory, all keys, MB", |s| mega(s.memory_all_keys_bytes)),
    ("disk after a year, MB", |s| mega(s.disk_bytes_a_year)),
    ("received a day, MB", |s| mega(s.received_bytes_a_day)),
    ("sent a day, MB", |s| mega(s.sent_bytes_a_day)),
    ("a recipient's keys, once, MB", |s| mega(s.key_bytes)),
    ("a digest, bytes", |s| thousands(s.digest_bytes)),
];

fn mega(bytes: u64) -> String {
    thousands(bytes.div_ceil(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::params::HYBRID;

    fn set() -> ParamSet {
        ParamSet::named(HYBRID).expect("published")
    }

    #[test]
    fn the_costs_of_the_documentation_are_sound() {
        let costs = read(Path::new(COSTS_PATH), COSTS, &set()).expect("costs");
        assert_eq!(costs.params, HYBRID);
        assert!(costs.yardstick_us.is_some());
    }

    #[test]
    fn other_costs_are_refused() {
        for (from, to) in [
            (HYBRID, "sophomr-v3"),
            ("costs 1", "costs 2"),
            ("12.7", "-1"),
            ("{", "["),
        ] {
            let text = COSTS.replacen(from, to, 1);
            assert_ne!(text, COSTS);
            let refused = read(Path::new("costs.json"), &text, &set());
            assert!(matches!(refused, Err(LabError::Sizing { .. })));
        }
    }
}
