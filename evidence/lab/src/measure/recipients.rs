//! Digests of one board for several recipients: together where they share masks, else with a shared cache.

use crate::measure::digest::{Score, stages_without_reading};
use crate::measure::yardstick::Yardstick;
use crate::measure::{BenchError, DigestBench, Subject, Workload};
use chacha20::ChaCha20Rng;
use omr_client::SecretKey;
use omr_client::sophomr::{Keys, Recipient};
use omr_console::peak_rss_bytes;
use omr_detector::Progress;
use omr_detector::sophomr::{BoardCache, Detector, TOGETHER, digests};
use omr_protocol::sophomr::{Digest, DigestPlan, Params};
use omr_protocol::{SEED_BYTES, Scheme, Sealing};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Digests of one board for several recipients, after one of the first recipient alone: in one run for those who share
/// masks, in sets that open clues; else one after another, with a shared cache.
#[derive(Clone)]
pub struct RecipientsBench {
    /// One recipient's digest; `pertinent` messages are each one's.
    pub digest: DigestBench,
    /// How many, at least one.
    pub recipients: usize,
    /// What the cache may hold, in bytes.
    pub cache_bytes: usize,
    /// Whether baby steps are kept from earlier batches: made before the clock starts.
    pub keep_baby_steps: bool,
}

/// What the digests measured.
#[derive(Clone, Debug, Serialize)]
pub struct RecipientsFigures {
    /// How digests are made.
    #[serde(serialize_with = "crate::measure::digest::by_name")]
    pub scheme: Scheme,
    /// The board and each recipient's digest.
    #[serde(flatten)]
    pub subject: Subject,
    /// The row operations in use.
    pub kernels: &'static str,
    /// Recipients.
    pub recipients: usize,
    /// What the cache might hold.
    pub cache_limit_bytes: usize,
    /// What it held in the end.
    pub cache_bytes: usize,
    /// The digests' times, baby steps included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digests: Option<RecipientsTimes>,
    /// The digests' times, all but the one alone without baby steps, which were made before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digests_with_kept_baby_steps: Option<RecipientsTimes>,
    /// The most memory the process held.
    pub peak_rss_bytes: u64,
    /// Recipients who got exactly their messages, bit for bit.
    pub exact: usize,
    /// Mean of the yardstick before and after, if asked for.
    pub yardstick_us: Option<f64>,
}

/// Seconds from clues and payloads in memory to the digest.
#[derive(Clone, Debug, Serialize)]
pub struct RecipientsTimes {
    /// The first recipient's digest without a cache, and with baby steps of its own.
    pub alone_s: f64,
    /// The same with the cache, which it fills; the same again where recipients are served together.
    pub first_s: f64,
    /// The other recipients'; where they are served together, what each of them adds in the mean.
    pub further_s: Vec<f64>,
    /// Their mean, if there are any.
    pub further_mean_s: Option<f64>,
    /// The mean over `first_s`.
    pub further_over_first: Option<f64>,
    /// The mean over `alone_s`.
    pub further_over_alone: Option<f64>,
    /// The parts of `alone_s`.
    pub alone_stages: BTreeMap<&'static str, f64>,
    /// The parts of `first_s`.
    pub first_stages: BTreeMap<&'static str, f64>,
    /// The parts of the last of `further_s`; of all digests where they are made together.
    pub last_stages: BTreeMap<&'static str, f64>,
}

impl RecipientsFigures {
    /// Whether every recipient got exactly her messages.
    pub fn is_exact(&self) -> bool {
        self.exact == self.recipients
    }

    /// The times, of either kind.
    pub fn times(&self) -> Option<&RecipientsTimes> {
        let kept = self.digests_with_kept_baby_steps.as_ref();
        self.digests.as_ref().or(kept)
    }
}

impl RecipientsTimes {
    /// The first recipient alone, then `recipients` together.
    fn together([alone, all]: &[BTreeMap<&'static str, f64>; 2], recipients: usize) -> Self {
        let further = recipients as f64 - 1.0;
        let rest = |stage: &&'static str| {
            let of = |run: &BTreeMap<_, f64>| run.get(stage).copied().unwrap_or(0.0);
            (of(all) - of(alone)) / further
        };
        let rest = all.keys().map(|stage| (*stage, rest(stage))).collect();
        let runs = [alone.clone(), alone.clone(), rest];
        let mut times = Self::new(&runs[..if recipients > 1 { 3 } else { 2 }]);
        times.last_stages = all.clone();
        times
    }

    fn new(runs: &[BTreeMap<&'static str, f64>]) -> Self {
        let total = |run: &BTreeMap<_, f64>| run.values().sum::<f64>();
        let (alone_s, first_s) = (total(&runs[0]), total(&runs[1]));
        let further_s: Vec<f64> = runs[2..].iter().map(total).collect();
        let sum = further_s.iter().sum::<f64>();
        let mean = (!further_s.is_empty()).then(|| sum / further_s.len() as f64);
        let over = |seconds: f64| mean.map(|mean| mean / seconds);
        Self {
            alone_s,
            first_s,
            further_over_first: over(first_s),
            further_over_alone: over(alone_s),
            further_s,
            further_mean_s: mean,
            alone_stages: runs[0].clone(),
            first_stages: runs[1].clone(),
            last_stages: runs[runs.len() - 1].clone(),
        }
    }
}

/// What all digests have in common.
struct Shared<'a> {
    params: Arc<Params>,
    plan: DigestPlan,
    board: Workload,
    cache: Arc<BoardCache>,
    progress: &'a dyn Progress,
}

impl RecipientsBench {
    /// Runs it. Keys are made again for each digest, so that one recipient's are in memory at a
    /// time.
    ///
    /// Errors: any step's.
    pub fn run(&self, progress: &dyn Progress) -> Result<RecipientsFigures, BenchError> {
        let of = &self.digest;
        let yardstick = Yardstick::start(!of.no_yardstick);
        let mut shared = self.shared(progress)?;
        let (alone, _) = self.one(&mut shared, 0, Arc::new(BoardCache::new(0)), false)?;
        let (times, exact) = match shared.params.opening.is_some() {
            true => self.together(&mut shared, alone)?,
            false => self.one_by_one(&mut shared, alone)?,
        };
        let yardstick_us = yardstick.mean();
        let keep = self.keep_baby_steps;
        Ok(RecipientsFigures {
            scheme: of.setting.scheme,
            subject: Subject::new(shared.params.name(), &of.setting, of.pertinent),
            kernels: shared.params.ring.kernels().name(),
            recipients: self.recipients,
            cache_limit_bytes: self.cache_bytes,
            cache_bytes: shared.cache.bytes(),
            digests: (!keep).then(|| times.clone()),
            digests_with_kept_baby_steps: keep.then_some(times),
            peak_rss_bytes: peak_rss_bytes(),
            exact,
            yardstick_us,
        })
    }

    /// The digests of all recipients, one after another, and how many are exact.
    fn one_by_one(
        &self,
        shared: &mut Shared,
        alone: BTreeMap<&'static str, f64>,
    ) -> Result<(RecipientsTimes, usize), BenchError> {
        let cache = shared.cache.clone();
        let (mut runs, mut exact) = (vec![alone], 0);
        for recipient in 0..self.recipients {
            let keep = self.keep_baby_steps;
            let (stages, is_exact) = self.one(shared, recipient, cache.clone(), keep)?;
            runs.push(stages);
            exact += usize::from(is_exact);
        }
        Ok((RecipientsTimes::new(&runs), exact))
    }

    /// The digests of all recipients in as few runs as serve them, and how many are exact.
    fn together(
        &self,
        shared: &mut Shared,
        alone: BTreeMap<&'static str, f64>,
    ) -> Result<(RecipientsTimes, usize), BenchError> {
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
        let times = RecipientsTimes::together(&[alone, stages], self.recipients);
        Ok((times, exact))
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
            cache: Arc::new(BoardCache::new(self.cache_bytes)),
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

    /// A recipient's digest: its stages, and whether it is exact.
    fn one(
        &self,
        shared: &mut Shared,
        recipient: usize,
        cache: Arc<BoardCache>,
        keep_baby_steps: bool,
    ) -> Result<(BTreeMap<&'static str, f64>, bool), BenchError> {
        let (params, board_id) = (shared.params.clone(), [0; 16]);
        let Keys {
            secret, detection, ..
        } = self.keys(&params, recipient);
        // One seed for all, as the cache gives it.
        let mut seed = [0; SEED_BYTES];
        ChaCha20Rng::seed_from_u64(!self.digest.setting.start.seed).fill_bytes(&mut seed);
        let seed = cache.seed(board_id, shared.plan.range(), || seed);
        let detector = Detector::new(params, detection)
            .with_cache(cache)
            .keep_baby_steps(keep_baby_steps);
        let progress = shared.progress;
        detector.take_memory();
        detector.prepare(progress)?;
        let (board, plan) = (&mut shared.board, &shared.plan);
        let out = detector.digest(board, plan, board_id, Sealing::None, seed, progress)?;
        drop(detector);
        let is_exact = self.is_exact(shared, recipient, &secret, &out.digest)?;
        Ok((stages_without_reading(&out.stages), is_exact))
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
        let right = match self.digest.setting.scheme.is_for_indices() {
            false => score.exact,
            true => score.found,
        };
        Ok(right == self.digest.pertinent && score.false_positives == 0)
    }
}
