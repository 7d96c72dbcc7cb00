//! Copies of files and folders, and sections of pages that a program writes.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::XtaskError;

/// Copies a file.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), XtaskError> {
    fs::copy(from, to).map_err(XtaskError::io(from))?;
    Ok(())
}

/// Copies a folder over what is there.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), XtaskError> {
    fs::create_dir_all(to).map_err(XtaskError::io(to))?;
    for entry in fs::read_dir(from).map_err(XtaskError::io(from))? {
        let path = entry.map_err(XtaskError::io(from))?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &target)?
        } else {
            copy(&path, &target)?
        }
    }
    Ok(())
}

/// Copies a folder; what else was there is gone.
pub(crate) fn renew(from: &Path, to: &Path) -> Result<(), XtaskError> {
    clear(to)?;
    copy_folder(from, to)
}

/// Removes a file.
pub(crate) fn remove(file: &Path) -> Result<(), XtaskError> {
    fs::remove_file(file).map_err(XtaskError::io(file))
}

/// Returns the path from the root of the file system.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, XtaskError> {
    std::path::absolute(path).map_err(XtaskError::io(path))
}

/// Removes a folder, if it is there.
pub(crate) fn clear(folder: &Path) -> Result<(), XtaskError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(XtaskError::io(folder))?;
    }
    Ok(())
}

/// Writes `text` between two marks of a page, or compares what stands there with it.
///
/// Errors: `Marker`; `Stale` for another text that is not to be written.
pub(crate) fn section(
    page: &Path,
    [start, end]: [&'static str; 2],
    text: &str,
    writes: bool,
) -> Result<(), XtaskError> {
    let before = fs::read_to_string(page).map_err(XtaskError::io(page))?;
    let expected = |expected| XtaskError::Marker {
        path: page.to_path_buf(),
        expected,
    };
    let (head, rest) = before.split_once(start).ok_or_else(|| expected(start))?;
    let (_, tail) = rest.split_once(end).ok_or_else(|| expected(end))?;
    whole(page, &format!("{head}{start}\n{text}{end}{tail}"), writes)
}

/// Writes figures as JSON.
pub(crate) fn figures(path: &Path, figures: &impl Serialize) -> Result<(), XtaskError> {
    let text = serde_json::to_string_pretty(figures)? + "\n";
    fs::write(path, text).map_err(XtaskError::io(path))
}

/// Writes a file, or compares it with `text`.
///
/// Errors: `Stale` for another text that is not to be written.
pub(crate) fn whole(path: &Path, text: &str, writes: bool) -> Result<(), XtaskError> {
    if writes {
        return fs::write(path, text).map_err(XtaskError::io(path));
    }
    let found = fs::read_to_string(path).map_err(XtaskError::io(path))?;
    if found == text {
        Ok(())
    } else {
        Err(XtaskError::Stale {
            path: path.to_path_buf(),
        })
    }
}
