//! The memory that a process uses, may use and could still have, by the machine, by the control groups (version 1 and 2)
//! that the process is in, and by its own limits (`ulimit -v` and `ulimit -d`).

mod heaps;

pub use heaps::share_heaps;

use std::fs;
use std::path::{Path, PathBuf};

/// The memory of this process, in bytes; `None` where the system does not report a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Resident memory.
    pub used: Option<u64>,
    /// The most that there may be: the least of what the machine has and what control groups and the process's own limits
    /// allow. The latter count addresses: those that are not resident now are taken off.
    pub limit: Option<u64>,
    /// Whether the limit is one of the process's own, which count addresses: also of stacks that are hardly used.
    pub addresses: bool,
    /// Bytes that can still be allocated: the least that the machine, the control groups and the process's own limits
    /// leave. Pages of files that the system would drop count as free.
    pub available: Option<u64>,
}

impl Memory {
    /// The figures of this moment.
    #[must_use]
    pub fn now() -> Self {
        let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let groups = levels(&groups, &mounts);
        let limits = groups.iter().filter_map(Level::limit);
        let left = groups.iter().filter_map(Level::left);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let used = kibibytes(&status, "VmRSS:");
        let own = own_left(&own, &status).min();
        let own_limit = own.map(|left| left + used.unwrap_or(0));
        let limit = kibibytes(&machine, "MemTotal:")
            .into_iter()
            .chain(limits)
            .chain(own_limit)
            .min();
        Self {
            used,
            limit,
            addresses: own_limit.is_some() && own_limit == limit,
            available: kibibytes(&machine, "MemAvailable:")
                .into_iter()
                .chain(left)
                .chain(own)
                .min(),
        }
    }
}

/// The names of the files of a version of control groups.
struct Files {
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` with the bytes of files that the system can drop.
    droppable: &'static str,
}

const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    droppable: "total_inactive_file ",
};

const VERSION_2: Files = Files {
    limit: "memory.max",
    usage: "memory.current",
    droppable: "inactive_file ",
};

/// A control group, the process's own or one that this one is in.
struct Level {
    folder: PathBuf,
    files: &'static Files,
}

impl Level {
    fn number(&self, file: &str) -> Option<u64> {
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        text.trim().parse().ok()
    }

    /// `None` without a limit: version 2 then has the word `max`, version 1 a number beyond every machine's memory.
    fn limit(&self) -> Option<u64> {
        self.number(self.files.limit)
            .filter(|&bytes| bytes < 1 << 60)
    }

    fn left(&self) -> Option<u64> {
        let limit = self.limit()?;
        let used = self.number(self.files.usage)?;
        let stat = fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let line = stat
            .lines()
            .find_map(|line| line.strip_prefix(self.files.droppable));
        let droppable = line.and_then(|bytes| bytes.trim().parse().ok());
        Some(limit.saturating_sub(used.saturating_sub(droppable.unwrap_or(0))))
    }
}

/// The control groups for memory that a process is in, by the texts of `/proc/PID/cgroup` and `/proc/PID/mounts`.
fn levels(groups: &str, mounts: &str) -> Vec<Level> {
    let mut found = Vec::new();
    for line in groups.lines() {
        // NUMBER:CONTROLLERS:PATH; version 2 has the number 0 and no controllers.
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (kind, option, files) = match number {
            "0" => ("cgroup2", "", &VERSION_2),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("cgroup", "memory", &VERSION_1)
            }
            _ => continue,
        };
        for root in roots(mounts, kind, option) {
            let own = root.join(path.trim_start_matches('/'));
            // A container may see its own group as the root, under the path that it has outside.
            let own = if own.exists() { own } else { root.clone() };
            let above = own.ancestors().take_while(|at| at.starts_with(&root));
            found.extend(above.map(|folder| Level {
                folder: folder.to_owned(),
                files,
            }));
        }
    }
    found
}

/// Where a kind of control groups is mounted, with an option unless that is empty.
fn roots(mounts: &str, kind: &str, option: &str) -> Vec<PathBuf> {
    let mount = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, at, of, options, ..] = fields[..] else {
            return None;
        };
        let fits = of == kind && (option.is_empty() || options.split(',').any(|one| one == option));
        // Spaces are written so.
        fits.then(|| Path::new(&at.replace("\\040", " ")).to_owned())
    };
    mounts.lines().filter_map(mount).collect()
}

/// Returns the bytes that the limits of a process leave to it, from the texts of `/proc/PID/limits` and
/// `/proc/PID/status`.
fn own_left(limits: &str, status: &str) -> impl Iterator<Item = u64> {
    let kinds = [
        ("Max address space", "VmSize:"),
        ("Max data size", "VmData:"),
    ];
    kinds.into_iter().filter_map(|(limit, taken)| {
        let most = own_limit(limits, limit)?;
        Some(most.saturating_sub(kibibytes(status, taken)?))
    })
}

/// A limit of a process, in bytes, by the text of `/proc/PID/limits`; `None` where there is none of this name.
fn own_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    // The first of two is the one that counts; without one it is a word.
    line.split_whitespace().next()?.parse().ok()
}

/// A value of a file of `/proc` with lines `NAME: VALUE kB`, whose unit is 1,024 bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits and what is left of all groups, innermost first.
    fn figures(groups: &str, mounts: &str) -> (Vec<u64>, Vec<u64>) {
        let levels = levels(groups, mounts);
        let limits = levels.iter().filter_map(Level::limit).collect();
        (limits, levels.iter().filter_map(Level::left).collect())
    }

    fn write(folder: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    #[test]
    fn limits_of_version_2_are_those_of_all_groups_above() {
        let root = tempfile::tempdir().unwrap();
        let mounts = format!(
            "proc /proc proc rw 0 0\ncgroup2 {} cgroup2 rw,nosuid 0 0\n",
            root.path().display()
        );
        let outer = root.path().join("system");
        write(
            &outer,
            &[
                ("memory.max", "2000\n"),
                ("memory.current", "1500\n"),
                ("memory.stat", "anon 1000\ninactive_file 400\nfile 500\n"),
            ],
        );
        let inner = outer.join("omr");
        write(&inner, &[("memory.max", "max\n"), ("memory.current", "9")]);
        let group = "0::/system/omr\n";
        assert_eq!(figures(group, &mounts), (vec![2000], vec![900]));
        write(&inner, &[("memory.max", "4096\n")]);
        assert_eq!(figures(group, &mounts), (vec![4096, 2000], vec![4087, 900]));
        // Inside a container the group's own folder is the root.
        write(root.path(), &[("memory.max", "700\n")]);
        assert_eq!(figures("0::/gone\n", &mounts), (vec![700], vec![]));
    }

    #[test]
    fn limits_of_version_1_count_as_well() {
        let root = tempfile::tempdir().unwrap();
        let mounts = format!(
            "cgroup /other cgroup rw,cpu,cpuacct 0 0\ncgroup {} cgroup rw,memory 0 0\n",
            root.path().display()
        );
        let inner = root.path().join("box");
        write(
            root.path(),
            &[
                ("memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory.usage_in_bytes", "5\n"),
            ],
        );
        write(
            &inner,
            &[
                ("memory.limit_in_bytes", "700\n"),
                ("memory.usage_in_bytes", "600\n"),
                ("memory.stat", "inactive_file 1\ntotal_inactive_file 50\n"),
            ],
        );
        let groups = "5:devices:/\n4:memory:/box\n1:cpu:/\n0::/\n";
        assert_eq!(figures(groups, &mounts), (vec![700], vec![150]));
        assert_eq!(figures("5:devices:/box\n", &mounts), (vec![], vec![]));
    }

    #[test]
    fn own_limits_count_addresses() {
        let status = "VmSize:\t  3000 kB\nVmRSS:\t 700 kB\nVmData:\t 1000 kB\n";
        let limits = |space: &str, data: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max data size             {data}            unlimited            bytes     \n\
                 Max resident set          unlimited            unlimited            bytes     \n\
                 Max address space         {space}            9999999999            bytes     \n"
            )
        };
        let left = |space, data| own_left(&limits(space, data), status).collect::<Vec<_>>();
        assert_eq!(left("unlimited", "unlimited"), []);
        assert_eq!(left("4096000", "unlimited"), [1024 * 1000]);
        assert_eq!(left("1024", "2048000"), [0, 1024 * 1000]);
    }

    /// A process under `ulimit -v`, which is this test once more.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_limit_of_addresses_is_a_limit_of_memory() {
        const LIMITED: &str = "OMR_MEMORY_LIMITED";
        const MOST: u64 = 2_000_000 * 1024;
        if std::env::var_os(LIMITED).is_some() {
            let memory = Memory::now();
            let (limit, available) = (memory.limit.unwrap(), memory.available.unwrap());
            assert!(limit <= MOST && available < limit, "{memory:?}");
            assert!(memory.addresses);
            return;
        }
        let name = "tests::the_limit_of_addresses_is_a_limit_of_memory";
        let own = std::env::current_exe().unwrap();
        let done = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 2000000 && exec \"$0\" --exact \"$1\""])
            .arg(own)
            .arg(name)
            .env(LIMITED, "1")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && told.contains("1 passed"), "{told}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_memory() {
        let Memory {
            used,
            limit,
            addresses,
            available,
        } = Memory::now();
        assert!(!addresses);
        let (used, limit) = (used.unwrap(), limit.unwrap());
        assert!((1 << 18..limit).contains(&used), "{used} of {limit}");
        assert!(available.unwrap() < limit);
    }
}
