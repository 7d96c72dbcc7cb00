//! Panics, which are bugs: the log says where and why they happened.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;
use std::sync::Once;

/// Has every panic of the process logged, in place of what was done with panics until now, as long as there is a log.
/// [`crate::init`] calls it.
pub fn log_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            match tracing::enabled!(tracing::Level::ERROR) {
                true => log(info),
                false => before(info),
            }
        }));
    });
}

/// What to say of the second panic of a database on one file: the process ends with it, because it broke off while it
/// tidied up after the first.
pub const TWICE: &str = "a database file is damaged so far that it cannot be written. What was under way is not on the \
                         disk, what was acknowledged before is untouched; `omr board verify` and `omr data verify` \
                         tell what can be read";

fn log(info: &PanicHookInfo<'_>) {
    if omr_guard::is_last() {
        let place = info.location().map(tracing::field::display);
        tracing::error!(place, "{TWICE}");
        std::process::exit(1);
    }
    let calls = Backtrace::capture();
    let calls = (calls.status() == BacktraceStatus::Captured).then(|| calls.to_string());
    let place = info.location().map(ToString::to_string);
    tracing::error!(
        place = place.unwrap_or_default(),
        thread = std::thread::current().name().unwrap_or("unnamed"),
        calls,
        "panicked: {}; this is a fault of omr, please report it (RUST_BACKTRACE=1 adds the calls that led there)",
        info.payload_as_str().unwrap_or("no reason given")
    );
}
