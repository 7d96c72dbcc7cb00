//! Which build of the command runs.

use std::sync::OnceLock;

static BUILD: OnceLock<&'static str> = OnceLock::new();

/// Names the build, for [`build`]: called by the program's `main`, which alone is compiled anew with each commit.
pub fn set_build(name: &'static str) {
    // The first name stays.
    let _ = BUILD.set(name);
}

/// The commit that was built, or the version; "unknown" where the program did not say.
#[must_use]
pub fn build() -> &'static str {
    BUILD.get().copied().unwrap_or("unknown")
}
