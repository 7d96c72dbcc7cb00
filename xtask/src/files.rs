//! Copies of files and folders.

use std::fs;
use std::path::Path;

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

/// Removes a folder, if it is there.
pub(crate) fn clear(folder: &Path) -> Result<(), XtaskError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(XtaskError::io(folder))?;
    }
    Ok(())
}
