use crate::args::{BenchCommand, BenchDigest, BenchPost, SchemeName};
use crate::error::{CliError, InputError};
use crate::io;
use crate::progress::Ui;
use omr_bench::{DigestBench, DigestFigures, Scheme};
use omr_board::Message;
use omr_detector::Progress;
use omr_protocol::{Clue, Params, Sealing};
use rand_core::Rng;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Messages of one transaction.
const TRANSACTION: u64 = 1000;

pub(super) fn run(command: &BenchCommand, ui: &Ui) -> Result<(), CliError> {
    match command {
        BenchCommand::Digest(args) => digest(args, ui),
        BenchCommand::Post(args) => post(args, ui),
    }
}

fn digest(args: &BenchDigest, ui: &Ui) -> Result<(), CliError> {
    if args.pertinent as u64 > args.messages {
        return Err(CliError::Pertinent {
            messages: args.messages,
            found: args.pertinent,
        });
    }
    super::start_threads(args.threads)?;
    let params = Params::named(&args.params)?;
    let mut verdict = Ok(());
    for run in 0..args.runs {
        let bench = DigestBench {
            scheme: match args.scheme {
                SchemeName::Sophomr => Scheme::Sophomr,
                SchemeName::Sophomd => Scheme::Sophomd,
            },
            params: params.clone(),
            messages: args.messages,
            pertinent: args.pertinent,
            bound: args.bound as usize,
            payload_bytes: args.payload_bytes as usize,
            seed: args.seed.wrapping_add(run.into()),
            yardstick: !args.no_yardstick,
        };
        let bar = ui.bar();
        let figures = bench.run(&bar);
        drop(bar);
        let figures = figures?;
        match args.json {
            true => io::print_json(&figures)?,
            false => io::print(&table(&figures))?,
        }
        verdict = verdict.and(judge(&figures));
    }
    verdict
}

fn judge(figures: &DigestFigures) -> Result<(), CliError> {
    let exact = match figures.scheme {
        Scheme::Sophomr => figures.payloads_exact,
        Scheme::Sophomd => figures.found,
    };
    match exact == figures.pertinent && figures.false_positives == 0 {
        true => Ok(()),
        false => Err(CliError::Inexact {
            expected: figures.pertinent,
            exact,
            false_positives: figures.false_positives,
        }),
    }
}

fn table(figures: &DigestFigures) -> String {
    let number = |number: usize| super::thousands(number as u64);
    let mut text = format!(
        "{:?}, {} ({:.1} bits), {} messages, {} pertinent, bound {}, payloads of {} bytes, \
         {} threads ({}), seed {}\n",
        figures.scheme,
        figures.params,
        figures.security_bits,
        super::thousands(figures.messages),
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
    for (stage, seconds) in &figures.stages {
        row(&format!("  {stage}"), format!("{seconds:.3} s"));
    }
    if let (Some(us), Some(ntts)) = (figures.yardstick_us, figures.digest_ntts) {
        row("yardstick", format!("{us:.1} us"));
        row("digest", format!("{} NTTs", super::thousands(ntts as u64)));
    }
    row("decode", format!("{:.3} ms", figures.decode_ms));
    row("clue", format!("{:.3} ms", figures.clue_ms));
    row(
        "detection key",
        format!("{} bytes", super::thousands(figures.detection_key_bytes)),
    );
    row(
        "clue key",
        format!("{} bytes", number(figures.clue_key_bytes)),
    );
    row("clue", format!("{} bytes", number(figures.clue_bytes)));
    row("digest", format!("{} bytes", number(figures.digest_bytes)));
    row(
        "peak memory",
        format!("{} bytes", super::thousands(figures.peak_rss_bytes)),
    );
    row("found", figures.found.to_string());
    row("missed", figures.missed.to_string());
    row("false positives", figures.false_positives.to_string());
    row("payloads exact", figures.payloads_exact.to_string());
    text
}

#[derive(Serialize)]
struct PostFigures {
    params: &'static str,
    messages: u64,
    transaction: u64,
    clue_bytes: usize,
    payload_bytes: usize,
    seconds: f64,
    messages_per_s: f64,
    bytes_on_disk: u64,
}

fn post(args: &BenchPost, ui: &Ui) -> Result<(), CliError> {
    let params = Params::named(&args.params)?;
    let parent = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::Builder::new()
        .prefix("omr-bench-")
        .tempdir_in(&parent);
    let dir = dir.map_err(|error| CliError::write(parent, error))?;
    let figures = measure(args, &params, dir.path(), ui)?;
    match args.json {
        true => io::print_json(&figures),
        false => io::print(&format!(
            "{} messages in {:.2} s: {} durable messages a second, {} bytes on disk\n",
            super::thousands(figures.messages),
            figures.seconds,
            super::thousands(figures.messages_per_s as u64),
            super::thousands(figures.bytes_on_disk),
        )),
    }
}

fn measure(
    args: &BenchPost,
    params: &Params,
    dir: &Path,
    ui: &Ui,
) -> Result<PostFigures, CliError> {
    let (clue_bytes, payload_bytes) = (Clue::bytes(params), args.payload_bytes as usize);
    let mut board = super::board::create(dir, params, Sealing::None, payload_bytes)?;
    let mut rng = omr_client::os_rng();
    let mut random = |count: usize| {
        let mut bytes = vec![0; count];
        rng.fill_bytes(&mut bytes);
        bytes
    };
    let bar = ui.bar();
    bar.stage("post", args.messages);
    let (mut left, mut seconds) = (args.messages, 0.0);
    while left > 0 {
        let count = left.min(TRANSACTION);
        let message = |_| Message {
            clue: random(clue_bytes),
            payload: random(payload_bytes),
        };
        let messages: Vec<Message> = (0..count).map(message).collect();
        let start = Instant::now();
        let appended = board.append(&messages).map_err(InputError::from);
        seconds += start.elapsed().as_secs_f64();
        appended.map_err(CliError::input(dir))?;
        left -= count;
        bar.advance(count);
    }
    let stat = board
        .stat()
        .map_err(InputError::from)
        .map_err(CliError::input(dir))?;
    Ok(PostFigures {
        params: params.name(),
        messages: args.messages,
        transaction: TRANSACTION,
        clue_bytes,
        payload_bytes,
        seconds,
        messages_per_s: args.messages as f64 / seconds,
        bytes_on_disk: stat.bytes_on_disk,
    })
}
