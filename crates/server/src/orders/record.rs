//! The record of an order on the disk.

use crate::error::ServerError;
use crate::jobs::JobRecord;
use crate::records::{self, Id};
use omr_store::{Change, Store};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The name of the table of orders.
const ORDERS: &str = "orders";

/// A client's request for an order, and its progress.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderRecord {
    pub(crate) account: String,
    pub(crate) request_id: Id,
    pub(crate) keys: Vec<[u8; 32]>,
    /// The first message of the next batch.
    pub(crate) next: u64,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// The tag of the scheme.
    pub(crate) scheme: u8,
}

impl OrderRecord {
    /// Returns whether another record makes the same request. The first message is not compared: the first request
    /// determines it.
    pub(crate) fn is_same_request(&self, other: &Self) -> bool {
        let next = self.next;
        *self
            == Self {
                next,
                ..other.clone()
            }
    }

    /// Returns the record of a batch's job.
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

/// Returns the changes that delete an order.
pub(crate) fn forget(id: &Id) -> [Change; 1] {
    records::forget([ORDERS], id)
}

/// Loads all orders from the disk.
///
/// Errors: `Store`, `Record`.
pub(crate) fn load(store: &Store) -> Result<Vec<(Id, OrderRecord)>, ServerError> {
    records::load(store, ORDERS)
}
