//! Headings of options, where a command has many.

/// How the work is done.
pub(crate) const WORK: &str = "Work";
/// Where results go, and their form.
pub(crate) const OUTPUT: &str = "Output";
/// What may be taken at most.
#[cfg(feature = "full")]
pub(crate) const LIMITS: &str = "Limits";
/// Which keys are made.
#[cfg(feature = "full")]
pub(crate) const KEYS: &str = "Keys";
/// What letters may be.
#[cfg(feature = "full")]
pub(crate) const LETTERS: &str = "Letters";
/// What is asked for once more.
#[cfg(feature = "full")]
pub(crate) const AGAIN: &str = "Asking again";
/// Letters to oneself.
#[cfg(feature = "full")]
pub(crate) const CANARIES: &str = "Canaries";
