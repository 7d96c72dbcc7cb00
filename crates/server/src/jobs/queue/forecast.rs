//! Which jobs run before which.

use super::{Kinds, Queue};
use std::collections::HashMap;

/// A forecast stands until one in so many jobs came or went.
const STANDS: u64 = 16;

/// In which order the jobs of a queue run, if nobody else comes.
#[derive(Clone)]
pub(super) struct Forecast {
    /// Jobs that run before each.
    ahead: HashMap<[u8; 16], u64>,
    /// What the client last served will have had after so many jobs.
    levels: Vec<(f64, u64)>,
    /// What had changed when it was made.
    changes: u64,
    most: usize,
}

impl Forecast {
    /// Lets the jobs of a queue run, `most` at a time.
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

    /// Jobs that run before the client who will then have had so many seconds.
    fn until(&self, spent: f64) -> u64 {
        let at = self.levels.partition_point(|(level, _)| *level < spent);
        let all = self.ahead.len() as u64;
        self.levels.get(at).map_or(all, |(_, ahead)| *ahead)
    }
}

impl Queue {
    /// Jobs that run before one, if nobody else comes and each run serves `most`. Of fewer than 16 jobs this is exact.
    /// In a longer queue it is as of when one job in 16 fewer had come or gone, and of a job that came since it is what
    /// follows from the seconds that its client will have had: so all jobs can ask without one forecast for each.
    pub(crate) fn ahead(&mut self, id: &[u8; 16], most: usize) -> Option<u64> {
        let (client, number) = *self.places.get(id)?;
        let (changes, jobs) = (self.changes, self.places.len() as u64);
        let stands =
            |known: &Forecast| known.most == most && changes - known.changes <= jobs / STANDS;
        let forecast = match self.forecast.take().filter(stands) {
            Some(known) => known,
            None => Forecast::new(self.clone(), most),
        };
        let ahead = forecast.ahead.get(id).copied();
        let ahead = ahead.or_else(|| Some(forecast.until(self.until(client, number)?)));
        self.forecast = Some(forecast);
        ahead
    }

    /// Seconds that a client will have had when it is a job's turn.
    fn until(&self, client: u64, number: u64) -> Option<f64> {
        let line = self.lines.get(&client)?;
        let (_, first) = line.jobs.first_key_value()?;
        Some(line.spent + line.jobs.get(&number)?.before - first.before)
    }
}
