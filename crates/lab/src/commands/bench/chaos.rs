//! `omr bench chaos`: a server under faults.

use super::trial::program;
use crate::args::BenchChaos;
use crate::commands::show;
use crate::error::LabError;
use crate::trials::{Chaos, Kind, Outcome, TrialError};
use omr_console::{Ui, thousands};

/// Faults that are shown of a trial.
const SHOWN: usize = 20;

pub(super) fn run(args: &BenchChaos, ui: &Ui) -> Result<(), LabError> {
    let chaos = Chaos {
        program: program()?,
        dir: args.dir.clone(),
        params: args.params.clone(),
        kills: args.kills,
        clients: args.clients.into(),
        seconds: args.seconds,
        seed: args.seed,
    };
    let kinds = match args.only {
        Some(kind) => vec![kind.into()],
        None => Kind::ALL.to_vec(),
    };
    let mut broken = 0;
    for kind in kinds {
        ui.note(&format!("{kind:?}"));
        let outcome = chaos.run(kind)?;
        show(args.json, &outcome, text)?;
        broken += outcome.faults.len();
    }
    match broken {
        0 => Ok(()),
        faults => Err(TrialError::Broken(format!("{faults} promises did not hold")).into()),
    }
}

fn text(outcome: &Outcome) -> String {
    if let Some(why) = &outcome.skipped {
        return format!("{:?}: SKIP: {why}\n", outcome.trial);
    }
    let f = &outcome.figures;
    let mut text = format!("{:?}\n", outcome.trial);
    let rows = [
        ("kills", f.kills),
        ("messages", f.messages),
        ("posts acknowledged", f.posts_acknowledged),
        ("posts not acknowledged", f.posts_unacknowledged),
        ("  on the board all the same", f.landed_unacknowledged),
        ("  refused attempts", f.refused),
        ("digests of jobs checked", f.job_digests),
        ("digests of sessions checked", f.session_digests),
        ("messages they gave", f.found),
        ("  of strangers by chance", f.accidental),
        ("  wrong payloads", f.wrong_payloads),
        ("  missed", f.missed),
        ("  given twice", f.doubled_in_digests),
        ("posts lost", f.lost),
        ("posts doubled", f.doubled),
        ("posts in part", f.torn),
        ("messages of nobody", f.foreign),
        ("uploads", f.uploads),
        ("  resumed", f.resumed_uploads),
        ("server's memory, kB", f.peak_kb),
    ];
    for (name, value) in rows {
        text += &format!("  {name:<30} {:>12}\n", thousands(value));
    }
    text += &format!(
        "  {:<30} {:>12.3} p50, {:.3} max\n",
        "seconds of recovery", f.recovery_p50_s, f.recovery_max_s
    );
    for fault in outcome.faults.iter().take(SHOWN) {
        text += &format!("  BROKEN: {fault}\n");
    }
    text + &format!("  {:<30} {:>12}\n", "broken promises", outcome.faults.len())
}
