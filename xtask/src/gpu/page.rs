//! Writes the page with the results and speeds of a card.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::error::XtaskError;
use crate::files;

const PAGE: &str = "docs/gpu.md";
/// The figures that the page is made of.
pub(super) const FIGURES: &str = "docs/gpu.json";
/// The lines before and after the figures on the page.
const MARKERS: [&str; 2] = ["<!-- measured -->", "<!-- end -->"];

/// The output of `omr-lab bench card --json`, and the figures that `cargo xtask gpu` adds.
#[derive(Deserialize)]
struct Figures {
    commit: String,
    tests: u64,
    sanitizers: BTreeMap<String, String>,
    card: String,
    driver: u32,
    clocks_mhz: [f64; 2],
    params: String,
    messages: u64,
    digests: usize,
    equal: usize,
    rates: [f64; 3],
    arithmetic: String,
    forward_us: f64,
    inverse_us: f64,
    other_us: [f64; 2],
    load_s: f64,
    digest_s: f64,
    least_digest_s: f64,
    card_s: f64,
    processor_s: f64,
    recipients: usize,
    further_s: f64,
    bytes_one: f64,
    bytes_all: f64,
    #[serde(default)]
    instantomr: Option<Messages>,
    stages: BTreeMap<String, f64>,
    kernels: BTreeMap<String, f64>,
    launches: BTreeMap<String, u64>,
}

/// InstantOMR's part of them.
#[derive(Deserialize)]
struct Messages {
    set: String,
    in_flight: u64,
    batches: usize,
    equal: usize,
    message_us: f64,
    alone_us: f64,
    stages_us: BTreeMap<String, f64>,
    card_us: f64,
    kernels_us: BTreeMap<String, f64>,
    processor_us: f64,
    upload_s: f64,
    bytes: f64,
}

/// Compares the page with the figures, or writes it.
pub(crate) fn page(root: &Path, writes: bool) -> Result<(), XtaskError> {
    let (figures, page) = (root.join(FIGURES), root.join(PAGE));
    let text = fs::read_to_string(&figures).map_err(XtaskError::io(&figures))?;
    files::section(
        &page,
        MARKERS,
        &table(&serde_json::from_str(&text)?),
        writes,
    )
}

fn table(figures: &Figures) -> String {
    let mut out = String::from("\n");
    let driver = format!("{}.{}", figures.driver / 1000, figures.driver % 1000 / 10);
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "| {name} | {value} |");
    };
    let seconds = |s: f64| format!("{s:.3} s");
    let micro = |us: f64| format!("{us:.2} us");
    line(
        "card, CUDA of its driver",
        format!("{}, {driver}", figures.card),
    );
    line("---", "---".into());
    let [clock, memory] = figures.clocks_mhz;
    line(
        "highest clocks of it and of its memory",
        format!("{clock:.0} MHz, {memory:.0} MHz"),
    );
    line("commit", format!("`{}`", figures.commit));
    line(
        "tests of kernels and digests that ran on it and passed",
        figures.tests.to_string(),
    );
    for (tool, told) in &figures.sanitizers {
        line(&format!("compute-sanitizer, {tool}"), told.clone());
    }
    line(
        "set, messages",
        format!("`{}`, {}", figures.params, figures.messages),
    );
    line(
        "digests equal to the processor's, byte for byte",
        format!("{} of {}", figures.equal, figures.digests),
    );
    line(
        "digest, clues and payloads in memory",
        seconds(figures.digest_s),
    );
    line("the least of them", seconds(figures.least_digest_s));
    line("the same on the card alone", seconds(figures.card_s));
    line(
        "the same digest on all cores of that machine",
        seconds(figures.processor_s),
    );
    line(
        &format!("each further recipient, {} together", figures.recipients),
        seconds(figures.further_s),
    );
    line(
        "detection key from memory to ready",
        seconds(figures.load_s),
    );
    line(
        &format!("transform of 65,536 points, {}", figures.arithmetic),
        micro(figures.forward_us),
    );
    line("its inverse", micro(figures.inverse_us));
    line(
        "both in the other arithmetic",
        figures.other_us.map(micro).join(", "),
    );
    let tera = figures.rates.map(|rate| format!("{:.1}", rate / 1e12));
    line(
        "10^12 multiply-adds a second: double, 32-bit integer, into 64 bits",
        tera.join(", "),
    );
    let gigabytes = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
    line(
        "memory of the card, one recipient",
        gigabytes(figures.bytes_one),
    );
    line(
        &format!("the same, {} recipients", figures.recipients),
        gigabytes(figures.bytes_all),
    );
    messages(&mut out, figures.instantomr.as_ref());
    out.push_str("\n| stage | s |\n| --- | --- |\n");
    for (stage, seconds) in &figures.stages {
        let _ = writeln!(out, "| {stage} | {seconds:.3} |");
    }
    out.push_str("\n| kernel | runs | ms |\n| --- | --- | --- |\n");
    for (kernel, seconds) in figures
        .kernels
        .iter()
        .filter(|(_, seconds)| **seconds > 0.0)
    {
        let _ = writeln!(
            out,
            "| `{kernel}` | {} | {:.2} |",
            figures.launches[kernel],
            seconds * 1e3
        );
    }
    if let Some(own) = &figures.instantomr {
        out.push_str("\n| InstantOMR, a batch alone | us a message |\n| --- | --- |\n");
        let stages = own.stages_us.iter().map(|(name, us)| (name.clone(), us));
        let kernels = own
            .kernels_us
            .iter()
            .map(|(name, us)| (format!("`{name}`"), us));
        for (name, us) in stages.chain(kernels) {
            let _ = writeln!(out, "| {name} | {us:.1} |");
        }
    }
    out.push('\n');
    out
}

/// Writes the costs of InstantOMR's messages.
fn messages(out: &mut String, figures: Option<&Messages>) {
    let mut line = |name: &str, value: Option<String>| {
        let value = value.unwrap_or_else(|| "not measured".into());
        let _ = writeln!(out, "| InstantOMR: {name} | {value} |");
    };
    let each = |of: fn(&Messages) -> f64| figures.map(|own| format!("{:.1} us", of(own)));
    line(
        "set, messages in flight",
        figures.map(|own| format!("`{}`, {}", own.set, own.in_flight)),
    );
    line(
        "batches equal to the processor's in exact integers, byte for byte",
        figures.map(|own| format!("{} of {}", own.equal, own.batches)),
    );
    line(
        "a message, batches one after another",
        each(|own| own.message_us),
    );
    line("a message of one batch alone", each(|own| own.alone_us));
    line("the same on the card alone", each(|own| own.card_us));
    line(
        "the same on all cores of that machine, without the card",
        each(|own| own.processor_us),
    );
    line(
        "detection key, to the card",
        figures.map(|own| format!("{:.3} s", own.upload_s)),
    );
    line(
        "memory of the card, one recipient",
        figures.map(|own| format!("{:.2} GB", own.bytes / 1e9)),
    );
}
