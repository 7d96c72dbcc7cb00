//! Files as they arrive: in one stream, or part by part in calls of their own, from clients that cannot send streams.

use super::keys::{Hash, Keys};
use super::run::AGAIN;
use crate::caller::Caller;
use crate::refuse;
use crate::share::{Place, Places};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;
use tonic::Status;

/// Files that arrive in parts at a time.
const FILES: usize = 8;
/// A file that nobody goes on with is forgotten.
const IDLE: Duration = Duration::from_secs(120);

/// A file of which some has arrived.
pub(super) struct Upload {
    file: NamedTempFile,
    hasher: blake3::Hasher,
    pub(super) bytes: u64,
}

impl Upload {
    pub(super) fn new(keys: &Keys) -> Result<Self, Status> {
        Ok(Self {
            file: keys.upload().map_err(|error| disk(&error))?,
            hasher: blake3::Hasher::new(),
            bytes: 0,
        })
    }

    pub(super) fn take(mut self, data: &[u8]) -> Result<Self, Status> {
        self.file.write_all(data).map_err(|error| disk(&error))?;
        self.hasher.update(data);
        self.bytes += data.len() as u64;
        Ok(self)
    }

    /// The file from its beginning, and its hash.
    pub(super) fn whole(mut self) -> Result<(NamedTempFile, Hash), Status> {
        let start = self.file.seek(SeekFrom::Start(0));
        start.map_err(|error| disk(&error))?;
        Ok((self.file, *self.hasher.finalize().as_bytes()))
    }
}

pub(super) fn disk(error: &io::Error) -> Status {
    tracing::error!(%error, "keeping a file of a client");
    refuse::busy("the server cannot keep the file now", AGAIN)
}

/// A file that comes in parts.
pub(super) struct Arrival {
    upload: Upload,
    hash: Hash,
    total: u64,
    at: Instant,
    _place: Place,
}

impl Arrival {
    /// The whole file, whose hash is the one that was said.
    ///
    /// Errors: DATA_LOSS.
    pub(super) fn checked(self) -> Result<Upload, Status> {
        match *self.upload.hasher.finalize().as_bytes() == self.hash {
            true => Ok(self.upload),
            false => Err(Status::data_loss(
                "expected parts of a file of this hash, found those of another: send them again",
            )),
        }
    }

    /// Its bytes, at most so many.
    ///
    /// Errors: DATA_LOSS, INVALID_ARGUMENT.
    pub(super) fn bytes(self, most: u64) -> Result<Vec<u8>, Status> {
        if self.total > most {
            let expected = format!("at most {most} bytes");
            return Err(refuse::invalid("query", expected, self.total));
        }
        let (mut file, _) = self.checked()?.whole()?;
        let mut bytes = Vec::new();
        let read = file.as_file_mut().read_to_end(&mut bytes);
        read.map_err(|error| disk(&error))?;
        Ok(bytes)
    }
}

/// A client's file: nobody takes up what another began.
type Whose = (u64, Hash);

/// The files that come in parts.
pub(super) struct Arrivals {
    places: Arc<Places>,
    files: Mutex<HashMap<Whose, Arrival>>,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        Self {
            places: Places::new(FILES),
            files: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Whose, Arrival>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a part of a file and says where to go on. While one is written, there is none to go on with.
    ///
    /// Errors: NOT_FOUND, OUT_OF_RANGE, RESOURCE_EXHAUSTED.
    pub(super) fn take(
        &self,
        keys: &Keys,
        (caller, hash): (&Caller, Hash),
        (total, offset): (u64, u64),
        data: &[u8],
    ) -> Result<u64, Status> {
        let mut arrival = match offset {
            0 => self.begin(keys, caller, hash, total)?,
            _ => self.go_on((caller.client, hash), (total, offset))?,
        };
        arrival.upload = arrival.upload.take(data)?;
        arrival.at = Instant::now();
        let next = arrival.upload.bytes;
        self.lock().insert((caller.client, hash), arrival);
        Ok(next)
    }

    fn begin(
        &self,
        keys: &Keys,
        caller: &Caller,
        hash: Hash,
        total: u64,
    ) -> Result<Arrival, Status> {
        let mut files = self.lock();
        files.remove(&(caller.client, hash));
        files.retain(|_, one| one.at.elapsed() < IDLE);
        drop(files);
        let place = self.places.take(caller);
        let place =
            place.ok_or_else(|| refuse::busy("too many uploads: try again later", AGAIN))?;
        Ok(Arrival {
            upload: Upload::new(keys)?,
            hash,
            total,
            at: Instant::now(),
            _place: place,
        })
    }

    fn go_on(&self, whose: Whose, (total, offset): (u64, u64)) -> Result<Arrival, Status> {
        let mut files = self.lock();
        let arrival = files.remove(&whose).ok_or_else(none)?;
        let expected = (arrival.total, arrival.upload.bytes);
        if (total, offset) == expected {
            return Ok(arrival);
        }
        files.insert(whose, arrival);
        let (bytes, next) = expected;
        Err(Status::out_of_range(format!(
            "expected the part at {next} of {bytes} bytes, found the one at {offset} of {total}"
        )))
    }

    /// Takes out a file whose parts are all here.
    ///
    /// Errors: NOT_FOUND, FAILED_PRECONDITION.
    pub(super) fn whole(&self, caller: &Caller, hash: &Hash) -> Result<Arrival, Status> {
        let mut files = self.lock();
        let whose = (caller.client, *hash);
        let arrival = files.remove(&whose).ok_or_else(none)?;
        if arrival.upload.bytes == arrival.total {
            return Ok(arrival);
        }
        let (found, expected) = (arrival.upload.bytes, arrival.total);
        files.insert(whose, arrival);
        Err(Status::failed_precondition(format!(
            "expected {expected} bytes of the file, found {found}: send the rest first"
        )))
    }
}

fn none() -> Status {
    Status::not_found(
        "expected a file that was begun, found none of this hash: send it from its beginning",
    )
}
