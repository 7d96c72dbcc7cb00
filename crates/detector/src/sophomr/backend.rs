//! The SophOMR engine with polynomials in a backend's memory.

use super::Detector;
use super::detector::Rings;
use crate::engine::{Engine, Loaded};
use omr_compress::CodeTables;
use omr_protocol::sophomr::{DetectionKey, KeyPlace, Params};
use omr_protocol::{DetectionKeyError, EngineKind};
use omr_ring::Backend;
use std::io::Read;
use std::sync::{Arc, OnceLock};

/// An engine that loads SophOMR's detection keys to a backend's memory.
pub struct BackendEngine {
    params: Arc<Params>,
    place: KeyPlace,
    /// The tables of codes, with their constants in the backend's memory, for all detectors.
    tables: Arc<OnceLock<CodeTables>>,
}

impl BackendEngine {
    /// Makes an engine for keys of these parameters, on backends that were made for their large ring, their small ring
    /// and, unless the processor packs clues, their ring of packing.
    #[must_use]
    pub fn new(
        params: &Arc<Params>,
        large: Arc<dyn Backend>,
        small: Arc<dyn Backend>,
        packing: Option<Arc<dyn Backend>>,
    ) -> Self {
        let of_packing = &params.opening.packing;
        Self {
            place: KeyPlace::new(
                params.ring.with_backend(large),
                params.small.with_backend(small),
                packing.map_or_else(
                    || of_packing.clone(),
                    |packing| of_packing.with_backend(packing),
                ),
            ),
            params: params.clone(),
            tables: Arc::default(),
        }
    }

    /// Makes a detector from a key's file.
    ///
    /// Errors: those of [`DetectionKey::read`]; `Engine` if the backend fails.
    pub fn detector(&self, file: impl Read) -> Result<Detector, DetectionKeyError> {
        let rings = Rings::of(&self.place);
        let watch = rings.watch();
        let key = DetectionKey::read_to(&self.place, &self.params, file)?;
        let detector = Detector::on(rings.clone(), self.tables.clone(), self.params.clone(), key);
        rings
            .check(&watch)
            .map_err(|error| DetectionKeyError::Engine(error.to_string()))?;
        Ok(detector)
    }
}

impl Engine for BackendEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Sophomr
    }

    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError> {
        Ok(Arc::new(self.detector(file)?))
    }
}
