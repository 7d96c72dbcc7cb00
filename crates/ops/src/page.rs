//! The status page as HTML, with its style and its content security policy.

mod axis;
mod board;
mod chart;
mod figures;
mod in_use;
mod tables;

use std::fmt::{Display, Formatter, Result};

use crate::status::Status;

/// The page's only style; the policy names it by its hash.
const STYLE: &str = include_str!("page/style.css");

/// SHA-256 of [`STYLE`] in base 64, as the content security policy wants it.
const STYLE_HASH: &str = include_str!("page/style.sha256");

/// Seconds between two loads, where the reader asked for them.
const REFRESH_SECONDS: u32 = 30;

/// The way to the page for letters.
const MAIL: &str = "<a href=\"mail/\">Letters</a>\n";

/// Returns the policy for content that the page may load: its own style and an empty icon, nothing else.
pub(crate) fn content_security_policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'",
        STYLE_HASH.trim()
    )
}

/// Returns the status page: HTML without scripts. The page reloads itself only where `refresh` is set.
pub fn status_page(status: &Status, refresh: bool) -> String {
    Page { status, refresh }.to_string()
}

/// Text in HTML, between tags or within quotes.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

struct Page<'a> {
    status: &'a Status,
    refresh: bool,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let health = if self.status.health.healthy {
            "healthy"
        } else {
            "not healthy"
        };
        f.write_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")?;
        f.write_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")?;
        f.write_str("<meta name=\"color-scheme\" content=\"light dark\">\n")?;
        if self.refresh {
            writeln!(
                f,
                "<meta http-equiv=\"refresh\" content=\"{REFRESH_SECONDS}\">"
            )?;
        }
        f.write_str("<link rel=\"icon\" href=\"data:,\">\n")?;
        write!(
            f,
            "<title>omr: {health}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        )?;
        write!(
            f,
            "<header>\n<h1>omr</h1>\n{}{}</header>\n<main>\n",
            if self.status.mail { MAIL } else { "" },
            Control(self.refresh)
        )?;
        write!(f, "{}", figures::Overview(self.status))?;
        write!(f, "{}", board::Board(self.status))?;
        write!(f, "{}", in_use::InUse(self.status))?;
        write!(f, "{}", tables::Tables(self.status))?;
        f.write_str(
            "</main>\n<footer><p>The same as <a href=\"status.json\">JSON</a>.</p></footer>\n",
        )?;
        f.write_str("</body>\n</html>\n")
    }
}

/// Turns reloading on or off: a form, which the policy allows to be sent to this server alone.
struct Control(bool);

impl Display for Control {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.0 {
            writeln!(
                f,
                "<form><span>Loads anew every {REFRESH_SECONDS} seconds.</span> <button>Stop</button></form>"
            )
        } else {
            writeln!(
                f,
                "<form><button name=\"refresh\" value=\"on\">Load anew every {REFRESH_SECONDS} seconds</button></form>"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_policy_names_the_style() {
        let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
        assert_eq!(STYLE_HASH.trim(), hash);
    }

    #[test]
    fn marks_of_html_are_escaped() {
        let escaped = Escaped("<b a='1' c=\"2\">&").to_string();
        assert_eq!(escaped, "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
    }
}
