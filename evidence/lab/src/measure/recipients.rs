//! Digests of one board for several recipients, computed together, because their keys share masks.

use crate::measure::digest::{Score, stages_without_reading};
use crate::measure::yardstick::Yardstick;
use crate::measure::{BenchError, DigestBench, Subject, Workload};
use chacha20::ChaCha20Rng;
use omr_client::SecretKey;
use omr_client::sophomr::{Keys, Recipient};
use omr_console::peak_rss_bytes;
use omr_detector::Progress;
use omr_detector::sophomr::{Detector, TOGETHER, digests};
use omr_protocol::sophomr::{Digest, DigestPlan, Params};
use omr_protocol::{SEED_BYTES, Scheme, Sealing};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A benchmark of digests of one board for several recipients in as few runs as possible, after a digest of the first
/// recipient alone.
#[derive(Clone)]
pub struct RecipientsBench {
    /// The digest of one recipient; each recipient has `pertinent` messages.
    pub digest: DigestBench,
    /// The number of recipients, at least one.
    pub recipients: usize,
}

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RecipientsFigures {
    /// The scheme of the digests.
    #[serde(serialize_with = "crate::measure::digest::by_name")]
    pub scheme: Scheme,
    /// The board and each recipient's digest.
    #[serde(flatten)]
    pub subject: Subject,
    /// The row operations in use.
    pub kernels: &'static str,
    /// The number of recipients.
    pub recipients: usize,
    /// The times of the digests.
    pub digests: RecipientsTimes,
    /// The peak memory of the process.
    pub peak_rss_bytes: u64,
    /// The number of recipients whose messages were returned exactly, bit for bit.
    pub exact: usize,
    /// The mean of the yardstick before and after, if requested.
    pub yardstick_us: Option<f64>,
}

/// Seconds from clues and payloads in memory to the digest.
#[derive(Clone, Debug, Serialize)]
pub struct RecipientsTimes {
    /// Seconds of the first recipient's digest alone.
    pub alone_s: f64,
    /// Seconds of all digests.
    pub all_s: f64,
    /// Seconds that each recipient after the first adds on average; absent for one recipient.
    pub further_s: Option<f64>,
    /// The ratio of `further_s` to `alone_s`.
    pub further_over_alone: Option<f64>,
    /// Seconds of each stage of `alone_s`.
    pub alone_stages: BTreeMap<&'static str, f64>,
    /// Seconds of each stage of `all_s`.
    pub all_stages: BTreeMap<&'static str, f64>,
}

impl RecipientsFigures {
    /// Returns whether every recipient's messages were returned exactly.
    pub fn is_exact(&self) -> bool {
        self.exact == self.recipients
    }
}

impl RecipientsTimes {
    fn new(
        alone_stages: BTreeMap<&'static str, f64>,
        all_stages: BTreeMap<&'static str, f64>,
        recipients: usize,
    ) -> Self {
        let alone_s = alone_stages.values().sum::<f64>();
        let all_s = all_stages.values().sum::<f64>();
        let further_s = (recipients > 1).then(|| (all_s - alone_s) / (recipients as f64 - 1.0));
        Self {
            alone_s,
            all_s,
            further_s,
            further_over_alone: further_s.map(|seconds| seconds / alone_s),
            alone_stages,
            all_stages,
        }
    }
}

/// The data that all digests share.
struct Shared<'a> {
    params: Arc<Params>,
    plan: DigestPlan,
    board: Workload,
    progress: &'a dyn Progress,
}

impl RecipientsBench {
    /// Runs the benchmark. Keys are generated again for each digest, so that memory holds those of one recipient at a
    /// time.
    ///
    /// Errors: those of all steps.
    pub fn run(&self, progress: &dyn Progress) -> Result<RecipientsFigures, BenchError> {
        let of = &self.digest;
        let yardstick = Yardstick::start(!of.no_yardstick);
        let mut shared = self.shared(progress)?;
        let alone = self.alone(&mut shared)?;
        let (all, exact) = self.together(&mut shared)?;
        let yardstick_us = yardstick.mean();
        Ok(RecipientsFigures {
            scheme: of.setting.scheme,
            subject: Subject::new(shared.params.name(), &of.setting, of.pertinent),
            kernels: shared.params.ring.kernels().name(),
            recipients: self.recipients,
            digests: RecipientsTimes::new(alone, all, self.recipients),
            peak_rss_bytes: peak_rss_bytes(),
            exact,
            yardstick_us,
        })
    }

    /// Computes the digests of all recipients in as few runs as possible; returns the stages and the number of exact
    /// digests.
    fn together(
        &self,
        shared: &mut Shared,
    ) -> Result<(BTreeMap<&'static str, f64>, usize), BenchError> {
        let (params, board_id) = (shared.params.clone(), [0; 16]);
        let (mut secrets, mut detectors) = (Vec::new(), Vec::new());
        for recipient in 0..self.recipients {
            let keys = self.keys(&params, recipient);
            secrets.push(keys.secret);
            detectors.push(Detector::new(params.clone(), keys.detection));
        }
        let mut seed = [0; SEED_BYTES];
        ChaCha20Rng::seed_from_u64(!self.digest.setting.start.seed).fill_bytes(&mut seed);
        let all: Vec<&Detector> = detectors.iter().collect();
        let (board, plan, progress) = (&mut shared.board, &shared.plan, shared.progress);
        let outputs = digests(&all, board, plan, board_id, Sealing::None, seed, progress)?;
        drop(detectors);
        let mut stages = BTreeMap::new();
        for output in outputs.iter().step_by(TOGETHER) {
            for (stage, seconds) in stages_without_reading(&output.stages) {
                *stages.entry(stage).or_insert(0.0) += seconds;
            }
        }
        let mut exact = 0;
        for (recipient, (secret, output)) in secrets.iter().zip(&outputs).enumerate() {
            exact += usize::from(self.is_exact(shared, recipient, secret, &output.digest)?);
        }
        Ok((stages, exact))
    }

    fn shared<'a>(&self, progress: &'a dyn Progress) -> Result<Shared<'a>, BenchError> {
        let (of, setting) = (&self.digest, &self.digest.setting);
        let params = setting.set()?.sophomr()?.clone();
        let range = 0..setting.messages;
        let plan = DigestPlan::new(&params, range, setting.shape.bound, setting.payload())?;
        let keys = (0..self.recipients).map(|i| self.keys(&params, i).clue);
        let board = of.board(&params.clue, keys.collect());
        Ok(Shared {
            params,
            plan,
            board,
            progress,
        })
    }

    fn keys(&self, params: &Params, recipient: usize) -> Keys {
        let seed = self
            .digest
            .setting
            .start
            .seed
            .wrapping_add(recipient as u64);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        self.digest.keys(params, &mut rng)
    }

    /// Computes the first recipient's digest alone; returns its stages.
    fn alone(&self, shared: &mut Shared) -> Result<BTreeMap<&'static str, f64>, BenchError> {
        let (params, board_id) = (shared.params.clone(), [0; 16]);
        let detection = self.keys(&params, 0).detection;
        let mut seed = [0; SEED_BYTES];
        ChaCha20Rng::seed_from_u64(!self.digest.setting.start.seed).fill_bytes(&mut seed);
        let detector = Detector::new(params, detection);
        let progress = shared.progress;
        detector.take_memory();
        let (board, plan) = (&mut shared.board, &shared.plan);
        let out = detector.digest(board, plan, board_id, Sealing::None, seed, progress)?;
        Ok(stages_without_reading(&out.stages))
    }

    fn is_exact(
        &self,
        shared: &Shared,
        recipient: usize,
        secret: &SecretKey,
        digest: &Digest,
    ) -> Result<bool, BenchError> {
        let decoded = Recipient::new(shared.params.recipient(), secret).decode(digest)?;
        let score = Score::new(&shared.board, recipient, &decoded);
        let right = if self.digest.setting.scheme.is_for_indices() {
            score.found
        } else {
            score.exact
        };
        Ok(right == self.digest.pertinent && score.false_positives == 0)
    }
}
