//! The wheel of the Python package: built, measured, installed into an environment of its own, tested there.

mod deflate;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::{for_everybody, succeed};
use crate::error::XtaskError;
use crate::{built, npm, targets, venv};

/// The folder of the package, below the root.
const PACKAGE: &str = "python";
/// The folder of private queries, which are a wheel of their own in releases.
const QUERIES: &str = "python/pdq";
/// The file below the root that fixes the tools and their versions.
const REQUIREMENTS: &str = "python/requirements.txt";
/// The file that fixes the tools of wheels for releases: a linker for old C libraries.
const RELEASE_REQUIREMENTS: &str = "python/release-requirements.txt";
/// The file that fixes the tools of the test on a cluster of Ray.
const CLUSTER_REQUIREMENTS: &str = "python/cluster-requirements.txt";
/// The script that measures a wheel.
const FIGURES: &str = "python/figures.py";
/// The script that writes the reference of a wheel.
const REFERENCE: &str = "python/reference.py";

/// How a wheel is built, and its most bytes.
struct Build {
    package: &'static str,
    profile: &'static str,
    /// The system that it is for, where that is another one than this.
    target: Option<&'static str>,
    args: &'static [&'static str],
    /// The features of a wheel that is made as small as it gets; without them, all.
    small: Option<&'static str>,
    most: u64,
}

/// Soon compiled, as tests have it.
const TESTED: Build = Build {
    package: PACKAGE,
    profile: built::PROFILE,
    target: None,
    args: &[],
    small: None,
    most: 12_400_000,
};

/// Most bytes of the package that is published.
const MOST: u64 = 4_600_000;
/// The most bytes of the wheel of private queries.
const MOST_QUERIES: u64 = 3_500_000;
/// The most bytes of each wheel on other systems.
const MOST_ELSEWHERE: u64 = 6_000_000;

/// Files as they are, for [`deflate`].
const SMALL: [&str; 3] = ["--no-default-features", "--compression-method", "stored"];

/// For every Linux since 2014. Without lines of logs, which no program of Python's can read.
const RELEASE: Build = Build {
    package: PACKAGE,
    profile: "wheel",
    target: None,
    args: &["--zig", "--compatibility", "manylinux2014"],
    small: Some("core,quiet"),
    most: MOST,
};

/// For other systems: built here, not run here.
const ELSEWHERE: [Build; 3] = [
    Build {
        target: Some("aarch64-unknown-linux-gnu"),
        most: MOST_ELSEWHERE,
        ..RELEASE
    },
    Build {
        target: Some("x86_64-unknown-linux-musl"),
        args: &["--zig", "--compatibility", "musllinux_1_2"],
        most: MOST_ELSEWHERE,
        ..RELEASE
    },
    Build {
        target: Some("aarch64-unknown-linux-musl"),
        args: &["--zig", "--compatibility", "musllinux_1_2"],
        most: MOST_ELSEWHERE,
        ..RELEASE
    },
];

/// Builds a wheel as tests have it, and tests it.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let Some(bin) = venv::programs(root, REQUIREMENTS, "wheel")? else {
        return npm::skip("wheel", "python");
    };
    let wheel = build(root, &bin, &bin, &TESTED)?;
    test(root, &bin, &[wheel])?;
    stubs(root, &bin)?;
    reference(root, &bin)
}

/// Builds the wheels of a release, and tests them; with `everywhere` those of other systems, too.
pub(crate) fn release(root: &Path, everywhere: bool) -> Result<Vec<PathBuf>, XtaskError> {
    let bin = venv::programs(root, REQUIREMENTS, "wheel")?;
    let (Some(bin), Some(tools)) = (bin, release_tools(root)?) else {
        npm::skip("wheel", "python")?;
        return Ok(Vec::new());
    };
    let mut wheels = both(root, &bin, &tools, &RELEASE, MOST_QUERIES)?;
    test(root, &bin, &wheels)?;
    for other in ELSEWHERE.iter().filter(|_| everywhere) {
        if let Some(target) = other.target
            && !targets::is_installed(target)?
        {
            npm::skip(target, "targets")?;
            continue;
        }
        wheels.extend(both(root, &bin, &tools, other, MOST_ELSEWHERE)?);
    }
    Ok(wheels)
}

/// Builds the wheel of a release, installs it into an empty environment, and measures it there.
pub(crate) fn figures(root: &Path) -> Result<(), XtaskError> {
    let bin = venv::programs(root, REQUIREMENTS, "wheel")?;
    let (Some(bin), Some(tools)) = (bin, release_tools(root)?) else {
        return npm::skip("wheel", "python");
    };
    let wheel = build(root, &bin, &tools, &RELEASE)?;
    let mut measure = Command::new(bin.join("python"));
    succeed(measure.arg(root.join(FIGURES)).arg(wheel))
}

/// Builds the package and its private queries, and checks their sizes.
fn both(
    root: &Path,
    bin: &Path,
    tools: &Path,
    release: &Build,
    most: u64,
) -> Result<Vec<PathBuf>, XtaskError> {
    let queries = Build {
        package: QUERIES,
        small: Some("pdq,quiet"),
        most,
        ..*release
    };
    let wheels = [release, &queries].map(|release| build(root, bin, tools, release));
    wheels.into_iter().collect()
}

/// The folder of what builds for old C libraries and other processors.
pub(crate) fn release_tools(root: &Path) -> Result<Option<PathBuf>, XtaskError> {
    venv::programs(root, RELEASE_REQUIREMENTS, "wheel-release")
}

/// Where programs are looked for, this folder first.
pub(crate) fn path_with(tools: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = [tools.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    std::env::join_paths(paths).unwrap_or_else(|_| path.clone())
}

/// Builds a wheel, as tests have it or as it is published, and makes digests with it on a cluster of Ray, machines of
/// which die.
pub(crate) fn cluster(root: &Path, release: bool) -> Result<(), XtaskError> {
    let tools = venv::programs(root, REQUIREMENTS, "wheel")?;
    let bin = venv::programs(root, CLUSTER_REQUIREMENTS, "cluster")?;
    let (Some(tools), Some(bin)) = (tools, bin) else {
        return npm::skip("cluster", "python");
    };
    let wheel = if release {
        match release_tools(root)? {
            Some(zig) => build(root, &tools, &zig, &RELEASE)?,
            None => return npm::skip("cluster", "python"),
        }
    } else {
        build(root, &tools, &tools, &TESTED)?
    };
    install(root, &bin, &[wheel])?;
    succeed(python(root, &bin)?.args([
        "-m",
        "pytest",
        "-m",
        "cluster",
        "-s",
        "tests/test_cluster.py",
    ]))
}

/// Builds a wheel for the interpreter of `bin` by the tools of another environment.
fn build(root: &Path, bin: &Path, tools: &Path, build: &Build) -> Result<PathBuf, XtaskError> {
    let folder = build.target.unwrap_or(build.profile);
    let out = root
        .join("target/wheels")
        .join(folder)
        .join(build.package.replace('/', "-"));
    // An earlier wheel may have another name.
    if out.exists() {
        fs::remove_dir_all(&out).map_err(XtaskError::io(&out))?;
    }
    let mut command = Command::new(tools.join("maturin"));
    for_everybody(&mut command);
    command
        .current_dir(root.join(build.package))
        .args(["build", "--quiet", "--locked", "--profile", build.profile])
        .args(build.args)
        .arg("--out")
        .arg(&out);
    match build.target {
        Some(target) => command.args(["--target", target]),
        None => command.arg("--interpreter").arg(bin.join("python")),
    };
    // Where maturin looks for zig.
    command.env("PATH", path_with(tools));
    if let Some(features) = build.small {
        command.args(SMALL).args(["--features", features]);
        command.env("CARGO_ENCODED_RUSTFLAGS", built::remap(root));
    }
    succeed(&mut command)?;
    let wheel = only_file(&out)?;
    if build.small.is_some() {
        deflate::deflate(&wheel)?;
    }
    let found = fs::metadata(&wheel).map_err(XtaskError::io(&wheel))?.len();
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    println!("{name}: {found} bytes");
    if found <= build.most {
        Ok(wheel)
    } else {
        Err(XtaskError::Wheel {
            most: build.most,
            found,
        })
    }
}

/// The file that a folder holds.
fn only_file(folder: &Path) -> Result<PathBuf, XtaskError> {
    let mut entries = fs::read_dir(folder).map_err(XtaskError::io(folder))?;
    let entry = entries.next().ok_or(XtaskError::NotBuilt {
        expected: "the wheel",
    })?;
    Ok(entry.map_err(XtaskError::io(folder))?.path())
}

/// Python in the folder of the package, which knows where the command is.
fn python(root: &Path, bin: &Path) -> Result<Command, XtaskError> {
    let mut command = Command::new(bin.join("python"));
    command
        .current_dir(root.join(PACKAGE))
        .env("OMR_COMMAND", built::command(root)?)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

fn install(root: &Path, bin: &Path, wheels: &[PathBuf]) -> Result<(), XtaskError> {
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        "--force-reinstall",
    ];
    succeed(python(root, bin)?.args(install).args(wheels))
}

/// Installs wheels and tests what they do beside the command.
fn test(root: &Path, bin: &Path, wheels: &[PathBuf]) -> Result<(), XtaskError> {
    install(root, bin, wheels)?;
    succeed(python(root, bin)?.args(["-m", "pytest"]))
}

/// Tests whether the types of the wheel that is installed are those of its stubs.
fn stubs(root: &Path, bin: &Path) -> Result<(), XtaskError> {
    succeed(python(root, bin)?.args(["-m", "mypy.stubtest", "omr"]))?;
    succeed(python(root, bin)?.args(["-m", "mypy", "--package", "omr"]))
}

/// Writes the reference of the wheel that is installed, as HTML. A warning is an error, since it is about a name without
/// its documentation.
fn reference(root: &Path, bin: &Path) -> Result<(), XtaskError> {
    let to = root.join("target/reference");
    let mut write = python(root, bin)?;
    succeed(
        write
            .args(["-W", "error"])
            .arg(root.join(REFERENCE))
            .arg(&to),
    )?;
    println!("{}", to.join("omr.html").display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The name of the package in the registry, where `omr` is another project's.
    const NAME: &str = "oblivious-omr";

    #[test]
    fn the_wheels_of_a_release_need_each_other() {
        let package = include_str!("../../python/pyproject.toml");
        let queries = include_str!("../../python/pdq/pyproject.toml");
        let of_queries = format!("{NAME}-pdq");
        for (name, text, needs) in [(NAME, package, &*of_queries), (&of_queries, queries, NAME)] {
            assert!(text.contains(&format!("\nname = \"{name}\"\n")), "{name}");
            let pin = format!("\"{needs}=={}\"", env!("CARGO_PKG_VERSION"));
            assert!(text.contains(&pin), "{pin}");
        }
    }

    #[test]
    fn documents_and_errors_name_the_packages_as_they_are_called() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let files = [
            "README.md",
            "docs",
            "python",
            "web/src",
            "web/package.json",
            "packaging",
        ];
        let mut texts = Vec::new();
        for file in files {
            read(&root.join(file), &mut texts);
        }
        assert!(texts.len() > 60, "{}", texts.len());
        for (path, text) in &texts {
            // Whoever installs `omr` gets another project's package.
            for wrong in ["pip install omr", "omr[pdq]", "omr[ray]", "@omr/"] {
                let mut found = text.match_indices(wrong);
                let right = |(at, _): (usize, &str)| text[..at].ends_with("oblivious-");
                assert!(found.all(right), "{}: {wrong}", path.display());
            }
        }
        let npm = include_str!("../../web/package.json");
        assert!(npm.contains(&format!("\"name\": \"{NAME}\"")), "{npm}");
        let wheels = format!("`{}-VERSION-", NAME.replace('-', "_"));
        assert!(
            include_str!("../../docs/releasing.md").contains(&wheels),
            "{wheels}"
        );
    }

    /// Reads a file, or all files of text in a folder.
    fn read(path: &Path, texts: &mut Vec<(PathBuf, String)>) {
        if !path.is_dir() {
            if let Ok(text) = fs::read_to_string(path) {
                texts.push((path.to_owned(), text));
            }
            return;
        }
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if !path.ends_with("node_modules") {
                read(&path, texts);
            }
        }
    }
}
