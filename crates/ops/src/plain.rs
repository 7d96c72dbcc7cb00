//! The text format of Prometheus before OpenMetrics.

/// Returns text of OpenMetrics in the format 0.0.4, in which a family has the name of its samples, and no unit and no
/// end.
pub(crate) fn plain(openmetrics: &str) -> String {
    let mut out = String::with_capacity(openmetrics.len());
    let mut help = "";
    for line in openmetrics.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described;
        } else if let Some(described) = line.strip_prefix("# TYPE ") {
            let (name, kind) = described.split_once(' ').unwrap_or((described, "unknown"));
            let (ending, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            if let Some((_, text)) = help.split_once(' ') {
                out += &format!("# HELP {name}{ending} {text}\n");
            }
            out += &format!("# TYPE {name}{ending} {kind}\n");
        } else if !line.starts_with("# ") {
            out += line;
            out += "\n";
        }
    }
    out
}
