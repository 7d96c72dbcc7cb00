//! A server without memory for a digest. It starts if posts and keys fit, and otherwise prints the figures; it
//! refuses the digest and continues. With more memory it makes the digest.

use super::recipients::{digest_of, register};
use super::work::{Crew, Running};
use super::{Chaos, Kind, Outcome};
use crate::trials::place::Place;
use crate::trials::{ServerProcess, TrialError, program};
use omr_remote::RemoteError;
use omr_remote::v1::CreateJobRequest;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The increase of the address limit at each attempt, in KiB.
const STEP: u64 = 8 << 10;
/// The number of attempts; a server that needs more uses far more than it should.
const TRIES: u64 = 100;
/// The number of messages of the digest, which are on the board before it is requested.
const MESSAGES: u64 = 100;
/// The bound of the digest.
const BOUND: u32 = 96;
/// The longest time until posts arrive.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(chaos: &Chaos) -> Result<Outcome, TrialError> {
    if !cfg!(target_os = "linux") {
        let why = "limits of memory are those of Linux";
        return Ok(Outcome::skipped(Kind::Memory, why));
    }
    let mut outcome = Outcome::new(Kind::Memory);
    let mut place = chaos.place()?;
    let server = least(&mut place, &mut outcome)?;
    let crew = Crew {
        posters: chaos.clients.into(),
        digests: false,
        uploads: false,
    };
    let running = Running::start(chaos.work(&place)?, crew)?;
    posted(&running, MESSAGES, &mut outcome);
    let client = running.client(Duration::ZERO)?;
    let person = &running.work.people.recipients[0];
    let keys = running.wait(async {
        let bulk = register(&client, &person.bulk).await?;
        let instant = register(&client, &person.instant).await?;
        Ok::<_, TrialError>([bulk, instant])
    })?;
    let request = CreateJobRequest {
        request_id: omr_remote::random_id().to_vec().into(),
        key_hashes: keys.iter().map(|hash| hash.to_vec().into()).collect(),
        start: 0,
        end: MESSAGES,
        bound: BOUND,
        ..Default::default()
    };
    match running.wait(digest_of(&client, &request)) {
        Err(TrialError::Remote(RemoteError::Refused { message, .. }))
            if message.contains(" of memory") =>
        {
            running.work.refused.fetch_add(1, Ordering::Relaxed);
        }
        Err(error) => outcome.fault(format!("a digest without memory ended so: {error}")),
        Ok(_) => outcome.fault("a digest was made for which there was no memory"),
    }
    // Posts to the same server continue.
    let before = running.work.posted.load(Ordering::Relaxed);
    posted(&running, before + MESSAGES, &mut outcome);
    server.stop()?;
    place.setup.addresses_kib = None;
    let server = place.start()?;
    let client = running.client(PATIENCE)?;
    let bytes = running.wait(digest_of(&client, &request))?;
    running.work.jobs.fetch_add(1, Ordering::Relaxed);
    let range = running
        .work
        .digests
        .take(&running.work.people, 0, None, &bytes);
    if range != Some(0..MESSAGES) {
        outcome.fault(format!(
            "expected a digest of 0..{MESSAGES}, found one of {range:?}"
        ));
    }
    outcome.audit(running)?;
    outcome.end(server, &place)
}

/// Starts the server with the least limit that it accepts. With every lower limit it must end and print the figures.
fn least(place: &mut Place, outcome: &mut Outcome) -> Result<ServerProcess, TrialError> {
    let program = std::fs::metadata(program()?).map_err(TrialError::io("finding this program"))?;
    let mut last = TrialError::Broken("no server was started".into());
    for more in 1..=TRIES {
        // The program's own file is mapped, too.
        place.setup.addresses_kib = Some(program.len() / 1024 + more * STEP);
        match place.start() {
            Ok(server) => return Ok(server),
            Err(TrialError::Start(log)) => {
                if !log.contains("omr: memory: ") || log.contains("backtrace") {
                    outcome.fault(format!("a server without memory ended so: {log}"));
                }
                last = TrialError::Start(log);
            }
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Waits until the board has this number of the clients' messages.
fn posted(running: &Running, messages: u64, outcome: &mut Outcome) {
    let start = Instant::now();
    while running.work.posted.load(Ordering::Relaxed) < messages {
        if start.elapsed() > PATIENCE {
            outcome.fault(format!(
                "expected {messages} messages within {PATIENCE:?}, found fewer"
            ));
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
