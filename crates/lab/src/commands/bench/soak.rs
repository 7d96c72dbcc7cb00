use crate::args::BenchSoak;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{Soak, SoakLine, SoakTally, Strain};
use omr_console::{Ui, start_threads, thousands};
use omr_protocol::sophomr::Params;
use serde::Serialize;

/// The last line of a soak.
#[derive(Serialize)]
struct Summary {
    params: &'static str,
    kernels: &'static str,
    threads: usize,
    keys: u64,
    honest: SoakTally,
    hostile: SoakTally,
    all: SoakTally,
}

pub(super) fn run(args: &BenchSoak, ui: &Ui) -> Result<(), LabError> {
    if args.pertinent > args.bound {
        return Err(LabError::SoakBound {
            bound: args.bound,
            found: args.pertinent,
        });
    }
    start_threads(args.threads)?;
    let params = Params::named(&args.params)?;
    let soak = Soak {
        scheme: args.scheme,
        params: params.clone(),
        keys: args.keys.into(),
        batches: args.batches.into(),
        pertinent: args.pertinent as usize,
        bound: args.bound as usize,
        payload_bytes: args.payload_bytes as usize,
        seed: args.seed,
    };
    let mut summary = Summary {
        params: params.name(),
        kernels: params.ring.kernels().name(),
        threads: rayon::current_num_threads(),
        keys: 0,
        honest: SoakTally::default(),
        hostile: SoakTally::default(),
        all: SoakTally::default(),
    };
    let digests = soak.digests().into_iter();
    for digest in digests.filter(|digest| digest.key >= args.from_key.into()) {
        ui.note(&format!(
            "key {} of {}: {} batches",
            digest.key + 1,
            args.keys,
            digest.batches
        ));
        let bar = ui.bar();
        let line = soak.run(digest, &bar);
        drop(bar);
        let line = line?;
        summary.add(&params, &line);
        show(args.json, &line, text)?;
    }
    show(args.json, &summary, |figures| figures.text())?;
    super::all_exact(summary.all.exact, summary.all.digests)
}

fn text(line: &SoakLine) -> String {
    let verdict = &line.verdict;
    let mut text = format!(
        "key {:>3} {:?}: {} batches, found {} of {}, missed {}, false positives {}, \
         accidental {}, payloads wrong {}, worst rounding {:.3}, rms {:.4}, {:.1} s",
        line.key,
        line.strangers,
        line.batches,
        verdict.found,
        line.pertinent,
        verdict.missed,
        verdict.false_positives,
        verdict.accidental,
        verdict.inexact,
        line.rounding.worst_rounding,
        line.rounding.rms_rounding,
        line.digest_s,
    );
    if let Some(error) = &verdict.error {
        text += &format!(", NOT DECODED: {error}");
    }
    text + "\n"
}

impl Summary {
    fn add(&mut self, params: &Params, line: &SoakLine) {
        self.keys = line.key + 1;
        let strain = match line.strangers {
            Strain::Honest => &mut self.honest,
            Strain::Hostile => &mut self.hostile,
        };
        strain.add(params, line);
        self.all.add(params, line);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, tally) in [
            ("honest", &self.honest),
            ("hostile", &self.hostile),
            ("all", &self.all),
        ] {
            let failure = match tally.batch_failure_log2 {
                Some(log2) => format!("2^{log2:.0} a batch"),
                None => "none to extrapolate".to_owned(),
            };
            text += &format!(
                "{name:<8} {} of {} digests exact, {} batches, {} messages, found {} of {}, \
                 worst rounding {:.3}, rms {:.4}, failure of the last rounding {failure}\n",
                tally.exact,
                tally.digests,
                tally.batches,
                thousands(tally.messages),
                tally.found,
                tally.pertinent,
                tally.rounding.worst_rounding,
                tally.rounding.rms_rounding,
            );
        }
        text
    }
}
