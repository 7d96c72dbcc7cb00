//! JSON objects as CSV.

use csv::Writer;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Returns objects as rows below the names of their fields: those of `first`, then all others by name. The name of a
/// field in an inner object has the outer name and a dot before it.
///
/// Errors: those of the writer.
pub(super) fn text(objects: &[Value], first: &[&str]) -> io::Result<String> {
    let rows: Vec<BTreeMap<String, String>> = objects
        .iter()
        .map(|object| {
            let mut cells = BTreeMap::new();
            add("", object, &mut cells);
            cells
        })
        .collect();
    let others: BTreeSet<&str> = rows
        .iter()
        .flat_map(|cells| cells.keys().map(String::as_str))
        .filter(|name| !first.contains(name))
        .collect();
    let columns: Vec<&str> = first.iter().copied().chain(others).collect();
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(&columns)?;
    for cells in &rows {
        let cell = |name: &&str| cells.get(*name).map_or("", String::as_str);
        writer.write_record(columns.iter().map(cell))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Adds the cells of a value; a field without a value has an empty one.
fn add(name: &str, value: &Value, cells: &mut BTreeMap<String, String>) {
    let cell = match value {
        Value::Object(fields) => {
            let dot = if name.is_empty() { "" } else { "." };
            for (field, value) in fields {
                add(&format!("{name}{dot}{field}"), value, cells);
            }
            return;
        }
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    cells.insert(name.to_owned(), cell);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn fields_are_columns_and_text_is_quoted() {
        let objects = [
            json!({"messages": 9, "cost": {"digest_s": 0.5}, "name": "a, \"b\"", "none": null}),
            json!({"messages": 10, "list": [1, 2], "exact": true}),
        ];
        assert_eq!(
            super::text(&objects, &["name", "messages"]).unwrap(),
            "name,messages,cost.digest_s,exact,list,none\n\
             \"a, \"\"b\"\"\",9,0.5,,,\n,10,,true,\"[1,2]\",\n"
        );
    }
}
