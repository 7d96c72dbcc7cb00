//! Writes figures into documents: tables from one run of `omr-lab bench all --json`, and those of a cluster and the chart
//! of the engines from `omr-lab bench cluster simulate --json`.

mod chart;
mod cluster;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::error::XtaskError;
use crate::files;

/// The output of `omr-lab bench all --json` that the tables are written from.
const FIGURES: &str = "docs/figures.json";
/// The output of a measured graphics card.
const CARD: &str = "docs/gpu.json";
/// Both rounds of retrieval, with the payloads of each kind of sealing.
const SEALING: &str = "docs/sealing.json";
/// The output of a simulated cluster.
const CLUSTER: &str = "docs/cluster.json";
/// The chart of docs/engines.md.
const CHART: &str = "docs/engines.svg";
/// The lines before and after the figures on a page.
pub(crate) const MARKERS: [&str; 2] = ["<!-- figures -->", "<!-- end -->"];

/// Takes the output of a run or of a simulated cluster over and writes it into the pages.
pub(crate) fn take(root: &Path, file: &Path) -> Result<(), XtaskError> {
    let document = read(file)?;
    let (figures, cluster) = (root.join(FIGURES), root.join(CLUSTER));
    // All is made before a page changes, so that a figure that is missing changes none.
    let (pages, kept) = if document.get("policies").is_some() {
        (Pages::new(root, &read(&figures)?, &document)?, cluster)
    } else {
        (Pages::new(root, &document, &read(&cluster)?)?, figures)
    };
    files::figures(&kept, &document)?;
    pages.put(root, true)
}

/// Compares the pages with what was taken over last.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let (document, simulated) = (read(&root.join(FIGURES))?, read(&root.join(CLUSTER))?);
    Pages::new(root, &document, &simulated)?.put(root, false)
}

/// The figures of each page, and the chart.
struct Pages {
    sections: [(&'static str, String); 4],
    chart: String,
}

impl Pages {
    fn new(root: &Path, document: &Value, simulated: &Value) -> Result<Self, XtaskError> {
        let (card, sealing) = (read(&root.join(CARD))?, read(&root.join(SEALING))?);
        Ok(Self {
            sections: [
                ("README.md", readme(document, &card, &sealing)?),
                ("docs/engines.md", engines(document)?),
                ("docs/performance.md", performance(document)?),
                ("docs/cluster.md", cluster::table(simulated)?),
            ],
            chart: cluster::engines(simulated)?,
        })
    }

    /// Writes the pages, or compares what stands there.
    fn put(&self, root: &Path, writes: bool) -> Result<(), XtaskError> {
        for (page, text) in &self.sections {
            files::section(&root.join(page), MARKERS, text, writes)?;
        }
        files::whole(&root.join(CHART), &self.chart, writes)
    }
}

pub(crate) fn read(path: &Path) -> Result<Value, XtaskError> {
    let text = fs::read_to_string(path).map_err(XtaskError::io(path))?;
    Ok(serde_json::from_str(&text)?)
}

/// The figures of a document by their places in it.
struct Document<'a>(&'a Value);

impl Document<'_> {
    /// Returns the number at a JSON pointer.
    fn number(&self, pointer: &str) -> Result<f64, XtaskError> {
        let found = self.0.pointer(pointer).and_then(Value::as_f64);
        found.ok_or_else(|| XtaskError::Figure {
            name: pointer.to_owned(),
        })
    }

    /// Returns the text at a JSON pointer.
    fn text(&self, pointer: &str) -> Result<&str, XtaskError> {
        let found = self.0.pointer(pointer).and_then(Value::as_str);
        found.ok_or_else(|| XtaskError::Figure {
            name: pointer.to_owned(),
        })
    }

    /// Returns the measurement of this name.
    fn measurement(&self, name: &str) -> Result<&Value, XtaskError> {
        let all = self.0["measurements"].as_array();
        let mut all = all.into_iter().flatten();
        let found = all.find(|one| one["name"] == name);
        found.ok_or_else(|| XtaskError::Figure {
            name: name.to_owned(),
        })
    }

    /// Returns a number that a measurement printed, at a JSON pointer in its output.
    fn figure(&self, name: &str, pointer: &str) -> Result<f64, XtaskError> {
        let of = Document(&self.measurement(name)?["figures"]);
        of.number(pointer).map_err(|_| XtaskError::Figure {
            name: format!("{name}{pointer}"),
        })
    }

    /// Returns seconds that a measurement printed.
    fn seconds(&self, name: &str, pointer: &str) -> Result<String, XtaskError> {
        Ok(seconds(self.figure(name, pointer)?))
    }

    /// Returns seconds that a measurement printed for each of its messages.
    fn a_message(&self, name: &str) -> Result<f64, XtaskError> {
        Ok(self.figure(name, "/digest_s")? / self.figure(name, "/messages")?)
    }

    /// Returns bytes that a measurement printed.
    fn bytes(&self, name: &str, pointer: &str) -> Result<String, XtaskError> {
        Ok(thousands(self.figure(name, pointer)?))
    }

    /// Returns the peak of memory of a measurement.
    fn memory(&self, name: &str) -> Result<String, XtaskError> {
        let bytes = self.figure(name, "/peak_rss_bytes")?;
        if bytes < 1e9 {
            Ok(format!("{:.0} MB", bytes / 1e6))
        } else {
            Ok(format!("{:.1} GB", bytes / 1e9))
        }
    }

    /// Returns where and when the document was measured.
    fn machine(&self) -> Result<String, XtaskError> {
        Ok(format!(
            "{}, {} cores, {} kernels; commit `{}`, {}",
            self.text("/machine/cpu")?,
            self.number("/machine/cores")?,
            self.text("/machine/kernels")?,
            self.text("/build")?,
            self.text("/date")?,
        ))
    }
}

/// The table of README.md.
fn readme(document: &Value, card: &Value, sealing: &Value) -> Result<String, XtaskError> {
    let (all, card) = (Document(document), Document(card));
    let sealing = Document(sealing);
    let key = all.figure("digest", "/detection_key_bytes")?;
    let instant_key = all.figure("instantomr", "/detection_key_bytes")?;
    let mut rows = Rows::default();
    rows.add("", String::new());
    rows.add(
        "Two rounds, one thread; each further recipient or address; its key",
        format!(
            "{}; {}; {:.0} MB",
            all.seconds("rounds", "/rounds_s")?,
            seconds(
                all.figure("rounds", "/scan_further_s")?
                    + all.figure("rounds", "/answer_further_s")?
            ),
            all.figure("rounds", "/key_bytes")? / 1e6
        ),
    );
    rows.add(
        "Digest: one thread; two threads",
        format!(
            "{}; {}",
            all.seconds("digest", "/digest_s")?,
            all.seconds("digest_two_threads", "/digest_s")?
        ),
    );
    rows.add(
        "Each further recipient of a board, one thread",
        all.seconds("digest_recipients", "/digests/further_s")?,
    );
    rows.add(
        "Decoding, in a time that does not depend on what was found",
        format!("{:.1} ms", all.figure("digest", "/decode_ms")?),
    );
    rows.add(
        "Sizes: digest; clue with its signature",
        format!(
            "{}; {} bytes",
            all.bytes("digest", "/digest_bytes")?,
            all.bytes("digest", "/clue_bytes")?
        ),
    );
    rows.add(
        "Detection keys of an address: SophOMR; InstantOMR",
        format!("{}; {} bytes", thousands(key), thousands(instant_key)),
    );
    let compared = |pointer: &str| -> Result<[f64; 2], XtaskError> {
        let of = |sealing_name: &str| sealing.number(&format!("/{sealing_name}/{pointer}"));
        Ok([of("x-wing")?, of("hpke-x25519")?])
    };
    let [payload, _] = compared("payload_bytes")?;
    let [answer, usual_answer] = compared("answer_bytes")?;
    let [prepared, usual_prepared] = compared("prepared_bytes")?;
    let [spent, usual_spent] = compared("rounds_s")?;
    rows.add(
        &format!(
            "**Letters are not sealed against quantum computers by default**: X-Wing takes payloads of {} bytes. Answer; \
             batch in memory; time of two rounds",
            thousands(payload)
        ),
        format!(
            "{:.0} instead of {:.0} KB; {:.1} instead of {:.1} GB; {:.1} times",
            answer / 1e3,
            usual_answer / 1e3,
            prepared / 1e9,
            usual_prepared / 1e9,
            spent / usual_spent
        ),
    );
    rows.add(
        "Security, on the strictest scale that we know ([SECURITY.md](SECURITY.md))",
        format!("{:.1} bits (estimated)", all.number("/set/security_bits")?),
    );
    rows.add(
        "A message is missed; a stranger's message passes",
        format!(
            "2^{:.1}; 2^{:.1}",
            all.number("/set/miss_log2")?,
            all.number("/set/false_positive_log2")?
        ),
    );
    rows.add(
        &format!(
            "Memory of a detector, two threads: {}; {} messages",
            thousands(all.figure("digest_two_threads", "/messages")?),
            thousands(all.figure("digest_batches", "/messages")?)
        ),
        format!(
            "{}; {}",
            all.memory("digest_two_threads")?,
            all.memory("digest_batches")?
        ),
    );
    rows.add(
        "InstantOMR: one message, one thread",
        format!("{:.1} ms", 1e3 * all.a_message("instantomr")?),
    );
    rows.add(
        &format!(
            "On an {} ([cards](docs/gpu.md)): digest; further recipient; InstantOMR message",
            card.text("/card")?
        ),
        format!(
            "{}; {}; {:.0} us",
            seconds(card.number("/digest_s")?),
            seconds(card.number("/further_s")?),
            card.number("/instantomr/message_us")?
        ),
    );
    Ok(format!(
        "\nSet `{}`, {} messages of {} bytes, {} of them for the recipient.\n{}.\n\n{}\n",
        all.text("/set/params")?,
        thousands(all.figure("digest", "/messages")?),
        all.figure("digest", "/payload_bytes")?,
        all.figure("digest", "/pertinent")?,
        all.machine()?,
        rows.0
    ))
}

/// The table of docs/engines.md.
fn engines(document: &Value) -> Result<String, XtaskError> {
    let all = Document(document);
    let rounds = |pointer: &str| all.figure("rounds", pointer);
    let sum = |pointers: &[&str]| -> Result<f64, XtaskError> {
        pointers.iter().map(|pointer| rounds(pointer)).sum()
    };
    let messages = all.figure("digest", "/messages")?;
    let streamed = all.a_message("instantomr")?;
    let mega = |bytes: f64| format!("{:.0} MB", bytes / 1e6);
    let kilo = |bytes: f64| format!("{:.0} KB", bytes / 1e3);
    let rows = [
        [
            "detection key".to_owned(),
            mega(rounds("/key_bytes")?),
            mega(all.figure("digest", "/detection_key_bytes")?),
            mega(all.figure("instantomr", "/detection_key_bytes")?),
        ],
        [
            format!("down, for {} messages", thousands(messages)),
            format!(
                "{} and {}",
                kilo(rounds("/scan_bytes")?),
                kilo(rounds("/answer_bytes")?)
            ),
            kilo(all.figure("digest", "/digest_bytes")?),
            kilo(all.figure("instantomr", "/digest_bytes")?),
        ],
        [
            "up".to_owned(),
            kilo(rounds("/query_bytes")?),
            "nothing".to_owned(),
            "nothing".to_owned(),
        ],
        [
            "a detector's time for them, one thread".to_owned(),
            seconds(rounds("/rounds_s")?),
            all.seconds("digest", "/digest_s")?,
            seconds(messages * streamed),
        ],
        [
            "each further recipient".to_owned(),
            seconds(sum(&["/scan_further_s", "/answer_further_s"])?),
            all.seconds("digest_recipients", "/digests/further_s")?,
            seconds(messages * streamed),
        ],
        [
            "the newest 512 messages".to_owned(),
            format!("{:.0} ms", 1e3 * rounds("/newest_s")?),
            all.seconds("digest", "/digest_s")?,
            seconds(512.0 * streamed),
        ],
        [
            "a recipient's time".to_owned(),
            format!("{:.0} ms", sum(&["/find_ms", "/ask_ms", "/read_ms"])?),
            format!("{:.0} ms", all.figure("digest", "/decode_ms")?),
            format!("{:.0} ms", all.figure("instantomr", "/decode_ms")?),
        ],
    ];
    let mut text = format!(
        "\nSet `{}`, payloads of {} bytes, {} messages for the recipient.\n{}.\n\n\
         | | two rounds | batches: SophOMR | stream: InstantOMR |\n|---|---|---|---|\n",
        all.text("/set/params")?,
        all.figure("digest", "/payload_bytes")?,
        all.figure("digest", "/pertinent")?,
        all.machine()?,
    );
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    Ok(text)
}

/// The tables of docs/performance.md.
fn performance(document: &Value) -> Result<String, XtaskError> {
    let all = Document(document);
    let mut text = format!(
        "\nSet `{}`, payloads of {} bytes, {} of {} messages pertinent.\n{}.\n",
        all.text("/set/params")?,
        all.figure("digest", "/payload_bytes")?,
        all.figure("digest", "/pertinent")?,
        thousands(all.figure("digest", "/messages")?),
        all.machine()?
    );
    let mut rows = Rows::default();
    rows.add("digest", "s".to_owned());
    for (name, what) in [
        ("digest", "one thread"),
        ("digest_two_threads", "two threads"),
        ("digest_indices", "indices alone, one thread"),
    ] {
        rows.add(what, all.seconds(name, "/digest_s")?);
    }
    rows.add(
        &format!(
            "{} messages, two threads",
            thousands(all.figure("digest_batches", "/messages")?)
        ),
        all.seconds("digest_batches", "/digest_s")?,
    );
    rows.add(
        &format!(
            "each further recipient of {}, one thread",
            all.figure("digest_recipients", "/recipients")?
        ),
        all.seconds("digest_recipients", "/digests/further_s")?,
    );
    rows.add("detection key made", all.seconds("digest", "/keygen_s")?);
    rows.add("detection key loaded", all.seconds("digest", "/load_s")?);
    rows.add("memory, two threads", all.memory("digest_two_threads")?);
    rows.add(
        "memory, the long digest, two threads",
        all.memory("digest_batches")?,
    );
    rows.add(
        "digest; of indices",
        format!(
            "{}; {} bytes",
            all.bytes("digest", "/digest_bytes")?,
            all.bytes("digest_indices", "/digest_bytes")?
        ),
    );
    rows.add(
        "clue; made in",
        format!(
            "{} bytes; {:.2} ms",
            all.bytes("digest", "/clue_bytes")?,
            all.figure("digest", "/clue_ms")?
        ),
    );
    rows.add(
        "detection key",
        format!("{} bytes", all.bytes("digest", "/detection_key_bytes")?),
    );
    rows.add(
        "durable posts a second",
        thousands(all.figure("post", "/messages_per_s")?.round()),
    );
    let _ = writeln!(text, "\n{}", rows.0);
    stages(&mut text, "digest, one thread", all.measurement("digest")?);
    let mut rows = Rows::default();
    rows.add("InstantOMR", "a message".to_owned());
    for (name, what) in [
        ("instantomr", "one thread"),
        ("instantomr_two_threads", "two threads"),
    ] {
        rows.add(what, format!("{:.2} ms", 1e3 * all.a_message(name)?));
    }
    rows.add(
        "one message alone",
        format!("{:.2} ms", 1e3 * all.figure("crossover", "/latency_s")?),
    );
    rows.add(
        "SophOMR costs less, from this number of messages on",
        thousands(all.figure("crossover", "/crossover")?),
    );
    rows.add("memory", all.memory("instantomr")?);
    rows.add(
        "detection key",
        format!("{} bytes", all.bytes("instantomr", "/detection_key_bytes")?),
    );
    rows.add(
        "digest",
        format!("{} bytes", all.bytes("instantomr", "/digest_bytes")?),
    );
    let _ = writeln!(text, "{}", rows.0);
    stages(
        &mut text,
        "InstantOMR, one thread",
        all.measurement("instantomr")?,
    );
    let mut rows = Rows::default();
    rows.add(
        "decoding, whatever was found",
        "medians; largest t".to_owned(),
    );
    for (name, engine) in [("decode", "SophOMR"), ("instantomr_decode", "InstantOMR")] {
        let classes = all.measurement(name)?["figures"]["classes"].as_array();
        let (mut least, mut most, mut largest) = (f64::INFINITY, 0.0_f64, 0.0_f64);
        for class in classes.into_iter().flatten().map(Document) {
            let median = class.number("/median_us")?;
            least = least.min(median);
            most = most.max(median);
            largest = largest.max(class.number("/t")?.abs());
        }
        rows.add(engine, format!("{least:.0} to {most:.0} us; {largest:.1}"));
    }
    let _ = writeln!(text, "{}", rows.0);
    let mut rows = Rows::default();
    rows.add("private query, two threads", String::new());
    for (name, what) in [("query", "a number of 32 bits"), ("query_text", "a text")] {
        rows.add(
            &format!("equality of {what}: answer; memory"),
            format!("{}; {}", all.seconds(name, "/answer_s")?, all.memory(name)?),
        );
        rows.add(
            &format!("equality of {what}: key; query; answer"),
            format!(
                "{}; {}; {} bytes",
                all.bytes(name, "/key_bytes")?,
                all.bytes(name, "/query_bytes")?,
                all.bytes(name, "/answer_bytes")?
            ),
        );
    }
    let _ = writeln!(text, "{}", rows.0);
    Ok(text)
}

/// Adds a table of the stages of a measurement that took 5 milliseconds or more.
fn stages(text: &mut String, head: &str, measurement: &Value) {
    let mut rows = Rows::default();
    rows.add(head, "s".to_owned());
    let stages = measurement["figures"]["stages"].as_object();
    for (name, value) in stages.into_iter().flatten() {
        let value = value.as_f64().unwrap_or_default();
        if value < 0.005 {
            continue;
        }
        rows.add(&name.replace('_', " "), format!("{value:.2}"));
    }
    let _ = writeln!(text, "{}", rows.0);
}

/// The rows of a Markdown table with two columns. The first row is the head.
#[derive(Default)]
struct Rows(String);

impl Rows {
    fn add(&mut self, name: &str, value: String) {
        let is_head = self.0.is_empty();
        let _ = writeln!(self.0, "| {name} | {value} |");
        if is_head {
            self.0.push_str("|---|---|\n");
        }
    }
}

fn seconds(value: f64) -> String {
    if value < 1.0 {
        format!("{value:.2} s")
    } else {
        format!("{value:.1} s")
    }
}

/// Returns a whole number with a comma between groups of three digits.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        let digest = json!({
            "digest_s": 21.07, "messages": 65536, "payload_bytes": 612, "pertinent": 50, "decode_ms": 4.41,
            "digest_bytes": 41180, "clue_bytes": 2805, "clue_ms": 0.125, "keygen_s": 0.4, "load_s": 0.21,
            "detection_key_bytes": 129984274, "peak_rss_bytes": 1.7e9, "stages": {"range_check": 3.9}
        });
        let recipients = json!({"recipients": 8, "digests": {"further_s": 11.6}});
        let decode =
            json!({"classes": [{"pertinent": 0, "damaged": true, "median_us": 4400.0, "t": 0.5}]});
        let crossover = json!({"latency_s": 0.04, "crossover": 733});
        let rounds = json!({
            "key_bytes": 13136146, "scan_bytes": 236824, "answer_bytes": 51432, "query_bytes": 206136,
            "rounds_s": 1.9, "scan_further_s": 0.4, "answer_further_s": 0.3, "newest_s": 0.0091,
            "find_ms": 1.6, "ask_ms": 2.8, "read_ms": 2.6
        });
        let query = json!({
            "answer_s": 4.4, "peak_rss_bytes": 6.93e8, "key_bytes": 38625391, "query_bytes": 491874,
            "answer_bytes": 8459
        });
        let one = |name: &str, figures: &Value| json!({"name": name, "command": format!("bench {name}"), "figures": figures});
        json!({
            "build": "0123456789ab", "date": "2026-11-27",
            "machine": {"cpu": "A processor", "cores": 2, "kernels": "avx2"},
            "set": {"params": "hybrid-v4", "security_bits": 128.2, "miss_log2": -30.1, "false_positive_log2": -27.9},
            "measurements": [
                one("digest", &digest), one("digest_two_threads", &digest), one("digest_indices", &digest),
                one("digest_batches", &digest), one("digest_recipients", &recipients), one("decode", &decode),
                one("instantomr", &digest), one("instantomr_two_threads", &digest),
                one("instantomr_decode", &decode), one("rounds", &rounds), one("crossover", &crossover),
                one("post", &json!({"messages_per_s": 102000.4})), one("query", &query), one("query_text", &query),
            ]
        })
    }

    #[test]
    fn tables_have_the_figures_of_a_run() {
        let card = json!({
            "card": "card", "digest_s": 0.46, "further_s": 0.2, "instantomr": {"message_us": 75.2}
        });
        let run = |payload: u32, answer: u32, prepared: u32, seconds: f64| {
            json!({
                "payload_bytes": payload, "answer_bytes": answer, "prepared_bytes": prepared, "rounds_s": seconds
            })
        };
        let sealing = json!({
            "hpke-x25519": run(612, 50_210, 599_261_184, 4.0),
            "x-wing": run(2_048, 171_602, 1_991_245_824, 5.2),
        });
        let table = readme(&document(), &card, &sealing).unwrap();
        for row in [
            "Set `hybrid-v4`, 65,536 messages of 612 bytes, 50 of them for the recipient.\nA processor, 2 cores",
            "commit `0123456789ab`, 2026-11-27.\n\n|  |  |\n|---|---|\n",
            "| Digest: one thread; two threads | 21.1 s; 21.1 s |",
            "| Sizes: digest; clue with its signature | 41,180; 2,805 bytes |",
            "2,048 bytes. Answer; batch in memory; time of two rounds | 172 instead of 50 KB; 2.0 instead of 0.6 GB; 1.3 \
             times |",
            "| A message is missed; a stranger's message passes | 2^-30.1; 2^-27.9 |",
            "digest; further recipient; InstantOMR message | 0.46 s; 0.20 s; 75 us |",
        ] {
            assert!(table.contains(row), "{row} not in {table}");
        }
        let engines = engines(&document()).unwrap();
        for row in [
            "| detection key | 13 MB | 130 MB | 130 MB |",
            "| down, for 65,536 messages | 237 KB and 51 KB | 41 KB | 41 KB |",
            "| each further recipient | 0.70 s | 11.6 s | 21.1 s |",
            "| the newest 512 messages | 9 ms | 21.1 s | 0.16 s |",
        ] {
            assert!(engines.contains(row), "{row} not in {engines}");
        }
        let tables = performance(&document()).unwrap();
        for row in [
            "Set `hybrid-v4`, payloads of 612 bytes, 50 of 65,536 messages pertinent.\nA processor",
            "| range check | 3.90 |",
            "| SophOMR costs less, from this number of messages on | 733 |",
            "| SophOMR | 4400 to 4400 us; 0.5 |",
            "| equality of a text: answer; memory | 4.4 s; 693 MB |",
            "| equality of a text: key; query; answer | 38,625,391; 491,874; 8,459 bytes |",
            "| durable posts a second | 102,000 |",
        ] {
            assert!(tables.contains(row), "{row} not in {tables}");
        }
    }

    #[test]
    fn a_figure_that_is_missing_is_named() {
        let mut document = document();
        document["measurements"][0]["figures"]["digest_s"] = Value::Null;
        let error = performance(&document).unwrap_err().to_string();
        assert_eq!(
            error,
            "figures: expected the figure digest/digest_s, found none"
        );
    }
}
