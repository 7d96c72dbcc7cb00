//! Segments with flipped bits, truncated segments and missing segments: only their content is lost, the server
//! reports it, and a backup repairs it.

use super::ledger::{self, Copy};
use super::people::People;
use super::recipients::{digest_of, register};
use super::work::{client, runtime};
use super::{Chaos, Kind, Outcome};
use crate::trials::TrialError;
use crate::trials::place::{Place, SEGMENT, text};
use omr_remote::Client;
use omr_remote::v1::CreateJobRequest;
use rand_core::{Rng, SeedableRng};
use serde_json::Value;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The number of segments that the trial makes; it adds messages that are in none.
const SEGMENTS: u64 = 6;
const TAIL: u64 = 17;
/// The number of messages in a post.
const POST: usize = 40;
/// The longest time that sealing may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The damage to a segment's file.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Flipped,
    Truncated,
    Missing,
}

/// The state of the trial.
struct Trial {
    place: Place,
    people: std::sync::Arc<People>,
    runtime: Runtime,
    /// The board before any damage.
    copy: Copy,
    hashes: Vec<blake3::Hash>,
    keys: Vec<[u8; 32]>,
    backup: PathBuf,
    outcome: Outcome,
}

pub(super) fn run(chaos: &Chaos) -> Result<Outcome, TrialError> {
    let place = chaos.place()?;
    let mut trial = Trial {
        people: chaos.people(&place)?,
        backup: place.path().join("backup"),
        place,
        runtime: runtime()?,
        copy: Copy::default(),
        hashes: Vec::new(),
        keys: Vec::new(),
        outcome: Outcome::new(Kind::Damage),
    };
    trial.prepare(chaos.seed)?;
    for (at, harm) in [Harm::Flipped, Harm::Truncated, Harm::Missing]
        .into_iter()
        .enumerate()
    {
        trial.hurt(at as u64 + 1, harm, chaos.seed)?;
    }
    trial.outcome.figures.messages = trial.copy.payloads.len() as u64;
    trial.outcome.faults.extend(trial.place.alarms());
    Ok(trial.outcome)
}

/// Returns the files of segments in order.
fn segments(place: &Place) -> Result<Vec<PathBuf>, TrialError> {
    let listed = fs::read_dir(place.data().join("objects/segments"));
    let entries = match listed {
        Ok(entries) => entries,
        Err(_) => return Ok(Vec::new()),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(TrialError::io("listing segments"))?.path();
        files.extend(path.extension().is_some_and(|e| e == "seg").then_some(path));
    }
    files.sort();
    Ok(files)
}

fn harm(path: &Path, harm: Harm, seed: u64) -> Result<(), TrialError> {
    let mut rng = chacha20::ChaCha20Rng::seed_from_u64(seed);
    let mut changed = || -> std::io::Result<()> {
        let mut bytes = fs::read(path)?;
        match harm {
            Harm::Missing => return fs::remove_file(path),
            Harm::Truncated => bytes.truncate(bytes.len() / 2),
            Harm::Flipped => {
                for _ in 0..3 {
                    let at = rng.next_u64() as usize % bytes.len();
                    bytes[at] ^= 1 << (rng.next_u64() % 8);
                }
            }
        }
        fs::write(path, bytes)
    };
    changed().map_err(TrialError::io("harming a segment"))
}

impl Trial {
    fn client(&self) -> Result<Client, TrialError> {
        // Connections belong to a runtime.
        let _inside = self.runtime.enter();
        client(&self.place.url(), Duration::from_secs(5))
    }

    fn require(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.outcome.fault(fault());
        }
    }

    /// Makes a board of some segments, keys, and a backup of them.
    fn prepare(&mut self, seed: u64) -> Result<(), TrialError> {
        let token = self.place.token("trial", &["admin"])?;
        let server = self.place.start()?;
        let client = self.client()?;
        self.post(&client, seed)?;
        for path in [
            &self.people.recipients[0].bulk,
            &self.people.recipients[0].instant,
        ] {
            self.keys
                .push(self.runtime.block_on(register(&client, path))?);
        }
        let start = Instant::now();
        while (segments(&self.place)?.len() as u64) < SEGMENTS {
            if start.elapsed() > PATIENCE {
                return Err(TrialError::Broken("segments were not sealed".into()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let len = SEGMENTS * SEGMENT + TAIL;
        (self.copy, self.hashes) = self.runtime.block_on(ledger::read(&client, 0..len))?;
        let (url, to) = (self.place.url(), self.backup.to_string_lossy().into_owned());
        let args = [
            "data", "backup", "--server", &url, "--token", &token, "--to", &to,
        ];
        let done = self.place.omr(&args)?;
        self.require(done.status.success(), || format!("backup: {}", text(&done)));
        server.stop()
    }

    fn post(&mut self, client: &Client, seed: u64) -> Result<(), TrialError> {
        let people = self.people.clone();
        let board = self.runtime.block_on(client.board())?;
        let senders = people.senders(&board)?;
        let mut left = (SEGMENTS * SEGMENT + TAIL) as usize;
        let mut rng = chacha20::ChaCha20Rng::seed_from_u64(seed);
        while left > 0 {
            let (id, count) = (omr_remote::random_id(), left.min(POST));
            let messages = people.messages(&senders, &id, count, &mut rng);
            self.runtime.block_on(client.post_as(id, messages))?;
            self.outcome.figures.posts_acknowledged += 1;
            left -= count;
        }
        Ok(())
    }

    /// Damages a segment, checks the server's reaction, and repairs it.
    fn hurt(&mut self, at: u64, kind: Harm, seed: u64) -> Result<(), TrialError> {
        let files = segments(&self.place)?;
        let path = files[at as usize].clone();
        harm(&path, kind, seed.wrapping_add(at))?;
        let range = at * SEGMENT..(at + 1) * SEGMENT;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let server = self.place.start()?;
        let client = self.client()?;
        self.check_reading(&client, &range, &name, kind);
        self.check_digests(&client, &range, &name, kind);
        self.check_pages(kind)?;
        server.stop()?;
        let verified = self.place.data_command(&["verify", "--json"])?;
        self.require(verified.status.code() == Some(1), || {
            format!("{kind:?}: omr data verify: {}", text(&verified))
        });
        let from = self.backup.to_string_lossy().into_owned();
        let repaired = self.place.data_command(&["repair", "--from", &from])?;
        self.require(repaired.status.success(), || {
            format!("{kind:?}: omr data repair: {}", text(&repaired))
        });
        self.outcome.faults.extend(self.place.verify()?);
        let server = self.place.start()?;
        let client = self.client()?;
        self.read_exactly(&client, 0..self.hashes.len() as u64, kind);
        self.digest_exactly(&client, range, kind);
        server.stop()
    }

    /// Checks that the damaged range is refused by name and that all others are exact.
    fn check_reading(&mut self, client: &Client, range: &Range<u64>, name: &str, kind: Harm) {
        self.read_exactly(client, 0..range.start, kind);
        self.read_exactly(client, range.end..self.hashes.len() as u64, kind);
        for part in [
            range.clone(),
            range.start + 5..range.start + 6,
            0..range.end + 3,
        ] {
            match self.runtime.block_on(ledger::read(client, part.clone())) {
                Err(TrialError::Remote(omr_remote::RemoteError::Refused {
                    code, message, ..
                })) if code == tonic::Code::DataLoss && message.contains(name) => {}
                other => {
                    let found = other.map(|(copy, _)| copy.payloads.len());
                    self.outcome
                        .fault(format!("{kind:?}: reading {part:?} gave {found:?}"));
                }
            }
        }
    }

    fn read_exactly(&mut self, client: &Client, range: Range<u64>, kind: Harm) {
        let expected = &self.hashes[range.start as usize..range.end as usize];
        match self.runtime.block_on(ledger::read(client, range.clone())) {
            Ok((_, found)) if found == expected => {}
            other => {
                let found = other.map(|(_, hashes)| hashes.len());
                let text = format!("{kind:?}: reading {range:?} gave {found:?}, not what is there");
                self.outcome.fault(text);
            }
        }
    }

    /// Checks that a digest over the damage fails with the reason, and that others are right.
    fn check_digests(&mut self, client: &Client, range: &Range<u64>, name: &str, kind: Harm) {
        let whole = self.request(0..self.hashes.len() as u64);
        match self.runtime.block_on(digest_of(client, &whole)) {
            Err(TrialError::Remote(omr_remote::RemoteError::JobFailed(message)))
                if message.contains(name) => {}
            other => {
                let found = other.map(|bytes| bytes.len());
                self.outcome
                    .fault(format!("{kind:?}: a digest over damage gave {found:?}"));
            }
        }
        self.digest_exactly(client, 0..range.start, kind);
        self.digest_exactly(client, range.end..self.hashes.len() as u64, kind);
    }

    fn request(&self, range: Range<u64>) -> CreateJobRequest {
        CreateJobRequest {
            request_id: omr_remote::random_id().to_vec().into(),
            key_hashes: vec![self.keys[0].to_vec().into()],
            start: range.start,
            end: range.end,
            bound: 96,
            ..Default::default()
        }
    }

    fn digest_exactly(&mut self, client: &Client, range: Range<u64>, kind: Harm) {
        let digests = super::digests::Digests::default();
        match self
            .runtime
            .block_on(digest_of(client, &self.request(range.clone())))
        {
            Ok(bytes) => drop(digests.take(&self.people, 0, None, &bytes)),
            Err(error) => digests.fault(format!("{kind:?}: a digest of {range:?}: {error}")),
        }
        let (verdict, faults) = digests.judge(&self.copy);
        let figures = &mut self.outcome.figures;
        figures.job_digests += verdict.checked;
        figures.found += verdict.found;
        figures.missed += verdict.missed;
        figures.accidental += verdict.accidental;
        figures.wrong_payloads += verdict.wrong;
        self.outcome.faults.extend(faults);
    }

    /// Checks that the status page and the metrics report the damage.
    fn check_pages(&mut self, kind: Harm) -> Result<(), TrialError> {
        let page = self.place.page("/status.json")?;
        let status: Value = serde_json::from_str(&page).unwrap_or_default();
        let checks = status["health"]["checks"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let storage = checks
            .iter()
            .any(|c| c["name"] == "storage" && c["good"] == false);
        self.require(status["health"]["healthy"] == false && storage, || {
            format!("{kind:?}: /status.json has {}", status["health"])
        });
        let metrics = self.place.page("/metrics")?;
        let counted = metrics.lines().any(|line| {
            line.starts_with("omr_damaged_objects")
                && line.contains("segment")
                && !line.ends_with(" 0")
        });
        self.require(counted, || {
            format!("{kind:?}: /metrics counts no damaged segment")
        });
        Ok(())
    }
}
