//! Headings of options of these commands.

/// The heading of limits.
pub(in crate::commands::full) const LIMITS: &str = "Limits";
/// The heading of options about keys.
pub(in crate::commands::full) const KEYS: &str = "Keys";
/// The heading of options about letters.
pub(in crate::commands::full) const LETTERS: &str = "Letters";
/// The heading of options that request ranges again.
pub(in crate::commands::full) const AGAIN: &str = "Asking again";
/// The heading of options about canaries.
pub(in crate::commands::full) const CANARIES: &str = "Canaries";
