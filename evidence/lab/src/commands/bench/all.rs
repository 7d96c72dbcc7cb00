//! `omr-lab bench all`.

use super::Output;
use super::digest::recipients;
use super::post::BenchPost;
use crate::error::LabError;
use crate::measure::{
    BenchError, DigestBench, DigestFigures, Machine, RecipientsBench, Report, Setting, Shape,
    Start, Subject,
};
use clap::Args;
use omr_console::Bar;
use omr_protocol::Scheme;
use omr_protocol::params::{DEFAULT, SOPHOMR};
use omr_protocol::sophomr::Params;
use rayon::ThreadPoolBuilder;
use std::path::PathBuf;

#[derive(Args)]
#[command(mut_arg("threads", |arg| arg.default_value("1")))]
pub(crate) struct BenchAll {
    #[command(flatten)]
    start: Start,
    /// Also digests of one batch for this number of recipients, computed together; 3 in a quick run
    #[arg(long, value_name = "R", value_parser = recipients())]
    recipients: Option<u16>,
    /// Use the insecure tiny set and few messages: shows only whether the benchmark works
    #[arg(long)]
    quick: bool,
    /// Folder on the disk to measure posting on; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The set, messages, payload bytes and posted messages of a quick run.
const QUICK: (&str, u64, usize, u64) = ("insecure-tiny-v4", 2_048, 100, 2_000);
const FULL: (&str, u64, usize, u64) = (SOPHOMR, 65_536, 612, 65_536);

/// The set with InstantOMR, and the number of messages that it processes.
const QUICK_INSTANT: &str = "insecure-tiny-hybrid-v4";
const INSTANT_MESSAGES: u64 = 128;

/// The number of recipients in a quick run.
const QUICK_RECIPIENTS: u16 = 3;

/// The number of pertinent messages, which is also the bound.
const PERTINENT: usize = 50;

pub(super) fn run(args: &BenchAll, out: &Output<'_>) -> Result<(), LabError> {
    let (name, messages, payload_bytes, posted) = if args.quick { QUICK } else { FULL };
    let params = Params::named(name)?;
    let bench = DigestBench {
        no_yardstick: false,
        own_masks: false,
        ..DigestBench::new(Setting {
            messages,
            shape: Shape {
                bound: PERTINENT,
                payload_bytes,
            },
            start: args.start,
            params: Some(name.to_owned()),
            ..Setting::default()
        })
    };
    let threads = args.start.threads.unwrap_or(1).into();
    let subject = Subject {
        threads,
        ..Subject::new(name, &bench.setting, PERTINENT)
    };
    let machine = Machine::here(params.ring.kernels().name());
    let mut all = All {
        report: Report::new(omr_console::build(), machine, subject),
        bench,
        threads,
        out,
    };
    all.digests()?;
    all.instant(if args.quick { QUICK_INSTANT } else { DEFAULT })?;
    let quick = args.quick.then_some(QUICK_RECIPIENTS);
    if let Some(count) = args.recipients.or(quick) {
        all.recipients(count.into())?;
    }
    let mut report = all.report;
    let post = BenchPost {
        messages: posted,
        payload_bytes: payload_bytes as u32,
        params: name.to_owned(),
        bound_clues: false,
        dir: args.dir.clone(),
    };
    let post = super::post::measure(&post, &params, out)?;
    let seconds = post.seconds / post.messages as f64;
    report.time("post_message", seconds, report.yardstick_us);
    out.show(&report)?;
    super::all_exact(report.exact, report.digests)
}

/// A report under construction.
struct All<'a> {
    report: Report,
    bench: DigestBench,
    threads: usize,
    out: &'a Output<'a>,
}

impl All<'_> {
    /// Measures both kinds of digest on the requested threads, and one of them on twice as many.
    fn digests(&mut self) -> Result<(), LabError> {
        let (mut indices, threads) = (self.bench.clone(), self.threads);
        indices.setting.scheme = Scheme::Sophomd;
        let omr = self.digest("digest_omr", &self.bench.clone(), threads)?;
        self.recipient_side(&omr);
        let omd = self.digest("digest_omd", &indices, threads)?;
        let bytes = omd.cost.digest_bytes as u64;
        self.report.bytes.insert("digest_omd".to_owned(), bytes);
        let name = "digest_omr_doubled_threads";
        let doubled = self.digest(name, &self.bench.clone(), 2 * threads)?;
        let measured = [&omr, &omd, &doubled].map(|run| run.cost.yardstick_us);
        let sum: Option<f64> = measured.into_iter().sum();
        self.report.yardstick_us = sum.map(|sum| sum / measured.len() as f64);
        Ok(())
    }

    /// Measures single messages, on the requested threads and on twice as many.
    fn instant(&mut self, set: &str) -> Result<(), LabError> {
        let mut bench = self.bench.clone();
        bench.setting.scheme = Scheme::Instantomr;
        bench.setting.messages = INSTANT_MESSAGES;
        bench.setting.params = Some(set.to_owned());
        for (name, threads) in [("", self.threads), ("_doubled_threads", 2 * self.threads)] {
            let name = format!("instantomr_{INSTANT_MESSAGES}_messages{name}");
            let run = self.digest(&name, &bench, threads)?.cost;
            for (name, bytes) in [
                ("instant_key", run.detection_key_bytes),
                ("clue_of_both_engines", run.clue_bytes as u64),
                ("digest_instantomr", run.digest_bytes as u64),
            ] {
                self.report.bytes.insert(name.to_owned(), bytes);
            }
        }
        Ok(())
    }

    /// Measures digests for several recipients of one board.
    fn recipients(&mut self, recipients: usize) -> Result<(), LabError> {
        let messages = self.bench.setting.messages;
        super::enough_messages(messages, self.bench.pertinent * recipients)?;
        let bench = RecipientsBench {
            digest: self.bench.clone(),
            recipients,
        };
        let figures = self.on_threads(self.threads, |bar| bench.run(bar))?;
        let name = format!("digest_omr_{recipients}_recipients");
        self.report.recipients(&name, &figures);
        Ok(())
    }

    /// Adds the figures of a run of OMR that are not the digest's.
    fn recipient_side(&mut self, run: &DigestFigures) {
        let cost = &run.cost;
        for (name, seconds) in [
            ("keygen", cost.keygen_s),
            ("decode", cost.decode_ms / 1e3),
            ("clue", cost.clue_ms / 1e3),
        ] {
            self.report.time(name, seconds, cost.yardstick_us);
        }
        for (name, bytes) in [
            ("detection_key", cost.detection_key_bytes),
            ("clue_key", cost.clue_key_bytes as u64),
            ("clue", cost.clue_bytes as u64),
            ("digest_omr", cost.digest_bytes as u64),
            ("peak_memory", cost.peak_rss_bytes),
        ] {
            self.report.bytes.insert(name.to_owned(), bytes);
        }
    }

    /// Measures one digest and reports its times as `name`.
    fn digest(
        &mut self,
        name: &str,
        bench: &DigestBench,
        threads: usize,
    ) -> Result<DigestFigures, LabError> {
        let figures = self.on_threads(threads, |bar| bench.run(bar))?;
        self.report.digest(name, &figures);
        Ok(figures)
    }

    fn on_threads<T: Send>(
        &self,
        threads: usize,
        run: impl FnOnce(&Bar) -> Result<T, BenchError> + Send,
    ) -> Result<T, LabError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(self.out.under_bar(|bar| pool.install(|| run(bar)))?)
    }
}
