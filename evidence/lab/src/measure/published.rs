//! Figures that papers print, and ours for the same work.

use crate::measure::{BuildError, Report, printed};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The tables, with a comment on their form.
const TABLES: &str = include_str!("published/tables.toml");

/// A table of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The name of the paper.
    pub paper: String,
    /// The publication and its section.
    pub source: String,
    /// The number of the table.
    pub table: String,
    /// The work and the machine.
    pub setting: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A column of a table, and how our figures are converted into its unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The name as printed, with the unit.
    pub name: String,
    /// The names of our figures, which are added up.
    pub figures: Vec<String>,
    /// The name of the figure by which the sum is divided, if any.
    pub per: Option<String>,
    /// The size of the column's unit in that of the figures.
    #[serde(default = "one")]
    pub unit: f64,
}

fn one() -> f64 {
    1.0
}

/// A row of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The name as printed.
    pub name: String,
    /// The values as printed, one for each column.
    pub values: Vec<Number>,
    /// The commands after `omr-lab` that print our figures.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// A published figure beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Published<'a> {
    /// The name of the paper.
    pub paper: &'a str,
    /// The number of the table.
    pub table: &'a str,
    /// The row.
    pub row: &'a str,
    /// The column, with the unit.
    pub column: &'a str,
    /// The published value.
    pub published: &'a Number,
    /// Our value in the same unit; `None` if there is none, or if it was not measured.
    pub here: Option<f64>,
    /// The command after `omr-lab` that prints our figure.
    pub command: Option<&'a str>,
}

/// Returns the tables of all papers.
#[must_use]
pub fn tables() -> Vec<Table> {
    let mut file: BTreeMap<String, Vec<Table>> = toml::from_str(TABLES).expect("tested");
    file.remove("table").unwrap_or_default()
}

/// The figures of commands.
pub struct Figures<'a> {
    program: &'a Path,
    report: &'a Report,
    /// The figures of commands that were run.
    run: BTreeMap<String, Value>,
}

impl<'a> Figures<'a> {
    /// Returns the figures of a report of benchmarks; models are run by `program`, which is `omr-lab`.
    #[must_use]
    pub fn new(program: &'a Path, report: &'a Report) -> Self {
        Self {
            program,
            report,
            run: BTreeMap::new(),
        }
    }

    /// Returns the figures of a command; `None` for a benchmark that the report lacks.
    fn of(&mut self, command: &str) -> Result<Option<&Value>, BuildError> {
        if command.starts_with("bench ") {
            let mut all = self.report.measurements.iter();
            let found = all.find(|measurement| measurement.command == command);
            return Ok(found.map(|measurement| &measurement.figures));
        }
        if !self.run.contains_key(command) {
            let arguments: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let figures = printed(self.program, &arguments)?.into_iter().next();
            let figures = figures.ok_or(BuildError::NoFigures)?;
            self.run.insert(command.to_owned(), figures);
        }
        Ok(self.run.get(command))
    }
}

impl Table {
    /// Returns every figure of the table beside ours.
    ///
    /// Errors: those of a command that is run.
    pub fn compared(&self, figures: &mut Figures<'_>) -> Result<Vec<Published<'_>>, BuildError> {
        let mut all = Vec::new();
        for row in &self.rows {
            for (column, published) in self.columns.iter().zip(&row.values) {
                let mut here = None;
                let mut command = None;
                for candidate in &row.commands {
                    let found = figures.of(candidate)?;
                    if let Some(value) = found.and_then(|figures| column.of(figures)) {
                        (here, command) = (Some(value), Some(candidate.as_str()));
                        break;
                    }
                    // A benchmark that was not measured.
                    if found.is_none() {
                        command = command.or(Some(candidate.as_str()));
                    }
                }
                all.push(Published {
                    paper: &self.paper,
                    table: &self.table,
                    row: &row.name,
                    column: &column.name,
                    published,
                    here,
                    command,
                });
            }
        }
        Ok(all)
    }
}

impl Column {
    /// Returns the value of the column from figures of ours; `None` if one is missing.
    fn of(&self, figures: &Value) -> Option<f64> {
        let figure = |name: &String| {
            let pointer = format!("/{}", name.replace('.', "/"));
            figures.pointer(&pointer)?.as_f64()
        };
        let parts: Option<Vec<f64>> = self.figures.iter().map(figure).collect();
        let sum: f64 = parts?.iter().sum();
        let number = match &self.per {
            Some(name) => figure(name)?,
            None => 1.0,
        };
        Some(sum / number / self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_row_has_a_value_for_every_column() {
        let all = tables();
        assert!(all.len() >= 7);
        for table in &all {
            for row in &table.rows {
                let name = format!("{}, {}, {}", table.paper, table.table, row.name);
                assert_eq!(row.values.len(), table.columns.len(), "{name}");
            }
        }
    }

    #[test]
    fn figures_are_added_and_divided_in_the_unit_of_the_column() {
        let column = Column {
            name: "Layers (ms/msg)".to_owned(),
            figures: vec!["stages.first".to_owned(), "stages.second".to_owned()],
            per: Some("messages".to_owned()),
            unit: 1e-3,
        };
        let figures = json!({"stages": {"first": 1.5, "second": 0.5}, "messages": 400});
        assert_eq!(column.of(&figures), Some(5.0));
        assert_eq!(column.of(&json!({"messages": 400})), None);
    }
}
