//! Recipients with the masks of one epoch, whose digests one run makes.

use crate::figures::metrics;
use crate::world::{BOARD, Client, PAYLOAD_BYTES, Person, Running, config, request, served};
use chacha20::ChaCha20Rng;
use omr_api::v1;
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ParamSet, Response};
use omr_server::Config;
use rand_core::SeedableRng;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use tonic::Code;

const MESSAGES: u64 = 100;
/// Seconds that exceed the duration of the tests.
const LONG: f64 = 60.0;
const PATIENCE: Duration = Duration::from_secs(45);

fn set() -> &'static ParamSet {
    static SET: OnceLock<ParamSet> = OnceLock::new();
    SET.get_or_init(|| ParamSet::named("insecure-tiny-v4").unwrap())
}

fn configure(settings: &mut Config, together: usize, seconds: f64) {
    settings.board.params = set().name().into();
    (settings.limits.jobs, settings.limits.keys) = (64, 64);
    settings.detector.together = together;
    settings.detector.together_seconds = seconds;
}

/// Returns recipients with the masks of one epoch, then some with separate masks.
fn people(epoch: u64, own: u64) -> Vec<Person> {
    let of = Epoch {
        board: BOARD,
        number: 5,
    };
    let person = |seed| Person::of(set(), 1 + seed, (seed < epoch).then_some(&of));
    (0..epoch + own).map(person).collect()
}

/// Returns the message of a person, the only one in 20.
fn is_for(index: u64) -> Option<usize> {
    (index % 20 < 8).then_some((index % 20) as usize)
}

/// Posts every person's messages, which contain their index.
async fn fill(client: &mut Client, people: &[Person]) {
    let stranger = Person::of(set(), 99, None);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let messages = (0..MESSAGES).map(|index| {
        let to = is_for(index).and_then(|person| people.get(person));
        let payload = vec![index as u8; PAYLOAD_BYTES];
        let to = to.unwrap_or(&stranger);
        to.message_on(BOARD, &mut rng, payload)
    });
    client.fill(messages.collect()).await;
}

fn expected(person: usize) -> Vec<(u64, u8)> {
    let own = (0..MESSAGES).filter(|&index| is_for(index) == Some(person));
    own.map(|index| (index, index as u8)).collect()
}

/// Requests a digest of the whole board.
async fn ask(client: &mut Client, person: usize, key: [u8; 32]) -> bytes::Bytes {
    let asked = request(person as u8, &[key], 0, MESSAGES);
    let created = client.detection.create_job(asked).await.unwrap();
    created.into_inner().job.unwrap().job_id
}

/// Returns the job's result.
async fn answer(client: &mut Client, person: usize, key: [u8; 32]) -> v1::Job {
    let asked = client.job(request(person as u8, &[key], 0, MESSAGES));
    tokio::time::timeout(PATIENCE, asked)
        .await
        .unwrap()
        .unwrap()
}

/// Fetches a digest, checks its content, and returns its seed.
async fn exact(client: &mut Client, people: &[Person], person: usize, key: [u8; 32]) -> Vec<u8> {
    let job = answer(client, person, key).await;
    assert_eq!(job.state(), v1::JobState::Done, "{person}: {}", job.error);
    let digest = client.digest(&job).await;
    assert_eq!(people[person].decode(&digest), expected(person), "{person}");
    match Response::from_bytes(set(), &digest).unwrap() {
        Response::Sophomr(digest) => digest.header.seed.to_vec(),
        _ => panic!("a digest by batches"),
    }
}

async fn register(client: &mut Client, people: &[Person]) -> Vec<[u8; 32]> {
    let mut keys = Vec::new();
    for person in people {
        keys.push(client.register(&person.bulk).await);
    }
    keys
}

/// Changes a byte in the middle of a key's file.
fn damage(data: &Path, key: &[u8; 32]) {
    let path = data.join("objects/keys").join(omr_protocol::hex(key));
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

/// Returns the number of runs so far that made digests for at most as many recipients.
async fn runs(server: &Running) -> Vec<f64> {
    let figures = metrics(server).await;
    let of = |most: u8| figures[&format!("omr_run_recipients_bucket{{le=\"{most}.0\"}}")];
    (1..=8).map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_serves_those_of_an_epoch_and_a_damaged_key_none_of_the_others() {
    let (dir, server, mut client) = served(|settings| configure(settings, 8, LONG)).await;
    let people = people(4, 2);
    fill(&mut client, &people).await;
    let keys = register(&mut client, &people).await;
    // The first waits for more than there are, so that all are in the queue when the server stops.
    for person in [4, 0, 1, 2, 5, 3] {
        ask(&mut client, person, keys[person]).await;
    }
    server.stop().await;
    damage(dir.path(), &keys[2]);
    let mut settings = config(dir.path());
    configure(&mut settings, 4, 0.0);
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let mut seeds = Vec::new();
    for person in [0, 1, 3, 4, 5] {
        seeds.push(exact(&mut client, &people, person, keys[person]).await);
    }
    let failed = answer(&mut client, 2, keys[2]).await;
    assert_eq!(failed.state(), v1::JobState::Failed);
    assert!(failed.error.contains("damaged"), "{}", failed.error);
    assert!(seeds[..3].iter().all(|seed| *seed == seeds[0]));
    assert!(seeds[3] != seeds[0] && seeds[4] != seeds[0] && seeds[4] != seeds[3]);
    assert_eq!(
        runs(&server).await,
        [2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    );
    let figures = metrics(&server).await;
    for (name, expected) in [
        ("omr_run_recipients_sum", 5.0),
        ("omr_jobs_finished_total{outcome=\"done\"}", 5.0),
        ("omr_jobs_finished_total{outcome=\"failed\"}", 1.0),
        ("omr_digest_seconds_count{scheme=\"sophomr\"}", 5.0),
        ("omr_jobs{state=\"queued\"}", 0.0),
        ("omr_jobs{state=\"running\"}", 0.0),
    ] {
        assert_eq!(figures.get(name), Some(&expected), "{name}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_stops_none_that_run_with_it() {
    let (_dir, server, mut client) = served(|settings| configure(settings, 3, LONG)).await;
    let people = people(4, 0);
    fill(&mut client, &people).await;
    let keys = register(&mut client, &people).await;
    // A waiting job that is cancelled does not delay the others.
    let job_id = ask(&mut client, 3, keys[3]).await;
    let cancel = v1::CancelJobRequest { job_id };
    client.detection.cancel_job(cancel).await.unwrap();
    let mut jobs = Vec::new();
    for (person, key) in keys.iter().enumerate().take(3) {
        jobs.push(ask(&mut client, person, *key).await);
    }
    let watched = v1::WatchJobRequest {
        job_id: jobs[0].clone(),
    };
    let mut states = client.detection.watch_job(watched).await.unwrap();
    loop {
        let state = states.get_mut().message().await.unwrap().unwrap();
        if state.job.unwrap().state() != v1::JobState::Queued {
            break;
        }
    }
    let job_id = jobs[1].clone();
    let cancel = v1::CancelJobRequest {
        job_id: job_id.clone(),
    };
    client.detection.cancel_job(cancel).await.unwrap();
    let gone = v1::GetJobRequest { job_id };
    let gone = client.detection.get_job(gone).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
    let first = exact(&mut client, &people, 0, keys[0]).await;
    assert_eq!(first, exact(&mut client, &people, 2, keys[2]).await);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_ever_for_others() {
    let (_dir, server, mut client) = served(|settings| configure(settings, 8, 0.5)).await;
    let people = people(1, 1);
    fill(&mut client, &people).await;
    let keys = register(&mut client, &people).await;
    for (person, key) in keys.into_iter().enumerate() {
        exact(&mut client, &people, person, key).await;
    }
    assert_eq!(runs(&server).await, [2.0; 8]);
    server.stop().await;
}
