//! Which job runs next: the detector's time is shared fairly by clients, and jobs over the same
//! messages follow each other, so that work on the board is done once.

use omr_protocol::Stride;
use std::collections::{HashMap, VecDeque};

/// Jobs over the same messages that may follow each other before others have their turn.
const TOGETHER: usize = 16;
/// What a job over the messages of the job before costs of its usual cost.
const SHARED: f64 = 0.6;

/// A job in line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: [u8; 16],
    pub(crate) stride: Stride,
    /// Seconds that it will take.
    pub(crate) cost: f64,
}

#[derive(Clone, Default)]
struct Line {
    /// Seconds that the client has had, as far as it counts.
    spent: f64,
    jobs: VecDeque<Item>,
}

/// The lines of all clients.
#[derive(Clone, Default)]
pub(crate) struct Queue {
    lines: HashMap<u64, Line>,
    /// What the client last served had had: who comes anew starts there, with no credit for idle times.
    level: f64,
    last: Option<(Stride, usize)>,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.lines.values().map(|line| line.jobs.len()).sum()
    }

    pub(crate) fn push(&mut self, client: u64, item: Item) {
        let level = self.level;
        let line = self.lines.entry(client).or_default();
        if line.jobs.is_empty() {
            line.spent = line.spent.max(level);
        }
        line.jobs.push_back(item);
    }

    /// The next job.
    pub(crate) fn pop(&mut self) -> Option<Item> {
        let (client, at, shared) = self.choose()?;
        let line = self.lines.get_mut(&client)?;
        let item = line.jobs.remove(at)?;
        self.level = self.level.max(line.spent);
        line.spent += item.cost * if shared { SHARED } else { 1.0 };
        let run = match &self.last {
            Some((_, run)) if shared => run + 1,
            _ => 1,
        };
        self.last = Some((item.stride, run));
        let level = self.level;
        self.lines
            .retain(|_, line| !line.jobs.is_empty() || line.spent > level);
        Some(item)
    }

    fn choose(&self) -> Option<(u64, usize, bool)> {
        let least = |lines: Vec<(u64, usize, f64)>| {
            lines
                .into_iter()
                .min_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)))
        };
        if let Some((stride, run)) = &self.last
            && *run < TOGETHER
        {
            let same = self.lines.iter().filter_map(|(&client, line)| {
                let at = line.jobs.iter().position(|item| item.stride == *stride)?;
                Some((client, at, line.spent))
            });
            if let Some((client, at, _)) = least(same.collect()) {
                return Some((client, at, true));
            }
        }
        let waiting = self.lines.iter().filter(|(_, line)| !line.jobs.is_empty());
        let (client, at, _) = least(waiting.map(|(&c, line)| (c, 0, line.spent)).collect())?;
        Some((client, at, false))
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

    /// Jobs that run before one, if nobody else comes.
    pub(crate) fn ahead(&self, id: &[u8; 16]) -> Option<u64> {
        let mut later = self.clone();
        let mut ahead = 0;
        while let Some(item) = later.pop() {
            if item.id == *id {
                return Some(ahead);
            }
            ahead += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    fn item(id: u8, range: Range<u64>) -> Item {
        Item {
            id: [id; 16],
            stride: Stride::new(range, 1),
            cost: 1.0,
        }
    }

    fn order(queue: &mut Queue) -> Vec<u8> {
        std::iter::from_fn(|| queue.pop())
            .map(|item| item.id[0])
            .collect()
    }

    #[test]
    fn a_client_with_many_jobs_does_not_hold_up_others() {
        let mut queue = Queue::default();
        for i in 0..5 {
            queue.push(1, item(i, u64::from(i)..100));
        }
        queue.push(2, item(10, 50..100));
        queue.push(3, item(20, 60..100));
        assert_eq!(queue.ahead(&[4; 16]), Some(6));
        assert_eq!(order(&mut queue), [0, 10, 20, 1, 2, 3, 4]);
    }

    #[test]
    fn idle_times_give_no_credit() {
        let mut queue = Queue::default();
        for i in 0..20 {
            queue.push(1, item(i, u64::from(i)..100));
        }
        for _ in 0..10 {
            queue.pop();
        }
        queue.push(2, item(50, 50..100));
        queue.push(2, item(51, 51..100));
        queue.push(2, item(52, 52..100));
        let order = order(&mut queue);
        let at = |id| order.iter().position(|&found| found == id).unwrap();
        assert!(at(52) > 3, "shared from now on, not made up for: {order:?}");
    }

    #[test]
    fn jobs_over_the_same_messages_follow_each_other_for_a_while() {
        let mut queue = Queue::default();
        queue.push(1, item(0, 0..10));
        queue.push(1, item(1, 5..10));
        for client in 2..40 {
            queue.push(client, item(client as u8, 0..10));
        }
        let order = order(&mut queue);
        assert_eq!(order.len(), 40);
        let other = order.iter().position(|&id| id == 1).unwrap();
        assert!(other >= TOGETHER, "{order:?}");
        assert!(order[..TOGETHER].iter().all(|&id| id != 1));
    }

    #[test]
    fn gaps_are_not_taken_for_their_range() {
        let mut queue = Queue::default();
        queue.push(1, item(0, 0..10));
        let stride = Stride::new(0..10, 7);
        let spare = Item {
            stride,
            ..item(1, 0..10)
        };
        queue.push(1, item(2, 5..10));
        queue.push(1, spare);
        queue.push(2, item(3, 0..10));
        assert_eq!(order(&mut queue), [0, 3, 2, 1]);
    }

    #[test]
    fn a_removed_job_never_runs() {
        let mut queue = Queue::default();
        queue.push(1, item(0, 0..10));
        queue.push(1, item(1, 5..10));
        assert!(queue.remove(&[0; 16]));
        assert!(!queue.remove(&[0; 16]));
        assert_eq!((queue.len(), queue.ahead(&[0; 16])), (1, None));
        assert_eq!(order(&mut queue), [1]);
    }
}
