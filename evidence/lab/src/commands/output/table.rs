//! JSON in a form for people: a row for each field, and a table for objects with equal fields.

use omr_console::thousands;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A JSON value whose fields keep their order.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Null,
    Whole(u64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Object(Fields),
}

type Fields = Vec<(String, Node)>;

/// The units at the end of a field's name, and their form after its value.
const UNITS: [(&str, &str); 5] = [
    ("_bytes", " bytes"),
    ("_ms", " ms"),
    ("_us", " us"),
    ("_s", " s"),
    ("_kb", " kB"),
];
/// The number of values of a list that are shown.
const SHOWN: usize = 8;

/// Returns the text of a JSON object.
///
/// Errors: it is not JSON.
pub(super) fn text(json: &str) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    serde_json::from_str::<Node>(json)?.write("", 0, &mut text);
    Ok(text)
}

impl Node {
    /// Returns a value that fits one cell; `None` for a value that needs its own rows.
    fn cell(&self, name: &str) -> Option<String> {
        let text = match self {
            Self::Null => return Some("-".to_owned()),
            Self::Number(number) if name.ends_with("_log2") => format!("2^{number:.1}"),
            Self::Whole(number) => thousands(*number),
            // Tenths of milliseconds, regardless of their number.
            Self::Number(number) if name.ends_with("_ms") && *number >= 1000.0 => {
                format!("{number:.1}")
            }
            Self::Number(number) => significant(*number),
            Self::Text(text) => text.clone(),
            Self::List(list) if list.iter().all(Self::is_plain) => {
                let shown: Vec<_> = list.iter().take(SHOWN).filter_map(|x| x.cell("")).collect();
                shown.join(", ") + if list.len() > SHOWN { ", ..." } else { "" }
            }
            Self::List(_) | Self::Object(_) => return None,
        };
        let unit = UNITS.iter().find(|(end, _)| name.ends_with(end));
        Some(text + unit.map_or("", |(_, unit)| unit))
    }

    fn is_plain(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Object(_))
    }

    /// Appends rows: a value beside its name, or its contents below its name.
    fn write(&self, name: &str, indent: usize, text: &mut String) {
        let head = format!("{}{}", " ".repeat(indent), title(name));
        if let Some(cell) = self.cell(name) {
            if *self != Self::Null {
                *text += &format!("{head:<32} {cell:>16}\n");
            }
            return;
        }
        match self {
            Self::List(list) if self.rows().is_none() => {
                return list.iter().for_each(|x| x.write(name, indent, text));
            }
            _ if name.is_empty() => {}
            _ => *text += &format!("{head}\n"),
        }
        let inner = if name.is_empty() { indent } else { indent + 2 };
        match (self.rows(), self) {
            (Some(rows), _) => table(&rows, inner, text),
            (None, Self::Object(fields)) => {
                fields
                    .iter()
                    .for_each(|(name, value)| value.write(name, inner, text));
            }
            _ => {}
        }
    }

    /// Returns the rows of a table with the names of objects, if this has several objects with equal plain fields.
    fn rows(&self) -> Option<Vec<(&str, &Fields)>> {
        let named: Vec<(&str, &Self)> = match self {
            Self::List(list) => list.iter().map(|node| ("", node)).collect(),
            Self::Object(fields) => fields.iter().map(|(n, node)| (n.as_str(), node)).collect(),
            _ => return None,
        };
        let rows = named
            .into_iter()
            .map(|(name, node)| match node {
                Self::Object(fields) => Some((name, fields)),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()?;
        let names = |fields: &Fields| fields.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
        let first = names(rows.first()?.1);
        let fits = |(_, fields): &(&str, &Fields)| {
            names(fields) == first
                && fields
                    .iter()
                    .all(|(name, value)| value.cell(name).is_some())
        };
        (rows.len() > 1 && rows.iter().all(fits)).then_some(rows)
    }
}

/// Appends rows below the names of their fields.
fn table(rows: &[(&str, &Fields)], indent: usize, text: &mut String) {
    let head = rows[0].1.iter().map(|(name, _)| title(name)).collect();
    let mut lines: Vec<(&str, Vec<String>)> = vec![("", head)];
    for (name, fields) in rows {
        let cells = fields.iter().filter_map(|(name, value)| value.cell(name));
        lines.push((name, cells.collect()));
    }
    let first = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let width = |i: usize| {
        lines
            .iter()
            .map(|(_, cells)| cells[i].len())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..lines[0].1.len()).map(width).collect();
    for (name, cells) in &lines {
        *text += &format!("{}{name:<first$}", " ".repeat(indent));
        for (cell, &width) in cells.iter().zip(&widths) {
            *text += &format!("  {cell:>width$}");
        }
        *text += "\n";
    }
}

/// Returns a field's name without its unit.
fn title(name: &str) -> String {
    let unit = UNITS.iter().find_map(|(end, _)| name.strip_suffix(end));
    let bare = unit.unwrap_or(name.strip_suffix("_log2").unwrap_or(name));
    bare.replace('_', " ")
}

/// Returns the name of a figure in words, with its unit.
pub(super) fn with_unit(name: &str) -> String {
    let unit = UNITS.iter().find(|(end, _)| name.ends_with(end));
    let words = title(name).replace('.', ", ");
    match unit {
        Some((_, unit)) => format!("{words} ({})", unit.trim_start()),
        None => words,
    }
}

/// Returns a number with four significant digits, or with all digits before the point.
fn significant(number: f64) -> String {
    let digits = if number == 0.0 {
        0
    } else {
        (3 - number.abs().log10().floor() as i64).clamp(0, 9) as usize
    };
    format!("{number:.digits$}")
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<Node, E> {
        Ok(Node::Text(if is { "yes" } else { "no" }.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Whole(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Text(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = from.next_element()? {
            list.push(node);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = from.next_entry()? {
            fields.push(field);
        }
        Ok(Node::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn reads(json: &str, expected: &str) {
        assert_eq!(super::text(json).unwrap(), expected);
    }

    #[test]
    fn fields_are_rows_in_their_order_with_units() {
        let json = r#"{"params":"x","keygen_s":0.01234,"clue_bytes":2573,"miss_log2":-30.04,
            "none":null,"exact":true,"digest_ntts":12345.6,"product_ms":2150.2,"zero":0.0,"few":[1,2],"below":-3}"#;
        let rows = [
            ("params", "x"),
            ("keygen", "0.01234 s"),
            ("clue", "2,573 bytes"),
            ("miss", "2^-30.0"),
            ("exact", "yes"),
            ("digest ntts", "12346"),
            ("product", "2150.2 ms"),
            ("zero", "0"),
            ("few", "1, 2"),
            ("below", "-3"),
        ]
        .map(|(name, value)| format!("{name:<32} {value:>16}\n"));
        reads(json, &rows.concat());
    }

    #[test]
    fn axes_have_units() {
        for (figure, expected) in [
            ("digest_s", "digest (s)"),
            ("stages.range_check", "stages, range check"),
            ("peak_rss_bytes", "peak rss (bytes)"),
        ] {
            assert_eq!(super::with_unit(figure), expected);
        }
    }

    #[test]
    fn objects_of_one_kind_are_a_table() {
        reads(
            r#"{"points":[{"messages":1,"wait_s":0.5},{"messages":1000,"wait_s":null}]}"#,
            "points\n    messages      wait\n           1  0.5000 s\n       1,000         -\n",
        );
        reads(
            r#"{"figures":{"keygen":{"seconds":1.5},"a":{"seconds":2.0}}}"#,
            "figures\n          seconds\n  keygen    1.500\n  a         2.000\n",
        );
    }

    #[test]
    fn other_objects_are_printed_one_below_the_other() {
        let row = |name: &str, value: &str| format!("{name:<32} {value:>16}\n");
        reads(
            r#"{"jobs":[{"wait_s":1.0,"all":[1,2,3,4,5,6,7,8,9]},{"part":{"a":1}}]}"#,
            &[
                "jobs\n",
                &row("  wait", "1.000 s"),
                &row("  all", "1, 2, 3, 4, 5, 6, 7, 8, ..."),
                "jobs\n  part\n",
                &row("    a", "1"),
            ]
            .concat(),
        );
    }
}
