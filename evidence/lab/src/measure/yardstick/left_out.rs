//! The unit in a build without the feature `yardstick`.

/// Returns `None`.
pub(super) fn microseconds() -> Option<f64> {
    None
}
