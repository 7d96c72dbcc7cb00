//! Panics: they are printed with their place and thread, on any thread.

use omr_console::Code;
use omr_console::progress;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;
use std::path::{Component, Path};
use std::sync::Mutex;

/// Libraries that may panic on damaged files. The reader of such a file catches the panic and reports the damage.
const GUARDED: [&str; 3] = ["redb-", "parquet-", "arrow-"];

/// The last panic of a guarded library, in case no reader catches it.
static KEPT: Mutex<Option<Panic>> = Mutex::new(None);

/// The content of a panic's message.
struct Panic {
    message: String,
    place: String,
    thread: String,
    /// The backtrace, where `RUST_BACKTRACE` requests it.
    calls: Option<String>,
}

impl Panic {
    fn of(info: &PanicHookInfo<'_>) -> Self {
        let calls = Backtrace::capture();
        let place = info.location().map(ToString::to_string);
        Self {
            message: info.payload_as_str().unwrap_or("no reason given").into(),
            place: place.unwrap_or_else(|| "an unknown place".into()),
            thread: std::thread::current().name().unwrap_or("unnamed").into(),
            calls: (calls.status() == BacktraceStatus::Captured).then(|| calls.to_string()),
        }
    }

    fn text(&self) -> String {
        let Self {
            message,
            place,
            thread,
            calls,
        } = self;
        let calls = match calls {
            Some(calls) => format!(". The calls that led there:\n{calls}"),
            None => "; RUST_BACKTRACE=1 adds the calls that led there".into(),
        };
        format!(
            "internal error: {message}, at {place} in thread {thread}. This is a fault of omr: please report it with \
             the command and what `omr --version` prints{calls}"
        )
    }

    fn print(&self) {
        progress::error(Code::Internal, &self.text());
    }
}

/// Prints every panic at once, and those of guarded libraries only in [`print_kept`]. A server's log receives all of
/// them: `omr_ops::init`.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|info| {
        if omr_disk::guard::is_last() {
            progress::error(Code::Damaged, omr_disk::guard::TWICE);
            std::process::exit(1);
        }
        let panic = Panic::of(info);
        if is_guarded(info) {
            if let Ok(mut kept) = KEPT.lock() {
                *kept = Some(panic);
            }
        } else {
            panic.print();
        }
    }));
}

/// Prints the last panic of a guarded library, which was not caught.
pub(crate) fn print_kept() {
    if let Some(panic) = KEPT.lock().ok().and_then(|mut kept| kept.take()) {
        panic.print();
    }
}

fn is_guarded(info: &PanicHookInfo<'_>) -> bool {
    let of_library = |part: Component<'_>| {
        let name = part.as_os_str().to_string_lossy().into_owned();
        GUARDED.iter().any(|library| name.starts_with(library))
    };
    info.location()
        .is_some_and(|place| Path::new(place.file()).components().any(of_library))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Output};

    const CASE: &str = "OMR_TEST_PANIC";

    /// Panics as the test below requests, in a process of its own.
    #[test]
    #[ignore = "a part of panics_say_why"]
    fn child() {
        install();
        match std::env::var(CASE).as_deref() {
            Ok("main") => panic!("a source that breaks off {}", 1 + 1),
            Ok("rayon") => {
                let pool = rayon::ThreadPoolBuilder::new().thread_name(|i| format!("worker-{i}"));
                let pool = pool.num_threads(1).build().unwrap();
                pool.install(|| panic!("a source that breaks off {}", 1 + 1));
            }
            Ok("twice") => {
                struct Fragile;
                impl Drop for Fragile {
                    fn drop(&mut self) {
                        panic!("in a destructor");
                    }
                }
                let done: Result<(), omr_disk::guard::Panicked> = omr_disk::guard::guarded(|| {
                    let _held = Fragile;
                    panic!("an assertion");
                });
                unreachable!("{done:?}");
            }
            Ok(case @ ("tokio" | "log")) => {
                let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
                let json = case == "log";
                runtime.block_on(async {
                    let _log = json.then(|| {
                        omr_ops::init(&omr_ops::TelemetryConfig {
                            json,
                            ..omr_ops::TelemetryConfig::default()
                        })
                    });
                    let broken =
                        tokio::spawn(async { panic!("a source that breaks off {}", 1 + 1) });
                    assert!(broken.await.unwrap_err().is_panic());
                });
            }
            _ => {}
        }
    }

    /// Returns the standard error of a process that panics.
    fn printed(case: &str) -> String {
        String::from_utf8(output(case).stderr).unwrap()
    }

    fn output(case: &str) -> Output {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "panics::tests::child",
                "--ignored",
                "--nocapture",
            ])
            .env(CASE, case)
            .env_remove("RUST_BACKTRACE")
            .output();
        child.unwrap()
    }

    /// Without the hook Rust would abort.
    #[test]
    fn a_database_that_panics_twice_ends_with_an_error() {
        let done = output("twice");
        assert_eq!(done.status.code(), Some(1), "{done:?}");
        let told = String::from_utf8(done.stderr).unwrap();
        assert!(
            told.contains(&format!("omr: {}", omr_disk::guard::TWICE)),
            "{told}"
        );
    }

    #[test]
    fn panics_say_why() {
        for (case, thread) in [("main", "child"), ("rayon", "worker-0"), ("tokio", "tokio")] {
            let told = printed(case);
            let line = told
                .lines()
                .find(|line| line.starts_with("omr: internal error"));
            let line = line.unwrap_or_else(|| panic!("{case}: {told}"));
            for part in ["a source that breaks off 2", "panics.rs:", thread, "report"] {
                assert!(line.contains(part), "{case}: {part:?} not in {line}");
            }
        }
    }

    #[test]
    fn a_servers_log_says_why() {
        let told = printed("log");
        let said = told.matches("a source that breaks off 2").count();
        assert_eq!(said, 1, "told twice: {told}");
        let line = told.lines().find(|line| line.contains("panicked"));
        let line: serde_json::Value = serde_json::from_str(line.expect(&told)).unwrap();
        let fields = &line["fields"];
        assert_eq!(line["level"], "ERROR");
        assert!(
            fields["thread"].as_str().unwrap().contains("tokio"),
            "{line}"
        );
        assert!(fields["place"].as_str().unwrap().contains("panics.rs:"));
        assert!(line.to_string().contains("a source that breaks off 2"));
    }
}
