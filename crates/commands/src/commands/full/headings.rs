//! Headings of options of these commands.

/// What may be taken at most.
pub(in crate::commands::full) const LIMITS: &str = "Limits";
/// Which keys are made.
pub(in crate::commands::full) const KEYS: &str = "Keys";
/// What letters may be.
pub(in crate::commands::full) const LETTERS: &str = "Letters";
/// What is asked for once more.
pub(in crate::commands::full) const AGAIN: &str = "Asking again";
/// Letters to oneself.
pub(in crate::commands::full) const CANARIES: &str = "Canaries";
