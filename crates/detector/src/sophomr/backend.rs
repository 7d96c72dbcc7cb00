//! The SophOMR engine with polynomials in a backend's memory.

use super::Detector;
use super::detector::Rings;
use super::run::check_engine;
use crate::DetectorError;
use crate::engine::{Engine, Loaded};
use omr_compress::CodeTables;
use omr_protocol::sophomr::{DetectionKey, Params};
use omr_protocol::{DetectionKeyError, EngineKind};
use omr_ring::Backend;
use std::io::Read;
use std::sync::{Arc, OnceLock};

/// An engine that loads SophOMR's detection keys to a backend's memory.
pub struct BackendEngine {
    params: Arc<Params>,
    rings: Rings,
    /// The tables of codes, with their constants in the backend's memory, for all detectors.
    tables: Arc<OnceLock<CodeTables>>,
}

impl BackendEngine {
    /// Makes an engine for keys of these parameters, on backends that were made for their large and their small ring.
    #[must_use]
    pub fn new(params: &Arc<Params>, large: Arc<dyn Backend>, small: Arc<dyn Backend>) -> Self {
        Self {
            rings: Rings {
                large: params.ring.with_backend(large),
                small: params.small.with_backend(small),
            },
            params: params.clone(),
            tables: Arc::default(),
        }
    }

    /// Makes a detector for a key.
    ///
    /// Errors: `Engine`.
    pub fn detector(&self, key: DetectionKey) -> Result<Detector, DetectorError> {
        let watch = self.rings.watch();
        let moved = key.moved_to(&self.rings.large, &self.rings.small);
        let (rings, tables) = (self.rings.clone(), self.tables.clone());
        let detector = Detector::on(rings, tables, self.params.clone(), moved);
        check_engine(&self.rings, &watch)?;
        Ok(detector)
    }
}

impl Engine for BackendEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Sophomr
    }

    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError> {
        let key = DetectionKey::read(&self.params, file)?;
        let detector = self
            .detector(key)
            .map_err(|error| DetectionKeyError::Engine(error.to_string()))?;
        Ok(Arc::new(detector))
    }
}
