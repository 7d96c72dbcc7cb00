//! Private database queries.
#![forbid(unsafe_code)]

mod error;
mod noise;
mod params;
pub mod plan;

pub use error::{ParamsError, PlanError};
pub use params::{BODY_BITS, MASK_BITS, Params, Spec};
pub use plan::Plan;
