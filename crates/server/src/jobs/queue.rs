//! The order in which jobs run: clients share the detector's time fairly, and jobs of one group run together.

mod forecast;
mod kinds;
mod turns;

pub(crate) use kinds::Kinds;

use forecast::Forecast;
use omr_protocol::Stride;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use turns::FairOrder;

/// What a further recipient of a run costs of what the first one does: a quarter to a half.
const FURTHER: f64 = 0.4;

/// What jobs have in common that one run serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    pub(crate) stride: Stride,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// Tag of the scheme that answers.
    pub(crate) scheme: u8,
    /// The seed of the masks of their keys.
    pub(crate) masks: [u8; 32],
}

/// A job in line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: [u8; 16],
    /// The jobs that one run serves with it; `None` for a job that runs alone.
    pub(crate) group: Option<Group>,
    /// The engines that it takes.
    pub(crate) needs: Kinds,
    /// Seconds that it will take.
    pub(crate) cost: f64,
    /// Those of them that jobs of its group share.
    pub(crate) shared_cost: f64,
}

/// A job whose turn it is, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct First {
    pub(crate) client: u64,
    pub(crate) item: Item,
}

impl Item {
    /// What each of so many jobs in one run pays less than alone.
    fn discount(&self, jobs: usize) -> f64 {
        let further = jobs as f64 - 1.0;
        self.shared_cost * (1.0 - FURTHER) * further / jobs as f64
    }
}

/// The jobs of a client, by number.
#[derive(Clone, Default)]
struct Line {
    /// Seconds that the client has had, as far as it counts.
    spent: f64,
    jobs: BTreeMap<u64, Waiting>,
    /// Their numbers by the engines that they take.
    by_needs: BTreeMap<Kinds, BTreeSet<u64>>,
    /// Seconds of all jobs that came since it had none.
    came: f64,
}

impl Line {
    /// Its first job of those that some engines can do.
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
    /// Seconds of the jobs that came before.
    before: f64,
}

/// The jobs of a group.
#[derive(Clone, Default)]
struct Members {
    clients: HashMap<u64, BTreeSet<u64>>,
    jobs: usize,
    turns: FairOrder,
}

/// The lines of all clients. What is done for a job, from its coming to its end, takes time that grows with the
/// logarithm of how many there are.
#[derive(Clone, Default)]
pub(crate) struct Queue {
    lines: HashMap<u64, Line>,
    /// Client and number of each job.
    places: HashMap<[u8; 16], (u64, u64)>,
    groups: HashMap<Group, Members>,
    /// Clients with jobs, by the engines that those take.
    turns: BTreeMap<Kinds, FairOrder>,
    /// Clients without, whose seconds still count.
    idle: FairOrder,
    /// What the client last served had had: who comes anew starts there, with no credit for idle times.
    level: f64,
    next_number: u64,
    /// Jobs that came and went.
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

    /// Returns the job whose turn it is, of those that some engines can do.
    pub(crate) fn first(&mut self, engines: Kinds) -> Option<&Item> {
        let (client, number) = self.choose(engines)?;
        Some(&self.lines.get(&client)?.jobs.get(&number)?.item)
    }

    /// Takes out the job whose turn it is, of those that some engines can do.
    pub(crate) fn pop(&mut self, engines: Kinds) -> Option<First> {
        let (client, number) = self.choose(engines)?;
        let item = self.take(client, number)?;
        let spent = self.lines.get(&client).map_or(0.0, |line| line.spent);
        self.level = self.level.max(spent);
        self.charge(client, item.cost);
        Some(First { client, item })
    }

    /// Takes a job out of its line and out of its group.
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

    /// Counts seconds of a client; those who count for nothing any more are forgotten.
    fn charge(&mut self, client: u64, seconds: f64) {
        if let Some(line) = self.lines.get_mut(&client) {
            line.spent += seconds;
        }
        self.forget();
    }

    /// Counts seconds of a client for a job that is not in line.
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

    /// Gives seconds back to a client, of a job of a group: never more than it was charged since anybody else's turn was
    /// looked for.
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

    /// Client and number of the job whose turn it is, of those that some engines can do.
    fn choose(&mut self, engines: Kinds) -> Option<(u64, u64)> {
        let client = self.turn(engines)?;
        Some((client, self.lines.get(&client)?.first(engines)?))
    }

    /// The client who has had least of those with jobs that some engines can do.
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

    /// The first job of a group, of the client who has had least.
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

    /// Jobs that one run would serve together, one among them.
    pub(crate) fn together(&self, with: &Item) -> usize {
        let members = with.group.as_ref().and_then(|group| self.groups.get(group));
        let waiting = self.places.contains_key(&with.id);
        1 + members.map_or(0, |members| members.jobs - usize::from(waiting))
    }

    /// Takes out those that one run serves with a job whose turn it is, `most` with that one: of clients who have had
    /// least. Each pays its share of the run.
    pub(crate) fn batch_mates(&mut self, first: &First, most: usize) -> Vec<Item> {
        let Some(group) = &first.item.group else {
            return Vec::new();
        };
        let mut served = vec![first.clone()];
        while served.len() < most.max(1) {
            let Some((client, number)) = self.least(group) else {
                break;
            };
            // Who has had more than others does not raise where newcomers start.
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

    /// Takes a job out; false: it was not there.
    pub(crate) fn remove(&mut self, id: &[u8; 16]) -> bool {
        let place = self.places.get(id).copied();
        place.is_some_and(|(client, number)| self.take(client, number).is_some())
    }
}

#[cfg(test)]
mod tests;
