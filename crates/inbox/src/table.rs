//! The content of the tables: typed keys and values over the bytes of a storage.

use crate::InboxError;
use crate::canary::Canary;
use crate::history::{Fork, Hash};
use crate::job::{Job, Session};
use crate::kept::{Keeping, Read};
use crate::storage::{Edit, Look, Table};
use crate::view::Record;
use crate::withdrawn::Place;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// A table with the types of its keys and values.
pub(crate) struct Typed<K, V> {
    table: Table,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for Typed<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Typed<K, V> {}

const fn typed<K, V>(table: Table) -> Typed<K, V> {
    let types = PhantomData;
    Typed { table, types }
}

pub(crate) const STATE: Typed<Name, u64> = typed(Table::State);
/// Under [`OPEN`]: the session, if one is open.
pub(crate) const SESSION: Typed<Name, Json<Session>> = typed(Table::Records);
pub(crate) const OPEN: Name = Name("session");
/// Under [`SEED`]: the seed of the ids of orders.
pub(crate) const ORDERS: Typed<Name, Json<[u8; 16]>> = typed(Table::Records);
pub(crate) const SEED: Name = Name("orders");
/// Under [`WITHDRAWN`]: the places of letters whose messages the board no longer has.
pub(crate) const PLACES: Typed<Name, Json<BTreeSet<Place>>> = typed(Table::Records);
pub(crate) const WITHDRAWN: Name = Name("withdrawn");
/// Under [`MUTED`]: the fingerprints of muted senders.
pub(crate) const SENDERS: Typed<Name, Json<BTreeSet<String>>> = typed(Table::Records);
pub(crate) const MUTED: Name = Name("muted");
pub(crate) const JOBS: Typed<u64, Json<Job>> = typed(Table::Jobs);
pub(crate) const DIGESTS: Typed<u64, Vec<u8>> = typed(Table::Digests);
pub(crate) const MESSAGES: Typed<u64, Json<Record>> = typed(Table::Messages);
pub(crate) const BODIES: Typed<u64, Vec<u8>> = typed(Table::Bodies);
/// The hashes of the received payloads at each index: several, if the board had several histories.
pub(crate) const SEEN: Typed<u64, Vec<Hash>> = typed(Table::Seen);
pub(crate) const COPIES: Typed<Vec<u8>, u64> = typed(Table::Copies);
pub(crate) const PIECES: Typed<(u64, u64), Vec<u8>> = typed(Table::Pieces);
pub(crate) const UNOPENED: Typed<u64, Vec<u8>> = typed(Table::Unopened);
pub(crate) const KEPT: Typed<u64, Json<Keeping>> = typed(Table::Kept);
pub(crate) const FOUND: Typed<(u64, u64), ()> = typed(Table::Found);
pub(crate) const SPARES: Typed<u64, Json<Read>> = typed(Table::Spares);
pub(crate) const MARKS: Typed<u64, u64> = typed(Table::Marks);
pub(crate) const ADOPTED: Typed<(Vec<u8>, u64), u64> = typed(Table::Adopted);
pub(crate) const CANARIES: Typed<Vec<u8>, Json<Canary>> = typed(Table::Canaries);
pub(crate) const HEADS: Typed<u64, Hash> = typed(Table::Heads);
pub(crate) const FORKS: Typed<u64, Json<Fork>> = typed(Table::Forks);
/// The indices of each scan's messages that wait, in the order of the board.
pub(crate) const WAITING: Typed<u64, Vec<u64>> = typed(Table::Waiting);
pub(crate) const QUERIES: Typed<u64, Vec<u8>> = typed(Table::Queries);

/// Numbers of [`STATE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// The first message that was never requested.
    Cursor,
    /// The next number of a request or a kept range.
    NextJob,
    /// The least number of the next message, where messages were deleted.
    NextMessage,
    /// The number of fetches so far.
    Turn,
    /// The board's length at the last fetch.
    Length,
    /// The number of levels of spare requests at the last fetch.
    Levels,
    /// The first message that the board keeps, as far as fetches know.
    First,
    /// The first message of the span of long scans.
    SpanStart,
    /// The index after the last message of the span of long scans.
    SpanEnd,
    /// The highest number of messages of a scan that contains all payloads; 0 if fetches make digests.
    Short,
    /// The number of messages that the answer to a query has room for.
    Room,
    /// The highest number of messages of a query.
    Most,
    /// The board's length at [`Self::SeenAt`].
    SeenTo,
    /// The time at which the board had the length that fetches are now completing; 0 if there is none.
    SeenAt,
    /// A time in seconds since 1970: everything that was posted before it has been received.
    ReceivedAt,
}

impl Number {
    fn name(self) -> Name {
        Name(match self {
            Self::Cursor => "cursor",
            Self::NextJob => "next_job",
            Self::NextMessage => "next_message",
            Self::Turn => "turn",
            Self::Length => "length",
            Self::Levels => "levels",
            Self::First => "first",
            Self::SpanStart => "span_start",
            Self::SpanEnd => "span_end",
            Self::Short => "short",
            Self::Room => "room",
            Self::Most => "most",
            Self::SeenTo => "seen_to",
            Self::SeenAt => "seen_at",
            Self::ReceivedAt => "received_at",
        })
    }

    /// Returns the number; `None` where it was never set.
    pub(crate) fn known<T: Look>(self, tx: &T) -> Result<Option<u64>, T::Error> {
        STATE.get(tx, &self.name())
    }

    /// Returns the number; 0 where it was never set.
    pub(crate) fn get<T: Look>(self, tx: &T) -> Result<u64, T::Error> {
        Ok(self.known(tx)?.unwrap_or(0))
    }

    pub(crate) fn set<T: Edit>(self, tx: &mut T, number: u64) -> Result<(), T::Error> {
        STATE.put(tx, &self.name(), &number)
    }
}

impl<K: Key, V: Value> Typed<K, V> {
    pub(crate) fn get<T: Look>(self, tx: &T, key: &K) -> Result<Option<V::Of>, T::Error> {
        let bytes = tx.get(self.table, &key.bytes())?;
        Ok(bytes.map(|bytes| self.value(bytes)).transpose()?)
    }

    pub(crate) fn has<T: Look>(self, tx: &T, key: &K) -> Result<bool, T::Error> {
        Ok(tx.get(self.table, &key.bytes())?.is_some())
    }

    pub(crate) fn all<T: Look>(self, tx: &T) -> Result<Vec<(K, V::Of)>, T::Error> {
        let entries = tx.all(self.table)?;
        self.entries(entries).map_err(T::Error::from)
    }

    pub(crate) fn range<T: Look>(
        self,
        tx: &T,
        keys: RangeInclusive<K>,
    ) -> Result<Vec<(K, V::Of)>, T::Error> {
        let (from, to) = (keys.start().bytes(), keys.end().bytes());
        let entries = tx.range(self.table, &from[..]..=&to[..])?;
        self.entries(entries).map_err(T::Error::from)
    }

    pub(crate) fn first<T: Look>(self, tx: &T) -> Result<Option<(K, V::Of)>, T::Error> {
        let first = tx.first(self.table)?.into_iter().collect();
        Ok(self.entries(first)?.pop())
    }

    pub(crate) fn count<T: Look>(self, tx: &T) -> Result<u64, T::Error> {
        tx.count(self.table)
    }

    pub(crate) fn put<T: Edit>(self, tx: &mut T, key: &K, value: &V::Of) -> Result<(), T::Error> {
        let bytes = V::bytes(value)?;
        tx.put(self.table, &key.bytes(), &bytes)
    }

    pub(crate) fn remove<T: Edit>(self, tx: &mut T, key: &K) -> Result<(), T::Error> {
        tx.remove(self.table, &key.bytes())
    }

    pub(crate) fn clear<T: Edit>(
        self,
        tx: &mut T,
        keys: RangeInclusive<K>,
    ) -> Result<(), T::Error> {
        let (from, to) = (keys.start().bytes(), keys.end().bytes());
        for (key, _) in tx.range(self.table, &from[..]..=&to[..])? {
            tx.remove(self.table, &key)?;
        }
        Ok(())
    }

    fn entries(self, entries: Vec<(Vec<u8>, Vec<u8>)>) -> Result<Vec<(K, V::Of)>, InboxError> {
        let entry = |(key, value): (Vec<u8>, Vec<u8>)| {
            let parsed = K::parse(&key).ok_or_else(|| self.damaged("a key", key.len()))?;
            Ok((parsed, self.value(value)?))
        };
        entries.into_iter().map(entry).collect()
    }

    fn value(self, bytes: Vec<u8>) -> Result<V::Of, InboxError> {
        let found = bytes.len();
        V::parse(bytes).map_err(|error| match error {
            Some(error) => InboxError::Record(error),
            None => self.damaged("a value", found),
        })
    }

    fn damaged(self, expected: &'static str, found: usize) -> InboxError {
        let table = self.table.name();
        InboxError::Bytes {
            table,
            expected,
            found,
        }
    }
}

impl<V: Value> Typed<u64, V> {
    /// Returns the number after the last, in a table that only grows.
    pub(crate) fn next_number<T: Look>(self, tx: &T) -> Result<u64, T::Error> {
        let last = tx.last_key(self.table)?;
        let number = |key: Vec<u8>| {
            <u64 as Key>::parse(&key).ok_or_else(|| self.damaged("a key", key.len()))
        };
        Ok(last.map(number).transpose()?.map_or(1, |last| last + 1))
    }
}

/// A key of a table.
pub(crate) trait Key: Sized {
    fn bytes(&self) -> Vec<u8>;
    fn parse(bytes: &[u8]) -> Option<Self>;
}

/// A name of a record, a constant of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(&'static str);

impl Key for Name {
    fn bytes(&self) -> Vec<u8> {
        self.0.as_bytes().to_vec()
    }

    /// Tables by name are not listed.
    fn parse(_: &[u8]) -> Option<Self> {
        None
    }
}

impl Key for u64 {
    fn bytes(&self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::from_be_bytes)
    }
}

impl Key for Vec<u8> {
    fn bytes(&self) -> Vec<u8> {
        self.clone()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

impl<K: Key> Key for (K, u64) {
    fn bytes(&self) -> Vec<u8> {
        [self.0.bytes(), self.1.bytes()].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (first, second) = bytes.split_last_chunk::<8>()?;
        Some((K::parse(first)?, u64::from_be_bytes(*second)))
    }
}

/// A value of a table.
pub(crate) trait Value {
    type Of;
    fn bytes(value: &Self::Of) -> Result<Vec<u8>, InboxError>;
    /// Parses a value. The error `None` stands for a wrong length.
    fn parse(bytes: Vec<u8>) -> Result<Self::Of, Option<serde_json::Error>>;
}

/// A value that is written as JSON.
pub(crate) struct Json<T>(PhantomData<T>);

impl<T: Serialize + DeserializeOwned> Value for Json<T> {
    type Of = T;

    fn bytes(value: &T) -> Result<Vec<u8>, InboxError> {
        serde_json::to_vec(value).map_err(InboxError::Record)
    }

    fn parse(bytes: Vec<u8>) -> Result<T, Option<serde_json::Error>> {
        serde_json::from_slice(&bytes).map_err(Some)
    }
}

impl Value for Vec<u8> {
    type Of = Self;

    fn bytes(value: &Self) -> Result<Self, InboxError> {
        Ok(value.clone())
    }

    fn parse(bytes: Self) -> Result<Self, Option<serde_json::Error>> {
        Ok(bytes)
    }
}

impl Value for Vec<u64> {
    type Of = Self;

    fn bytes(value: &Self) -> Result<Vec<u8>, InboxError> {
        Ok(value
            .iter()
            .flat_map(|number| number.to_be_bytes())
            .collect())
    }

    fn parse(bytes: Vec<u8>) -> Result<Self, Option<serde_json::Error>> {
        let (numbers, []) = bytes.as_chunks() else {
            return Err(None);
        };
        Ok(numbers
            .iter()
            .map(|number| u64::from_be_bytes(*number))
            .collect())
    }
}

impl Value for Hash {
    type Of = Self;

    fn bytes(value: &Self) -> Result<Vec<u8>, InboxError> {
        Ok(value.to_vec())
    }

    fn parse(bytes: Vec<u8>) -> Result<Self, Option<serde_json::Error>> {
        bytes.try_into().map_err(|_| None)
    }
}

impl Value for Vec<Hash> {
    type Of = Self;

    fn bytes(value: &Self) -> Result<Vec<u8>, InboxError> {
        Ok(value.concat())
    }

    fn parse(bytes: Vec<u8>) -> Result<Self, Option<serde_json::Error>> {
        match bytes.as_chunks() {
            (hashes, []) => Ok(hashes.to_vec()),
            _ => Err(None),
        }
    }
}

impl Value for u64 {
    type Of = Self;

    fn bytes(value: &Self) -> Result<Vec<u8>, InboxError> {
        Ok(value.to_be_bytes().to_vec())
    }

    fn parse(bytes: Vec<u8>) -> Result<Self, Option<serde_json::Error>> {
        Key::parse(&bytes).ok_or(None)
    }
}

impl Value for () {
    type Of = ();

    fn bytes(_: &()) -> Result<Vec<u8>, InboxError> {
        Ok(Vec::new())
    }

    fn parse(_: Vec<u8>) -> Result<(), Option<serde_json::Error>> {
        Ok(())
    }
}
