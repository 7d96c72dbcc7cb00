//! Generates the service's code from its protocol files, without `protoc`.

use prost::Message;
use std::path::PathBuf;

const FILES: [&str; 7] = [
    "omr/v1/address.proto",
    "omr/v1/board.proto",
    "omr/v1/key.proto",
    "omr/v1/detection.proto",
    "omr/v1/pdq.proto",
    "omr/v1/service.proto",
    "omr/v1/worker.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("proto");
    println!("cargo::rerun-if-changed={}", root.display());
    let descriptors = protox::compile(FILES, [&root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
