//! The licences of what a package contains of other projects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::ci::{cargo_command, printed};
use crate::error::XtaskError;

/// How the names of files with licences begin, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// The output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A crate, of the workspace or another project.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

/// The part of a manifest of npm that is read here.
#[derive(Deserialize)]
struct Manifest {
    version: String,
    #[serde(default)]
    license: Option<String>,
}

/// Works of other projects, sorted by the texts of their licences, so that each text stands once.
#[derive(Default)]
pub(crate) struct Licences {
    texts: BTreeMap<String, BTreeSet<String>>,
}

impl Licences {
    /// Adds crates, named as `NAME vVERSION`; those of this workspace are left out.
    pub(crate) fn crates(
        &mut self,
        root: &Path,
        list: &BTreeSet<String>,
    ) -> Result<(), XtaskError> {
        let mut command = cargo_command(root, &["metadata", "--format-version", "1", "--locked"]);
        let metadata: Metadata = serde_json::from_slice(&printed(&mut command)?)?;
        for package in metadata.packages {
            let name = format!("{} v{}", package.name, package.version);
            if package.source.is_none() || !list.contains(&name) {
                continue;
            }
            let folder = package.manifest_path.parent().unwrap_or(root);
            self.add(&name, package.license.as_deref(), folder)?;
        }
        Ok(())
    }

    /// Adds packages of npm from the folder that they are installed in.
    pub(crate) fn packages(&mut self, modules: &Path, names: &[&str]) -> Result<(), XtaskError> {
        for name in names {
            let folder = modules.join(name);
            let path = folder.join("package.json");
            let text = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
            let manifest: Manifest = serde_json::from_str(&text)?;
            let name = format!("{name} v{}", manifest.version);
            self.add(&name, manifest.license.as_deref(), &folder)?;
        }
        Ok(())
    }

    /// Adds a work with the texts in its folder or, where it has none, the expression of its manifest.
    fn add(
        &mut self,
        name: &str,
        expression: Option<&str>,
        folder: &Path,
    ) -> Result<(), XtaskError> {
        let mut texts = Vec::new();
        for entry in fs::read_dir(folder).map_err(XtaskError::io(folder))? {
            let path = entry.map_err(XtaskError::io(folder))?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let upper = file.to_uppercase();
            if path.is_file() && NAMES.iter().any(|name| upper.starts_with(name)) {
                let text = fs::read(&path).map_err(XtaskError::io(&path))?;
                texts.push(String::from_utf8_lossy(&text).trim().replace('\r', ""));
            }
        }
        if texts.is_empty() {
            let expression = expression.ok_or_else(|| XtaskError::NoLicence {
                name: name.to_owned(),
            })?;
            texts.push(expression.to_owned());
        }
        for text in texts {
            self.texts.entry(text).or_default().insert(name.to_owned());
        }
        Ok(())
    }

    /// One text after another, each below the names of the works that it covers.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from("Licences of other projects' work in this package.\n");
        for (licence, names) in &self.texts {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let line = "=".repeat(80);
            let _ = write!(
                text,
                "\n{line}\n{}\n{line}\n\n{licence}\n",
                names.join(", ")
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_that_two_works_share_stands_once() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["one", "two", "bare"] {
            let work = folder.path().join(name);
            fs::create_dir(&work).unwrap();
            let manifest = r#"{"version": "1.2.3", "license": "0BSD"}"#;
            fs::write(work.join("package.json"), manifest).unwrap();
            if name != "bare" {
                fs::write(work.join("LICENSE.md"), "Do as you like.\r\n").unwrap();
            }
        }
        let mut licences = Licences::default();
        licences
            .packages(folder.path(), &["one", "two", "bare"])
            .unwrap();
        let text = licences.text();
        assert_eq!(text.matches("Do as you like.").count(), 1);
        assert!(text.contains("one v1.2.3, two v1.2.3"), "{text}");
        assert!(
            text.contains("bare v1.2.3\n") && text.contains("0BSD"),
            "{text}"
        );
    }

    #[test]
    fn a_work_without_any_licence_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let added = Licences::default().add("work v1.0.0", None, folder.path());
        assert!(matches!(added, Err(XtaskError::NoLicence { name }) if name == "work v1.0.0"));
    }
}
