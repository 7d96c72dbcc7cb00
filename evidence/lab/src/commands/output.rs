//! The output of a command: one JSON object in each line, or rows and tables of the same fields for people.

mod csv;
mod table;

use crate::error::LabError;
use omr_console::{Bar, ConsoleError, Ui, files};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// The destination of a command's output.
pub(super) struct Output<'a> {
    pub(super) ui: &'a Ui,
    pub(super) json: bool,
}

impl Output<'_> {
    /// Prints figures.
    ///
    /// Errors: `Console`.
    pub(super) fn show(&self, figures: &impl Serialize) -> Result<(), LabError> {
        let line = files::json_line(figures)?;
        let text = if self.json {
            line
        } else {
            table::text(&line).map_err(|error| ConsoleError::Output(error.into()))?
        };
        Ok(files::print(&text)?)
    }

    /// Runs work and shows a bar.
    pub(super) fn under_bar<T>(&self, work: impl FnOnce(&Bar) -> T) -> T {
        work(&self.ui.bar())
    }
}

/// Returns objects as CSV, with the columns `first` before all others.
///
/// Errors: `Console`.
pub(super) fn csv(objects: &[Value], first: &[&str]) -> Result<String, LabError> {
    Ok(csv::text(objects, first).map_err(ConsoleError::Output)?)
}

/// Returns the name of a figure in words, with its unit.
pub(super) fn with_unit(figure: &str) -> String {
    table::with_unit(figure)
}

/// Writes a picture.
///
/// Errors: `Console`.
pub(super) fn write_picture(
    path: &Path,
    drawn: Result<String, Box<dyn std::error::Error>>,
) -> Result<(), LabError> {
    let picture = drawn.map_err(|error| {
        let error = std::io::Error::other(error.to_string());
        ConsoleError::write(path, error)
    })?;
    Ok(omr_console::write_result(path, picture.as_bytes())?)
}
