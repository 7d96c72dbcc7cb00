//! The chart for Helm, as `helm install` takes it.

use std::fs;

use super::{Release, archive, copy_into, fresh};
use crate::error::XtaskError;

/// Packs the chart, whose version is that of the release.
pub(super) fn pack(release: &Release<'_>) -> Result<(), XtaskError> {
    let chart = release.root.join("packaging/helm/omr");
    let path = chart.join("Chart.yaml");
    let text = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
    let expected = format!("version: {}", release.version);
    if !text.lines().any(|line| line == expected) {
        return Err(XtaskError::Chart { expected });
    }
    let folder = fresh(&release.root.join("target/dist-chart"))?;
    copy_into(&chart, &folder)?;
    archive::tar_as(release, "-chart.tgz", "", &folder)
}
