//! Panics, which are bugs: where and why they happened goes into the log.

use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

/// Has every panic of the process logged, before what was done with panics until now.
pub(crate) fn log_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            log(info);
            before(info);
        }));
    });
}

fn log(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    tracing::error!(
        place = place.unwrap_or_default(),
        thread = std::thread::current().name().unwrap_or("unnamed"),
        "panicked: {}",
        text(info.payload())
    );
}

/// What a panic said.
pub(crate) fn text(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let text = owned.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("nothing that can be read")
}

/// An error with all that caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Some errors repeat their cause in their own words.
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}
