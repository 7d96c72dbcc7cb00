//! Predicted and measured memory of digests.
#![cfg(target_os = "linux")]

use chacha20::ChaCha20Rng;
use omr_client::{identity, write_detection_key};
use omr_detector::engine::on_cpu;
use omr_detector::engines::{Engines, Job, respond_together};
use omr_detector::{Progress, Quiet};
use omr_lab::measure::Workload;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Request, SEED_BYTES, Scheme, Sealing};
use omr_runner::Needs;
use rand_core::SeedableRng;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const MIB: u64 = 1 << 20;
const PAYLOAD_BYTES: usize = 612;
/// The case that a process measures, and the folder of its keys.
const CASE: &str = "OMR_PREDICTED_CASE";
const KEYS: &str = "OMR_PREDICTED_KEYS";
/// InstantOMR has room for the weights of many messages, even if the set is small.
const WEIGHTS: u64 = 16 * MIB;

struct Case {
    set: &'static str,
    engine: EngineKind,
    recipients: usize,
    batches: u64,
}

const fn case(set: &'static str, engine: EngineKind, recipients: usize, batches: u64) -> Case {
    Case {
        set,
        engine,
        recipients,
        batches,
    }
}

const CASES: [Case; 7] = [
    case("insecure-tiny-v4", EngineKind::Sophomr, 1, 1),
    case("insecure-tiny-v4", EngineKind::Sophomr, 1, 4),
    case("insecure-tiny-v4", EngineKind::Sophomr, 4, 1),
    case("insecure-tiny-hybrid-v4", EngineKind::Sophomr, 2, 2),
    case("insecure-tiny-hybrid-v4", EngineKind::Instantomr, 1, 1),
    case("insecure-tiny-v4", EngineKind::Rounds, 1, 4),
    case("insecure-tiny-v4", EngineKind::Rounds, 4, 1),
];

/// Returns a figure of this process in bytes.
fn figure(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

fn set(case: &Case) -> Arc<ParamSet> {
    Arc::new(ParamSet::named(case.set).unwrap())
}

/// Writes the keys of a case's recipients.
fn write_keys(case: &Case, folder: &Path) {
    let set = set(case);
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    for recipient in 0..case.recipients {
        let (secret, _) = identity(set.clue(), ClueKind::Plain, &mut rng);
        let mut file = File::create(folder.join(recipient.to_string())).unwrap();
        write_detection_key(&set, case.engine, &secret, None, &mut rng, &mut file).unwrap();
    }
}

/// Makes a case's digests; prints the peak of memory, including keys.
fn measure(case: &Case, folder: &Path) {
    let set = set(case);
    let (_, stranger) = identity(
        set.clue(),
        ClueKind::Plain,
        &mut ChaCha20Rng::seed_from_u64(6),
    );
    let slots = set.sophomr().map_or(1, |params| params.slots()) as u64;
    let messages = (case.batches - 1) * slots + 64;
    let mut board = Workload::new(set.clue().clone(), stranger, messages, 1, PAYLOAD_BYTES, 7);
    let engine = on_cpu(&set, case.engine).unwrap();
    let before = figure("VmRSS:");
    let keys: Vec<Engines> = (0..case.recipients)
        .map(|recipient| {
            let mut file = File::open(folder.join(recipient.to_string())).unwrap();
            Engines::default().with(engine.load(&mut file).unwrap())
        })
        .collect();
    let recipients: Vec<(&Engines, &dyn Progress)> =
        keys.iter().map(|keys| (keys, &Quiet as _)).collect();
    let job = Job {
        source: &mut board,
        request: Request::new(0..messages, 3, Some(PAYLOAD_BYTES)),
        board_id: [1; 16],
        sealing: Sealing::None,
        seed: &|_| [2; SEED_BYTES],
        costs: Default::default(),
    };
    let scheme = Scheme::of_engines(&[case.engine], true).unwrap();
    let answers = respond_together(&recipients, scheme, job).unwrap().answers;
    assert_eq!(answers.len(), case.recipients);
    answers
        .into_iter()
        .for_each(|answer| drop(answer.unwrap().response));
    println!("taken: {}", figure("VmHWM:") - before);
}

#[test]
fn what_is_predicted_is_at_least_what_digests_take_and_at_most_twice() {
    if let Ok(number) = std::env::var(CASE) {
        let case = &CASES[number.parse::<usize>().unwrap()];
        let folder = std::env::var_os(KEYS).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        return pool.unwrap().install(|| measure(case, Path::new(&folder)));
    }
    let mut wrong = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        write_keys(case, folder.path());
        // This test runs again in a separate process, whose peak is that of this case.
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("what_is_predicted_is_at_least_what_digests_take_and_at_most_twice")
            .env(CASE, number.to_string())
            .env(KEYS, folder.path())
            .output()
            .unwrap();
        let stdout = String::from_utf8(done.stdout).unwrap();
        let taken: u64 = stdout
            .lines()
            .find_map(|line| Some(line.split_once("taken: ")?.1))
            .unwrap_or_else(|| panic!("{stdout}"))
            .parse()
            .unwrap();
        let needs = Needs {
            set: set(case),
            clues: ClueKind::Plain,
            threads: 1,
            keys: case.recipients,
        };
        let predicted = needs.run(&[case.engine], case.recipients, case.batches);
        let line = format!(
            "{} {:?}, {} recipients, {} batches: {:.1} MiB predicted, {:.1} taken",
            case.set,
            case.engine,
            case.recipients,
            case.batches,
            predicted as f64 / MIB as f64,
            taken as f64 / MIB as f64
        );
        println!("{line}");
        if taken > predicted || predicted > 2 * taken + WEIGHTS {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
