//! The build of the software of servers and workers.

/// Returns the version of a build, with its commit if it has one: `0.1.0+6279fd63a1b2`. Digests of two commits may
/// differ.
#[must_use]
pub fn version(build: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    if build.is_empty() || build == version {
        version.to_owned()
    } else {
        format!("{version}+{build}")
    }
}

/// Returns whether a server and a worker are of one build. If one of them does not name its commit, only versions are
/// compared.
#[must_use]
pub fn is_same_build(one: &str, other: &str) -> bool {
    match (one.split_once('+'), other.split_once('+')) {
        (Some(_), Some(_)) => one == other,
        (Some((version, _)), None) => version == other,
        (None, Some((version, _))) => one == version,
        (None, None) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_distinguished_by_version_and_commit() {
        let own = env!("CARGO_PKG_VERSION");
        assert_eq!((version(""), version(own)), (own.into(), own.into()));
        assert_eq!(version("abc"), format!("{own}+abc"));
        assert!(is_same_build("1+a", "1+a") && is_same_build("1", "1"));
        assert!(!is_same_build("1+a", "1+b") && !is_same_build("1+a", "2+a"));
        // One of them does not name its commit.
        assert!(is_same_build("1+a", "1") && is_same_build("1", "1+a"));
        assert!(!is_same_build("1+a", "2") && !is_same_build("2", "1+a"));
    }
}
