//! The crates as they are published: packed, compared with what each must have, and used by a project that has nothing
//! else of this repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::ci::{cargo_command, printed, succeed};
use crate::error::XtaskError;
use crate::{built, files};

/// The folder of the project, below the root, with the unpacked crates.
const FOLDER: &str = "target/crates";

/// The crate that programs depend on.
const FRONT: &str = "omr";

/// The most bytes of a packed crate, and of all of them.
const MOST: u64 = 400_000;
const MOST_TOGETHER: u64 = 3_000_000;

/// Crates whose own tests run from the package; those of some others read `testdata`.
const TESTED: [&str; 2] = ["omr-errors", "omr-ring"];

/// The program of the project, which the front door's package contains.
const PROGRAM: &str = "retrieval";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A package, as `cargo metadata` describes it.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// Registries that it may be published to; without a list, all.
    publish: Option<Vec<String>>,
    description: Option<String>,
    license: Option<String>,
    repository: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    metadata: Value,
}

impl Package {
    fn is_published(&self) -> bool {
        self.publish.is_none()
    }

    /// The name that its packed file and its unpacked folder have.
    fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    fn fault(&self, expected: &str, found: impl ToString) -> XtaskError {
        XtaskError::Packed {
            package: self.name.clone(),
            expected: expected.to_owned(),
            found: found.to_string(),
        }
    }

    /// Checks what registries show and what the host of documentation builds.
    fn describes_itself(&self) -> Result<(), XtaskError> {
        let texts = [
            ("a description", &self.description),
            ("a licence", &self.license),
            ("a repository", &self.repository),
        ];
        for (expected, text) in texts {
            if text.as_deref().unwrap_or_default().is_empty() {
                return Err(self.fault(expected, "none"));
            }
        }
        for (expected, list) in [
            ("keywords", &self.keywords),
            ("categories", &self.categories),
        ] {
            if list.is_empty() {
                return Err(self.fault(expected, "none"));
            }
        }
        let all = &self.metadata["docs"]["rs"]["all-features"];
        if self.name == FRONT && *all != Value::Bool(true) {
            return Err(self.fault("all-features = true for docs.rs", all));
        }
        Ok(())
    }

    /// Checks an unpacked crate: licences as at the root, a page of its own, no tests of this repository.
    fn is_whole(&self, root: &Path, unpacked: &Path) -> Result<(), XtaskError> {
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            if read(&unpacked.join(name))? != read(&root.join(name))? {
                return Err(self.fault(&format!("{name} as at the root"), "another text"));
            }
        }
        let page = read(&unpacked.join("README.md"))?;
        let heading = page.lines().next().unwrap_or_default();
        if heading != format!("# {}", self.name) || page == read(&root.join("README.md"))? {
            return Err(self.fault("a README.md of its own", heading));
        }
        if unpacked.join("tests").exists() {
            return Err(self.fault("no folder of tests", "tests"));
        }
        Ok(())
    }
}

/// Packs all crates that are published, and lets a project use them.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let mut command = cargo_command(root, &["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Metadata = serde_json::from_slice(&printed(&mut command)?)?;
    let (published, others): (Vec<Package>, Vec<Package>) = metadata
        .packages
        .into_iter()
        .partition(Package::is_published);
    let folder = root.join(FOLDER);
    files::clear(&folder)?;
    pack(root, &folder, &others)?;
    let mut bytes = 0;
    for package in &published {
        package.describes_itself()?;
        bytes += unpack(root, &folder, package)?;
    }
    println!("{} crates, {bytes} bytes", published.len());
    if bytes > MOST_TOGETHER {
        return Err(XtaskError::Packed {
            package: "all crates".to_owned(),
            expected: format!("at most {MOST_TOGETHER} bytes"),
            found: bytes.to_string(),
        });
    }
    project(root, &folder, &published)?;
    build(root, &folder)
}

/// Packs all crates but some. Cargo.lock names all that may be needed, and `cargo fetch` gets it.
fn pack(root: &Path, folder: &Path, others: &[Package]) -> Result<(), XtaskError> {
    let mut command = cargo_command(root, &["package", "--workspace", "--no-verify", "--quiet"]);
    command.args(["--offline", "--allow-dirty", "--target-dir"]);
    command.arg(folder);
    for other in others {
        command.args(["--exclude", &other.name]);
    }
    succeed(&mut command)
}

/// Unpacks a crate into the folder and checks it; gives its packed size.
fn unpack(root: &Path, folder: &Path, package: &Package) -> Result<u64, XtaskError> {
    let packed = folder.join(format!("package/{}.crate", package.folder()));
    let bytes = fs::metadata(&packed)
        .map_err(XtaskError::io(&packed))?
        .len();
    if bytes > MOST {
        return Err(package.fault(&format!("at most {MOST} bytes"), bytes));
    }
    let mut command = Command::new("tar");
    // Packed files have a time long ago, from which Cargo would conclude that nothing changed.
    command
        .args(["--extract", "--touch", "--file"])
        .arg(&packed);
    succeed(command.arg("--directory").arg(folder))?;
    package.is_whole(root, &folder.join(package.folder()))?;
    Ok(bytes)
}

/// Writes a project that takes every crate from its package, and external crates at the versions of this workspace.
fn project(root: &Path, folder: &Path, published: &[Package]) -> Result<(), XtaskError> {
    let patches =
        |package: &Package| format!("{} = {{ path = {:?} }}\n", package.name, package.folder());
    let front = published.iter().find(|package| package.name == FRONT);
    let front = front.ok_or_else(|| XtaskError::Unlisted {
        expected: FRONT.to_owned(),
    })?;
    let manifest = format!(
        "[package]\nname = \"stranger\"\nedition = \"2024\"\n\n\
         [dependencies]\n{FRONT} = \"={}\"\n\n\
         [[test]]\nname = \"{PROGRAM}\"\npath = \"{}/{PROGRAM}.rs\"\nharness = false\n\n\
         [workspace]\nmembers = [\"{FRONT}*\"]\n\n\
         [patch.crates-io]\n{}",
        front.version,
        front.folder(),
        published.iter().map(patches).collect::<String>(),
    );
    let path = folder.join("Cargo.toml");
    fs::write(&path, manifest).map_err(XtaskError::io(&path))?;
    files::copy(&root.join("Cargo.lock"), &folder.join("Cargo.lock"))
}

/// Compiles all crates with all modules of the front door, runs the project's program and the tests of some crates.
fn build(root: &Path, folder: &Path) -> Result<(), XtaskError> {
    let everything = format!("{FRONT}/mail");
    let check = ["check", "--workspace", "--features", &everything];
    // All crates at once, whose external crates have the features that they have in other steps.
    let program = ["test", "--workspace", "--test", PROGRAM];
    let tests = [
        &["test", "--lib"][..],
        &TESTED.map(|name| ["-p", name]).concat(),
    ]
    .concat();
    for args in [&check[..], &program, &tests] {
        let mut command = cargo_command(folder, args);
        command
            .args(["--quiet", "--offline", "--profile", built::PROFILE])
            // The profile of this workspace and its folder, so that external crates are not compiled again.
            .arg("--config")
            .arg(files::absolute(&root.join("Cargo.toml"))?)
            // Soon compiled: only the crates themselves are less optimised.
            .args([
                "--config",
                &format!("profile.{}.opt-level=0", built::PROFILE),
            ])
            .env("CARGO_TARGET_DIR", files::absolute(&root.join("target"))?);
        succeed(&mut command)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, XtaskError> {
    fs::read_to_string(path).map_err(XtaskError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(json: Value) -> Package {
        let mut package = serde_json::json!({
            "name": "omr", "version": "1.2.3", "publish": null, "description": "Text.", "license": "MIT",
            "repository": "https://example.org", "keywords": ["a"], "categories": ["b"],
            "metadata": {"docs": {"rs": {"all-features": true}}},
        });
        for (key, value) in json.as_object().unwrap() {
            package[key] = value.clone();
        }
        serde_json::from_value(package).unwrap()
    }

    #[test]
    fn a_package_describes_itself() {
        assert!(package(serde_json::json!({})).describes_itself().is_ok());
        assert!(!package(serde_json::json!({"publish": []})).is_published());
        for (key, value) in [
            ("description", Value::Null),
            ("repository", "".into()),
            ("keywords", Value::Array(Vec::new())),
            ("metadata", Value::Null),
        ] {
            let found = package(serde_json::json!({key: value})).describes_itself();
            assert!(matches!(found, Err(XtaskError::Packed { .. })), "{key}");
        }
        let internal = serde_json::json!({"name": "omr-ring", "metadata": null});
        assert!(package(internal).describes_itself().is_ok());
    }

    #[test]
    fn a_crate_has_licences_a_page_of_its_own_and_no_tests() {
        let temp = tempfile::tempdir().unwrap();
        let (root, unpacked) = (temp.path().join("root"), temp.path().join("omr-1.2.3"));
        for folder in [&root, &unpacked] {
            fs::create_dir(folder).unwrap();
            for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
                fs::write(folder.join(name), name).unwrap();
            }
        }
        fs::write(root.join("README.md"), "# omr\n\nThe workspace.\n").unwrap();
        let page = unpacked.join("README.md");
        fs::write(&page, "# omr\n\nThe crate.\n").unwrap();
        let package = package(serde_json::json!({}));
        let judge = || package.is_whole(&root, &unpacked);
        judge().unwrap();
        fs::copy(root.join("README.md"), &page).unwrap();
        assert!(matches!(judge(), Err(XtaskError::Packed { .. })));
        fs::write(&page, "# omr\n").unwrap();
        fs::create_dir(unpacked.join("tests")).unwrap();
        assert!(matches!(judge(), Err(XtaskError::Packed { .. })));
        fs::remove_dir(unpacked.join("tests")).unwrap();
        fs::remove_file(unpacked.join("LICENSE-MIT")).unwrap();
        assert!(matches!(judge(), Err(XtaskError::Io { .. })));
    }
}
