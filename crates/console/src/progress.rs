//! Messages and progress bars on standard error.

use crate::{Code, chain};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use omr_detector::Progress;
use serde_json::json;
use std::error::Error;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the command has the option `--json`; panics use it too.
static JSON: AtomicBool = AtomicBool::new(false);

/// Returns whether errors and warnings are JSON objects.
pub fn speaks_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Writes a line to standard error and ignores failures.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Reports an error that no command returned, for example wrong use.
pub fn error(code: Code, message: &str) {
    line(&if speaks_json() {
        json!({"error": {"code": code.word(), "exit_code": code.exit(), "message": message}})
            .to_string()
    } else {
        format!("omr: {message}")
    });
}

/// Reports a warning, which programs can read as well. The command continues.
pub fn warn(text: &str) {
    line(&if speaks_json() {
        json!({"warning": {"message": text}}).to_string()
    } else {
        format!("omr: warning: {text}")
    });
}

/// Standard error: notes and bars on a terminal, only warnings and errors elsewhere.
#[derive(Clone, Debug)]
pub struct Ui {
    chatty: bool,
    quiet: bool,
    timeout: Option<Duration>,
    proxy: Option<String>,
}

impl Ui {
    /// Makes the output. `quiet` silences notes and bars on a terminal as well; with `json` errors and warnings are
    /// objects.
    pub fn new(quiet: bool, json: bool) -> Self {
        JSON.store(json, Ordering::Relaxed);
        Self {
            chatty: !quiet && std::io::stderr().is_terminal(),
            quiet,
            timeout: None,
            proxy: None,
        }
    }

    /// Returns the output with the address of the user's proxy for servers, if there is one.
    pub fn with_proxy(self, proxy: Option<String>) -> Self {
        Self { proxy, ..self }
    }

    /// Returns the address of the user's proxy for servers; `None` to connect directly.
    pub fn proxy(&self) -> Option<&str> {
        self.proxy.as_deref()
    }

    /// Returns the output with the user's timeout for servers, if there is one.
    pub fn with_timeout(self, timeout: Option<Duration>) -> Self {
        Self { timeout, ..self }
    }

    /// Returns the user's timeout for servers; `None` for the usual one.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Writes a line as [`line()`] does.
    pub fn line(&self, text: &str) {
        line(text);
    }

    /// Writes a line on a terminal only.
    pub fn note(&self, text: &str) {
        if self.chatty {
            self.line(text);
        }
    }

    /// Writes a line about the command's next step, also without a terminal, unless the command is to be quiet.
    pub fn announce(&self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// Reports a warning, which programs can read as well. The command continues.
    pub fn warn(&self, text: &str) {
        warn(text);
    }

    /// Reports the error with which the command ends, with its code for programs.
    pub fn error(&self, code: Code, why: &dyn Error) {
        error(code, &chain(why));
    }

    /// Returns an empty bar, which is invisible without a terminal.
    pub fn bar(&self) -> Bar {
        let target = if self.chatty {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        set_style(&bar, STEPS);
        if self.chatty {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Bar(bar)
    }
}

/// Template of bars that count steps.
const STEPS: &str = "{msg:>14} {wide_bar} {human_pos}/{human_len} {elapsed}";
/// Template of bars that count bytes.
const BYTES: &str = "{msg:>14} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {elapsed}";

fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// A progress bar with one stage after another. It disappears when dropped.
pub struct Bar(ProgressBar);

impl Bar {
    /// Shows the progress of a stage that counts steps.
    pub fn at(&self, name: String, done: u64, total: u64) {
        set_style(&self.0, STEPS);
        self.show(name, done, total);
    }

    /// Shows the progress of a stage that counts bytes.
    pub fn at_byte(&self, name: String, done: u64, total: u64) {
        set_style(&self.0, BYTES);
        self.show(name, done, total);
    }

    fn show(&self, name: String, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
        self.0.set_message(name);
    }
}

impl Progress for Bar {
    fn stage(&self, name: &'static str, total: u64) {
        match name {
            READING => self.at_byte(name.to_owned(), 0, total),
            _ => self.at(in_plain_words(name).to_owned(), 0, total),
        }
    }

    fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }
}

/// The stage of reading a file, whose steps are bytes.
pub const READING: &str = "reading key";

/// Returns the description of a digest's stage for users.
fn in_plain_words(stage: &'static str) -> &'static str {
    match stage {
        "baby steps" => "preparing",
        "affine transform" | "opening" => "testing clues",
        "range check" => "picking yours",
        "codes" => "placing them",
        "payloads" => "adding them up",
        other => other,
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
