//! Which engine makes digests: that of a card where there is one, else the processor's.

use crate::{CudaRing, Machine, MachineError};
use omr_detector::engine::{Engine, on_cpu};
use omr_detector::sophomr::{BackendEngine, BoardCache};
use omr_protocol::{EngineKind, ParamSet, ParamsError};
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
    /// Cards do not serve the set.
    #[error("expected a set whose clues are opened in slots, found {0}: cards serve no other")]
    Set(String),
}

#[cfg(feature = "driver")]
fn first_card() -> Result<Arc<dyn Machine>, MachineError> {
    Ok(Arc::new(crate::Card::new(0)?))
}

#[cfg(not(feature = "driver"))]
fn first_card() -> Result<Arc<dyn Machine>, MachineError> {
    Err(MachineError::Absent("a build without cards".into()))
}

/// The engines of a process, and the card that they work on, if any. InstantOMR's works on the processor.
pub struct Cards {
    choice: Choice,
    card: Result<Arc<dyn Machine>, String>,
    /// The tables on the card, by set.
    rings: Mutex<Vec<(&'static str, Arc<CudaRing>)>>,
}

impl Cards {
    /// Takes the first card, if it is asked for.
    ///
    /// Errors: `Machine` where a card is asked for and there is none.
    pub fn new(choice: Choice) -> Result<Self, MachineError> {
        let card = match choice {
            Choice::Cpu => Err("asked for".into()),
            Choice::Auto => first_card().map_err(|error| error.to_string()),
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
        }
    }

    /// The engine of SophOMR's digests, and the card where it is one.
    #[must_use]
    pub fn named(&self) -> (Choice, Option<String>) {
        match &self.card {
            Ok(card) => (Choice::Cuda, Some(card.name())),
            Err(_) => (Choice::Cpu, None),
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
        self.card.as_ref().ok().map(|card| card.name())
    }

    /// The engine of a kind. Where the processor's shares work between recipients, it does so in `cache`.
    ///
    /// Errors: `Params` where the set has no such engine; where a card was asked for `Set`, and `Machine` where the
    /// set's tables do not fit.
    pub fn engine(
        &self,
        set: &ParamSet,
        kind: EngineKind,
        cache: Option<&Arc<BoardCache>>,
    ) -> Result<Box<dyn Engine>, CardsError> {
        if let (Ok(card), EngineKind::Sophomr) = (&self.card, kind) {
            match self.on_card(card, set) {
                Ok(engine) => return Ok(Box::new(engine)),
                Err(error) if self.choice == Choice::Cuda => return Err(error),
                Err(_) => {}
            }
        }
        Ok(on_cpu(set, kind, cache)?)
    }

    fn on_card(
        &self,
        card: &Arc<dyn Machine>,
        set: &ParamSet,
    ) -> Result<BackendEngine, CardsError> {
        let params = set.sophomr()?;
        if params.opening.is_none() {
            return Err(CardsError::Set(params.name().into()));
        }
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let known = rings.iter().find(|(name, _)| *name == params.name());
        let ring = match known {
            Some((_, ring)) => ring.clone(),
            None => {
                let ring = Arc::new(CudaRing::new(card.clone(), &params.ring)?);
                rings.push((params.name(), ring.clone()));
                ring
            }
        };
        BackendEngine::new(params, ring).ok_or_else(|| CardsError::Set(params.name().into()))
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

    /// The processor takes what no card can, unless a card was asked for.
    #[test]
    fn sets_that_cards_do_not_serve_are_told() {
        use crate::{Arithmetic, Emulated};
        let machine = || Ok(Emulated::new(Arithmetic::Floating) as Arc<dyn Machine>);
        let (old, new) = ("insecure-tiny-v2", "insecure-tiny-v4");
        let engine = |cards: &Cards, name| {
            let engine = cards.engine(&ParamSet::named(name).unwrap(), EngineKind::Sophomr, None);
            engine.map(drop).map_err(|error| error.to_string())
        };
        let asked = Cards::of(Choice::Cuda, machine());
        assert_eq!(engine(&asked, new), Ok(()));
        let refused = engine(&asked, old).unwrap_err();
        assert!(
            refused.ends_with("found insecure-tiny-v2: cards serve no other"),
            "{refused}"
        );
        assert_eq!(engine(&Cards::of(Choice::Auto, machine()), old), Ok(()));
        let none = Cards::of(Choice::Auto, Err("no driver".into()));
        assert_eq!(none.told(), "engine: the processor (no driver)");
        assert_eq!(engine(&none, new), Ok(()));
    }
}
