//! Detection keys, each generated, uploaded, registered and deleted on this machine.

use super::Progress;
use super::scene::Scene;
use crate::trials::{TrialError, count};
use clap::{Args, ValueEnum};
use omr_client::sophomr::detection_key;
use omr_client::{SecretKey, identity, instantomr, os_rng};
use omr_protocol::{ClueKey, ParamSet};
use omr_remote::Client;
use omr_remote::v1::KeyKind;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Keys to register.
#[derive(Clone, Debug, Args)]
pub struct KeyLoad {
    /// Keys to register, of each kind
    #[arg(long = "keys", value_name = "N", default_value_t = 200, value_parser = count())]
    pub count: u32,
    /// Kinds of keys
    #[arg(long, value_name = "KIND", default_value = "instant")]
    pub key_kind: KeyChoice,
}

/// The kinds of keys to register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyChoice {
    /// For InstantOMR
    Instant,
    /// For SophOMR
    Bulk,
    /// This number of each
    Both,
}

/// The results for the keys of a kind.
#[derive(Clone, Debug, Serialize)]
pub struct KeyFigures {
    /// The kind: `instant` or `bulk`.
    pub kind: &'static str,
    /// The number of registered keys.
    pub keys: u32,
    /// Bytes of a key's file.
    pub key_bytes: u64,
    /// Mean seconds of generating a key, by its owner.
    pub generate_s: f64,
    /// Mean seconds of uploading a key.
    pub upload_s: f64,
    /// Megabytes per second of an upload.
    pub upload_mb_per_s: f64,
    /// Mean seconds of registering a key; the server reads it whole.
    pub register_s: f64,
    /// The longest of these.
    pub register_max_s: f64,
    /// Bytes of the first key that the server had when its upload, interrupted on purpose, was resumed.
    pub resumed_at_bytes: u64,
    /// The number of keys that the server still has at the end.
    pub kept: u32,
    /// Seconds of all cores that the server used.
    pub server_cpu_s: f64,
    /// The peak memory of the server.
    pub server_peak_rss_bytes: u64,
    /// Bytes that the server stores for the keys, without rows of its tables.
    pub disk_bytes: u64,
}

/// A recipient whose key is registered.
pub(super) struct Registered {
    pub(super) secret: SecretKey,
    pub(super) clue: ClueKey,
    pub(super) hash: [u8; 32],
    bytes: u64,
    generate_s: f64,
    upload_s: f64,
    register_s: f64,
}

impl KeyLoad {
    fn kinds(&self) -> impl Iterator<Item = KeyKind> {
        let kinds = [
            (self.key_kind != KeyChoice::Bulk, KeyKind::Instant),
            (self.key_kind != KeyChoice::Instant, KeyKind::Bulk),
        ];
        kinds
            .into_iter()
            .filter_map(|(wanted, kind)| wanted.then_some(kind))
    }

    /// Returns the number of keys that the server must accept.
    pub(super) fn total(&self) -> u32 {
        self.count * self.kinds().count() as u32
    }

    /// Registers all keys, kind by kind.
    ///
    /// Errors: those of the server, `Own`, `Io`; `Broken` if the server takes a key for another.
    pub(super) fn run(
        &self,
        scene: &Scene,
        set: &ParamSet,
        token: &str,
        progress: &Progress<'_>,
    ) -> Result<Vec<KeyFigures>, TrialError> {
        let client = scene.client(token)?;
        self.kinds()
            .map(|kind| self.kind(kind, scene, set, &client, progress))
            .collect()
    }

    fn kind(
        &self,
        kind: KeyKind,
        scene: &Scene,
        set: &ParamSet,
        client: &Client,
        progress: &Progress<'_>,
    ) -> Result<KeyFigures, TrialError> {
        scene.forget_peak();
        let (before, disk) = (scene.usage(), scene.key_disk_bytes()?);
        let mut done: Vec<Registered> = Vec::new();
        let mut resumed_at_bytes = 0;
        for number in 0..self.count {
            progress("keys", number.into(), self.count.into());
            let break_off = (number == 0).then_some(&mut resumed_at_bytes);
            done.push(register(scene, set, kind, client, break_off)?);
        }
        let after = scene.usage();
        let disk_bytes = scene.key_disk_bytes()?.saturating_sub(disk);
        let kept = kept(scene, client, &done, kind)?;
        let count = f64::from(self.count.max(1));
        let mean = |of: fn(&Registered) -> f64| done.iter().map(of).sum::<f64>() / count;
        let bytes: u64 = done.iter().map(|key| key.bytes).sum();
        Ok(KeyFigures {
            kind: name(kind),
            keys: self.count,
            key_bytes: done.first().map_or(0, |key| key.bytes),
            generate_s: mean(|key| key.generate_s),
            upload_s: mean(|key| key.upload_s),
            upload_mb_per_s: bytes as f64 / 1e6 / (mean(|key| key.upload_s) * count),
            register_s: mean(|key| key.register_s),
            register_max_s: done.iter().map(|key| key.register_s).fold(0.0, f64::max),
            resumed_at_bytes,
            kept,
            server_cpu_s: after.cpu_s - before.cpu_s,
            server_peak_rss_bytes: after.peak_rss_bytes,
            disk_bytes,
        })
    }
}

fn name(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Instant => "instant",
        _ => "bulk",
    }
}

/// Counts the keys that the server still has: registering a key again needs no upload, and fails if the server has
/// lost it.
fn kept(
    scene: &Scene,
    client: &Client,
    keys: &[Registered],
    kind: KeyKind,
) -> Result<u32, TrialError> {
    let mut kept = 0;
    for key in keys {
        let answer = scene.runtime.block_on(client.register_key(key.hash));
        kept += u32::from(answer.is_ok_and(|answer| answer.kind() == kind));
    }
    Ok(kept)
}

/// Makes a recipient, registers the key and deletes its file. If `broken_off`, the upload is interrupted half-way and
/// made again; the position at which it was resumed is returned.
pub(super) fn register(
    scene: &Scene,
    set: &ParamSet,
    kind: KeyKind,
    client: &Client,
    broken_off: Option<&mut u64>,
) -> Result<Registered, TrialError> {
    let path = scene.dir().join("key");
    let start = Instant::now();
    let (secret, clue, bytes) = generate(set, kind, &path)?;
    let generate_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let hash = scene
        .runtime
        .block_on(upload(scene, client, &path, bytes, broken_off))?;
    let upload_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let answer = scene.runtime.block_on(client.register_key(hash))?;
    let register_s = start.elapsed().as_secs_f64();
    if answer.kind() != kind || answer.params_id != set.name() {
        return Err(TrialError::Broken(format!(
            "expected a {} key of {}, the server found another: {answer:?}",
            name(kind),
            set.name()
        )));
    }
    std::fs::remove_file(&path).map_err(TrialError::io("deleting a key"))?;
    Ok(Registered {
        secret,
        clue,
        hash,
        bytes,
        generate_s,
        upload_s,
        register_s,
    })
}

/// Uploads a key, with an interruption if `broken_off`.
async fn upload(
    scene: &Scene,
    client: &Client,
    path: &Path,
    bytes: u64,
    broken_off: Option<&mut u64>,
) -> Result<[u8; 32], TrialError> {
    let Some(resumed_at) = broken_off else {
        return Ok(client.upload_key(path, |_, _| {}).await?);
    };
    tokio::select! {
        sent = client.upload_key(path, |_, _| {}) => drop(sent?),
        kept = grown(scene, bytes / 2) => kept?,
    }
    // The first report is the number of bytes that the server has.
    let first = OnceLock::new();
    let report = |sent, _| {
        first.get_or_init(|| sent);
    };
    let hash = client.upload_key(path, report).await?;
    *resumed_at = first.into_inner().unwrap_or_default();
    Ok(hash)
}

/// Waits until the server stores this many bytes more than now.
async fn grown(scene: &Scene, bytes: u64) -> Result<(), TrialError> {
    let before = scene.disk_bytes()?;
    while scene.disk_bytes()? < before + bytes {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Makes a recipient and writes a detection key of a kind; returns the file's length.
fn generate(
    set: &ParamSet,
    kind: KeyKind,
    path: &Path,
) -> Result<(SecretKey, ClueKey, u64), TrialError> {
    let mut rng = os_rng();
    let (secret, clue) = identity(set.clue(), omr_protocol::ClueKind::Bound, &mut rng);
    let writing = TrialError::io("writing a key");
    let file = File::create(path).map_err(TrialError::io("making a key's file"))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    match kind {
        KeyKind::Instant => {
            let params = set.instantomr().map_err(TrialError::own)?;
            let key =
                instantomr::detection_key(params, &secret, &mut rng).map_err(TrialError::own)?;
            key.write(params, &mut out).map_err(TrialError::own)?;
        }
        _ => {
            let params = set.sophomr().map_err(TrialError::own)?;
            let key = detection_key(params, &secret, None, &mut rng);
            key.write(params, &mut out).map_err(TrialError::own)?;
        }
    }
    out.flush().map_err(writing)?;
    let found = std::fs::metadata(path).map_err(TrialError::io("measuring a key"))?;
    Ok((secret, clue, found.len()))
}

impl KeyFigures {
    /// Returns a description of the fault, if there is one.
    pub(super) fn faults(&self) -> Option<String> {
        let lost = self.keys - self.kept;
        (lost > 0).then(|| format!("{lost} of {} {} keys are lost", self.keys, self.kind))
    }
}
