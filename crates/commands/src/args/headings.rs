//! Headings of options, where a command has many.

/// How the work is done.
pub(crate) const WORK: &str = "Work";
/// Where results go, and their form.
pub(crate) const OUTPUT: &str = "Output";
