//! `omr-lab bench soak`.

use super::Output;
use crate::error::LabError;
use crate::measure::{RoundsTally, Soak, SoakLine, SoakTally, Strain};
use omr_console::start_threads;
use omr_protocol::sophomr::Params;
use omr_protocol::{Mismatch, ParamSet, Scheme};
use serde::Serialize;

/// The last line of a soak test of digests.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    run: Run,
    honest: SoakTally,
    hostile: SoakTally,
    all: SoakTally,
}

/// The last line of a soak test of two rounds.
#[derive(Serialize)]
struct RoundsSummary {
    #[serde(flatten)]
    run: Run,
    honest: RoundsTally,
    hostile: RoundsTally,
}

#[derive(Serialize)]
struct Run {
    params: &'static str,
    kernels: &'static str,
    threads: usize,
    keys: u64,
}

impl Run {
    fn new(params: &'static str, kernels: &'static str) -> Self {
        Self {
            params,
            kernels,
            threads: rayon::current_num_threads(),
            keys: 0,
        }
    }
}

pub(super) fn run(soak: &Soak, out: &Output<'_>) -> Result<(), LabError> {
    if soak.scheme == Scheme::TwoRounds {
        return two_rounds(soak, out);
    }
    if soak.pertinent > soak.shape.bound {
        return Err(LabError::SoakBound(Mismatch::new(
            soak.shape.bound,
            soak.pertinent,
        )));
    }
    start_threads(soak.start.threads)?;
    let params = Params::named(&soak.params)?;
    let mut summary = Summary {
        run: Run::new(params.name(), params.ring.kernels().name()),
        honest: SoakTally::default(),
        hostile: SoakTally::default(),
        all: SoakTally::default(),
    };
    for digest in soak.digests(&params) {
        out.ui.note(&format!(
            "key {} of {}: {} batches",
            digest.key + 1,
            soak.keys,
            digest.batches
        ));
        let line = out.under_bar(|bar| soak.run(&params, digest, bar))?;
        summary.add(&params, &line);
        out.show(&line)?;
    }
    out.show(&summary)?;
    super::all_exact(summary.all.exact, summary.all.digests)
}

impl Summary {
    fn add(&mut self, params: &Params, line: &SoakLine) {
        self.run.keys = line.key + 1;
        let strain = match line.strangers {
            Strain::Honest => &mut self.honest,
            Strain::Hostile => &mut self.hostile,
        };
        strain.add(params, line);
        self.all.add(params, line);
    }
}

fn two_rounds(soak: &Soak, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(soak.start.threads)?;
    let set = ParamSet::named(&soak.params)?;
    let params = set.rounds()?;
    let [mut honest, mut hostile] = [RoundsTally::default(), RoundsTally::default()];
    let mut run = Run::new(set.name(), params.scan.ring().kernels().name());
    for key in soak.from_key..soak.keys {
        out.ui.note(&format!("key {} of {}", key + 1, soak.keys));
        out.under_bar(|bar| {
            soak.run_rounds(&set, key, bar, |line| {
                match line.strangers {
                    Strain::Honest => honest.add(&line),
                    Strain::Hostile => hostile.add(&line),
                }
                out.show(&line)
            })
        })?;
        run.keys = key + 1;
    }
    soak.compare_rounds(&set, &mut honest, &mut hostile)?;
    let (exact, batches) = (
        honest.exact + hostile.exact,
        honest.batches + hostile.batches,
    );
    out.show(&RoundsSummary {
        run,
        honest,
        hostile,
    })?;
    super::all_exact(exact, batches)
}
