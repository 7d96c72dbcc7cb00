//! Files as they arrive: in one stream or, from clients that cannot stream, in parts, one a call.
//!
//! The room of unfinished files is counted in bytes received, so that announced files without content block nobody.

use super::keys::{Hash, Keys};
use super::run::AGAIN;
use crate::caller::Caller;
use crate::refuse;
use crate::strangers::{of_one_stranger, of_strangers};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;
use tonic::Status;

/// The greatest number of unfinished files of a client: a key, a query, and interrupted ones.
const FILES: usize = 4;
/// The least number of bytes that a file counts.
const LEAST_BYTES: u64 = 1 << 20;
/// The least and the greatest time for which a file without further bytes is kept, and the number of bytes that add a
/// second.
const REST: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(600)];
const BYTES_A_SECOND: u64 = 64 << 10;

/// Returns the time for which a file with this number of bytes is kept when no more bytes arrive.
fn rest(bytes: u64) -> Duration {
    let [least, most] = REST;
    (least + Duration::from_secs(bytes / BYTES_A_SECOND)).min(most)
}

/// The limit and the use of the room for unfinished files.
#[derive(Debug)]
struct Room {
    limit: u64,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    all: u64,
    strangers: u64,
    clients: HashMap<u64, Own>,
}

#[derive(Debug, Default)]
struct Own {
    files: usize,
    bytes: u64,
}

/// The room that one unfinished file uses, until this is dropped.
#[derive(Debug)]
struct Share {
    room: Arc<Room>,
    client: u64,
    stranger: bool,
    bytes: u64,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves room for a new file. Programs on this machine, which cannot be distinguished, may have any number of
    /// files.
    ///
    /// Errors: RESOURCE_EXHAUSTED.
    fn begin(self: &Arc<Self>, caller: &Caller) -> Result<Share, Status> {
        let mut used = self.lock();
        let own = used.clients.entry(caller.client).or_default();
        if own.files >= FILES && !caller.is_local {
            return Err(refuse::busy(
                format!(
                    "expected at most {FILES} unfinished uploads of a client, found as many: try again later"
                ),
                AGAIN,
            ));
        }
        own.files += 1;
        drop(used);
        let mut share = Share {
            room: self.clone(),
            client: caller.client,
            stranger: caller.is_anonymous(),
            bytes: 0,
        };
        share.grow(LEAST_BYTES)?;
        Ok(share)
    }
}

impl Share {
    /// Extends the room to `bytes` bytes in all.
    ///
    /// Errors: RESOURCE_EXHAUSTED.
    fn grow(&mut self, bytes: u64) -> Result<(), Status> {
        let more = bytes.saturating_sub(self.bytes);
        let mut used = self.room.lock();
        let all = usize::try_from(self.room.limit).unwrap_or(usize::MAX);
        let (of_kind, each, taken) = if self.stranger {
            (of_strangers(all), of_one_stranger(all), used.strangers)
        } else {
            (all, all.div_ceil(2), used.all)
        };
        let own = used.clients.get(&self.client).map_or(0, |own| own.bytes);
        let is_full = own + more > each as u64
            || taken + more > of_kind as u64
            || used.all + more > self.room.limit;
        if is_full {
            let what = "too many bytes of unfinished uploads: try again later";
            return Err(refuse::busy(what, AGAIN));
        }
        used.all += more;
        if self.stranger {
            used.strangers += more;
        }
        if let Some(own) = used.clients.get_mut(&self.client) {
            own.bytes += more;
        }
        drop(used);
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut used = self.room.lock();
        used.all -= self.bytes;
        if self.stranger {
            used.strangers -= self.bytes;
        }
        if let Some(own) = used.clients.get_mut(&self.client) {
            own.files -= 1;
            own.bytes -= self.bytes;
            if own.files == 0 {
                used.clients.remove(&self.client);
            }
        }
    }
}

/// A file that has arrived in part.
pub(super) struct Upload {
    file: NamedTempFile,
    hasher: blake3::Hasher,
    pub(super) bytes: u64,
    share: Share,
}

impl Upload {
    /// Writes the next bytes.
    ///
    /// Errors: RESOURCE_EXHAUSTED.
    pub(super) fn take(&mut self, data: &[u8]) -> Result<(), Status> {
        let bytes = self.bytes + data.len() as u64;
        self.share.grow(bytes)?;
        self.file.write_all(data).map_err(|error| disk(&error))?;
        self.hasher.update(data);
        self.bytes = bytes;
        Ok(())
    }

    /// Returns all bytes of the file.
    ///
    /// Errors: RESOURCE_EXHAUSTED.
    pub(super) fn read(self) -> Result<Vec<u8>, Status> {
        let (mut file, _) = self.whole()?;
        let mut bytes = Vec::new();
        file.as_file_mut()
            .read_to_end(&mut bytes)
            .map_err(|error| disk(&error))?;
        Ok(bytes)
    }

    /// Returns the file from its beginning, and its hash.
    pub(super) fn whole(mut self) -> Result<(NamedTempFile, Hash), Status> {
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(|error| disk(&error))?;
        Ok((self.file, *self.hasher.finalize().as_bytes()))
    }
}

pub(super) fn disk(error: &io::Error) -> Status {
    tracing::error!(%error, "keeping a file of a client");
    refuse::busy("the server cannot keep the file now", AGAIN)
}

/// A file that arrives in parts.
pub(super) struct Arrival {
    upload: Upload,
    hash: Hash,
    total: u64,
    at: Instant,
}

impl Arrival {
    /// Returns the whole file, after a test that its hash is the announced one.
    ///
    /// Errors: DATA_LOSS.
    pub(super) fn checked(self) -> Result<Upload, Status> {
        if *self.upload.hasher.finalize().as_bytes() == self.hash {
            Ok(self.upload)
        } else {
            Err(Status::data_loss(
                "expected parts of a file of this hash, found those of another: send them again",
            ))
        }
    }

    /// Returns the bytes of the file, at most `most`.
    ///
    /// Errors: DATA_LOSS, INVALID_ARGUMENT.
    pub(super) fn bytes(self, most: u64) -> Result<Vec<u8>, Status> {
        if self.total > most {
            let expected = format!("at most {most} bytes");
            return Err(refuse::invalid("query", expected, self.total));
        }
        self.checked()?.read()
    }
}

/// A part of a file.
pub(super) struct Part<'a> {
    /// The hash of the whole file.
    pub(super) hash: Hash,
    /// The length of the whole file in bytes.
    pub(super) total: u64,
    /// The offset of the part in the file.
    pub(super) offset: u64,
    pub(super) data: &'a [u8],
}

/// The client and the hash of a file. Nobody can continue a file of another client.
type Whose = (u64, Hash);

/// The unfinished files; those that arrive in parts are stored here.
pub(super) struct Arrivals {
    room: Arc<Room>,
    files: Mutex<HashMap<Whose, Arrival>>,
}

impl Arrivals {
    /// Returns room for unfinished files of `limit` bytes together.
    pub(super) fn new(limit: u64) -> Self {
        let used = Mutex::default();
        Self {
            room: Arc::new(Room { limit, used }),
            files: Mutex::default(),
        }
    }

    /// Begins a file.
    ///
    /// Errors: RESOURCE_EXHAUSTED.
    pub(super) fn upload(&self, keys: &Keys, caller: &Caller) -> Result<Upload, Status> {
        self.tidy();
        let share = self.room.begin(caller)?;
        Ok(Upload {
            file: keys.upload().map_err(|error| disk(&error))?,
            hasher: blake3::Hasher::new(),
            bytes: 0,
            share,
        })
    }

    /// Deletes files without further bytes for too long.
    pub(super) fn tidy(&self) {
        let is_kept = |one: &Arrival| one.at.elapsed() < rest(one.upload.bytes);
        self.lock().retain(|_, one| is_kept(one));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Whose, Arrival>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a part of a file. Returns the offset of the next part. A file cannot be continued while another part of
    /// it is written.
    ///
    /// Errors: NOT_FOUND, OUT_OF_RANGE, RESOURCE_EXHAUSTED.
    pub(super) fn take(
        &self,
        keys: &Keys,
        caller: &Caller,
        part: &Part<'_>,
    ) -> Result<u64, Status> {
        let mut arrival = match part.offset {
            0 => self.begin(keys, caller, part.hash, part.total)?,
            _ => self.go_on((caller.client, part.hash), part)?,
        };
        let bytes = arrival.upload.bytes + part.data.len() as u64;
        let room = arrival.upload.share.grow(bytes);
        if room.is_ok() {
            // After an error of the disk, the partly written file is dropped.
            arrival.upload.take(part.data)?;
            arrival.at = Instant::now();
        }
        // If there is no room, the file stays as it was.
        self.lock().insert((caller.client, part.hash), arrival);
        room.map(|()| bytes)
    }

    fn begin(
        &self,
        keys: &Keys,
        caller: &Caller,
        hash: Hash,
        total: u64,
    ) -> Result<Arrival, Status> {
        self.lock().remove(&(caller.client, hash));
        Ok(Arrival {
            upload: self.upload(keys, caller)?,
            hash,
            total,
            at: Instant::now(),
        })
    }

    fn go_on(&self, whose: Whose, part: &Part<'_>) -> Result<Arrival, Status> {
        let mut files = self.lock();
        let arrival = files.remove(&whose).ok_or_else(none)?;
        let (bytes, next) = (arrival.total, arrival.upload.bytes);
        if part.total == bytes && part.offset == next {
            return Ok(arrival);
        }
        files.insert(whose, arrival);
        Err(Status::out_of_range(format!(
            "expected the part at {next} of {bytes} bytes, found the one at {} of {}",
            part.offset, part.total
        )))
    }

    /// Removes and returns a file whose parts have all arrived.
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

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn room(mib: u64) -> Arc<Room> {
        Arrivals::new(mib * MIB).room
    }

    fn code<T>(result: &Result<T, Status>) -> Option<tonic::Code> {
        result.as_ref().err().map(Status::code)
    }

    #[test]
    fn files_of_a_byte_block_nobody() {
        let room = room(64);
        let mut held = Vec::new();
        for client in 0..9 {
            let caller = Caller::test("", client);
            held.extend((0..9).map_while(|_| room.begin(&caller).ok()));
        }
        assert_eq!(held.len(), 9 * FILES);
        let begun = room.begin(&Caller::test("", 99));
        assert_eq!(code(&begun), None);
    }

    #[test]
    fn bytes_are_shared() {
        let full = Some(tonic::Code::ResourceExhausted);
        let room = room(64);
        let mut first = room.begin(&Caller::test("", 1)).unwrap();
        // Clients without a token have 48 MiB together, and one of them 24 MiB.
        assert_eq!(code(&first.grow(24 * MIB)), None);
        assert_eq!(code(&first.grow(24 * MIB + 1)), full);
        assert_eq!(code(&room.begin(&Caller::test("", 1))), full);
        let mut second = room.begin(&Caller::test("", 2)).unwrap();
        assert_eq!(code(&second.grow(24 * MIB)), None);
        assert_eq!(code(&room.begin(&Caller::test("", 3))), full);
        let mut known = room.begin(&Caller::test("wallet", 4)).unwrap();
        assert_eq!(code(&known.grow(16 * MIB)), None);
        assert_eq!(code(&known.grow(16 * MIB + 1)), full);
        drop(first);
        let mut third = room.begin(&Caller::test("", 3)).unwrap();
        assert_eq!(code(&third.grow(24 * MIB)), None);
        drop((second, third, known));
        let used = room.lock();
        assert_eq!((used.all, used.strangers, used.clients.len()), (0, 0, 0));
    }

    #[test]
    fn a_file_with_more_bytes_is_kept_longer() {
        let seconds = |bytes| rest(bytes).as_secs();
        assert_eq!(seconds(1), 30);
        assert_eq!(seconds(6 * MIB), 30 + 96);
        assert_eq!(seconds(1 << 40), 600);
    }
}
