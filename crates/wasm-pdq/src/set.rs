//! Parameter sets.

use crate::error::{WasmError, other};
use omr_pdq::Params;
use std::sync::Arc;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A parameter set with its rings.
#[wasm_bindgen]
pub struct Set(pub(crate) Arc<Params>);

#[wasm_bindgen]
impl Set {
    /// Returns the parameter set with this name. Sets for tests are accepted only if `insecure` is set.
    ///
    /// Errors: `Insecure`; for an unknown set.
    pub fn named(name: &str, insecure: bool) -> Result<Set, JsValue> {
        let params = Params::named(name).map_err(other)?;
        if params.spec().insecure && !insecure {
            Err(other(WasmError::Insecure(params.name())))
        } else {
            Ok(Self(params))
        }
    }

    /// Returns the versioned name.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.0.name().to_owned()
    }
}
