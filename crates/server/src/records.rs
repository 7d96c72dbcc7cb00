//! The server's own records in the store: JSON under an id of 16 bytes.

use crate::error::ServerError;
use omr_store::{Change, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The id of a job or a session.
pub(crate) type Id = [u8; 16];

/// Returns the change that stores bytes under an id.
pub(crate) fn put(table: &str, id: &Id, value: Vec<u8>) -> Change {
    Change::Put {
        table: table.into(),
        key: id.to_vec(),
        value,
    }
}

/// Returns the change that stores a record under an id.
pub(crate) fn put_json(table: &str, id: &Id, record: &impl Serialize) -> Change {
    put(table, id, serde_json::to_vec(record).unwrap_or_default())
}

/// Returns the changes that remove an id from tables.
pub(crate) fn forget<const N: usize>(tables: [&str; N], id: &Id) -> [Change; N] {
    tables.map(|table| Change::Delete {
        table: table.into(),
        key: id.to_vec(),
    })
}

/// Loads all records of a table.
///
/// Errors: `Store`, `Record`.
pub(crate) fn load<T: DeserializeOwned>(
    store: &Store,
    table: &'static str,
) -> Result<Vec<(Id, T)>, ServerError> {
    let mut records = Vec::new();
    each(store, table, |id, record| records.push((id, record)))?;
    Ok(records)
}

/// Calls `take` with every record of a table.
///
/// Errors: `Store`, `Record`.
pub(crate) fn each<T: DeserializeOwned>(
    store: &Store,
    table: &'static str,
    mut take: impl FnMut(Id, T),
) -> Result<(), ServerError> {
    let mut wrong = None;
    store.each_record(table, |key, value| {
        match (parse(table, value), Id::try_from(key)) {
            (Ok(record), Ok(id)) => take(id, record),
            (Ok(_), Err(_)) => {}
            (Err(error), _) => drop(wrong.get_or_insert(error)),
        }
    })?;
    wrong.map_or(Ok(()), Err)
}

/// Returns the record under an id.
///
/// Errors: `Store`, `Record`.
pub(crate) fn get<T: DeserializeOwned>(
    store: &Store,
    table: &'static str,
    id: &Id,
) -> Result<Option<T>, ServerError> {
    let value = store.get(table, id)?;
    value.map(|value| parse(table, &value)).transpose()
}

fn parse<T: DeserializeOwned>(table: &'static str, value: &[u8]) -> Result<T, ServerError> {
    serde_json::from_slice(value).map_err(|source| ServerError::Record { table, source })
}

/// Opens a store in a folder, and creates it if it does not exist.
#[cfg(test)]
pub(crate) fn test_store(dir: &tempfile::TempDir) -> Store {
    test_store_of(&omr_store::StoreConfig::new(dir.path().join("data")))
}

/// Opens the store of a configuration, and creates it if it does not exist.
#[cfg(test)]
pub(crate) fn test_store_of(config: &omr_store::StoreConfig) -> Store {
    let board = omr_store::BoardConfig {
        board_id: [1; 16],
        params_id: "toy".into(),
        sealing: "none".into(),
        clue_bytes: 8,
        payload_bytes: 8,
        clues: omr_store::Clues::Plain,
    };
    if !Store::exists(&config.dir) {
        Store::create(config, &board).unwrap();
    }
    Store::open(config).unwrap()
}
