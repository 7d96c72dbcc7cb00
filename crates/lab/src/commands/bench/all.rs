use crate::args::{BenchAll, BenchPost, CACHE_BYTES};
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{
    DigestBench, DigestFigures, Figure, InstantBench, Machine, RecipientsBench, Report, Setting,
};
use omr_console::Ui;
use omr_protocol::instantomr::Encoding;
use omr_protocol::params::{DEFAULT, HYBRID};
use omr_protocol::sophomr::Params;
use omr_protocol::{ParamSet, Scheme};
use rayon::ThreadPoolBuilder;

/// Set, messages, payload bytes and messages posted of a quick run.
const QUICK: (&str, u64, usize, u64) = ("insecure-tiny-v2", 2_048, 100, 2_000);
const FULL: (&str, u64, usize, u64) = (DEFAULT, 65_536, 612, 65_536);

/// Sets with InstantOMR, and messages looked at.
const QUICK_INSTANT: &str = "insecure-tiny-hybrid-v1";
const INSTANT_MESSAGES: u64 = 128;

/// Recipients of a quick run.
const QUICK_RECIPIENTS: u16 = 3;

/// Pertinent messages, also the bound.
const PERTINENT: usize = 50;

pub(super) fn run(args: &BenchAll, ui: &Ui) -> Result<(), LabError> {
    let (name, messages, payload_bytes, posted) = if args.quick { QUICK } else { FULL };
    let params = Params::named(name)?;
    let bench = DigestBench {
        scheme: Scheme::Sophomr,
        params: params.clone(),
        messages,
        pertinent: PERTINENT,
        bound: PERTINENT,
        payload_bytes,
        seed: args.seed,
        yardstick: true,
        bound_clues: true,
    };
    let setting = Setting {
        params: name.to_owned(),
        messages,
        pertinent: PERTINENT,
        bound: PERTINENT,
        payload_bytes,
        threads: args.threads.into(),
        seed: args.seed,
    };
    let machine = Machine::here(params.ring.kernels().name());
    let mut report = Report::new(omr_console::build(), machine, setting);
    digests(&mut report, &bench, args.threads.into(), ui)?;
    let set = if args.quick { QUICK_INSTANT } else { HYBRID };
    instant(&mut report, set, &bench, args.threads.into(), ui)?;
    let quick = args.quick.then_some(QUICK_RECIPIENTS);
    if let Some(count) = args.recipients.or(quick) {
        recipients(&mut report, &bench, count.into(), args.threads.into(), ui)?;
    }
    let post = BenchPost {
        messages: posted,
        payload_bytes: payload_bytes as u32,
        params: name.to_owned(),
        dir: args.dir.clone(),
        json: true,
    };
    let post = super::post::measure(&post, &params, ui)?;
    let seconds = post.seconds / post.messages as f64;
    report.time("post_message", seconds, report.yardstick_us);
    show(args.json, &report, table)?;
    super::all_exact(report.exact, report.digests)
}

/// Both kinds of digest on the threads asked for, and one on twice as many.
fn digests(
    report: &mut Report,
    bench: &DigestBench,
    threads: usize,
    ui: &Ui,
) -> Result<(), LabError> {
    let omr = on_threads(bench, threads, ui)?;
    recipient_side(report, &omr);
    report.digest("digest_omr", &omr);
    let indices = DigestBench {
        scheme: Scheme::Sophomd,
        ..bench.clone()
    };
    let omd = on_threads(&indices, threads, ui)?;
    report.digest("digest_omd", &omd);
    report
        .bytes
        .insert("digest_omd".to_owned(), omd.digest_bytes as u64);
    let doubled = on_threads(bench, 2 * threads, ui)?;
    report.digest("digest_omr_doubled_threads", &doubled);
    let measured = [&omr, &omd, &doubled].map(|run| run.yardstick_us);
    let sum: Option<f64> = measured.into_iter().sum();
    report.yardstick_us = sum.map(|sum| sum / measured.len() as f64);
    Ok(())
}

/// Messages one by one, on the threads asked for and on twice as many.
fn instant(
    report: &mut Report,
    set: &str,
    bench: &DigestBench,
    threads: usize,
    ui: &Ui,
) -> Result<(), LabError> {
    let set = ParamSet::named(set)?;
    let bench = InstantBench {
        payloads: true,
        encoding: Encoding::Powers,
        params: set.instantomr()?.clone(),
        security_bits: set.spec().security_bits(),
        messages: INSTANT_MESSAGES,
        pertinent: PERTINENT,
        bound: PERTINENT,
        payload_bytes: bench.payload_bytes,
        seed: bench.seed,
        yardstick: true,
        bound_clues: true,
    };
    for (name, threads) in [("", threads), ("_doubled_threads", 2 * threads)] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let bar = ui.bar();
        let run = pool.install(|| bench.run(&bar))?;
        drop(bar);
        report.digest(
            &format!("instantomr_{INSTANT_MESSAGES}_messages{name}"),
            &run,
        );
        for (name, bytes) in [
            ("instant_key", run.detection_key_bytes),
            ("clue_of_both_engines", run.clue_bytes as u64),
            ("digest_instantomr", run.digest_bytes as u64),
        ] {
            report.bytes.insert(name.to_owned(), bytes);
        }
    }
    Ok(())
}

/// Digests for several recipients of one board, without and with kept baby steps.
fn recipients(
    report: &mut Report,
    bench: &DigestBench,
    recipients: usize,
    threads: usize,
    ui: &Ui,
) -> Result<(), LabError> {
    super::enough_messages(bench.messages, bench.pertinent * recipients)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    for (keep_baby_steps, name) in [(false, ""), (true, "_kept_baby_steps")] {
        let bench = RecipientsBench {
            digest: bench.clone(),
            recipients,
            cache_bytes: CACHE_BYTES,
            keep_baby_steps,
        };
        let bar = ui.bar();
        let figures = pool.install(|| bench.run(&bar))?;
        drop(bar);
        report.recipients(
            &format!("digest_omr_{recipients}_recipients{name}"),
            &figures,
        );
    }
    Ok(())
}

/// What an OMR run shows besides the digest.
fn recipient_side(report: &mut Report, run: &DigestFigures) {
    for (name, seconds) in [
        ("keygen", run.keygen_s),
        ("decode", run.decode_ms / 1e3),
        ("clue", run.clue_ms / 1e3),
    ] {
        report.time(name, seconds, run.yardstick_us);
    }
    for (name, bytes) in [
        ("detection_key", run.detection_key_bytes),
        ("clue_key", run.clue_key_bytes as u64),
        ("clue", run.clue_bytes as u64),
        ("digest_omr", run.digest_bytes as u64),
        ("peak_memory", run.peak_rss_bytes),
    ] {
        report.bytes.insert(name.to_owned(), bytes);
    }
}

fn on_threads(bench: &DigestBench, threads: usize, ui: &Ui) -> Result<DigestFigures, LabError> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let bar = ui.bar();
    Ok(pool.install(|| bench.run(&bar))?)
}

fn table(report: &Report) -> String {
    let (machine, setting) = (&report.machine, &report.setting);
    let mut text = format!(
        "{} on {} ({} cores, {}): {}, {} messages, {} threads\n",
        report.build,
        machine.cpu,
        machine.cores,
        machine.kernels,
        setting.params,
        setting.messages,
        setting.threads,
    );
    for (name, Figure { seconds, ntts }) in &report.figures {
        let ntts = ntts.map_or(String::new(), |ntts| format!("{ntts:>14.1} NTTs"));
        text += &format!("  {name:<42} {seconds:>14.6} s{ntts}\n");
    }
    for (name, bytes) in &report.bytes {
        let bytes = omr_console::thousands(*bytes);
        text += &format!("  {name:<42} {bytes:>14} bytes\n");
    }
    text
}
