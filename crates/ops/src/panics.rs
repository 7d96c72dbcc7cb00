//! Logs panics, which are bugs, with their place and message.

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
            if tracing::enabled!(tracing::Level::ERROR) {
                log(info)
            } else {
                before(info)
            }
        }));
    });
}

fn log(info: &PanicHookInfo<'_>) {
    if omr_disk::guard::is_last() {
        let place = info.location().map(tracing::field::display);
        tracing::error!(place, "{}", omr_disk::guard::TWICE);
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
