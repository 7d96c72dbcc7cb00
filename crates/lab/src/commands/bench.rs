mod all;
mod chaos;
mod clues;
mod compare;
mod crossover;
mod decode;
mod hostile;
mod load;
mod mail;
mod pdq;
mod post;
mod recipients;
mod sizing;
mod soak;
mod stream;
mod trial;
mod windows;

use crate::args::{BenchCommand, BenchDigest};
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{DigestBench, DigestFigures, InstantBench};
use omr_console::Ui;
use omr_protocol::instantomr::Encoding;
use omr_protocol::params::{DEFAULT, HYBRID};
use omr_protocol::sophomr::Params;
use omr_protocol::{EngineKind, ParamSet, Scheme};

pub(super) fn run(command: &BenchCommand, ui: &Ui) -> Result<(), LabError> {
    match command {
        BenchCommand::Digest(args) => digest(args, ui),
        BenchCommand::Clues(args) => clues::run(args),
        BenchCommand::Decode(args) => decode::run(args, ui),
        BenchCommand::Stream(args) => stream::run(args, ui),
        BenchCommand::Crossover(args) => crossover::run(args, ui),
        BenchCommand::Windows(args) => windows::run(args),
        BenchCommand::Post(args) => post::run(args, ui),
        BenchCommand::Sizing(args) => sizing::run(args, ui),
        BenchCommand::Soak(args) => soak::run(args, ui),
        BenchCommand::Chaos(args) => chaos::run(args, ui),
        BenchCommand::Hostile(args) => hostile::run(args, ui),
        BenchCommand::All(args) => all::run(args, ui),
        BenchCommand::Compare(args) => compare::run(args),
        BenchCommand::Load(args) => load::run(args, ui),
        BenchCommand::Mail(args) => mail::run(args, ui),
        BenchCommand::Pdq(command) => pdq::run(command, ui),
    }
}

fn digest(args: &BenchDigest, ui: &Ui) -> Result<(), LabError> {
    let pertinent = args.pertinent * usize::from(args.recipients.unwrap_or(1));
    enough_messages(args.messages, pertinent)?;
    omr_console::start_threads(args.threads)?;
    let scheme = args.scheme;
    if scheme.engines() != [EngineKind::Sophomr] {
        return instant(args, scheme, ui);
    }
    let params = Params::named(args.params.as_deref().unwrap_or(DEFAULT))?;
    let first = DigestBench {
        scheme,
        params,
        messages: args.messages,
        pertinent: args.pertinent,
        bound: args.bound as usize,
        payload_bytes: args.payload_bytes as usize,
        seed: args.seed,
        yardstick: !args.no_yardstick,
        bound_clues: !args.plain_clues,
    };
    if let Some(count) = args.recipients {
        return recipients::run(args, first, count.into(), ui);
    }
    let mut verdict = Ok(());
    for run in 0..args.runs {
        let bench = DigestBench {
            seed: args.seed.wrapping_add(run.into()),
            ..first.clone()
        };
        let bar = ui.bar();
        let figures = bench.run(&bar);
        drop(bar);
        verdict = verdict.and(tell(args, &figures?)?);
    }
    verdict
}

/// The same for InstantOMR.
fn instant(args: &BenchDigest, scheme: Scheme, ui: &Ui) -> Result<(), LabError> {
    if args.recipients.is_some() {
        return Err(LabError::Recipients);
    }
    let set = ParamSet::named(args.params.as_deref().unwrap_or(HYBRID))?;
    let mut verdict = Ok(());
    for run in 0..args.runs {
        let bench = InstantBench {
            payloads: !scheme.is_for_indices(),
            encoding: scheme.encoding().unwrap_or(Encoding::Powers),
            params: set.instantomr()?.clone(),
            security_bits: set.spec().security_bits(),
            messages: args.messages,
            pertinent: args.pertinent,
            bound: args.bound as usize,
            payload_bytes: args.payload_bytes as usize,
            seed: args.seed.wrapping_add(run.into()),
            yardstick: !args.no_yardstick,
            bound_clues: !args.plain_clues,
        };
        let bar = ui.bar();
        let figures = bench.run(&bar);
        drop(bar);
        verdict = verdict.and(tell(args, &figures?)?);
    }
    verdict
}

/// Prints a run; the inner result tells whether it was exact.
fn tell(args: &BenchDigest, figures: &DigestFigures) -> Result<Result<(), LabError>, LabError> {
    show(args.json, figures, table)?;
    Ok(judge(figures))
}

pub(super) fn enough_messages(messages: u64, pertinent: usize) -> Result<(), LabError> {
    match pertinent as u64 <= messages {
        true => Ok(()),
        false => Err(LabError::Pertinent {
            messages,
            found: pertinent,
        }),
    }
}

fn judge(figures: &DigestFigures) -> Result<(), LabError> {
    match figures.is_exact() {
        true => Ok(()),
        false => Err(LabError::Inexact {
            expected: figures.pertinent,
            exact: figures.exact(),
            false_positives: figures.false_positives,
        }),
    }
}

pub(super) fn all_exact(exact: u64, digests: u64) -> Result<(), LabError> {
    match exact == digests {
        true => Ok(()),
        false => Err(LabError::InexactDigests { exact, digests }),
    }
}

fn table(figures: &DigestFigures) -> String {
    let number = |number: usize| omr_console::thousands(number as u64);
    let mut text = format!(
        "{:?}, {} ({:.1} bits), {} messages, {} pertinent, bound {}, payloads of {} bytes, \
         {} threads ({}), seed {}\n",
        figures.scheme,
        figures.params,
        figures.security_bits,
        omr_console::thousands(figures.messages),
        figures.pertinent,
        figures.bound,
        number(figures.payload_bytes),
        figures.threads,
        figures.kernels,
        figures.seed,
    );
    let mut row = |name: &str, value: String| text += &format!("  {name:<16} {value:>16}\n");
    row("keygen", format!("{:.3} s", figures.keygen_s));
    row("digest", format!("{:.3} s", figures.digest_s));
    let message_s = figures.digest_s / figures.messages as f64;
    row("  a message", format!("{:.3} ms", message_s * 1e3));
    for (stage, seconds) in &figures.stages {
        row(&format!("  {stage}"), format!("{seconds:.3} s"));
    }
    if let (Some(us), Some(ntts)) = (figures.yardstick_us, figures.digest_ntts) {
        row("yardstick", format!("{us:.1} us"));
        row(
            "digest",
            format!("{} NTTs", omr_console::thousands(ntts as u64)),
        );
    }
    row("decode", format!("{:.3} ms", figures.decode_ms));
    row("clue", format!("{:.3} ms", figures.clue_ms));
    row(
        "detection key",
        format!(
            "{} bytes",
            omr_console::thousands(figures.detection_key_bytes)
        ),
    );
    row(
        "clue key",
        format!("{} bytes", number(figures.clue_key_bytes)),
    );
    row("clue", format!("{} bytes", number(figures.clue_bytes)));
    row("digest", format!("{} bytes", number(figures.digest_bytes)));
    row(
        "peak memory",
        format!("{} bytes", omr_console::thousands(figures.peak_rss_bytes)),
    );
    row("found", figures.found.to_string());
    row("missed", figures.missed.to_string());
    row("false positives", figures.false_positives.to_string());
    row("payloads exact", figures.payloads_exact.to_string());
    text
}
