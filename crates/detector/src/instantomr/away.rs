//! InstantOMR with its layers elsewhere, behind the seam of engines.

use super::{InstantDetector, Layers, LayersEngine};
use crate::engine::{Engine, Loaded};
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_protocol::{DetectionKeyError, EngineKind};
use std::io::Read;
use std::sync::Arc;

/// Makes InstantOMR's detection keys ready elsewhere.
pub struct AwayEngine {
    params: Arc<InstantParams>,
    engine: Arc<dyn LayersEngine>,
}

impl AwayEngine {
    /// An engine for keys of these parameters, which `engine` was made for.
    #[must_use]
    pub fn new(params: &Arc<InstantParams>, engine: Arc<dyn LayersEngine>) -> Self {
        Self {
            params: params.clone(),
            engine,
        }
    }

    /// Brings a key there, for [`InstantDetector::away`].
    ///
    /// Errors: `Engine`.
    pub fn bring(&self, key: &InstantKey) -> Result<Box<dyn Layers>, DetectionKeyError> {
        self.engine.bring(key).map_err(DetectionKeyError::Engine)
    }

    /// A detector for a key.
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
