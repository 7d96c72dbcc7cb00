//! Checks the status page in a browser.

use std::path::Path;
use std::process::Command;

use crate::built;
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::npm;

/// The path of Chromium in Debian's package; `OMR_CHROMIUM` names another.
const CHROMIUM: &str = "/usr/bin/chromium";

/// Looks at a running server with a browser.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let Some(chromium) = chromium() else {
        return npm::skip("browser", "chromium");
    };
    let Some(npm) = npm::tools(root)? else {
        return npm::skip("browser", "npm");
    };
    let omr = built::command(root)?;
    let mut command = Command::new("node");
    command
        .current_dir(root)
        .arg("tests/browser/main.mjs")
        .env("OMR_NPM", npm)
        .env("OMR_COMMAND", omr)
        .env("OMR_CHROMIUM", chromium);
    succeed(&mut command)
}

/// The browser, if there is one.
pub(crate) fn chromium() -> Option<String> {
    let chromium = std::env::var("OMR_CHROMIUM").unwrap_or_else(|_| CHROMIUM.to_owned());
    npm::starts(&chromium).then_some(chromium)
}
