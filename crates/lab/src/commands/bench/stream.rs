use crate::args::BenchStream;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{InstantBench, Quantiles, StreamBench, StreamFigures};
use omr_console::{ConsoleError, Ui, start_threads, thousands};
use omr_protocol::ParamSet;
use omr_protocol::instantomr::Encoding;

pub(super) fn run(args: &BenchStream, ui: &Ui) -> Result<(), LabError> {
    let steady = |x: f64| x.is_finite() && x > 0.0;
    if !steady(args.rate) || !steady(args.seconds) || args.rate * args.seconds > 1e8 {
        return Err(LabError::Rate);
    }
    start_threads(args.threads)?;
    let set = ParamSet::named(&args.params)?;
    let bench = StreamBench {
        digest: InstantBench {
            payloads: true,
            encoding: Encoding::Powers,
            params: set.instantomr()?.clone(),
            security_bits: set.spec().security_bits(),
            messages: 0,
            pertinent: 0,
            bound: args.bound as usize,
            payload_bytes: args.payload_bytes as usize,
            seed: args.seed,
            yardstick: true,
            bound_clues: !args.plain_clues,
        },
        rate: args.rate,
        seconds: args.seconds,
    };
    let folder = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("omr-stream-")
        .tempdir_in(&folder)
        .map_err(|error| ConsoleError::write(&folder, error))?;
    let bar = ui.bar();
    let figures = bench.run(&folder.path().join("session"), &bar);
    drop(bar);
    let figures = figures?;
    show(args.json, &figures, table)?;
    match figures.exact == figures.pertinent && figures.false_positives == 0 {
        true => Ok(()),
        false => Err(LabError::Inexact {
            expected: figures.pertinent,
            exact: figures.exact,
            false_positives: figures.false_positives,
        }),
    }
}

fn table(figures: &StreamFigures) -> String {
    let mut text = format!(
        "{} messages in {} s ({} a second), {}, {} threads; the detector works {:.1} % of the time\n\
         {:<30} {:>9} {:>9} {:>9} {:>9}  ms\n",
        thousands(figures.messages as u64),
        figures.seconds,
        figures.rate,
        figures.params,
        figures.threads,
        figures.busy * 100.0,
        "",
        "p50",
        "p90",
        "p99",
        "max",
    );
    for (name, Quantiles { p50, p90, p99, max }) in [
        ("a recipient's wait", figures.wait_ms),
        ("  message in the session", figures.taken_ms),
        ("  digest", figures.digest_ms),
        ("session to the disk", figures.write_ms),
    ] {
        text += &format!("{name:<30} {p50:>9.2} {p90:>9.2} {p99:>9.2} {max:>9.2}\n");
    }
    if let Some(us) = figures.yardstick_us {
        let ntts = figures.wait_ms.p50 * 1e3 / us;
        text += &format!("yardstick NTT {us:.1} us: the median wait is {ntts:.0} of them\n");
    }
    text + &format!(
        "session {} bytes, digest {} bytes; {} of {} pertinent messages bit for bit, {} others\n",
        thousands(figures.session_bytes as u64),
        thousands(figures.digest_bytes as u64),
        figures.exact,
        figures.pertinent,
        figures.false_positives,
    )
}
