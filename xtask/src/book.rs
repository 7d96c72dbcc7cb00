//! The book: all pages of documentation with a table of contents and a search.

use std::path::{Path, PathBuf};

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::tools;

/// Builds the book; gives its folder.
pub(crate) fn build(root: &Path) -> Result<PathBuf, XtaskError> {
    let to = root.join("target/book");
    let mut command = tools::command(root, &tools::MDBOOK)?;
    command.args(["build", "--dest-dir"]).arg(&to);
    succeed(command.arg(root.join("book")))?;
    println!("{}", to.join("index.html").display());
    Ok(to)
}
