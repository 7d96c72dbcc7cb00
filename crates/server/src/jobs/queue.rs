//! The order in which jobs run. Clients share the detector's time fairly, and jobs of one group run together.

mod fair_order;
mod forecast;
mod kinds;

pub(crate) use kinds::Kinds;

use fair_order::FairOrder;
use forecast::Forecast;
use omr_protocol::Stride;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The cost of a further recipient in a run, as a part of the cost of the first one. Measured values are a quarter to a
/// half.
const FURTHER: f64 = 0.4;

/// The properties that jobs in one run must have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    pub(crate) stride: Stride,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// Whether the jobs are fetches.
    pub(crate) fetches: bool,
    /// The tag of the scheme that makes the digest.
    pub(crate) scheme: u8,
    /// The seed of the masks of the jobs' keys; zeros for fetches, which share work whatever their masks are.
    pub(crate) masks: [u8; 32],
}

/// A job in the queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: [u8; 16],
    /// The group of jobs that one run can serve together; `None` for a job that runs alone.
    pub(crate) group: Option<Group>,
    /// The engines that the job needs.
    pub(crate) needs: Kinds,
    /// The seconds that the job will take.
    pub(crate) cost: f64,
    /// The part of these seconds that jobs of the group share.
    pub(crate) shared_cost: f64,
}

/// The job that runs next, and its client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct First {
    pub(crate) client: u64,
    pub(crate) item: Item,
}

impl Item {
    /// Returns the seconds that each of `jobs` jobs in one run costs less than alone.
    fn discount(&self, jobs: usize) -> f64 {
        let further = jobs as f64 - 1.0;
        self.shared_cost * (1.0 - FURTHER) * further / jobs as f64
    }
}

/// The jobs of a client, by number.
#[derive(Clone, Default)]
struct Line {
    /// The seconds that were charged to the client.
    spent: f64,
    jobs: BTreeMap<u64, Waiting>,
    /// The numbers of the jobs by the engines that they need.
    by_needs: BTreeMap<Kinds, BTreeSet<u64>>,
    /// The seconds of all jobs that were added since the line was empty.
    came: f64,
}

impl Line {
    /// Returns the number of the client's first job that needs only these engines.
    fn first(&self, engines: Kinds) -> Option<u64> {
        let done = self
            .by_needs
            .iter()
            .filter(|(needs, _)| engines.include(**needs));
        done.filter_map(|(_, numbers)| numbers.first().copied())
            .min()
    }

    fn insert(&mut self, number: u64, item: Item) {
        self.by_needs.entry(item.needs).or_default().insert(number);
        let before = self.came;
        self.came += item.cost;
        self.jobs.insert(number, Waiting { item, before });
    }

    fn remove(&mut self, number: u64) -> Option<Item> {
        let Waiting { item, .. } = self.jobs.remove(&number)?;
        if let Some(numbers) = self.by_needs.get_mut(&item.needs) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_needs.remove(&item.needs);
            }
        }
        Some(item)
    }
}

#[derive(Clone)]
struct Waiting {
    item: Item,
    /// The seconds of the jobs that were added before, since the line was empty.
    before: f64,
}

/// The jobs of a group.
#[derive(Clone, Default)]
struct Members {
    clients: HashMap<u64, BTreeSet<u64>>,
    jobs: usize,
    turns: FairOrder,
}

/// The lines of all clients. The work for a job, from its arrival to its end, grows with the logarithm of the number of
/// jobs.
#[derive(Clone, Default)]
pub(crate) struct Queue {
    lines: HashMap<u64, Line>,
    /// The client and the number of each job.
    places: HashMap<[u8; 16], (u64, u64)>,
    groups: HashMap<Group, Members>,
    /// The clients with jobs, by the engines that these jobs need.
    turns: BTreeMap<Kinds, FairOrder>,
    /// The clients without jobs whose charged seconds still matter.
    idle: FairOrder,
    /// The seconds that the client served last had been charged before. A new client starts at this level, so that idle
    /// time gives no credit.
    level: f64,
    next_number: u64,
    /// The number of jobs that were added or removed so far.
    changes: u64,
    forecast: Option<Forecast>,
}

impl Queue {
    pub(crate) fn push(&mut self, client: u64, item: Item) {
        let (level, number) = (self.level, self.next_number);
        self.next_number += 1;
        self.changes += 1;
        let line = self.lines.entry(client).or_default();
        if line.jobs.is_empty() {
            line.spent = line.spent.max(level);
            line.came = 0.0;
        }
        let turns = self.turns.entry(item.needs).or_default();
        turns.note(client, line.spent);
        self.places.insert(item.id, (client, number));
        if let Some(group) = &item.group {
            let members = self.groups.entry(group.clone()).or_default();
            members.jobs += 1;
            members.clients.entry(client).or_default().insert(number);
            members.turns.note(client, line.spent);
        }
        line.insert(number, item);
    }

    /// Returns the job that runs next, among those that need only these engines.
    pub(crate) fn first(&mut self, engines: Kinds) -> Option<&Item> {
        let (client, number) = self.choose(engines)?;
        Some(&self.lines.get(&client)?.jobs.get(&number)?.item)
    }

    /// Removes and returns the job that runs next, among those that need only these engines.
    pub(crate) fn pop(&mut self, engines: Kinds) -> Option<First> {
        let (client, number) = self.choose(engines)?;
        let item = self.take(client, number)?;
        let spent = self.lines.get(&client).map_or(0.0, |line| line.spent);
        self.level = self.level.max(spent);
        self.charge(client, item.cost);
        Some(First { client, item })
    }

    /// Removes a job from its line and from its group.
    fn take(&mut self, client: u64, number: u64) -> Option<Item> {
        let line = self.lines.get_mut(&client)?;
        let item = line.remove(number)?;
        if line.jobs.is_empty() {
            self.idle.note(client, line.spent);
        }
        self.changes += 1;
        self.places.remove(&item.id);
        if let Some(group) = &item.group
            && let Some(members) = self.groups.get_mut(group)
        {
            members.jobs -= 1;
            if let Some(own) = members.clients.get_mut(&client) {
                own.remove(&number);
                if own.is_empty() {
                    members.clients.remove(&client);
                }
            }
            if members.jobs == 0 {
                self.groups.remove(group);
            }
        }
        Some(item)
    }

    /// Charges seconds to a client. Forgets idle clients whose seconds no longer matter.
    fn charge(&mut self, client: u64, seconds: f64) {
        if let Some(line) = self.lines.get_mut(&client) {
            line.spent += seconds;
        }
        self.forget();
    }

    /// Charges seconds to a client for a job that is not in the queue.
    pub(crate) fn charge_for(&mut self, client: u64, seconds: f64) {
        let line = self.lines.entry(client).or_default();
        if line.jobs.is_empty() {
            line.spent = line.spent.max(self.level) + seconds;
            self.idle.note(client, line.spent);
        } else {
            line.spent += seconds;
        }
        self.forget();
    }

    fn forget(&mut self) {
        loop {
            let lines = &self.lines;
            let idle = |client: u64| {
                let line = lines.get(&client)?;
                line.jobs.is_empty().then_some(line.spent)
            };
            match self.idle.least(idle) {
                Some(client) if idle(client).is_some_and(|spent| spent <= self.level) => {
                    self.lines.remove(&client);
                }
                _ => return,
            }
        }
    }

    /// Returns seconds to a client, for a job of a group. These are never more than the seconds charged since another
    /// client was last chosen.
    fn give_back(&mut self, client: u64, seconds: f64, group: &Group) {
        let Some(line) = self.lines.get_mut(&client) else {
            return;
        };
        line.spent -= seconds;
        if line.jobs.is_empty() {
            self.idle.note(client, line.spent)
        } else {
            for needs in line.by_needs.keys() {
                let turns = self.turns.entry(*needs).or_default();
                turns.note(client, line.spent);
            }
        }
        if let Some(members) = self.groups.get_mut(group) {
            members.turns.note(client, line.spent);
        }
    }

    /// Returns the client and the number of the job that runs next, among those that need only these engines.
    fn choose(&mut self, engines: Kinds) -> Option<(u64, u64)> {
        let client = self.turn(engines)?;
        Some((client, self.lines.get(&client)?.first(engines)?))
    }

    /// Returns the client with the fewest charged seconds, among those with jobs that need only these engines.
    fn turn(&mut self, engines: Kinds) -> Option<u64> {
        let lines = &self.lines;
        let turns = self.turns.iter_mut();
        let least = turns
            .filter(|(needs, _)| engines.include(**needs))
            .filter_map(|(needs, turns)| {
                turns.least(|client| {
                    let line = lines.get(&client)?;
                    line.by_needs.contains_key(needs).then_some(line.spent)
                })
            });
        let spent = |client: &u64| lines.get(client).map_or(0.0, |line| line.spent);
        let by_spent = |a: &u64, b: &u64| spent(a).total_cmp(&spent(b)).then(a.cmp(b));
        least.min_by(by_spent)
    }

    /// Returns the first job in a group of the client with the fewest charged seconds.
    fn least(&mut self, group: &Group) -> Option<(u64, u64)> {
        let lines = &self.lines;
        let Members { clients, turns, .. } = self.groups.get_mut(group)?;
        let spent = |client: u64| {
            clients.get(&client)?;
            Some(lines.get(&client)?.spent)
        };
        let client = turns.least(spent)?;
        Some((client, *clients.get(&client)?.first()?))
    }

    /// Returns the number of jobs that one run would serve together, including `with`.
    pub(crate) fn together(&self, with: &Item) -> usize {
        let members = with.group.as_ref().and_then(|group| self.groups.get(group));
        let waiting = self.places.contains_key(&with.id);
        1 + members.map_or(0, |members| members.jobs - usize::from(waiting))
    }

    /// Removes and returns the jobs that run together with `first`, at most `most` including `first`. Clients with the
    /// fewest charged seconds come first. Each client pays its share of the run.
    pub(crate) fn batch_mates(&mut self, first: &First, most: usize) -> Vec<Item> {
        let Some(group) = &first.item.group else {
            return Vec::new();
        };
        let mut served = vec![first.clone()];
        while served.len() < most.max(1) {
            let Some((client, number)) = self.least(group) else {
                break;
            };
            // The level for new clients does not rise here, as this client is not the one that was next.
            let Some(item) = self.take(client, number) else {
                break;
            };
            self.charge(client, item.cost);
            served.push(First { client, item });
        }
        let jobs = served.len();
        for one in served.iter().filter(|_| jobs > 1) {
            self.give_back(one.client, one.item.discount(jobs), group);
        }
        served.into_iter().skip(1).map(|one| one.item).collect()
    }

    /// Removes a job. Returns whether it was in the queue.
    pub(crate) fn remove(&mut self, id: &[u8; 16]) -> bool {
        let place = self.places.get(id).copied();
        place.is_some_and(|(client, number)| self.take(client, number).is_some())
    }
}

#[cfg(test)]
mod tests;
