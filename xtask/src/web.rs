//! The package for browsers and the page for letters: built, and tested in node and in Chromium.

mod page;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::ci::{cargo, commit, succeed};
use crate::error::XtaskError;
use crate::licences::Licences;
use crate::{browser, builds, built, figures, files, npm, targets};
use wasm_bindgen_cli_support::Bindgen;

pub(crate) use page::page;

const TARGET: &str = "wasm32-unknown-unknown";

/// The profile of `Cargo.toml` whose module is the smallest that is as fast.
const PROFILE: &str = "wasm";

/// The features that engines have supported for years.
const FEATURES: [&str; 7] = [
    "bulk-memory",
    "multivalue",
    "mutable-globals",
    "nontrapping-float-to-int",
    "reference-types",
    "sign-ext",
    "simd",
];

/// Modules, as packages of Cargo and files: of a recipient, and of who asks tables.
const MODULES: [[&str; 2]; 2] = [["omr-wasm", "omr_wasm"], ["omr-wasm-pdq", "omr_wasm_pdq"]];

/// The one of these features that the compiler does not use by default.
const VECTORS: &str = "-Ctarget-feature=+simd128";

/// Scripts: the package's own, its worker, the worker that makes keys.
const SCRIPTS: [&str; 3] = ["src/index.ts", "src/worker.ts", "src/maker.ts"];

/// Scripts that ask tables, and their worker. They share nothing with the others, which that would make longer.
const QUERIES: [&str; 2] = ["src/tables.ts", "src/asking.ts"];

/// The script for Node, which needs no other one.
const NODE: [&str; 1] = ["src/node.ts"];

/// The script that makes the page for letters, and the folders that it makes: the page, and one that accepts sets for tests.
const PAGE: &str = "page/build.mjs";
const PAGES: [&[&str]; 2] = [&["mail"], &["mail-tests", "--tests"]];

/// Packages of npm whose scripts are in the bundles.
const BUNDLED: [&str; 7] = [
    "@bufbuild/protobuf",
    "@connectrpc/connect",
    "@connectrpc/connect-web",
    "comlink",
    "idb",
    "lean-qr",
    "preact",
];

/// The files of the package beside its scripts.
const TEXTS: [&str; 6] = [
    "package.json",
    "tsconfig.json",
    "buf.gen.yaml",
    "README.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// Where a test with the set that servers have puts its pictures.
const PICTURES: &str = "docs/images";

/// Files of tests: one for a page beside the package, one that reads calls, and one that runs without a page.
const TESTS: [&str; 3] = ["test/page.ts", "test/wire.ts", "test/kept.ts"];

/// The file below the built package in which tests with the set that servers have collect figures.
const COLLECTED: &str = "figures.json";

/// The built package, with the page for letters beside it.
pub(crate) struct Web {
    /// The tools of npm that all packages share.
    tools: PathBuf,
    folder: PathBuf,
}

impl Web {
    /// The folder of the package for npm.
    pub(crate) fn package(&self) -> &Path {
        &self.folder
    }

    /// The folder of the page, for any server.
    pub(crate) fn page(&self) -> PathBuf {
        self.folder.join(PAGES[0][0])
    }

    /// Adds the licences of what is in the modules and the scripts.
    pub(crate) fn licences(&self, root: &Path, to: &mut Licences) -> Result<(), XtaskError> {
        for [package, _] in MODULES {
            let args = ["--target", TARGET, "-e", "normal"];
            to.crates(root, &builds::crates(root, package, &args)?)?;
        }
        to.packages(&self.folder.join("node_modules"), &BUNDLED)
    }
}

/// Builds the package and the page below `target/web`. Where tools are absent, it skips the step and returns nothing.
pub(crate) fn built(root: &Path, step: &str) -> Result<Option<Web>, XtaskError> {
    if !targets::is_installed(TARGET)? {
        npm::skip(step, "targets")?;
        return Ok(None);
    }
    let (Some(tools), Some(folder)) = (npm::tools(root)?, installed(root)?) else {
        npm::skip(step, "npm")?;
        return Ok(None);
    };
    modules(root, &folder)?;
    package(&tools, &folder)?;
    let web = Web { tools, folder };
    let mut licences = Licences::default();
    web.licences(root, &mut licences)?;
    for folder in [web.folder.join("dist"), web.page()] {
        let path = folder.join("LICENSES.txt");
        fs::write(&path, licences.text()).map_err(XtaskError::io(&path))?;
    }
    Ok(Some(web))
}

/// Builds the package and tests it. `real`: with the sets that servers have, whose figures it writes into docs/web.md.
pub(crate) fn check(root: &Path, real: bool) -> Result<(), XtaskError> {
    let Some(Web { tools, folder: web }) = built(root, "web")? else {
        return Ok(());
    };
    let collected = web.join(COLLECTED);
    if real {
        let begun = json!({"commit": commit(root)?});
        fs::write(&collected, begun.to_string()).map_err(XtaskError::io(&collected))?;
    }
    let node = |script: &str| {
        let mut command = Command::new("node");
        command.arg(root.join(script));
        command
            .env("OMR_WEB", &web)
            .env("OMR_NPM", &tools)
            .env("OMR_TESTDATA", root.join("testdata"))
            .envs(real.then_some(("OMR_FIGURES", &collected)));
        command
    };
    for script in [
        "web/test/node.mjs",
        "web/test/kept.mjs",
        "web/test/tables.mjs",
    ] {
        succeed(&mut node(script))?;
    }
    let omr = built::command(root)?;
    succeed(node("web/test/recipient.mjs").env("OMR_COMMAND", &omr))?;
    let Some(chromium) = browser::chromium() else {
        return npm::skip("web", "chromium");
    };
    for script in ["bundles.mjs", "chromium.mjs", "mail.mjs", "queries.mjs"] {
        let mut command = node(&format!("web/test/{script}"));
        command
            .args(real.then_some("--real"))
            .env("OMR_COMMAND", &omr)
            .env("OMR_CHROMIUM", &chromium)
            .env("OMR_PICTURES", root.join(PICTURES));
        succeed(&mut command)?;
    }
    if real { take(root, &collected) } else { Ok(()) }
}

/// Takes collected figures over and writes them into the page.
fn take(root: &Path, collected: &Path) -> Result<(), XtaskError> {
    files::figures(&root.join(page::FIGURES), &figures::read(collected)?)?;
    page(root, true)
}

/// The folder in which the package is built, with its sources and dependencies.
fn installed(root: &Path) -> Result<Option<PathBuf>, XtaskError> {
    let from = root.join("web");
    let Some(to) = npm::installed(&from, &root.join("target/web"))? else {
        return Ok(None);
    };
    for name in ["src", "page", "test"] {
        files::renew(&from.join(name), &to.join(name))?;
    }
    for name in TEXTS {
        files::copy(&from.join(name), &to.join(name))?;
    }
    Ok(Some(to))
}

/// The modules, with the JavaScript and the types around them.
fn modules(root: &Path, web: &Path) -> Result<(), XtaskError> {
    let compiled = root.join("target").join(TARGET).join(PROFILE);
    let folder = web.join("src/wasm");
    // Bytes that depend on no path of this machine.
    let flags = format!("{VECTORS}\x1f{}", built::remap(root));
    MODULES.iter().try_for_each(|[package, name]| {
        // One by one: features that one needs would make the other longer.
        let build = ["build", "--quiet", "--profile", PROFILE, "-p", package];
        let target = ["--target", TARGET];
        let flags = ("CARGO_ENCODED_RUSTFLAGS", &*flags);
        cargo(root, &[&build[..], &target].concat(), Some(flags))?;
        module(&compiled, web, &folder, name)
    })
}

/// One module, and its optimisation.
fn module(built: &Path, web: &Path, folder: &Path, name: &str) -> Result<(), XtaskError> {
    let mut bindings = Bindgen::new();
    let bindings = bindings
        .input_path(built.join(format!("{name}.wasm")))
        .web(true);
    let written = bindings.and_then(|bindings| bindings.typescript(true).generate(folder));
    written.map_err(|error| XtaskError::Bindings {
        reason: format!("{error:#}"),
    })?;
    let module = folder.join(format!("{name}_bg.wasm"));
    let mut optimise = Command::new(web.join("node_modules/.bin/wasm-opt"));
    optimise
        .args(FEATURES.map(|feature| format!("--enable-{feature}")))
        .arg("-O3")
        .arg(&module)
        .arg("-o")
        .arg(&module);
    succeed(&mut optimise)
}

/// The scripts: generated calls, checked types, bundles.
fn package(tools: &Path, web: &Path) -> Result<(), XtaskError> {
    let run = |program: PathBuf, args: &[&str]| {
        let mut command = Command::new(program);
        command
            .current_dir(web)
            .args(args)
            .env("BUF_CACHE_DIR", tools.join("buf-cache"));
        succeed(&mut command)
    };
    let own = |name: &str| web.join("node_modules/.bin").join(name);
    // Names of bundles depend on what is in them.
    files::clear(&web.join("dist"))?;
    run(tools.join("node_modules/.bin/buf"), &["generate"])?;
    run(own("tsc"), &["--project", "."])?;
    run(own("tsc"), &["--project", "page"])?;
    let bundle = [
        "--bundle",
        "--format=esm",
        "--target=es2022",
        "--log-level=warning",
    ];
    let shipped = ["--splitting", "--minify", "--outdir=dist"];
    for scripts in [&SCRIPTS[..], &QUERIES] {
        run(own("esbuild"), &[scripts, &bundle, &shipped].concat())?;
    }
    let node = [
        "--platform=node",
        "--main-fields=module,main",
        "--minify",
        "--outdir=dist",
    ];
    run(own("esbuild"), &[&NODE[..], &bundle, &node].concat())?;
    run(
        own("esbuild"),
        &[&TESTS[..], &bundle, &["--outdir=tested"]].concat(),
    )?;
    for page in PAGES {
        run("node".into(), &[&[PAGE][..], page].concat())?;
    }
    MODULES.iter().try_for_each(|[_, name]| {
        let module = format!("{name}_bg.wasm");
        let from = web.join("src/wasm").join(&module);
        files::copy(&from, &web.join("dist").join(&module))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::BUNDLED;

    /// Packages that make the scripts and are no part of them.
    const TOOLS: [&str; 5] = [
        "@bufbuild/protoc-gen-es",
        "@types/node",
        "binaryen",
        "esbuild",
        "typescript",
    ];

    #[test]
    fn licences_are_of_all_that_is_bundled() {
        let manifest = include_str!("../../web/package.json");
        let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap();
        let found = manifest["devDependencies"].as_object().unwrap();
        let found: BTreeSet<&str> = found.keys().map(String::as_str).collect();
        let known = BUNDLED.into_iter().chain(TOOLS).collect();
        assert_eq!(found, known);
    }
}
