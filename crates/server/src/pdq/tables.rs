//! Tables and parameter sets, by name.

use crate::error::ServerError;
use omr_pdq::{EvaluationKey, Hosted, Params};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tonic::Status;

/// Tables by their names in lower case.
pub(super) struct Tables(BTreeMap<String, Arc<Hosted>>);

impl Tables {
    /// Reads all files.
    ///
    /// Errors: `Table`, `TableTwice`, `NoRandomness`.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, ServerError> {
        let mut tables = BTreeMap::new();
        for path in paths {
            // The seed of the placement of rows in blocks, for tables in the clear. It stays the same until the server
            // stops.
            let mut placement = [0; 32];
            getrandom::fill(&mut placement).map_err(|_| ServerError::NoRandomness)?;
            let table = Hosted::open(path, placement, u64::MAX)
                .map_err(|source| ServerError::Table(path.clone(), Box::new(source)))?;
            let schema = table.schema();
            let name = schema.name.clone();
            tracing::info!(%name, rows = schema.rows, "a table is served");
            let served = Arc::new(table);
            if tables.insert(name.to_lowercase(), served).is_some() {
                return Err(ServerError::TableTwice(name));
            }
        }
        Ok(Self(tables))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Hosted> {
        self.0.values().map(Arc::as_ref)
    }

    /// Returns the table with a name; case does not matter.
    ///
    /// Errors: NOT_FOUND.
    pub(super) fn named(&self, name: &str) -> Result<Arc<Hosted>, Status> {
        let found = self.0.get(&name.to_lowercase());
        found.cloned().ok_or_else(|| {
            let known: Vec<&str> = self
                .all()
                .map(|served| served.schema().name.as_str())
                .collect();
            let start: String = name.chars().take(128).collect();
            Status::not_found(format!(
                "expected one of the tables {}, found {start:?}",
                known.join(", ")
            ))
        })
    }
}

/// Parameter sets by name, with the seconds of one transform on one thread.
pub(super) struct Sets(Vec<(Arc<Params>, f64)>);

impl Sets {
    /// Returns the sets with these names.
    ///
    /// Errors: `PdqParams`.
    pub(super) fn named(names: &[String]) -> Result<Self, ServerError> {
        let sets = names.iter().map(|name| {
            let set = Params::named(name)?;
            let seconds = set.transform_seconds();
            Ok((set, seconds))
        });
        Ok(Self(sets.collect::<Result<_, ServerError>>()?))
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|(set, _)| set.name().to_owned())
            .collect()
    }

    pub(super) fn transform_seconds(&self) -> Vec<f64> {
        self.0.iter().map(|&(_, seconds)| seconds).collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Params>> {
        let mut sets = self.0.iter().map(|(set, _)| set);
        sets.find(|set| set.name() == name).cloned()
    }

    /// Returns the length of the longest key in bytes.
    pub(super) fn longest_key(&self) -> u64 {
        self.0
            .iter()
            .map(|(set, _)| EvaluationKey::bytes_of(set))
            .max()
            .unwrap_or(0)
    }
}
