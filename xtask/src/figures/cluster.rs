//! The table of docs/cluster.md and the chart of docs/engines.md, from the output of `omr-lab bench cluster simulate`.

use std::fmt::Write;

use serde_json::Value;

use super::chart::{Chart, Line};
use super::{Document, seconds, thousands};
use crate::error::XtaskError;

/// The table of docs/cluster.md.
pub(super) fn table(simulated: &Value) -> Result<String, XtaskError> {
    let all = Document(simulated);
    let mut text = format!(
        "\n{} recipients, {} messages a day; nodes of {} cores; finished work kept for {} hours. Set `{}`.\n\
         Core seconds of {}, {} kernels; {}.\n\n\
         | | cores that work all the time | cores of nodes | wait: median; 99 % | storage | keys read a second | \
         memory of a node |\n|---|---|---|---|---|---|---|\n",
        thousands(all.number("/load/recipients")?),
        thousands(all.number("/load/messages_a_day")?),
        all.number("/machines/node_cores")?,
        all.number("/machines/digest_hours")?,
        all.text("/costs/params")?,
        all.text("/costs/machine/cpu")?,
        all.text("/costs/machine/kernels")?,
        // The day.
        all.text("/costs/date")?
            .split('T')
            .next()
            .unwrap_or_default(),
    );
    let policies = simulated["policies"].as_array();
    for policy in policies.into_iter().flatten().map(Document) {
        let name = match policy.text("/policy")? {
            "daily" => "a digest a day each, alone",
            "grouped" => "the same at 24 times, in runs",
            "orders" => "a digest of each batch, in runs",
            "two-rounds" => "two rounds a day each at 24 times, in runs",
            other => other,
        };
        let _ = writeln!(
            text,
            "| {name} | {:.1} | {} | {}; {} | {:.1} TB | {:.0} MB | {:.1} GB |",
            policy.number("/cores_busy")?,
            policy.number("/cores")?,
            time(policy.number("/wait_median_s")?),
            time(policy.number("/wait_p99_s")?),
            policy.number("/stored_bytes")? / 1e12,
            policy.number("/keys_a_day_bytes")? / 86_400.0 / 1e6,
            policy.number("/memory_bytes")? / 1e9,
        );
    }
    Ok(text)
}

/// Returns a time in the unit that suits it.
fn time(value: f64) -> String {
    if value < 120.0 {
        seconds(value)
    } else if value < 7200.0 {
        format!("{:.0} min", value / 60.0)
    } else {
        format!("{:.0} h", value / 3600.0)
    }
}

/// The chart of docs/engines.md: core seconds for each recipient and batch over the number of recipients.
pub(super) fn engines(simulated: &Value) -> Result<String, XtaskError> {
    let all = Document(simulated);
    let costs = |name: &str| all.number(&format!("/costs/{name}"));
    let together = costs("together")?;
    let batch = costs("batch_messages")?;
    let pages = (batch / costs("rounds/page_messages")?).ceil() * costs("rounds/page_core_s")?;
    let streamed = batch * costs("message_core_s")?;
    let (load, first, further) = (
        costs("load_core_s")?,
        costs("first_core_s")?,
        costs("further_core_s")?,
    );
    // Both rounds read a key.
    let rounds_load = 2.0 * costs("rounds/load_core_s")?;
    let rounds_first = costs("rounds/scan_core_s")? + costs("rounds/fetch_core_s")?;
    let rounds_further =
        costs("rounds/further_scan_core_s")? + costs("rounds/further_fetch_core_s")?;
    let (mut digests, mut rounds, mut stream) = (Vec::new(), Vec::new(), Vec::new());
    for recipients in numbers(together) {
        // The share of recipients that are the first of their run.
        let firsts = (recipients / together).ceil() / recipients;
        digests.push((recipients, load + first * firsts + further * (1.0 - firsts)));
        let both = rounds_first * firsts + rounds_further * (1.0 - firsts);
        rounds.push((recipients, rounds_load + both + pages / recipients));
        stream.push((recipients, streamed));
    }
    Ok(Chart {
        title: format!(
            "Core seconds for each recipient and {} messages",
            thousands(batch)
        ),
        over: "recipients with the same messages".to_owned(),
        lines: vec![
            Line {
                name: "stream: InstantOMR",
                class: "stream",
                points: stream,
            },
            Line {
                name: "batches: SophOMR",
                class: "batches",
                points: digests,
            },
            Line {
                name: "two rounds",
                class: "rounds",
                points: rounds,
            },
        ],
    }
    .svg())
}

/// Returns numbers of recipients up to a million: all of one run, then full runs.
fn numbers(together: f64) -> Vec<f64> {
    let mut numbers: Vec<f64> = (1..=together as u32).map(f64::from).collect();
    let mut next = 2.0 * together;
    while next < MOST {
        numbers.push(next);
        next *= 2.0;
    }
    numbers.push((MOST / together).floor() * together);
    numbers
}

/// The greatest number of recipients of the chart.
const MOST: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn simulated() -> Value {
        json!({
            "load": {"recipients": 1000000, "messages_a_day": 20000},
            "machines": {"node_cores": 16, "digest_hours": 72},
            "costs": {
                "params": "hybrid-v4", "date": "2026-11-28T09:00:00Z", "machine": {"cpu": "A processor", "kernels": "avx2"},
                "batch_messages": 65536, "together": 8, "first_core_s": 20.0, "further_core_s": 10.0, "load_core_s": 0.5,
                "message_core_s": 0.01,
                "rounds": {"scan_core_s": 1.5, "further_scan_core_s": 0.1, "fetch_core_s": 0.5,
                    "further_fetch_core_s": 0.4, "page_core_s": 0.05, "load_core_s": 0.05, "page_messages": 1824}
            },
            "policies": [
                {"policy": "daily", "cores_busy": 213.04, "cores": 320, "wait_median_s": 1.6, "wait_p99_s": 4.04,
                    "stored_bytes": 1.3e14, "keys_a_day_bytes": 8.64e12, "memory_bytes": 6.06e9},
                {"policy": "two-rounds", "cores_busy": 5.02, "cores": 16, "wait_median_s": 600.0, "wait_p99_s": 7200.0,
                    "stored_bytes": 1.354e13, "keys_a_day_bytes": 2.592e13, "memory_bytes": 1.14e9}
            ]
        })
    }

    #[test]
    fn the_table_has_a_row_for_each_policy() {
        let table = table(&simulated()).unwrap();
        for row in [
            "1,000,000 recipients, 20,000 messages a day; nodes of 16 cores; finished work kept for 72 hours. Set `hybrid-v4`.",
            "Core seconds of A processor, avx2 kernels; 2026-11-28.",
            "| a digest a day each, alone | 213.0 | 320 | 1.6 s; 4.0 s | 130.0 TB | 100 MB | 6.1 GB |",
            "| two rounds a day each at 24 times, in runs | 5.0 | 16 | 10 min; 2 h | 13.5 TB | 300 MB | 1.1 GB |",
        ] {
            assert!(table.contains(row), "{row} not in {table}");
        }
    }

    #[test]
    fn the_chart_has_a_line_for_each_engine() {
        let chart = engines(&simulated()).unwrap();
        // From 0.1 to 1,000 s: InstantOMR takes 655 s for each.
        for part in [
            ">1,000,000</text>",
            ">0.1</text>",
            ">1,000</text>",
            "two rounds",
            "recipients with the same messages",
        ] {
            assert!(chart.contains(part), "{part} not in {chart}");
        }
        assert_eq!(chart.matches("<path class=").count(), 3);
        let mut cheaper = simulated();
        cheaper["costs"]["rounds"]["further_fetch_core_s"] = json!(0.3);
        assert_ne!(engines(&cheaper).unwrap(), chart);
        cheaper["costs"]["message_core_s"] = Value::Null;
        let error = engines(&cheaper).unwrap_err().to_string();
        assert_eq!(
            error,
            "figures: expected the figure /costs/message_core_s, found none"
        );
    }

    #[test]
    fn runs_are_full_and_end_at_a_million() {
        let numbers = numbers(8.0);
        assert_eq!(numbers[..9], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 16.0]);
        assert_eq!(numbers.last(), Some(&1e6));
    }
}
