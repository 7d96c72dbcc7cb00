//! Buckets in a build without the feature `s3`.

use super::Backend;
use crate::error::StoreError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Errors: [`StoreError::LeftOut`], always.
pub(super) fn open(
    url: &str,
    _: &BTreeMap<String, String>,
) -> Result<Arc<dyn Backend>, StoreError> {
    Err(StoreError::LeftOut(url.to_owned()))
}
