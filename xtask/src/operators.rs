//! Checks what operators install beside the command: alerts by promtool, the chart by Helm.

use std::path::Path;
use std::process::Command;

use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::npm;

/// The version of Kubernetes for which the chart is rendered.
const KUBERNETES: &str = "1.31.0";

/// Sets of values for the chart, in its folder `ci`.
const SETS: [&str; 3] = [
    "default-values.yaml",
    "all-values.yaml",
    "adapter-values.yaml",
];

/// Tests the alerts, and renders the chart with each set of values.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    alerts(root)?;
    chart(root)
}

fn alerts(root: &Path) -> Result<(), XtaskError> {
    if !npm::starts("promtool") {
        return npm::skip("alerts", "promtool");
    }
    let folder = root.join("packaging/observability");
    let promtool =
        |args: [&str; 3]| succeed(Command::new("promtool").current_dir(&folder).args(args));
    promtool(["check", "rules", "alerts.yml"])?;
    promtool(["test", "rules", "alerts_test.yml"])
}

fn chart(root: &Path) -> Result<(), XtaskError> {
    if Command::new("helm").arg("version").output().is_err() {
        return npm::skip("chart", "helm");
    }
    let chart = root.join("packaging/helm/omr");
    for set in SETS {
        let values = chart.join("ci").join(set);
        for command in ["lint", "template"] {
            let mut helm = Command::new("helm");
            helm.arg(command).arg(&chart).arg("--values").arg(&values);
            printed(helm.args(["--kube-version", KUBERNETES]))?;
        }
    }
    Ok(())
}
