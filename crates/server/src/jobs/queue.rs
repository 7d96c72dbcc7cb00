//! Which jobs run next: the detector's time is shared fairly by clients, jobs of one group run together, and jobs over
//! the same messages follow each other, so that work on the board is done once.

use omr_protocol::Stride;
use std::collections::{HashMap, VecDeque};

/// Jobs over the same messages that may follow each other before others have their turn.
const IN_A_ROW: usize = 16;
/// What a job over the messages of the job before costs of its usual cost.
const SHARED: f64 = 0.6;
/// What a further recipient of a run costs of what the first one does: a quarter to a half.
const FURTHER: f64 = 0.4;

/// What jobs have in common that one run serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) stride: Stride,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// Tag of the scheme that answers.
    pub(crate) scheme: u8,
    /// The seed of the masks of their keys.
    pub(crate) masks: [u8; 32],
}

/// With whom a job shares work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shares {
    /// Those over the same messages, one after another.
    Board(Stride),
    /// Those of its group, in one run.
    Run(Group),
}

/// A job in line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: [u8; 16],
    pub(crate) shares: Shares,
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

    fn is_served_with(&self, other: &Self) -> bool {
        matches!((&self.shares, &other.shares), (Shares::Run(own), Shares::Run(theirs)) if own == theirs)
    }
}

#[derive(Clone, Default)]
struct Line {
    /// Seconds that the client has had, as far as it counts.
    spent: f64,
    jobs: VecDeque<Item>,
}

impl Line {
    fn position(&self, wanted: impl Fn(&Item) -> bool) -> Option<usize> {
        self.jobs.iter().position(wanted)
    }
}

/// The lines of all clients.
#[derive(Clone, Default)]
pub(crate) struct Queue {
    lines: HashMap<u64, Line>,
    /// What the client last served had had: who comes anew starts there, with no credit for idle times.
    level: f64,
    /// Over which messages the last jobs were that share work on the board, and how many in a row.
    last: Option<(Stride, usize)>,
}

impl Queue {
    pub(crate) fn push(&mut self, client: u64, item: Item) {
        let level = self.level;
        let line = self.lines.entry(client).or_default();
        if line.jobs.is_empty() {
            line.spent = line.spent.max(level);
        }
        line.jobs.push_back(item);
    }

    /// The job whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<First> {
        let (client, at, follows) = self.choose()?;
        let item = self.take(client, at)?;
        self.charge(client, item.cost * if follows { SHARED } else { 1.0 });
        self.last = match (&item.shares, &self.last) {
            (Shares::Run(_), _) => None,
            (Shares::Board(stride), Some((_, row))) if follows => Some((*stride, row + 1)),
            (Shares::Board(stride), _) => Some((*stride, 1)),
        };
        Some(First { client, item })
    }

    /// Takes a job out, whose client has had so much that newcomers start there.
    fn take(&mut self, client: u64, at: usize) -> Option<Item> {
        let line = self.lines.get_mut(&client)?;
        let item = line.jobs.remove(at)?;
        self.level = self.level.max(line.spent);
        Some(item)
    }

    /// Counts seconds of a client, or gives them back; those who count for nothing any more are forgotten.
    fn charge(&mut self, client: u64, seconds: f64) {
        if let Some(line) = self.lines.get_mut(&client) {
            line.spent += seconds;
        }
        let level = self.level;
        self.lines
            .retain(|_, line| !line.jobs.is_empty() || line.spent > level);
    }

    fn choose(&self) -> Option<(u64, usize, bool)> {
        if let Some((stride, row)) = &self.last
            && *row < IN_A_ROW
        {
            let same = |item: &Item| item.shares == Shares::Board(*stride);
            if let Some((client, at)) = self.least(same) {
                return Some((client, at, true));
            }
        }
        let (client, at) = self.least(|_| true)?;
        Some((client, at, false))
    }

    /// The first such job of the client who has had least.
    fn least(&self, wanted: impl Fn(&Item) -> bool) -> Option<(u64, usize)> {
        let first = |(&client, line): (&u64, &Line)| {
            let at = line.position(&wanted)?;
            Some((client, at, line.spent))
        };
        let all = self.lines.iter().filter_map(first);
        let least = all.min_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)));
        least.map(|(client, at, _)| (client, at))
    }

    /// Jobs that one run would serve with this one.
    pub(crate) fn others_of(&self, first: &Item) -> usize {
        let others = |line: &Line| {
            let of_group = line.jobs.iter().filter(|item| first.is_served_with(item));
            of_group.count()
        };
        self.lines.values().map(others).sum()
    }

    /// Takes out those that one run serves with a job whose turn it is, `most` with that one: of clients who have had
    /// least. Each pays its share of the run.
    pub(crate) fn company(&mut self, first: &First, most: usize) -> Vec<Item> {
        let mut served = vec![first.clone()];
        while served.len() < most.max(1) {
            let Some((client, at)) = self.least(|item| first.item.is_served_with(item)) else {
                break;
            };
            // Who has had more than others does not raise where newcomers start.
            let Some(item) = self
                .lines
                .get_mut(&client)
                .and_then(|line| line.jobs.remove(at))
            else {
                break;
            };
            self.charge(client, item.cost);
            served.push(First { client, item });
        }
        let jobs = served.len();
        for one in &served {
            self.charge(one.client, -one.item.discount(jobs));
        }
        served.into_iter().skip(1).map(|one| one.item).collect()
    }

    /// Takes a job out; false: it was not there.
    pub(crate) fn remove(&mut self, id: &[u8; 16]) -> bool {
        for line in self.lines.values_mut() {
            let before = line.jobs.len();
            line.jobs.retain(|item| item.id != *id);
            if line.jobs.len() < before {
                return true;
            }
        }
        false
    }

    /// Jobs that run before one, if nobody else comes and a run serves `most`.
    pub(crate) fn ahead(&self, id: &[u8; 16], most: usize) -> Option<u64> {
        let mut later = self.clone();
        let mut ahead = 0;
        while let Some(first) = later.pop() {
            let company = later.company(&first, most);
            let mut run = std::iter::once(&first.item).chain(&company);
            if run.any(|item| item.id == *id) {
                return Some(ahead);
            }
            ahead += 1 + company.len() as u64;
        }
        None
    }
}

#[cfg(test)]
mod tests;
