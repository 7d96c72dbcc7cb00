//! A forecast of the order in which jobs run.

use super::{Kinds, Queue};
use std::collections::HashMap;

/// A forecast is valid until one in this number of jobs was added or removed.
const STANDS: u64 = 16;

/// The order in which the jobs of a queue run, if no other jobs come.
#[derive(Clone)]
pub(super) struct Forecast {
    /// The number of jobs that run before each job.
    ahead: HashMap<[u8; 16], u64>,
    /// The level of charged seconds at each run, with the number of jobs that ran before.
    levels: Vec<(f64, u64)>,
    /// The number of the queue's changes when the forecast was made.
    changes: u64,
    most: usize,
}

impl Forecast {
    /// Simulates the runs of a queue's jobs, with at most `most` jobs in a run.
    fn new(mut queue: Queue, most: usize) -> Self {
        let changes = queue.changes;
        let mut ahead = HashMap::with_capacity(queue.places.len());
        let (mut levels, mut done) = (Vec::new(), 0);
        while let Some(first) = queue.pop(Kinds::default()) {
            levels.push((queue.level, done));
            let mates = queue.batch_mates(&first, most);
            let run = std::iter::once(&first.item).chain(&mates);
            ahead.extend(run.map(|item| (item.id, done)));
            done += 1 + mates.len() as u64;
        }
        Self {
            ahead,
            levels,
            changes,
            most,
        }
    }

    /// Returns the number of jobs that run before a client with this many charged seconds.
    fn until(&self, spent: f64) -> u64 {
        let at = self.levels.partition_point(|(level, _)| *level < spent);
        let all = self.ahead.len() as u64;
        self.levels.get(at).map_or(all, |(_, ahead)| *ahead)
    }
}

impl Queue {
    /// Returns the number of jobs that run before a job, if no other jobs come and each run serves `most` jobs. The
    /// number is exact for fewer than 16 jobs. In a longer queue it may lag by one change in 16 jobs, and for a job
    /// added since then it is estimated from the seconds that its client will have been charged. With these estimates
    /// not every question needs a new forecast.
    pub(crate) fn ahead(&mut self, id: &[u8; 16], most: usize) -> Option<u64> {
        let (client, number) = *self.places.get(id)?;
        let (changes, jobs) = (self.changes, self.places.len() as u64);
        let stands =
            |known: &Forecast| known.most == most && changes - known.changes <= jobs / STANDS;
        let forecast = match self.forecast.take().filter(stands) {
            Some(known) => known,
            None => Forecast::new(self.clone(), most),
        };
        let ahead = forecast
            .ahead
            .get(id)
            .copied()
            .or_else(|| Some(forecast.until(self.until(client, number)?)));
        self.forecast = Some(forecast);
        ahead
    }

    /// Returns the seconds that will have been charged to a client when a job of that client runs.
    fn until(&self, client: u64, number: u64) -> Option<f64> {
        let line = self.lines.get(&client)?;
        let (_, first) = line.jobs.first_key_value()?;
        Some(line.spent + line.jobs.get(&number)?.before - first.before)
    }
}
