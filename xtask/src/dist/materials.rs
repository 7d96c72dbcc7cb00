//! The components of the command, as CycloneDX.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Release, command};
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{builds, tools};

/// Lists the crates of the command as the guide builds it, from a copy of the source, where the list lies beside every
/// manifest.
pub(super) fn list(release: &Release<'_>, source: &Path) -> Result<(), XtaskError> {
    let mut command = tools::command(release.root, &tools::CYCLONEDX)?;
    let name = format!("omr-{}.cdx", release.version);
    command
        .current_dir(source)
        .args(["cyclonedx", "--quiet", "--format", "json"])
        .args(["--features", command::FEATURES, "--target", "all"])
        .args(["--spec-version", "1.5"])
        .args(["--override-filename", &name, "--manifest-path"])
        .arg(source.join("crates/cli/Cargo.toml"))
        .env("SOURCE_DATE_EPOCH", &release.epoch);
    succeed(&mut command)?;
    let list = source.join("crates/cli").join(format!("{name}.json"));
    let text = fs::read_to_string(&list).map_err(XtaskError::io(&list))?;
    // No path of this machine.
    let text = text.replace(&source.display().to_string(), "/omr");
    let list = only(serde_json::from_str(&text)?, &compiled(release.root)?)?;
    let to = release.out.join(format!("{name}.json"));
    fs::write(&to, serde_json::to_vec_pretty(&list)?).map_err(XtaskError::io(&to))
}

/// The crates that make the command of any system.
fn compiled(root: &Path) -> Result<BTreeSet<String>, XtaskError> {
    let targets = command::TARGETS.map(|(target, _)| ["--target", target]);
    let args = ["--features", command::FEATURES, "-e", "normal,build"];
    builds::crates(root, "omr-cli", &[&args, targets.as_flattened()].concat())
}

/// The list without what tests alone need, which Cargo adds where a workspace has it.
fn only(mut list: Value, crates: &BTreeSet<String>) -> Result<Value, XtaskError> {
    let mut unlisted = crates.clone();
    let mut kept = BTreeSet::new();
    let mut keep = |component: &Value| {
        let (name, version) = (word(&component["name"]), word(&component["version"]));
        let name = format!("{name} v{version}");
        unlisted.remove(&name);
        let is_kept = crates.contains(&name);
        if is_kept {
            kept.insert(word(&component["bom-ref"]).to_owned());
        }
        is_kept
    };
    keep(&list["metadata"]["component"]);
    retain(&mut list["components"], keep);
    let is_kept = |reference: &Value| kept.contains(word(reference));
    let dependencies = &mut list["dependencies"];
    retain(dependencies, |one| is_kept(&one["ref"]));
    for one in dependencies.as_array_mut().into_iter().flatten() {
        if let Some(on) = one.get_mut("dependsOn") {
            retain(on, is_kept);
        }
    }
    match unlisted.pop_first() {
        Some(expected) => Err(XtaskError::Unlisted { expected }),
        None => Ok(list),
    }
}

fn retain(values: &mut Value, keep: impl FnMut(&Value) -> bool) {
    if let Some(values) = values.as_array_mut() {
        values.retain(keep);
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::only;
    use crate::error::XtaskError;
    use serde_json::{Value, json};

    fn component(name: &str) -> Value {
        json!({ "name": name, "version": "1.0.0", "bom-ref": format!("#{name}") })
    }

    #[test]
    fn what_tests_need_is_not_listed() {
        let list = json!({
            "metadata": { "component": component("omr") },
            "components": [component("used"), component("tests")],
            "dependencies": [
                { "ref": "#omr", "dependsOn": ["#used", "#tests"] },
                { "ref": "#used" },
                { "ref": "#tests", "dependsOn": ["#used"] },
            ],
        });
        let crates = |names: [&str; 2]| names.map(|name| format!("{name} v1.0.0")).into();
        let expected = json!({
            "metadata": { "component": component("omr") },
            "components": [component("used")],
            "dependencies": [{ "ref": "#omr", "dependsOn": ["#used"] }, { "ref": "#used" }],
        });
        assert_eq!(
            only(list.clone(), &crates(["omr", "used"])).unwrap(),
            expected
        );
        let found = only(list, &crates(["omr", "other"]));
        assert!(
            matches!(found, Err(XtaskError::Unlisted { expected }) if expected == "other v1.0.0")
        );
    }
}
