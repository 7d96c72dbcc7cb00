//! Keeps this process's memory from the disk when it crashes, and from other programs of its user.

/// Switches off core files and, on Linux, debuggers and reads of its memory by other processes. Settings that the
/// system does not allow stay as they are.
pub(crate) fn forbid() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = setrlimit(Resource::Core, none);
    }
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
