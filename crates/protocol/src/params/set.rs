//! Parameter sets: clues, and the engines that serve them.

use super::{ClueParams, ClueSpec, ParamsError, ROTATION_KEY_BITS, Security};
use crate::instantomr::{InstantParams, InstantSpec};
use crate::sophomr::{Params, ParamsSpec};
use omr_ring::Kernels;
use std::sync::{Arc, OnceLock};

/// A published parameter set, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSpec {
    /// Versioned name; a published set never changes.
    pub name: &'static str,
    /// Whether the set is for tests only.
    pub insecure: bool,
    /// Whether a later set took its place: for the keys and boards that it has, not for new ones.
    pub old: bool,
    /// Bits of security of the detection keys, as of [`Security::keys`].
    pub key_bits: f64,
    /// Clues.
    pub clue: ClueSpec,
    /// SophOMR and SophOMD.
    pub bulk: Option<ParamsSpec>,
    /// InstantOMR and InstantOMD.
    pub instant: Option<InstantSpec>,
}

impl SetSpec {
    pub(super) fn of(bulk: ParamsSpec, instant: Option<InstantSpec>) -> Self {
        let rotation = match instant {
            Some(_) => ROTATION_KEY_BITS,
            None => f64::INFINITY,
        };
        Self {
            name: bulk.name,
            insecure: bulk.insecure,
            old: bulk.old,
            key_bits: bulk.key_bits.min(rotation),
            clue: bulk.clue.clone(),
            bulk: Some(bulk),
            instant,
        }
    }

    /// Bits of security; `None` for a set without any.
    pub fn security(&self) -> Option<Security> {
        let [clue_key, randomness] = match self.insecure {
            true => return None,
            false => self.clue.security()?,
        };
        Some(Security {
            clue_key,
            randomness,
            keys: self.key_bits,
        })
    }

    /// The least of all bits of security; 0 without any.
    pub fn security_bits(&self) -> f64 {
        self.security().map_or(0.0, |security| security.least())
    }

    /// The published set of this name.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        let sets = Self::published();
        let known: Vec<&str> = sets.iter().map(|set| set.name).collect();
        let unknown = ParamsError::Unknown {
            known: known.join(", "),
            found: name.to_owned(),
        };
        let mut sets = sets.into_iter();
        sets.find(|set| set.name == name).ok_or(unknown)
    }
}

/// A published set whose engines' tables are made when they are first asked for.
pub struct ParamSet {
    spec: SetSpec,
    clue: ClueParams,
    bulk: OnceLock<Arc<Params>>,
    instant: OnceLock<Arc<InstantParams>>,
}

impl ParamSet {
    /// The published set of this name, on the best kernels of this CPU.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        let spec = SetSpec::named(name)?;
        Ok(Self {
            clue: ClueParams::new(spec.name, spec.clue.clone(), Kernels::detect())?,
            spec,
            bulk: OnceLock::new(),
            instant: OnceLock::new(),
        })
    }

    /// The published set of this name for new keys or a new board: an old one only where `allow_old` says so.
    ///
    /// Errors: `Unknown`, `Old`.
    pub fn for_new(name: &str, allow_old: bool) -> Result<Self, ParamsError> {
        let set = Self::named(name)?;
        let engines = |spec: &SetSpec| (spec.bulk.is_some(), spec.instant.is_some());
        let instead = |spec: &SetSpec| !spec.old && engines(spec) == engines(&set.spec);
        match set.spec.old && !allow_old {
            false => Ok(set),
            true => Err(ParamsError::Old {
                name: set.spec.name,
                bits: set.spec.security_bits(),
                instead: SetSpec::published()
                    .into_iter()
                    .find(instead)
                    .map_or("", |spec| spec.name),
            }),
        }
    }

    /// The set's versioned name.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The specification.
    pub fn spec(&self) -> &SetSpec {
        &self.spec
    }

    /// Clues.
    pub fn clue(&self) -> &ClueParams {
        &self.clue
    }

    /// SophOMR.
    ///
    /// Errors: `NoEngine`.
    pub fn bulk(&self) -> Result<&Arc<Params>, ParamsError> {
        if self.bulk.get().is_none() {
            let made = Params::named(self.spec.name)?;
            return Ok(self.bulk.get_or_init(|| made));
        }
        Ok(self.bulk.get().expect("just seen"))
    }

    /// InstantOMR.
    ///
    /// Errors: `NoEngine`.
    pub fn instant(&self) -> Result<&Arc<InstantParams>, ParamsError> {
        if self.instant.get().is_none() {
            let made = InstantParams::named(self.spec.name)?;
            return Ok(self.instant.get_or_init(|| made));
        }
        Ok(self.instant.get().expect("just seen"))
    }
}
