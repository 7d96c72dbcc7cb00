//! The schemes that compare.

use super::{ClueKind, CompareError, Entry, Sizes, Work};
use crate::measure::digest::timed;
use crate::measure::{
    DigestBench, DigestFigures, EarlierBench, EarlierFigures, EarlierKeys, InstantBench,
};
use omr_detector::Progress;
use omr_earlier::clear::{EarlierScheme, EarlierSet, SetError};
use omr_protocol::instantomr::Encoding;
use omr_protocol::params::DEFAULT;
use omr_protocol::sophomr::Params;
use omr_protocol::{ParamSet, Scheme};

/// A scheme with its parameter sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contender {
    name: &'static str,
    engine: Engine,
    set: &'static str,
    tiny: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Engine {
    /// Batches: payloads or indices.
    Sophomr(Scheme),
    /// Message by message; payloads or indices.
    Instantomr(Scheme),
    /// Batches.
    Earlier(EarlierScheme),
}

/// Every scheme with a set of at least 128 bits.
pub fn contenders() -> Vec<Contender> {
    let sophomr = |scheme: Scheme| Contender {
        name: scheme.name(),
        engine: Engine::Sophomr(scheme),
        set: DEFAULT,
        tiny: "insecure-tiny-v2",
    };
    let instantomr = |scheme: Scheme| Contender {
        name: scheme.name(),
        engine: Engine::Instantomr(scheme),
        set: "instantomr-v2",
        tiny: "insecure-tiny-hybrid-v1",
    };
    let mut all = vec![
        sophomr(Scheme::Sophomr),
        sophomr(Scheme::Sophomd),
        instantomr(Scheme::Instantomr),
        instantomr(Scheme::Instantomd),
    ];
    let tiny = EarlierSet::tiny();
    let tiny = |scheme| {
        tiny.iter()
            .find(|set| set.scheme == scheme)
            .map(|set| set.name)
    };
    all.extend(EarlierScheme::ALL.map(|scheme| Contender {
        name: scheme.name(),
        engine: Engine::Earlier(scheme),
        set: EarlierSet::of(scheme).name,
        tiny: tiny(scheme).expect("every scheme has a tiny set"),
    }));
    all
}

/// Earlier schemes as published, by the names of their sets. They have no tiny sets.
fn as_published() -> impl Iterator<Item = Contender> {
    let sets = EarlierSet::all().into_iter().filter(|set| set.published);
    sets.map(|set| Contender {
        name: set.name,
        engine: Engine::Earlier(set.scheme),
        set: set.name,
        tiny: set.name,
    })
}

/// The scheme of this name, or an earlier one as published, which must be allowed where it has less than 128 bits.
///
/// Errors: `Unknown`; `Weak`.
pub fn named(name: &str, allow_insecure: bool) -> Result<Contender, CompareError> {
    let all: Vec<Contender> = contenders().into_iter().chain(as_published()).collect();
    let known: Vec<&str> = all.iter().map(|contender| contender.name).collect();
    let unknown = SetError::Unknown {
        known: known.join(", "),
        found: name.to_owned(),
    };
    let found = all.into_iter().find(|it| it.name == name);
    let found = found.ok_or(unknown)?;
    if let Engine::Earlier(_) = found.engine {
        EarlierSet::named(found.set, allow_insecure)?;
    }
    Ok(found)
}

impl Contender {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One run with fresh keys.
    ///
    /// Errors: the run's.
    pub(super) fn run(
        &self,
        work: &Work,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Entry, CompareError> {
        let set = if work.tiny { self.tiny } else { self.set };
        match self.engine {
            Engine::Sophomr(scheme) => self.sophomr(scheme, set, work, seed, progress),
            Engine::Instantomr(scheme) => self.instantomr(scheme, set, work, seed, progress),
            Engine::Earlier(scheme) => self.earlier(scheme, set, work, seed, progress),
        }
    }

    fn earlier(
        &self,
        scheme: EarlierScheme,
        set: &str,
        work: &Work,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Entry, CompareError> {
        // Whoever asked for a weak set was asked before.
        let set = EarlierSet::named(set, true)?;
        let bench = EarlierBench {
            scheme,
            messages: work.messages,
            pertinent: work.pertinent,
            bound: work.bound,
            payload_bytes: work.payload_bytes,
            seed,
            bundle: set.bundle as usize,
        };
        let (keys, keygen_s) = timed(|| EarlierKeys::new(&set, seed));
        let keys = keys?;
        let clue_ms = keys.clue_ms(seed);
        let figures = bench.run_with(&keys, progress)?;
        Ok(self.earlier_entry(scheme, &set, figures, (keygen_s, clue_ms)))
    }

    fn earlier_entry(
        &self,
        scheme: EarlierScheme,
        set: &EarlierSet,
        figures: EarlierFigures,
        (keygen_s, clue_ms): (f64, f64),
    ) -> Entry {
        let stages = figures.stages.into_iter();
        let stages = stages.map(|(name, s)| (name.to_owned(), s)).collect();
        Entry {
            scheme: self.name.to_owned(),
            params: figures.params.to_owned(),
            payloads: scheme != EarlierScheme::Omd1p,
            clues: match (scheme, figures.bound_clues) {
                (EarlierScheme::DosPerfomr, _) => ClueKind::Lwemongrass,
                (_, true) => ClueKind::Bound,
                (_, false) => ClueKind::Plain,
            },
            security_bits: figures.clue_security_bits.min(figures.key_security_bits),
            miss_log2: finite(figures.miss_log2),
            false_positive_log2: figures.false_positive_log2,
            messages: figures.messages,
            batch: set.slots as u64,
            runs: 1,
            exact: (figures.exact == figures.pertinent).into(),
            strays: figures.wrong as u64,
            digest_s: figures.digest_s,
            fixed_s: Entry::fixed(&stages),
            stages,
            keygen_s,
            clue_ms,
            decode_ms: figures.decode_ms,
            bytes: Sizes {
                clue: figures.clue_bytes as u64,
                clue_key: figures.clue_key_bytes as u64,
                detection_key: figures.detection_key_bytes,
                digest: figures.digest_bytes as u64,
            },
            peak_rss_bytes: figures.peak_rss_bytes,
            yardstick_us: figures.yardstick_us,
        }
    }

    fn sophomr(
        &self,
        scheme: Scheme,
        set: &str,
        work: &Work,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Entry, CompareError> {
        let params = Params::named(set)?;
        let bench = DigestBench {
            scheme,
            params: params.clone(),
            messages: work.messages,
            pertinent: work.pertinent,
            bound: work.bound,
            payload_bytes: work.payload_bytes,
            seed,
            yardstick: true,
            bound_clues: true,
        };
        let rates = (
            params.spec().miss_log2(),
            params.spec().false_positive_log2(),
        );
        let figures = bench.run(progress)?;
        Ok(self.entry(figures, params.slots() as u64, rates))
    }

    fn instantomr(
        &self,
        scheme: Scheme,
        set: &str,
        work: &Work,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Entry, CompareError> {
        let set = ParamSet::named(set)?;
        let params = set.instantomr()?;
        let messages = work.messages.min(work.sample);
        let bench = InstantBench {
            payloads: !scheme.is_for_indices(),
            encoding: scheme.encoding().unwrap_or(Encoding::Powers),
            params: params.clone(),
            security_bits: set.spec().security_bits(),
            messages,
            pertinent: work.pertinent.min(messages as usize),
            bound: work.bound,
            payload_bytes: work.payload_bytes,
            seed,
            yardstick: true,
            bound_clues: true,
        };
        let rates = (params.miss_log2(), params.false_positive_log2());
        Ok(self.entry(bench.run(progress)?, 1, rates))
    }

    fn entry(&self, figures: DigestFigures, batch: u64, (miss, passes): (f64, f64)) -> Entry {
        let exact = (figures.exact() == figures.pertinent).into();
        let stages = figures.stages.into_iter();
        let stages = stages.map(|(name, s)| (name.to_owned(), s)).collect();
        Entry {
            scheme: self.name.to_owned(),
            params: figures.params.to_owned(),
            payloads: !figures.scheme.is_for_indices(),
            clues: match figures.bound_clues {
                true => ClueKind::Bound,
                false => ClueKind::Plain,
            },
            security_bits: figures.security_bits,
            miss_log2: finite(miss),
            false_positive_log2: passes,
            messages: figures.messages,
            batch,
            runs: 1,
            exact,
            strays: figures.false_positives as u64,
            digest_s: figures.digest_s,
            fixed_s: Entry::fixed(&stages),
            stages,
            keygen_s: figures.keygen_s,
            clue_ms: figures.clue_ms,
            decode_ms: figures.decode_ms,
            bytes: Sizes {
                clue: figures.clue_bytes as u64,
                clue_key: figures.clue_key_bytes as u64,
                detection_key: figures.detection_key_bytes,
                digest: figures.digest_bytes as u64,
            },
            peak_rss_bytes: figures.peak_rss_bytes,
            yardstick_us: figures.yardstick_us,
        }
    }
}

/// Documents have no infinity.
fn finite(log2: f64) -> Option<f64> {
    log2.is_finite().then_some(log2)
}
