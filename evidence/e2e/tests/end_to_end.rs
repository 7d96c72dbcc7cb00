//! Keys, clues, digest and decoding together, with insecure tiny parameters.
use omr_detector::Quiet;
use omr_lab::measure::{DigestBench, DigestFigures, Setting, Shape, Start};
use omr_protocol::Scheme;

fn run(
    scheme: Scheme,
    messages: u64,
    pertinent: usize,
    bound: usize,
    bytes: usize,
) -> DigestFigures {
    let seed = messages + 31 * bound as u64 + bytes as u64;
    let bench = DigestBench {
        pertinent,
        ..DigestBench::new(Setting {
            scheme,
            messages,
            shape: Shape {
                bound,
                payload_bytes: bytes,
            },
            start: Start {
                threads: None,
                seed,
            },
            params: Some("insecure-tiny-v4".to_owned()),
            plain_clues: true,
        })
    };
    bench.run(&Quiet).unwrap()
}

#[track_caller]
fn exact(figures: DigestFigures) {
    assert_eq!((figures.missed, figures.false_positives), (0, 0));
    assert_eq!(figures.payloads_exact, figures.subject.pertinent);
}

#[test]
fn one_full_batch() {
    exact(run(Scheme::Sophomr, 2048, 50, 50, 612));
}

#[test]
fn payloads_of_any_size() {
    for bytes in [1, 2, 57, 1000] {
        exact(run(Scheme::Sophomr, 2048, 5, 7, bytes));
    }
}

#[test]
fn any_bound_and_few_messages() {
    for (messages, pertinent, bound) in [(1, 1, 1), (10, 0, 3), (100, 33, 33), (2000, 200, 200)] {
        exact(run(Scheme::Sophomr, messages, pertinent, bound, 40));
    }
}

#[test]
fn several_batches_add_up() {
    exact(run(Scheme::Sophomr, 3 * 2048 + 17, 20, 20, 64));
}

#[test]
fn indices_only() {
    let figures = run(Scheme::Sophomd, 4096, 30, 50, 612);
    assert_eq!((figures.found, figures.false_positives), (30, 0));
}
