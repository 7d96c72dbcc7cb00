//! A wheel whose files are deflated as far as that format goes, which every installer reads.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::XtaskError;

/// Rounds of zopfli: more take longer and save little.
const ITERATIONS: i64 = 5;

/// Deflates the files of a wheel that stores them as they are. Their list with its digests stays right: it is of what
/// they hold.
pub(super) fn deflate(wheel: &Path) -> Result<(), XtaskError> {
    let smaller = wheel.with_extension("smaller");
    let mut stored = ZipArchive::new(File::open(wheel).map_err(XtaskError::io(wheel))?)?;
    let mut out = ZipWriter::new(File::create(&smaller).map_err(XtaskError::io(&smaller))?);
    for place in 0..stored.len() {
        let mut file = stored.by_index(place)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(XtaskError::io(wheel))?;
        let options = file
            .options()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9 + ITERATIONS))
            .with_zopfli_buffer(Some(bytes.len().max(1)));
        out.start_file(file.name()?, options)?;
        out.write_all(&bytes).map_err(XtaskError::io(&smaller))?;
    }
    out.finish()?;
    fs::rename(&smaller, wheel).map_err(XtaskError::io(wheel))
}
