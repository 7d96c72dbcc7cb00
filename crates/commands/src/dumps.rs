//! Nothing of this process's memory is written to the disk when it crashes, nor read by other programs of its user.

/// Switches core files off and, on Linux, debuggers and the reading of memory by other processes. What the system does
/// not allow is left as it is.
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
