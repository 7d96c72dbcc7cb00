//! Parameter sets: clues, and the engines that can process them.

use super::{ClueParams, ClueSpec, ParamsError, ROTATION_KEY_BITS, Security};
use crate::instantomr::{InstantKey, InstantParams, InstantSpec};
use crate::request::MAX_BOUND;
use crate::rounds::{RoundsKey, RoundsParams, RoundsSpec};
use crate::sophomr::{DetectionKey, Params, ParamsSpec, RecipientParams};
use crate::{ClueKind, DetectionKeyError, EngineKind, Scheme};
use omr_errors::Mismatch;
use omr_ring::Kernels;
use std::io::Read;
use std::sync::{Arc, OnceLock};

/// A published parameter set, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSpec {
    /// Versioned name; a published set never changes.
    pub name: &'static str,
    /// Whether the set is for tests only.
    pub insecure: bool,
    /// Bits of security of the detection keys, as in [`Security::keys`].
    pub key_bits: f64,
    /// The specification of clues.
    pub clue: ClueSpec,
    /// The part of SophOMR and SophOMD, if the set has it.
    pub sophomr: Option<ParamsSpec>,
    /// The part of InstantOMR and InstantOMD, if the set has it.
    pub instantomr: Option<InstantSpec>,
    /// The part of retrieval in two rounds, if the set has it.
    pub rounds: Option<RoundsSpec>,
}

impl SetSpec {
    pub(super) fn of(
        sophomr: ParamsSpec,
        instantomr: Option<InstantSpec>,
        rounds: RoundsSpec,
    ) -> Self {
        let rotation = match instantomr {
            Some(_) => ROTATION_KEY_BITS,
            None => f64::INFINITY,
        };
        Self {
            name: sophomr.name,
            insecure: sophomr.insecure,
            key_bits: sophomr.key_bits.min(rotation),
            clue: sophomr.clue.clone(),
            sophomr: Some(sophomr),
            instantomr,
            rounds: Some(rounds),
        }
    }

    /// Returns the bits of security; `None` for an insecure set.
    pub fn security(&self) -> Option<Security> {
        let [clue_key, randomness] = if self.insecure {
            return None;
        } else {
            self.clue.security()?
        };
        Some(Security {
            clue_key,
            randomness,
            keys: self.key_bits,
        })
    }

    /// Returns the least of all bits of security; 0 for an insecure set.
    pub fn security_bits(&self) -> f64 {
        self.security().map_or(0.0, |security| security.least())
    }

    /// Returns SophOMR's part.
    ///
    /// Errors: `NoEngine`.
    pub(crate) fn into_sophomr(self) -> Result<ParamsSpec, ParamsError> {
        self.sophomr.ok_or_else(|| ParamsError::NoEngine {
            name: self.name.to_owned(),
            expected: "SophOMR",
        })
    }

    /// Returns the engines that can process the set's clues.
    #[must_use]
    pub fn engines(&self) -> Vec<EngineKind> {
        let serves = |engine: &EngineKind| match engine {
            EngineKind::Sophomr => self.sophomr.is_some(),
            EngineKind::Instantomr => self.instantomr.is_some(),
            EngineKind::Rounds => self.rounds.is_some(),
        };
        EngineKind::ALL.into_iter().filter(serves).collect()
    }

    /// Returns the engines of a scheme, or all engines of the set that make digests if no scheme is given.
    #[must_use]
    pub fn engines_for(&self, scheme: Option<Scheme>) -> Vec<EngineKind> {
        if let Some(known) = scheme {
            return known.engines().to_vec();
        }
        let mut engines = self.engines();
        engines.retain(|engine| *engine != EngineKind::Rounds);
        engines
    }

    /// Returns the largest bound of one engine's digests by a scheme; `None` if the set lacks the engine or the scheme
    /// does not use it.
    pub(crate) fn engine_bound(&self, engine: EngineKind, scheme: Scheme) -> Option<usize> {
        let uses = scheme.engines().contains(&engine) && self.engines().contains(&engine);
        uses.then_some(match engine {
            EngineKind::Sophomr | EngineKind::Rounds => MAX_BOUND,
            EngineKind::Instantomr => InstantSpec::LARGEST_BOUND,
        })
    }

    /// Returns whether the set has all engines of a scheme.
    #[must_use]
    pub fn serves(&self, scheme: Scheme) -> bool {
        let engines = self.engines();
        scheme
            .engines()
            .iter()
            .all(|engine| engines.contains(engine))
    }

    /// Returns the scheme of digests that uses all engines of the set that make them.
    ///
    /// Errors: `NoEngine` if there is no such scheme.
    pub fn scheme(&self, payloads: bool) -> Result<Scheme, ParamsError> {
        let scheme = Scheme::of_engines(&self.engines_for(None), payloads);
        scheme.ok_or_else(|| ParamsError::NoEngine {
            name: self.name.to_owned(),
            expected: "engines of a scheme",
        })
    }

    /// Returns the published set of this name.
    ///
    /// Errors: `Unknown`, with the names of the secure sets and a similar name, if there is one.
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        let sets = Self::published();
        if let Some(found) = sets.iter().find(|set| set.name == name) {
            return Ok(found.clone());
        }
        // Messages do not list insecure sets.
        let secure = sets.iter().filter(|set| !set.insecure);
        let names: Vec<&str> = secure.map(|set| set.name).collect();
        let mut expected = names.join(", ");
        let likeness = |set: &&SetSpec| strsim::jaro_winkler(name, set.name);
        // Of equally similar names the last is taken, which comes first in the list.
        let nearest = sets
            .iter()
            .rev()
            .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        if let Some(similar) = nearest.filter(|set| likeness(set) > LIKE) {
            expected = format!("{expected} (did you mean {}?)", similar.name);
        }
        Err(ParamsError::Unknown(Mismatch::new(
            expected,
            name.to_owned(),
        )))
    }
}

/// Least similarity of two names, from 0 to 1, at which messages suggest a name.
const LIKE: f64 = 0.8;

/// A parameter set. The tables of an engine are made when they are first used.
pub struct ParamSet {
    spec: SetSpec,
    clue: Arc<ClueParams>,
    sophomr: OnceLock<Arc<Params>>,
    recipient: OnceLock<Arc<RecipientParams>>,
    instantomr: OnceLock<Arc<InstantParams>>,
    rounds: OnceLock<Arc<RoundsParams>>,
}

impl ParamSet {
    /// Returns the published set of this name, on the best kernels of this CPU.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        Self::new(SetSpec::named(name)?)
    }

    /// Makes a set that may be none of the published ones, on the best kernels of this CPU. An engine is checked when it
    /// is first used.
    ///
    /// Errors: `Ring` if the modulus of clues is no prime that fits their dimension.
    pub fn new(spec: SetSpec) -> Result<Self, ParamsError> {
        Ok(Self {
            clue: Arc::new(ClueParams::new(
                spec.name,
                spec.clue.clone(),
                Kernels::detect(),
            )?),
            spec,
            sophomr: OnceLock::new(),
            recipient: OnceLock::new(),
            instantomr: OnceLock::new(),
            rounds: OnceLock::new(),
        })
    }

    /// Returns the set's versioned name.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Returns the specification.
    pub fn spec(&self) -> &SetSpec {
        &self.spec
    }

    /// Returns the clue parameters.
    pub fn clue(&self) -> &Arc<ClueParams> {
        &self.clue
    }

    /// Returns SophOMR's parameters.
    ///
    /// Errors: `NoEngine`.
    pub fn sophomr(&self) -> Result<&Arc<Params>, ParamsError> {
        if self.sophomr.get().is_none() {
            let spec = self.spec.clone().into_sophomr()?;
            let made = Arc::new(Params::new(spec, Kernels::detect())?);
            return Ok(self.sophomr.get_or_init(|| made));
        }
        Ok(self.sophomr.get().expect("just seen"))
    }

    /// Returns the parameters with which recipients decode SophOMR's digests. They need no tables of the large ring.
    ///
    /// Errors: `NoEngine`.
    pub fn sophomr_recipient(&self) -> Result<&Arc<RecipientParams>, ParamsError> {
        if self.recipient.get().is_none() {
            let made = match self.sophomr.get() {
                Some(params) => params.recipient().clone(),
                None => {
                    let rings = self.spec.clone().into_sophomr()?.rings();
                    Arc::new(RecipientParams::new(&rings, Kernels::detect())?)
                }
            };
            return Ok(self.recipient.get_or_init(|| made));
        }
        Ok(self.recipient.get().expect("just seen"))
    }

    /// Returns the length in bytes of the file of a detection key for clues of a kind.
    ///
    /// Errors: `NoEngine` if the set lacks the engine.
    pub fn key_file_bytes(&self, engine: EngineKind, clues: ClueKind) -> Result<u64, ParamsError> {
        Ok(match engine {
            EngineKind::Sophomr => DetectionKey::file_bytes_of(self.sophomr()?, clues),
            EngineKind::Instantomr => InstantKey::file_bytes_of(self.instantomr()?, clues),
            EngineKind::Rounds => RoundsKey::file_bytes_of(self.rounds()?, clues),
        })
    }

    /// Reads the file of a detection key to its end and checks it.
    ///
    /// Errors: those of reading it; `Params` if the set lacks the engine.
    pub fn check_key_file(
        &self,
        engine: EngineKind,
        file: impl Read,
    ) -> Result<(), DetectionKeyError> {
        match engine {
            EngineKind::Sophomr => DetectionKey::check(self.sophomr()?, file),
            EngineKind::Instantomr => InstantKey::read(self.instantomr()?, file).map(drop),
            EngineKind::Rounds => RoundsKey::check(self.rounds()?, file),
        }
    }

    /// Returns the parameters of retrieval in two rounds.
    ///
    /// Errors: `NoEngine`.
    pub fn rounds(&self) -> Result<&Arc<RoundsParams>, ParamsError> {
        if self.rounds.get().is_none() {
            let made = Arc::new(RoundsParams::of(self.spec.clone(), Kernels::detect())?);
            return Ok(self.rounds.get_or_init(|| made));
        }
        Ok(self.rounds.get().expect("just seen"))
    }

    /// Returns InstantOMR's parameters.
    ///
    /// Errors: `NoEngine`.
    pub fn instantomr(&self) -> Result<&Arc<InstantParams>, ParamsError> {
        if self.instantomr.get().is_none() {
            let made = Arc::new(InstantParams::new(self.spec.clone(), Kernels::detect())?);
            return Ok(self.instantomr.get_or_init(|| made));
        }
        Ok(self.instantomr.get().expect("just seen"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_set_is_guessed() {
        let message = |name| SetSpec::named(name).unwrap_err().to_string();
        for (name, meant) in [
            ("hybrid_v4", "hybrid-v4"),
            ("sophomr5", "sophomr-v5"),
            ("hybrid", "hybrid-v4"),
            ("Hybrid-v4", "hybrid-v4"),
        ] {
            let guess = format!("did you mean {meant}?");
            assert!(message(name).contains(&guess), "{}", message(name));
        }
        let nothing = message("nope");
        assert!(!nothing.contains("did you mean"), "{nothing}");
        assert!(
            nothing.contains("hybrid-v4") && !nothing.contains("insecure"),
            "{nothing}"
        );
    }
}
