//! The kernels for graphics cards: PTX made of their sources, which is part of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{npm, venv};

/// CUDA's compiler; of CUDA 13.0, whose PTX drivers from 580 on take.
const REQUIREMENTS: &str = "xtask/cuda-requirements.txt";
/// Sources and what is made of them.
const KERNELS: &str = "crates/cuda/kernels";
/// Each with its PTX beside it.
const SOURCES: [&str; 6] = [
    "conversions",
    "messages",
    "rates",
    "rows",
    "transform_floating",
    "transform_whole",
];
/// Cards of the compute capability 8.0 and later.
const ARCHITECTURE: &str = "-arch=compute_80";

/// Compares the PTX with what the compiler makes of the sources, or writes it.
pub(crate) fn check(root: &Path, writes: bool) -> Result<(), XtaskError> {
    if !npm::starts("g++") {
        return npm::skip("cuda", "g++");
    }
    let Some(bin) = venv::programs(root, REQUIREMENTS, "cuda")? else {
        return npm::skip("cuda", "nvcc");
    };
    let compiler = compiler(&bin)?;
    let to = root.join("target/cuda-ptx");
    fs::create_dir_all(&to).map_err(XtaskError::io(&to))?;
    for name in SOURCES {
        let (made, kept) = (to.join(name), root.join(KERNELS).join(name));
        let [made, kept] = [made, kept].map(|path| path.with_extension("ptx"));
        // Named by the folder: no path of this machine may get into what is made.
        let mut command = Command::new(&compiler);
        command.current_dir(root.join(KERNELS));
        command.args(["-ptx", ARCHITECTURE, "-O3", "-fmad=false", "-o"]);
        succeed(command.arg(&made).arg(format!("{name}.cu")))?;
        let text = fs::read(&made).map_err(XtaskError::io(&made))?;
        if writes {
            fs::write(&kept, text).map_err(XtaskError::io(&kept))?;
        } else if fs::read(&kept).ok() != Some(text) {
            return Err(XtaskError::Stale { path: kept });
        }
    }
    Ok(())
}

/// Where the environment has it: its packages have no programs of their own.
fn compiler(bin: &Path) -> Result<PathBuf, XtaskError> {
    let lib = bin.with_file_name("lib");
    let versions = fs::read_dir(&lib).map_err(XtaskError::io(&lib))?;
    let own = "site-packages/nvidia/cu13/bin/nvcc";
    let mut found = versions.flatten().map(|version| version.path().join(own));
    let found = found.find(|path| path.is_file());
    found.ok_or(XtaskError::NoCompiler { path: lib })
}
