//! An order as it is kept on the disk.

use crate::error::ServerError;
use crate::jobs::JobRecord;
use crate::records::{self, Id};
use omr_store::{Change, Store};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Table of orders.
const ORDERS: &str = "orders";

/// What a client asked for, and how far it got.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderRecord {
    pub(crate) account: String,
    pub(crate) request_id: Id,
    pub(crate) keys: Vec<[u8; 32]>,
    /// First message of the next batch.
    pub(crate) next: u64,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// The scheme's tag.
    pub(crate) scheme: u8,
}

impl OrderRecord {
    /// Whether another record asks for the same; where it begins the first one says.
    pub(crate) fn is_same_request(&self, other: &Self) -> bool {
        let next = self.next;
        *self
            == Self {
                next,
                ..other.clone()
            }
    }

    /// The job of a batch.
    pub(crate) fn job(&self, batch: Range<u64>) -> JobRecord {
        JobRecord {
            account: self.account.clone(),
            keys: self.keys.clone(),
            range: batch,
            step: 1,
            bound: self.bound,
            indices_only: self.indices_only,
            scheme: self.scheme,
            ordered: true,
            ..JobRecord::default()
        }
    }

    pub(crate) fn change(&self, id: &Id) -> Change {
        records::put_json(ORDERS, id, self)
    }
}

/// Takes an order out.
pub(crate) fn forget(id: &Id) -> [Change; 1] {
    records::forget([ORDERS], id)
}

/// All orders that are kept.
///
/// Errors: `Store`, `Record`.
pub(crate) fn load(store: &Store) -> Result<Vec<(Id, OrderRecord)>, ServerError> {
    records::load(store, ORDERS)
}
