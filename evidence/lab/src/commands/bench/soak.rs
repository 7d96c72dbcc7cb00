//! `omr-lab bench soak`.

use super::Output;
use crate::error::LabError;
use crate::measure::{Soak, SoakLine, SoakTally, Strain};
use omr_console::start_threads;
use omr_protocol::Mismatch;
use omr_protocol::sophomr::Params;
use serde::Serialize;

/// The last line of a soak test.
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

pub(super) fn run(soak: &Soak, out: &Output<'_>) -> Result<(), LabError> {
    if soak.pertinent > soak.shape.bound {
        return Err(LabError::SoakBound(Mismatch::new(
            soak.shape.bound,
            soak.pertinent,
        )));
    }
    start_threads(soak.start.threads)?;
    let params = Params::named(&soak.params)?;
    let mut summary = Summary {
        params: params.name(),
        kernels: params.ring.kernels().name(),
        threads: rayon::current_num_threads(),
        keys: 0,
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
        self.keys = line.key + 1;
        let strain = match line.strangers {
            Strain::Honest => &mut self.honest,
            Strain::Hostile => &mut self.hostile,
        };
        strain.add(params, line);
        self.all.add(params, line);
    }
}
