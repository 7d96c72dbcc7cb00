use super::enough_messages;
use crate::args::BenchDecode;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{
    BenchError, DecodeTimes, DigestBench, InstantBench, decode_times, instant_decode_times,
};
use omr_console::{Ui, start_threads, thousands};
use omr_protocol::instantomr::Encoding;
use omr_protocol::params::{DEFAULT, HYBRID};
use omr_protocol::sophomr::Params;
use omr_protocol::{ParamSet, Scheme};

pub(super) fn run(args: &BenchDecode, ui: &Ui) -> Result<(), LabError> {
    enough_messages(args.messages, args.bound as usize + 1)?;
    start_threads(args.threads)?;
    let scheme = args.scheme;
    let bar = ui.bar();
    let times = match scheme {
        Scheme::Sophomr | Scheme::Sophomd => {
            let bench = DigestBench {
                scheme,
                params: Params::named(args.params.as_deref().unwrap_or(DEFAULT))?,
                messages: args.messages,
                pertinent: 0,
                bound: args.bound as usize,
                payload_bytes: args.payload_bytes as usize,
                seed: args.seed,
                yardstick: false,
                bound_clues: !args.plain_clues,
            };
            decode_times(&bench, args.rounds as usize, &bar)
        }
        _ => instant(args, scheme, &bar),
    };
    drop(bar);
    let times = times?;
    show(args.json, &times, table)
}

fn instant(
    args: &BenchDecode,
    scheme: Scheme,
    progress: &dyn omr_detector::Progress,
) -> Result<DecodeTimes, BenchError> {
    let set = ParamSet::named(args.params.as_deref().unwrap_or(HYBRID))?;
    let bench = InstantBench {
        payloads: !scheme.is_for_indices(),
        encoding: scheme.encoding().unwrap_or(Encoding::Powers),
        params: set.instantomr()?.clone(),
        security_bits: set.spec().security_bits(),
        messages: args.messages,
        pertinent: 0,
        bound: args.bound as usize,
        payload_bytes: args.payload_bytes as usize,
        seed: args.seed,
        yardstick: false,
        bound_clues: !args.plain_clues,
    };
    let name = set.spec().name;
    instant_decode_times(&bench, (name, scheme), args.rounds as usize, progress)
}

fn table(times: &DecodeTimes) -> String {
    let mut text = format!(
        "{:?}, {}, {} messages, bound {}, payloads of {} bytes, {} times each\n\
         {:<34} {:>10} {:>10} {:>8}\n",
        times.scheme,
        times.params,
        thousands(times.messages),
        times.bound,
        thousands(times.payload_bytes as u64),
        thousands(times.rounds as u64),
        "the digest holds",
        "median us",
        "mean us",
        "t",
    );
    for class in &times.classes {
        let damage = if class.damaged { ", damaged" } else { "" };
        let outcome = if class.decodes { "" } else { ": an error" };
        let holds = format!("{} pertinent{damage}{outcome}", class.pertinent);
        text += &format!(
            "{holds:<34} {:>10.1} {:>10.1} {:>8.1}\n",
            class.median_us, class.mean_us, class.t
        );
    }
    text + "t: Welch's, of the means without the slowest tenth, against the first line\n"
}
