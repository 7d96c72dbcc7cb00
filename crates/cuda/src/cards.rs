//! The engines of a process: those of a card if there is one, otherwise those of the processor.

use crate::{CudaRing, Machine, MachineError, MessageEngine, MessageRing};
use omr_detector::engine::{Engine, on_cpu};
use omr_detector::instantomr::{AwayEngine, InstantDetector};
use omr_detector::sophomr::BackendEngine;
use omr_protocol::instantomr::InstantKey;
use omr_protocol::sophomr::Params;
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, ParamsError};
use omr_ring::Backend;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// The device that is to make digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// A card if there is one, otherwise the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// A card only.
    Cuda,
}

impl Choice {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Cpu, Self::Cuda];

    /// Returns the name of the choice in options and configurations.
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

/// An error: no choice has this name.
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

/// An error of providing an engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CardsError {
    /// There is no card, or the card fails.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The parameter set lacks the engine.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The card could not load a key.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
}

/// Tables on a card, by parameter set.
type BySet<T> = Mutex<Vec<(&'static str, Arc<T>)>>;

/// Returns the tables of a parameter set, after making them if necessary.
fn of_set<T>(
    all: &BySet<T>,
    name: &'static str,
    make: impl FnOnce() -> Result<T, MachineError>,
) -> Result<Arc<T>, MachineError> {
    let mut tables = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = tables.iter().find(|(known, _)| *known == name) {
        return Ok(known.clone());
    }
    let made = Arc::new(make()?);
    tables.push((name, made.clone()));
    Ok(made)
}

/// The engines of a process, and the card that they use, if any.
pub struct Cards {
    choice: Choice,
    card: Result<Arc<dyn Machine>, String>,
    /// Tables of SophOMR's rings.
    rings: BySet<BatchRings>,
    /// Tables of InstantOMR's rings.
    messages: BySet<MessageRing>,
}

impl Cards {
    /// Opens the first card, unless the processor is chosen.
    ///
    /// Errors: `Machine` if a card is required and there is none.
    pub fn new(choice: Choice) -> Result<Self, MachineError> {
        let card = match choice {
            Choice::Cpu => Err("asked for".into()),
            // Most machines have no card, so this is no error.
            Choice::Auto => crate::driver::first_card().map_err(|error| match error {
                MachineError::Absent(_) => "there is no NVIDIA card".to_owned(),
                error => error.to_string(),
            }),
            Choice::Cuda => Ok(crate::driver::first_card()?),
        };
        Ok(Self::of(choice, card))
    }

    /// Returns the processor's engines.
    #[must_use]
    pub fn none() -> Self {
        Self::of(Choice::Cpu, Err("asked for".into()))
    }

    /// Returns the engines on a machine in place of a card, for tests.
    #[cfg(feature = "emulated")]
    #[must_use]
    pub fn on(choice: Choice, machine: Arc<dyn Machine>) -> Self {
        Self::of(choice, Ok(machine))
    }

    /// Makes the engines on a machine.
    fn of(choice: Choice, card: Result<Arc<dyn Machine>, String>) -> Self {
        Self {
            choice,
            card,
            rings: Mutex::default(),
            messages: Mutex::default(),
        }
    }

    /// Returns a line for logs and terminals with the device and the reason for it.
    #[must_use]
    pub fn summary(&self) -> String {
        match &self.card {
            Ok(card) => format!("engine: the card {}", card.name()),
            Err(why) => format!("engine: the processor ({why})"),
        }
    }

    /// Returns whether a card is required.
    #[must_use]
    pub fn insists(&self) -> bool {
        self.choice == Choice::Cuda
    }

    /// Returns the name of the card, if there is one.
    #[must_use]
    pub fn card(&self) -> Option<String> {
        self.found().map(|card| card.name())
    }

    /// Returns the card; `None` in builds without cards, so that the compiler removes the code for them.
    fn found(&self) -> Option<&Arc<dyn Machine>> {
        let built = cfg!(any(feature = "driver", feature = "emulated"));
        self.card.as_ref().ok().filter(|_| built)
    }

    /// Returns the engine of a kind.
    ///
    /// Errors: `Params` if the set lacks the engine; `Machine` if a card is required and the set's tables do not fit
    /// its memory.
    pub fn engine(&self, set: &ParamSet, kind: EngineKind) -> Result<Box<dyn Engine>, CardsError> {
        if let Some(card) = self.found() {
            let on_card = match kind {
                EngineKind::Sophomr => self.batches(card, set).map(|e| Box::new(e) as Box<_>),
                EngineKind::Instantomr => self.messages(card, set).map(|e| Box::new(e) as Box<_>),
                EngineKind::Rounds => on_cpu(set, kind).map_err(CardsError::from),
            };
            match on_card {
                Ok(engine) => return Ok(engine),
                Err(error) if self.insists() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(on_cpu(set, kind)?)
    }

    /// Returns InstantOMR's detector for a key, for sessions. It is on the card if there is one.
    ///
    /// Errors: `Params`; `Machine` and `Key` if a card is required.
    pub fn instant(&self, set: &ParamSet, key: InstantKey) -> Result<InstantDetector, CardsError> {
        let params = set.instantomr()?.clone();
        if let Some(card) = self.found() {
            let layers = self
                .messages(card, set)
                .and_then(|engine| Ok(engine.bring(&key)?));
            match layers {
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
        let make = || BatchRings::new(card.clone(), params);
        Ok(of_set(&self.rings, params.name(), make)?.engine(params))
    }
}

/// The tables of SophOMR's rings on a machine.
pub struct BatchRings {
    large: Arc<CudaRing>,
    small: Arc<CudaRing>,
    /// The ring of packing; insecure sets have a smaller one than a machine supports.
    packing: Option<Arc<CudaRing>>,
}

impl BatchRings {
    /// Writes the tables of a parameter set's rings to a machine.
    ///
    /// Errors: those of the machine.
    pub fn new(machine: Arc<dyn Machine>, params: &Params) -> Result<Self, MachineError> {
        let large = CudaRing::new(machine, &params.ring)?;
        let small = large.beside(&params.small)?;
        let of_packing = &params.opening.packing;
        let packing = CudaRing::supports(of_packing.n()).then(|| large.beside(of_packing));
        Ok(Self {
            packing: packing.transpose()?.map(Arc::new),
            large: Arc::new(large),
            small: Arc::new(small),
        })
    }

    /// Returns the large ring.
    #[must_use]
    pub fn large(&self) -> &Arc<CudaRing> {
        &self.large
    }

    /// Returns the engine of these parameters, which must be those that the tables were made for.
    #[must_use]
    pub fn engine(&self, params: &Arc<Params>) -> BackendEngine {
        let packing = self.packing.clone().map(|ring| ring as Arc<dyn Backend>);
        BackendEngine::new(params, self.large.clone(), self.small.clone(), packing)
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
        assert_eq!(none.summary(), "engine: the processor (no driver)");
        assert!(engine(&none));
    }

    /// InstantOMR's kernels use double precision.
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
