//! The page: the table and pictures, one file without scripts.

use super::{markdown, pictures};
use crate::measure::compare::{Comparison, Entry};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::error::Error;

const STYLE: &str = "
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { max-width: 78rem; margin: 0 auto; padding: 1rem }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .5rem; border-bottom: 1px solid #8886; text-align: right; white-space: nowrap }
th:first-child { text-align: left }
.wide { overflow-x: auto }
figure { margin: 2rem 0 }
svg { max-width: 100%; height: auto; background: #fff }
.weak { color: #c33 }
";

/// Returns the page.
///
/// Errors: those of the pictures.
pub(super) fn page(all: &Comparison) -> Result<String, Box<dyn Error>> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "omr: schemes side by side" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Oblivious message retrieval: schemes side by side" }
                p { (markdown::setting(all)) "." }
                (table(all))
                p { (markdown::LEGEND) }
                @for failed in &all.failed {
                    p class="weak" { (failed.scheme) " did not run: " (failed.reason) }
                }
                (figure("Time by stage", &by_stage(all), pictures::stages(all)?))
                (figure("Wait", "Seconds from the last post to payloads in the recipient's hands: the last batch or message, \
                    what is done once at the end, decoding.", pictures::waits(all)?))
                (figure("Sizes", "Bytes of a clue, a digest and a detection key; logarithmic, from 100 bytes on.",
                    pictures::sizes(all)?))
                (figure("Scaling", "Seconds for so many messages, from the stages that grow with them and those that do \
                    not; the point of each line was measured, the rest is extrapolated.", pictures::scaling(all)?))
                (stages_table(all))
            }
        }
    };
    Ok(page.into_string())
}

fn by_stage(all: &Comparison) -> String {
    let seconds = all
        .entries
        .iter()
        .map(|entry| entry.seconds(all.work.messages));
    let most = markdown::seconds(seconds.fold(0.0, f64::max));
    format!(
        "Seconds for {} messages, up to {most}; schemes that were run with fewer are extrapolated stage by stage.",
        omr_console::thousands(all.work.messages)
    )
}

fn figure(title: &str, text: &str, picture: String) -> Markup {
    html! {
        section {
            h2 { (title) }
            figure role="img" aria-label=(title) {
                (PreEscaped(picture))
                figcaption { (text) }
            }
        }
    }
}

fn table(all: &Comparison) -> Markup {
    html! {
        div class="wide" {
            table {
                thead { tr { @for name in markdown::COLUMNS { th scope="col" { (name) } } } }
                tbody {
                    @for entry in &all.entries { (row(entry, all.work.messages)) }
                }
            }
        }
    }
}

fn row(entry: &Entry, messages: u64) -> Markup {
    let [scheme, cells @ ..] = markdown::cells(entry, messages);
    let weak = (entry.security_bits < 128.0).then_some("weak");
    html! {
        tr class=[weak] {
            th scope="row" { (scheme) }
            @for cell in &cells { td { (cell) } }
        }
    }
}

/// Returns the figures of the first picture.
fn stages_table(all: &Comparison) -> Markup {
    html! {
        section {
            h2 { "Stages as run" }
            @for entry in &all.entries {
                h3 { (entry.scheme) ", " (entry.params) }
                p {
                    (omr_console::thousands(entry.messages)) " messages; keys in " (markdown::seconds(entry.keygen_s))
                    " s, a clue in " (format!("{:.3}", entry.clue_ms)) " ms; "
                    (omr_console::thousands(entry.peak_rss_bytes)) " bytes of memory at most"
                }
                table {
                    @for (stage, seconds) in &entry.stages {
                        tr { th scope="row" { (stage) } td { (format!("{seconds:.3}")) " s" } }
                    }
                }
            }
        }
    }
}
