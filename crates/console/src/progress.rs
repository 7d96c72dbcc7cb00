//! What a person at a terminal sees while a command works.

use crate::{Code, chain};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use omr_detector::Progress;
use serde_json::json;
use std::error::Error;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the command was asked for JSON, for panics too.
static JSON: AtomicBool = AtomicBool::new(false);

/// Whether errors and warnings are JSON objects.
pub fn speaks_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// A line on standard error, whatever becomes of it.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// An error that is no command's, as for example wrong use.
pub fn error(code: Code, message: &str) {
    line(&if speaks_json() {
        let (code, exit_code) = (code.word(), code.exit());
        json!({"error": {"code": code, "exit_code": exit_code, "message": message}}).to_string()
    } else {
        format!("omr: {message}")
    });
}

/// Something that a script should see too, though the command goes on.
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
}

impl Ui {
    /// `quiet` silences notes and bars on a terminal too; with `json` errors and warnings are objects.
    pub fn new(quiet: bool, json: bool) -> Self {
        JSON.store(json, Ordering::Relaxed);
        Self {
            chatty: !quiet && std::io::stderr().is_terminal(),
            quiet,
            timeout: None,
        }
    }

    /// With the time that the person gives a server, if she says.
    pub fn with_timeout(self, timeout: Option<Duration>) -> Self {
        Self { timeout, ..self }
    }

    /// How long a server may give no answer; as long as is usual unless the person says.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// [`line()`].
    pub fn line(&self, text: &str) {
        line(text);
    }

    /// A line for people only.
    pub fn note(&self, text: &str) {
        if self.chatty {
            self.line(text);
        }
    }

    /// What a command is about to do, told even where no person looks unless asked to be quiet.
    pub fn announce(&self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// Something that a script should see too, though the command goes on.
    pub fn warn(&self, text: &str) {
        warn(text);
    }

    /// Why the command ends, with the kind that programs tell it by.
    pub fn error(&self, code: Code, why: &dyn Error) {
        error(code, &chain(why));
    }

    /// A bar that starts empty; it draws nothing where no person looks.
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

/// What a bar counts: steps, or bytes.
const STEPS: &str = "{msg:>14} {wide_bar} {human_pos}/{human_len} {elapsed}";
const BYTES: &str = "{msg:>14} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {elapsed}";

fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// A progress bar, one stage after another; gone when dropped.
pub struct Bar(ProgressBar);

impl Bar {
    /// Where something stands that counts for itself.
    pub fn at(&self, name: String, done: u64, total: u64) {
        set_style(&self.0, STEPS);
        self.show(name, done, total);
    }

    /// Where something stands that counts its bytes.
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

/// The stage of a file that is read, whose steps are bytes.
pub const READING: &str = "reading key";

/// What a stage of a digest is to somebody who waits for it.
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
