//! Generates the bridge's calls from their protocol file, without `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::path::PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("proto");
    println!("cargo::rerun-if-changed={}", root.display());
    let descriptors = protox::compile(["bridge.proto"], [&root])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
