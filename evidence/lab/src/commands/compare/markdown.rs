//! The table as Markdown; the page has the same table.

use crate::measure::compare::{ClueKind, Comparison, Entry};
use omr_console::thousands;

/// Names of the columns.
pub(super) const COLUMNS: [&str; 17] = [
    "scheme",
    "set",
    "bits",
    "missed",
    "false hits",
    "wrong",
    "clue",
    "address",
    "key",
    "digest",
    "query",
    "seconds",
    "NTTs",
    "wait",
    "decode",
    "memory",
    "exact",
];

/// An explanation of the columns, in a line.
pub(super) const LEGEND: &str = "bits: security of clue and detection key; missed, false hits: a message; wrong: a digest, \
    because of noise; clue, address \
    (clue key), key (detection key), digest, query: bytes; seconds: from clues \
    and payloads in memory to the digest; NTTs: the same in \
    transforms of 65,536 points on this machine; wait: from the last post to payloads in hand, seconds; decode: milliseconds; memory: MiB at most; \
    exact: runs that gave all pertinent messages, bit for bit, and strangers' messages that passed besides. ~ extrapolated from fewer messages; * digest of indices \
    alone; clues: (b) bound to payloads, nobody can aim them at everybody, (l) LWEmongrass, the same, but copies of a clue hit, \
    others plain.";

/// Returns a description of the work and the machine.
pub(super) fn setting(all: &Comparison) -> String {
    let (work, machine) = (&all.work, &all.machine);
    format!(
        "{} messages, {} pertinent, bound {}, payloads of {} bytes; {} threads of {} ({}); build {}; median of {} runs",
        thousands(work.messages),
        work.pertinent,
        work.bound,
        work.payload_bytes,
        all.threads,
        machine.cpu,
        machine.kernels,
        all.build,
        work.runs,
    )
}

/// Returns the cells of a line of the table.
pub(super) fn cells(entry: &Entry, messages: u64) -> [String; 17] {
    let about = if entry.is_extrapolated(messages) {
        "~"
    } else {
        ""
    };
    let only_indices = if entry.payloads { "" } else { "*" };
    let clues = match entry.clues {
        ClueKind::Plain => "",
        ClueKind::Bound => " (b)",
        ClueKind::Lwemongrass => " (l)",
    };
    let strays = match entry.strays {
        0 => String::new(),
        strays => format!(", {strays} stray"),
    };
    let ntts = |ntts: f64| format!("{about}{}", thousands(ntts as u64));
    [
        entry.scheme.clone(),
        entry.params.clone(),
        format!("{:.1}", entry.security_bits),
        entry
            .miss_log2
            .map_or("0".to_owned(), |log2| format!("2^{log2:.1}")),
        format!("2^{:.1}", entry.false_positive_log2),
        entry
            .failure_log2
            .map_or("-".to_owned(), |log2| format!("2^{log2:.1}")),
        format!("{}{clues}", thousands(entry.bytes.clue)),
        thousands(entry.bytes.clue_key),
        thousands(entry.bytes.detection_key),
        format!("{}{only_indices}", thousands(entry.bytes.digest)),
        entry.bytes.query.map_or("-".to_owned(), thousands),
        format!("{about}{}", seconds(entry.seconds(messages))),
        entry.ntts(messages).map_or("-".to_owned(), ntts),
        seconds(entry.latency_s()),
        format!("{:.1}", entry.decode_ms),
        thousands(entry.peak_rss_bytes >> 20),
        format!("{} of {}{strays}", entry.exact, entry.runs),
    ]
}

/// Returns a time with three digits.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => thousands(s.round() as u64),
        s if s >= 10.0 => format!("{s:.1}"),
        s if s >= 1.0 => format!("{s:.2}"),
        s => format!("{s:.3}"),
    }
}

/// Returns the table with its setting.
pub(super) fn document(all: &Comparison) -> String {
    let mut lines = vec![COLUMNS.map(str::to_owned)];
    lines.extend(
        all.entries
            .iter()
            .map(|entry| cells(entry, all.work.messages)),
    );
    let width = |i: usize| lines.iter().map(|cells| cells[i].len()).max().unwrap_or(0);
    let widths: [usize; 17] = std::array::from_fn(width);
    let rule = widths.map(|width| "-".repeat(width));
    let mut text = format!("{}.\n\n{}", setting(all), row(&lines[0], &widths));
    // Names are left-aligned, figures right-aligned.
    text += &row(&rule, &widths)
        .replace("- |", ": |")
        .replacen(": |", "- |", 1);
    text.extend(lines[1..].iter().map(|cells| row(cells, &widths)));
    for failed in &all.failed {
        text += &format!("\n{} did not run: {}\n", failed.scheme, failed.reason);
    }
    text + &format!("\n{LEGEND}\n")
}

fn row(cells: &[String; 17], widths: &[usize; 17]) -> String {
    let mut text = format!("| {:<width$} |", cells[0], width = widths[0]);
    for (cell, width) in cells.iter().zip(widths).skip(1) {
        text += &format!(" {cell:>width$} |");
    }
    text + "\n"
}
