//! Headings of options, for commands with many of them.

/// The heading of options about the work.
pub(crate) const WORK: &str = "Work";
/// The heading of options about results and their form.
pub(crate) const OUTPUT: &str = "Output";
