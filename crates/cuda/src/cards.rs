//! Which engine makes digests: that of a card where there is one, else the processor's.

use crate::{CudaRing, Machine, MachineError, MessageEngine, MessageRing};
use omr_detector::engine::{Engine, on_cpu};
use omr_detector::instantomr::{AwayEngine, InstantDetector};
use omr_detector::sophomr::BackendEngine;
use omr_protocol::instantomr::InstantKey;
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, ParamsError};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// What is to make digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// A card where there is one, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// A card.
    Cuda,
}

impl Choice {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Cpu, Self::Cuda];

    /// Its name in options and configurations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An engine that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected auto, cpu or cuda, found {0:?}")]
pub struct ChoiceError(String);

impl FromStr for Choice {
    type Err = ChoiceError;

    fn from_str(name: &str) -> Result<Self, ChoiceError> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == name);
        found.ok_or_else(|| ChoiceError(name.into()))
    }
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CardsError {
    /// No card, or one that fails.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The set has no such engine.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A key could not be brought to the card.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
}

#[cfg(feature = "driver")]
fn first_card() -> Result<Arc<dyn Machine>, MachineError> {
    Ok(Arc::new(crate::Card::new(0)?))
}

#[cfg(not(feature = "driver"))]
fn first_card() -> Result<Arc<dyn Machine>, MachineError> {
    Err(MachineError::Absent("a build without cards".into()))
}

/// Tables on a card, by set.
type BySet<T> = Mutex<Vec<(&'static str, Arc<T>)>>;

/// Those of a set, made unless they are here.
fn of_set<T>(
    all: &BySet<T>,
    name: &'static str,
    make: impl FnOnce() -> Result<T, MachineError>,
) -> Result<Arc<T>, MachineError> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = all.iter().find(|(known, _)| *known == name) {
        return Ok(known.clone());
    }
    let made = Arc::new(make()?);
    all.push((name, made.clone()));
    Ok(made)
}

/// The engines of a process, and the card that they work on, if any.
pub struct Cards {
    choice: Choice,
    card: Result<Arc<dyn Machine>, String>,
    /// SophOMR's tables.
    rings: BySet<CudaRing>,
    /// InstantOMR's.
    messages: BySet<MessageRing>,
}

impl Cards {
    /// Takes the first card, if it is asked for.
    ///
    /// Errors: `Machine` where a card is asked for and there is none.
    pub fn new(choice: Choice) -> Result<Self, MachineError> {
        let card = match choice {
            Choice::Cpu => Err("asked for".into()),
            // Most machines have none, so that is no error.
            Choice::Auto => first_card().map_err(|error| match error {
                MachineError::Absent(_) => "there is no NVIDIA card".to_owned(),
                error => error.to_string(),
            }),
            Choice::Cuda => Ok(first_card()?),
        };
        Ok(Self::of(choice, card))
    }

    /// The processor's engines.
    #[must_use]
    pub fn none() -> Self {
        Self::of(Choice::Cpu, Err("asked for".into()))
    }

    /// The engines on a machine that stands for a card, for tests.
    #[cfg(feature = "emulated")]
    #[must_use]
    pub fn on(choice: Choice, machine: Arc<dyn Machine>) -> Self {
        Self::of(choice, Ok(machine))
    }

    /// The engines on a machine.
    fn of(choice: Choice, card: Result<Arc<dyn Machine>, String>) -> Self {
        Self {
            choice,
            card,
            rings: Mutex::default(),
            messages: Mutex::default(),
        }
    }

    /// What was taken and why, in a line for people.
    #[must_use]
    pub fn told(&self) -> String {
        match &self.card {
            Ok(card) => format!("engine: the card {}", card.name()),
            Err(why) => format!("engine: the processor ({why})"),
        }
    }

    /// Whether nothing else will do than the card.
    #[must_use]
    pub fn insists(&self) -> bool {
        self.choice == Choice::Cuda
    }

    /// The name of the card, if there is one.
    #[must_use]
    pub fn card(&self) -> Option<String> {
        self.found().map(|card| card.name())
    }

    /// None in builds without cards, which then hold none of their code.
    fn found(&self) -> Option<&Arc<dyn Machine>> {
        let built = cfg!(any(feature = "driver", feature = "emulated"));
        self.card.as_ref().ok().filter(|_| built)
    }

    /// Returns the engine of a kind.
    ///
    /// Errors: `Params` where the set has no such engine; where a card was asked for `Machine`, if the
    /// set's tables do not fit.
    pub fn engine(&self, set: &ParamSet, kind: EngineKind) -> Result<Box<dyn Engine>, CardsError> {
        if let Some(card) = self.found() {
            let engine = match kind {
                EngineKind::Sophomr => self.batches(card, set).map(|e| Box::new(e) as Box<_>),
                EngineKind::Instantomr => self.messages(card, set).map(|e| Box::new(e) as Box<_>),
            };
            match engine {
                Ok(engine) => return Ok(engine),
                Err(error) if self.insists() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(on_cpu(set, kind)?)
    }

    /// InstantOMR's detector for a key, on the card if there is one: for sessions.
    ///
    /// Errors: `Params`; where a card was asked for `Machine` and `Key`.
    pub fn instant(&self, set: &ParamSet, key: InstantKey) -> Result<InstantDetector, CardsError> {
        let params = set.instantomr()?.clone();
        if let Some(card) = self.found() {
            let engine = self.messages(card, set);
            match engine.and_then(|engine| Ok(engine.bring(&key)?)) {
                Ok(layers) => return Ok(InstantDetector::away(params, key, layers)),
                Err(error) if self.insists() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(InstantDetector::new(params, key))
    }

    fn messages(&self, card: &Arc<dyn Machine>, set: &ParamSet) -> Result<AwayEngine, CardsError> {
        let params = set.instantomr()?;
        let ring = of_set(&self.messages, params.name(), || {
            MessageRing::new(card.clone(), &params.ring)
        })?;
        Ok(AwayEngine::new(params, Arc::new(MessageEngine(ring))))
    }

    fn batches(
        &self,
        card: &Arc<dyn Machine>,
        set: &ParamSet,
    ) -> Result<BackendEngine, CardsError> {
        let params = set.sophomr()?;
        let ring = of_set(&self.rings, params.name(), || {
            CudaRing::new(card.clone(), &params.ring)
        })?;
        Ok(BackendEngine::new(params, ring))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_have_names() {
        for choice in Choice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let error = "gpu".parse::<Choice>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected auto, cpu or cuda, found \"gpu\""
        );
    }

    #[test]
    fn the_processor_takes_over_where_there_is_no_card() {
        use crate::{Arithmetic, Emulated};
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        let engine = |cards: &Cards| cards.engine(&set, EngineKind::Sophomr).is_ok();
        let card: Arc<dyn Machine> = Emulated::new(Arithmetic::Floating);
        assert!(engine(&Cards::of(Choice::Cuda, Ok(card))));
        let none = Cards::of(Choice::Auto, Err("no driver".into()));
        assert_eq!(none.told(), "engine: the processor (no driver)");
        assert!(engine(&none));
    }

    /// InstantOMR's kernels are made for double precision.
    #[test]
    fn cards_with_little_double_precision_leave_messages_to_the_processor() {
        use crate::{Arithmetic, Emulated};
        let set = ParamSet::named("insecure-tiny-hybrid-v4").unwrap();
        let engine = |choice, arithmetic| {
            let cards = Cards::of(choice, Ok(Emulated::new(arithmetic)));
            let engine = cards.engine(&set, EngineKind::Instantomr);
            engine.map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(engine(Choice::Cuda, Arithmetic::Floating), Ok(()));
        assert_eq!(engine(Choice::Auto, Arithmetic::Whole), Ok(()));
        let refused = engine(Choice::Cuda, Arithmetic::Whole).unwrap_err();
        assert!(
            refused.ends_with("found a card with little double precision"),
            "{refused}"
        );
    }
}
