//! Reports the longest Rust files.

use std::fs;
use std::path::Path;

use crate::error::XtaskError;

/// Above this many lines a file deserves a look for a seam.
const LINES: usize = 400;

/// Prints the Rust files above `LINES` lines; unrolled kernels may be among them.
pub(crate) fn report(root: &Path) -> Result<(), XtaskError> {
    for folder in ["crates", "evidence", "xtask"] {
        visit(&root.join(folder), &|path, lines| {
            if lines > LINES {
                println!(
                    "{lines:6} {}",
                    path.strip_prefix(root).unwrap_or(path).display()
                );
            }
        })?;
    }
    Ok(())
}

/// Calls `found` with every Rust file below `folder` and its number of lines.
fn visit(folder: &Path, found: &dyn Fn(&Path, usize)) -> Result<(), XtaskError> {
    for entry in fs::read_dir(folder).map_err(XtaskError::io(folder))? {
        let path = entry.map_err(XtaskError::io(folder))?.path();
        if path.is_dir() {
            visit(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
            found(&path, text.lines().count());
        }
    }
    Ok(())
}
