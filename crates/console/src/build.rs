//! The build of the program.

use std::sync::OnceLock;

static BUILD: OnceLock<&'static str> = OnceLock::new();

/// Sets the name that [`build`] returns. The program's `main` calls it, so that only that file is compiled again for
/// each commit.
pub fn set_build(name: &'static str) {
    // The first name remains.
    let _ = BUILD.set(name);
}

/// Returns the commit that was built, or the version; "unknown" if the program has not set it.
#[must_use]
pub fn build() -> &'static str {
    BUILD.get().copied().unwrap_or("unknown")
}
