//! The SophOMR engine with the large ring's polynomials in a backend's memory.

use super::Detector;
use super::run::check_engine;
use crate::DetectorError;
use crate::engine::{Engine, Loaded};
use omr_protocol::sophomr::{DetectionKey, Params};
use omr_protocol::{DetectionKeyError, EngineKind};
use omr_ring::{Backend, Ring};
use std::io::Read;
use std::sync::Arc;

/// An engine that loads SophOMR's detection keys to a backend's memory.
pub struct BackendEngine {
    params: Arc<Params>,
    ring: Ring,
}

impl BackendEngine {
    /// Makes an engine for keys of these parameters, on a backend that was made for their large ring.
    #[must_use]
    pub fn new(params: &Arc<Params>, backend: Arc<dyn Backend>) -> Self {
        Self {
            ring: params.ring.with_backend(backend),
            params: params.clone(),
        }
    }

    /// Makes a detector for a key.
    ///
    /// Errors: `Engine`.
    pub fn detector(&self, key: DetectionKey) -> Result<Detector, DetectorError> {
        let watch = self.ring.watch();
        let moved = key.moved_to(&self.ring);
        let detector = Detector::on(self.ring.clone(), self.params.clone(), moved);
        check_engine(&self.ring, &watch)?;
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
