//! The compared schemes.

use super::{ClueKind, CompareError, Entry, Work};
use crate::measure::set_file;
use crate::measure::{DigestBench, PaperBench, PaperKeys, RoundsBench, Setting, Shape, Start};
use omr_detector::Progress;
use omr_papers::clear::{PaperScheme, PaperSet, SetError};
use omr_protocol::Mismatch;
use omr_protocol::params::SOPHOMR;
use omr_protocol::{EngineKind, Scheme};

/// A scheme with its parameter sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    name: &'static str,
    engine: Engine,
    /// The name of the set, or the path of a file.
    set: String,
    tiny: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Engine {
    /// A scheme of the product.
    Current(Scheme),
    /// A scheme published before SophOMR.
    Paper(PaperScheme),
}

/// Returns every scheme with a set of at least 128 bits.
pub fn contenders() -> Vec<Contender> {
    let current = |scheme: Scheme, set: &str, tiny| Contender {
        name: scheme.name(),
        engine: Engine::Current(scheme),
        set: set.to_owned(),
        tiny,
    };
    let sophomr = |scheme| current(scheme, SOPHOMR, "insecure-tiny-v4");
    let instantomr = |scheme| current(scheme, "instantomr-v2", "insecure-tiny-hybrid-v4");
    let mut all = vec![
        sophomr(Scheme::Sophomr),
        sophomr(Scheme::Sophomd),
        instantomr(Scheme::Instantomr),
        instantomr(Scheme::Instantomd),
    ];
    let tiny = PaperSet::tiny();
    let tiny = |scheme| {
        tiny.iter()
            .find(|set| set.scheme == scheme)
            .map(|set| set.name)
    };
    all.extend(PaperScheme::ALL.map(|scheme| Contender {
        name: scheme.name(),
        engine: Engine::Paper(scheme),
        set: PaperSet::of(scheme).name.to_owned(),
        tiny: tiny(scheme).expect("every scheme has a tiny set"),
    }));
    all
}

/// Returns the schemes with payloads that a parameter set of the product, or of a file, serves.
///
/// Errors: `File`.
pub fn of_set(set: &str) -> Result<Vec<Contender>, CompareError> {
    let known = set_file::set(set)?;
    let spec = known.spec();
    let schemes = [Scheme::TwoRounds, Scheme::Sophomr, Scheme::Instantomr];
    let served = schemes.into_iter().filter(|scheme| spec.serves(*scheme));
    Ok(served
        .map(|scheme| Contender {
            name: scheme.name(),
            engine: Engine::Current(scheme),
            set: set.to_owned(),
            tiny: spec.name,
        })
        .collect())
}

/// Returns the papers' schemes as published, by the names of their sets. They have no tiny sets.
fn as_published() -> impl Iterator<Item = Contender> {
    let sets = PaperSet::all().into_iter().filter(|set| set.published);
    sets.map(|set| Contender {
        name: set.name,
        engine: Engine::Paper(set.scheme),
        set: set.name.to_owned(),
        tiny: set.name,
    })
}

/// Returns the scheme with this name, or a paper's scheme as published. Sets below 128 bits must be allowed.
///
/// Errors: `Unknown`; `Weak`.
pub fn named(name: &str, allow_insecure: bool) -> Result<Contender, CompareError> {
    let all: Vec<Contender> = contenders().into_iter().chain(as_published()).collect();
    let known: Vec<&str> = all.iter().map(|contender| contender.name).collect();
    let unknown = SetError::Unknown(Mismatch::new(known.join(", "), name.to_owned()));
    let found = all.into_iter().find(|it| it.name == name).ok_or(unknown)?;
    if let Engine::Paper(_) = found.engine {
        PaperSet::named(&found.set, allow_insecure)?;
    }
    Ok(found)
}

impl Contender {
    /// Returns the scheme's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the name of the parameter set, or the path of its file.
    pub fn set(&self) -> &str {
        &self.set
    }

    /// Runs the scheme once with fresh keys.
    ///
    /// Errors: those of the run.
    pub(super) fn run(
        &self,
        work: &Work,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Entry, CompareError> {
        let set = if work.tiny { self.tiny } else { &self.set };
        match self.engine {
            Engine::Current(scheme) => self.current(scheme, set, work, seed, progress),
            Engine::Paper(scheme) => self.paper(scheme, set, work, seed, progress),
        }
    }

    fn paper(
        &self,
        scheme: PaperScheme,
        set: &str,
        work: &Work,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Entry, CompareError> {
        // The caller allowed weak sets by name.
        let set = PaperSet::named(set, true)?;
        let bench = PaperBench {
            scheme,
            messages: work.messages,
            pertinent: work.pertinent,
            bound: work.bound,
            payload_bytes: work.payload_bytes,
            seed,
            bundle: set.bundle as usize,
        };
        let run = bench.run_with(&PaperKeys::new(&set, seed)?, progress)?;
        Ok(Entry {
            payloads: scheme != PaperScheme::Omd1p,
            clues: match (scheme, run.bound_clues) {
                (PaperScheme::DosPerfomr, _) => ClueKind::Lwemongrass,
                (_, true) => ClueKind::Bound,
                (_, false) => ClueKind::Plain,
            },
            security_bits: run.clue_security_bits.min(run.key_security_bits),
            miss_log2: finite(run.miss_log2),
            false_positive_log2: run.false_positive_log2,
            exact: (run.exact == run.subject.pertinent).into(),
            strays: run.wrong as u64,
            ..Entry::new(self.name, set.slots as u64, run.subject, run.cost)
        })
    }

    fn current(
        &self,
        scheme: Scheme,
        set: &str,
        work: &Work,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Entry, CompareError> {
        let known = set_file::set(set)?;
        let (batch, miss, passes) = match *scheme.engines() {
            [EngineKind::Sophomr] => {
                let params = known.sophomr()?;
                let spec = params.spec();
                let rates = (spec.miss_log2(), spec.false_positive_log2());
                (params.slots() as u64, rates.0, rates.1)
            }
            [EngineKind::Rounds] => {
                let params = known.rounds()?;
                let rates = (params.miss_log2(), params.false_positive_log2());
                (params.scan.block() as u64, rates.0, rates.1)
            }
            _ => {
                let params = known.instantomr()?;
                (1, params.miss_log2(), params.false_positive_log2())
            }
        };
        let messages = match batch {
            1 => work.messages.min(work.sample),
            _ => work.messages,
        };
        let setting = Setting {
            scheme,
            messages,
            shape: Shape {
                bound: work.bound,
                payload_bytes: work.payload_bytes,
            },
            start: Start {
                seed,
                threads: None,
            },
            params: Some(set.to_owned()),
            plain_clues: false,
        };
        let pertinent = work.pertinent.min(messages as usize);
        let entry = if scheme == Scheme::TwoRounds {
            let bench = RoundsBench {
                setting,
                pertinent,
                recipients: 1,
                no_digest: true,
            };
            Entry::of_rounds(self.name, batch, bench.run(progress)?)
        } else {
            let bench = DigestBench {
                setting,
                pertinent,
                no_yardstick: false,
                own_masks: false,
            };
            let run = bench.run(progress)?;
            Entry {
                payloads: !scheme.is_for_indices(),
                clues: ClueKind::Bound,
                exact: (run.exact() == run.subject.pertinent).into(),
                strays: run.false_positives as u64,
                failure_log2: run.failure_log2,
                ..Entry::new(self.name, batch, run.subject, run.cost)
            }
        };
        Ok(Entry {
            security_bits: known.spec().security_bits(),
            miss_log2: finite(miss),
            false_positive_log2: passes,
            ..entry
        })
    }
}

/// Returns the number if it is finite, because documents cannot contain infinity.
fn finite(log2: f64) -> Option<f64> {
    log2.is_finite().then_some(log2)
}
