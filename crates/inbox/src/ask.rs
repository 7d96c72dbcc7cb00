//! The query of a fetch, made by the half of an inbox that has the secret.

use crate::job::{Job, Kind};
use crate::span::is_long;
use crate::storage::{Look, Storage};
use crate::table::{DIGESTS, JOBS, Number, QUERIES};
use crate::{Inbox, InboxError, Reader, waiting};
use omr_client::letter::Place;
use rand_core::CryptoRng;
use std::ops::Range;

/// A query that is to be made: [`crate::Step::Ask`] has it for [`Inbox::ask`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The number of the request.
    pub(crate) number: u64,
    /// The messages.
    pub(crate) range: Range<u64>,
    /// The seeds of the pages that the range touches.
    pub(crate) seeds: Vec<[u8; 32]>,
    /// The board.
    pub(crate) place: Place,
}

impl<S: Storage> Inbox<S> {
    /// Makes the query of a fetch for the oldest messages that wait in its range, and keeps it; has no effect if it was
    /// made before. First it decodes the long scans that were received.
    ///
    /// Whatever they contained, a query of one shape is made: for random messages where none waits.
    ///
    /// Time: independent of what was found, except that an index of eight bytes is kept for each message that waits.
    /// Errors: those of the storage; `Params`; `OtherBoard`, `OtherSealing` and `Unsealed` for a board on which the
    /// reader's secret has no letters; `Query` if no query can be made for the range.
    pub fn ask(
        &self,
        reader: &Reader,
        asking: &Asking,
        rng: &mut impl CryptoRng,
    ) -> Result<(), S::Error> {
        // The time of digests that were decoded before.
        reader.settle(usize::MAX);
        self.ask_by(
            asking,
            |job, file| reader.indices(job, file),
            |wanted| reader.query(asking, wanted, rng),
        )
    }

    /// Makes the query of a fetch with the indices in scans, where they can be read, and a query for some of the waiting
    /// messages.
    pub(crate) fn ask_by(
        &self,
        asking: &Asking,
        indices: impl Fn(&Job, &[u8]) -> Option<Vec<u64>>,
        query: impl FnOnce(&[u64]) -> Result<Vec<u8>, InboxError>,
    ) -> Result<(), S::Error> {
        let scans = self.store.read(|tx| long_scans(tx))?;
        let read = |scan: Scan| Some((indices(&scan.job, &scan.file)?, scan));
        let read: Vec<(Vec<u64>, Scan)> = scans.into_iter().filter_map(read).collect();
        self.store.write(|tx| {
            for (indices, scan) in read {
                let Scan { number, job, .. } = scan;
                // Another process may have taken the scan in meanwhile, or removed it.
                if !DIGESTS.has(tx, &number)? {
                    continue;
                }
                waiting::begin(tx, number, &job, indices)?;
            }
            Ok(())
        })?;
        let range = &asking.range;
        let wanted = self.store.read(|tx| waiting::within(tx, range))?;
        let file = query(&wanted)?;
        let number = asking.number;
        self.store.write(|tx| {
            if !JOBS.has(tx, &number)? || QUERIES.has(tx, &number)? {
                return Ok(());
            }
            QUERIES.put(tx, &number, &file)
        })
    }
}

/// A scan without payloads that was received.
struct Scan {
    /// The number of its request.
    number: u64,
    job: Job,
    file: Vec<u8>,
}

/// Returns the scans without payloads that were received and not taken in.
fn long_scans<T: Look>(tx: &T) -> Result<Vec<Scan>, T::Error> {
    let short = Number::Short.get(tx)?;
    let mut scans = Vec::new();
    for (number, job) in JOBS.all(tx)? {
        if job.kind != Kind::Scan || !is_long(&(job.start..job.end), short) {
            continue;
        }
        if let Some(file) = DIGESTS.get(tx, &number)? {
            scans.push(Scan { number, job, file });
        }
    }
    Ok(scans)
}
