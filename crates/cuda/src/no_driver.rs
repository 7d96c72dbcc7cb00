//! Cards in a build without the feature `driver`.

use crate::{Machine, MachineError};
use std::sync::Arc;

/// Errors: `Absent`, always.
pub(crate) fn first_card() -> Result<Arc<dyn Machine>, MachineError> {
    Err(MachineError::Absent("a build without cards".into()))
}
