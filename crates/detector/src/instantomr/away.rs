//! The InstantOMR engine whose layers are evaluated on a device.

use super::{InstantDetector, Layers, LayersEngine};
use crate::engine::{Engine, Loaded};
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_protocol::{DetectionKeyError, EngineKind};
use std::io::Read;
use std::sync::Arc;

/// An engine that loads InstantOMR's detection keys to a device.
pub struct AwayEngine {
    params: Arc<InstantParams>,
    engine: Arc<dyn LayersEngine>,
}

impl AwayEngine {
    /// Makes an engine for keys of these parameters, for which `engine` was made.
    #[must_use]
    pub fn new(params: &Arc<InstantParams>, engine: Arc<dyn LayersEngine>) -> Self {
        Self {
            params: params.clone(),
            engine,
        }
    }

    /// Loads a key to the device, for [`InstantDetector::away`].
    ///
    /// Errors: `Engine`.
    pub fn bring(&self, key: &InstantKey) -> Result<Box<dyn Layers>, DetectionKeyError> {
        self.engine.bring(key).map_err(DetectionKeyError::Engine)
    }

    /// Makes a detector for a key.
    ///
    /// Errors: `Engine`.
    pub fn detector(&self, key: InstantKey) -> Result<InstantDetector, DetectionKeyError> {
        let layers = self.bring(&key)?;
        Ok(InstantDetector::away(self.params.clone(), key, layers))
    }
}

impl Engine for AwayEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Instantomr
    }

    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError> {
        let key = InstantKey::read(&self.params, file)?;
        Ok(Arc::new(self.detector(key)?))
    }
}
