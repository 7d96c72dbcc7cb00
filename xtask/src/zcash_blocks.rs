//! Compares the Zcash test data with its origin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::ci::{cargo_command, succeed};
use crate::error::XtaskError;

const CRATE: &str = "zebra-test";
const VERSION: &str = "5.0.0";
const DATA: &str = "crates/transactions/data/zcash-mainnet-blocks.bin";

/// Fails unless the data file equals the blocks of its origin.
pub(crate) fn compare(root: &Path) -> Result<(), XtaskError> {
    let expected = blocks(&vectors(root)?)?;
    let path = root.join(DATA);
    let found = fs::read(&path).map_err(XtaskError::io(&path))?;
    if found != expected {
        let (expected, found) = (expected.len(), found.len());
        return Err(XtaskError::DataDiffers {
            path,
            expected,
            found,
        });
    }
    println!("{DATA}: {} bytes, as in {CRATE} {VERSION}", found.len());
    Ok(())
}

/// Writes the data file from the blocks of its origin.
pub(crate) fn write(root: &Path) -> Result<(), XtaskError> {
    let blocks = blocks(&vectors(root)?)?;
    let path = root.join(DATA);
    fs::write(&path, &blocks).map_err(XtaskError::io(&path))?;
    println!("{DATA}: {} bytes from {CRATE} {VERSION}", blocks.len());
    Ok(())
}

/// The folder of block files in cargo's unpacked copy of the crate, downloaded if need be.
fn vectors(root: &Path) -> Result<PathBuf, XtaskError> {
    let spec = format!("{CRATE}@{VERSION}");
    // `cargo info` unpacks the crate without its 120 dependencies.
    let mut command = cargo_command(root, &["info", "--registry", "crates-io", &spec]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    succeed(&mut command)?;
    let sources = cargo_home().join("registry/src");
    for registry in fs::read_dir(&sources).map_err(XtaskError::io(&sources))? {
        let registry = registry.map_err(XtaskError::io(&sources))?.path();
        let vectors = registry.join(format!("{CRATE}-{VERSION}/src/vectors"));
        if vectors.is_dir() {
            return Ok(vectors);
        }
    }
    Err(XtaskError::NoSource {
        path: sources,
        expected: CRATE,
    })
}

fn cargo_home() -> PathBuf {
    std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .unwrap_or_else(|| {
            std::env::home_dir()
                .unwrap_or_else(|| PathBuf::from("."))
                .join(".cargo")
        })
}

/// The main-chain blocks of `vectors`, concatenated: file names sort by height.
fn blocks(vectors: &Path) -> Result<Vec<u8>, XtaskError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(vectors).map_err(XtaskError::io(vectors))? {
        let entry = entry.map_err(XtaskError::io(vectors))?;
        let file_name = entry.file_name();
        let name = file_name.to_string_lossy();
        // One file is a block damaged on purpose.
        if name.starts_with("block-main-") && !name.contains("bad") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let blocks: Result<Vec<_>, _> = paths.iter().map(|path| block(path)).collect();
    Ok(blocks?.concat())
}

/// One block: raw in `.bin` files, hexadecimal in the others.
fn block(path: &Path) -> Result<Vec<u8>, XtaskError> {
    let bytes = fs::read(path).map_err(XtaskError::io(path))?;
    if path.extension().is_some_and(|extension| extension == "bin") {
        return Ok(bytes);
    }
    hex(bytes.trim_ascii()).map_err(|at| XtaskError::Hex {
        path: path.to_path_buf(),
        at,
    })
}

/// Decodes hexadecimal text. Errors: the position of the first bad digit pair.
fn hex(text: &[u8]) -> Result<Vec<u8>, usize> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16);
    let byte = |(i, pair): (usize, &[u8])| match pair {
        [high, low] => digit(high)
            .zip(digit(low))
            .map(|(high, low)| (high << 4 | low) as u8)
            .ok_or(2 * i),
        _ => Err(2 * i),
    };
    text.chunks(2).enumerate().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_takes_pairs_of_digits_only() {
        assert_eq!(hex(b"00fFa5"), Ok(vec![0, 255, 0xa5]));
        assert_eq!(hex(b"00fg"), Err(2));
        assert_eq!(hex(b"00f"), Err(2));
    }
}
