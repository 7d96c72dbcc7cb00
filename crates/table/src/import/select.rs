//! Chooses the columns of a file that are imported.

use std::collections::HashSet;

use super::{Declared, ImportError, ImportOptions, Wanted};
use crate::schema_check::{check_columns, check_name};
use crate::{ColumnType, SchemaError};
use omr_errors::Mismatch;

/// A column of a file that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// The column's place in the file.
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) wanted: Option<Wanted>,
}

/// The columns wanted, in the order of the table. Those without a name are called `column0` and so on, by their place in
/// the file.
///
/// Errors: names that are not there, are no names of a table, or are there twice; too many.
pub(super) fn choose(
    found: &[String],
    options: &ImportOptions,
) -> Result<Vec<Chosen>, ImportError> {
    check_name(&options.name)?;
    let found = &named(found);
    let dropped = places(found, &options.drop)?;
    let mut chosen: Vec<usize> = match &options.select {
        Some(names) => places(found, names)?,
        None => (0..found.len()).collect(),
    };
    chosen.retain(|place| !dropped.contains(place));
    let declared = declared_places(found, &options.declared)?;
    let wanted = |place| {
        let declared = declared.iter().find(|(declared, _)| *declared == place);
        declared.map(|(_, wanted)| *wanted)
    };
    // Any valid type will do for the check of names.
    check_columns(
        chosen
            .iter()
            .map(|&place| (found[place].as_str(), ColumnType::Boolean)),
    )?;
    let chosen = chosen.into_iter().map(|place| Chosen {
        place,
        name: found[place].clone(),
        wanted: wanted(place),
    });
    Ok(chosen.collect())
}

/// The names with one for each column that has none: `column0` for the first of the file, and so on.
fn named(found: &[String]) -> Vec<String> {
    let taken: HashSet<String> = found.iter().map(|name| name.to_lowercase()).collect();
    let mut names = found.to_vec();
    for (place, name) in names.iter_mut().enumerate() {
        if name.is_empty() {
            *name = format!("column{place}");
            while taken.contains(name) {
                name.push('_');
            }
        }
    }
    names
}

fn declared_places(
    found: &[String],
    declared: &[Declared],
) -> Result<Vec<(usize, Wanted)>, ImportError> {
    let place = |declared: &Declared| {
        if let Wanted::Exactly(kind) = declared.wanted
            && !kind.is_valid()
        {
            return Err(SchemaError::Type(kind.to_string()).into());
        }
        Ok((place(found, &declared.name)?, declared.wanted))
    };
    declared.iter().map(place).collect()
}

fn places(found: &[String], names: &[String]) -> Result<Vec<usize>, ImportError> {
    names.iter().map(|name| place(found, name)).collect()
}

/// The column of a name as it is, or else in another case.
fn place(found: &[String], name: &str) -> Result<usize, ImportError> {
    let exact = found.iter().position(|found| found == name);
    let lower = name.to_lowercase();
    exact
        .or_else(|| found.iter().position(|found| found.to_lowercase() == lower))
        .ok_or_else(|| {
            ImportError::NoColumn(Mismatch::new(
                name.into(),
                found.iter().take(crate::MAX_COLUMNS).cloned().collect(),
            ))
        })
}
