//! A schedule of tasks on units. Each task starts as early as its dependencies and units allow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A kind of unit of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unit {
    /// The cores of transforms.
    Transform,
    /// The array of products of basis conversions.
    Conversion,
    /// The lanes of key products, scalings and additions.
    Key,
    /// The lanes of sums over baby steps.
    Sums,
}

/// The number of kinds of units.
pub const UNITS: usize = 4;

/// The number of a task.
pub type Task = u32;

/// A graph of tasks and their dependencies.
#[derive(Default)]
pub struct Graph {
    tasks: Vec<Node>,
    waits: Vec<u32>,
    edges: Vec<(Task, Task)>,
}

#[derive(Clone, Copy)]
struct Node {
    work: Work,
    /// Tasks with lower numbers start first.
    priority: u32,
    stage: u8,
}

/// The work of a task: cycles of its unit, and rows moved from and to the card's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// The unit of the task.
    pub unit: Unit,
    /// The cycles that the task occupies the unit.
    pub cycles: f64,
    /// The cycles after that until the result is complete, in which the unit runs another task.
    pub tail: f64,
    /// The number of rows moved.
    pub rows: f64,
}

impl Graph {
    /// Adds a task to a stage. The task waits for the tasks `after`; of several tasks that could start, the one
    /// with the lowest priority does.
    ///
    /// Panics: if the task waits for one that was not added.
    pub fn add(&mut self, stage: u8, priority: u32, work: Work, after: &[Task]) -> Task {
        let task = self.tasks.len() as Task;
        assert!(
            after.iter().all(|&before| before < task),
            "a task waits for earlier ones"
        );
        self.tasks.push(Node {
            work,
            priority,
            stage,
        });
        self.waits.push(after.len() as u32);
        self.edges
            .extend(after.iter().map(|&before| (before, task)));
        task
    }

    /// Runs all tasks on `units` of each kind: a free unit starts the task of the lowest priority that waits
    /// for nothing.
    ///
    /// This is the list schedule of Graham 1969: a unit is never idle while a task for it could start.
    #[must_use]
    pub fn run(&self, units: [usize; UNITS]) -> Timeline {
        let mut run = Run::new(self, units);
        for task in 0..self.tasks.len() as Task {
            if run.waits[task as usize] == 0 {
                run.make_ready(task);
            }
        }
        loop {
            run.start_all();
            let Some(Reverse((now, event, task))) = run.events.pop() else {
                break;
            };
            run.now = now;
            match event {
                Event::Free => run.free[run.unit(task)] += 1,
                Event::Done => run.finish(task),
            }
        }
        run.timeline
    }

    /// Returns the successors of all tasks in one list, and the start of each task's successors in it.
    fn successors(&self) -> (Vec<u32>, Vec<Task>) {
        let mut starts = vec![0; self.tasks.len() + 1];
        for &(before, _) in &self.edges {
            starts[before as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut list = vec![0; self.edges.len()];
        for &(before, after) in &self.edges {
            let place = &mut next[before as usize];
            list[*place as usize] = after;
            *place += 1;
        }
        (starts, list)
    }
}

/// The times at which tasks were run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The cycles until all tasks are done.
    pub end: u64,
    /// The cycle at which the last task of each stage ends.
    pub stage_end: Vec<u64>,
    /// The busy cycles of each kind of unit, over all units of the kind.
    pub busy: [u64; UNITS],
    /// All tasks, in the order of their ends.
    pub done: Vec<Done>,
}

/// A task that was run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// The cycle at which the task left its unit.
    pub end: u64,
    /// The work of the task.
    pub work: Work,
}

/// The work between two times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Within {
    /// The number of rows moved from and to the card's memory.
    pub rows: f64,
    /// The busy cycles of each kind of unit, over all units of the kind.
    pub busy: [f64; UNITS],
}

impl Timeline {
    /// Returns the work after `from` and up to `to`. A task that began before or ended after counts in part.
    #[must_use]
    pub fn within(&self, from: u64, to: u64) -> Within {
        let mut within = Within::default();
        for Done { end, work } in &self.done {
            let cycles = work.cycles.ceil().max(1.0);
            let (first, last) = (
                (*end as f64 - cycles).max(from as f64),
                (*end).min(to) as f64,
            );
            if first < last {
                within.busy[work.unit as usize] += last - first;
                within.rows += work.rows * (last - first) / cycles;
            }
        }
        within
    }
}

/// An event of a running task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The task's unit is free.
    Free,
    /// The task's result is complete.
    Done,
}

struct Run<'a> {
    graph: &'a Graph,
    starts: Vec<u32>,
    successors: Vec<Task>,
    waits: Vec<u32>,
    free: [usize; UNITS],
    ready: [BinaryHeap<Reverse<(u32, Task)>>; UNITS],
    events: BinaryHeap<Reverse<(u64, Event, Task)>>,
    now: u64,
    timeline: Timeline,
}

impl<'a> Run<'a> {
    fn new(graph: &'a Graph, units: [usize; UNITS]) -> Self {
        let (starts, successors) = graph.successors();
        let stages = graph
            .tasks
            .iter()
            .map(|node| node.stage + 1)
            .max()
            .unwrap_or(0);
        Self {
            graph,
            starts,
            successors,
            waits: graph.waits.clone(),
            free: units,
            ready: Default::default(),
            events: BinaryHeap::new(),
            now: 0,
            timeline: Timeline {
                stage_end: vec![0; usize::from(stages)],
                ..Timeline::default()
            },
        }
    }

    fn make_ready(&mut self, task: Task) {
        let node = self.graph.tasks[task as usize];
        self.ready[node.work.unit as usize].push(Reverse((node.priority, task)));
    }

    fn start_all(&mut self) {
        for unit in 0..UNITS {
            while self.free[unit] > 0 {
                let Some(Reverse((_, task))) = self.ready[unit].pop() else {
                    break;
                };
                self.free[unit] -= 1;
                let work = self.graph.tasks[task as usize].work;
                let cycles = work.cycles.ceil() as u64;
                self.timeline.busy[unit] += cycles;
                let free = self.now + cycles;
                let done = free + work.tail.ceil() as u64;
                self.events.push(Reverse((free, Event::Free, task)));
                self.events.push(Reverse((done, Event::Done, task)));
            }
        }
    }

    fn unit(&self, task: Task) -> usize {
        self.graph.tasks[task as usize].work.unit as usize
    }

    fn finish(&mut self, task: Task) {
        let now = self.now;
        let node = self.graph.tasks[task as usize];
        let timeline = &mut self.timeline;
        timeline.end = timeline.end.max(now);
        let end = &mut timeline.stage_end[usize::from(node.stage)];
        *end = (*end).max(now);
        let work = node.work;
        let end = now - work.tail.ceil() as u64;
        timeline.done.push(Done { end, work });
        let of = |i: usize| self.starts[i] as usize;
        for at in of(task as usize)..of(task as usize + 1) {
            let next = self.successors[at];
            self.waits[next as usize] -= 1;
            if self.waits[next as usize] == 0 {
                self.make_ready(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(unit: Unit, cycles: f64) -> Work {
        Work {
            unit,
            cycles,
            tail: 0.0,
            rows: 1.0,
        }
    }

    /// Two cores share five equal tasks in three rounds; a task that waits for all of them runs after them.
    #[test]
    fn units_are_shared_and_dependencies_kept() {
        let mut graph = Graph::default();
        let first: Vec<Task> = (0..5)
            .map(|i| graph.add(0, i, work(Unit::Transform, 10.0), &[]))
            .collect();
        graph.add(1, 0, work(Unit::Key, 7.0), &first);
        let timeline = graph.run([2, 1, 1, 1]);
        assert_eq!(
            (timeline.end, timeline.stage_end.clone()),
            (37, vec![30, 37])
        );
        assert_eq!(timeline.busy, [50, 0, 7, 0]);
        assert_eq!(
            [(0, 10), (10, 30), (30, 37), (0, 5)].map(|(from, to)| timeline.within(from, to).rows),
            [2.0, 3.0, 1.0, 1.0]
        );
        assert_eq!(timeline.within(25, 33).busy, [5.0, 0.0, 3.0, 0.0]);
    }

    /// A unit runs the next task while the previous result leaves; a task that needs this result waits.
    #[test]
    fn a_tail_delays_dependent_tasks_and_not_its_unit() {
        let mut graph = Graph::default();
        let tail = Work {
            tail: 3.0,
            ..work(Unit::Transform, 10.0)
        };
        let first = graph.add(0, 0, tail, &[]);
        graph.add(0, 1, tail, &[]);
        graph.add(1, 0, work(Unit::Key, 20.0), &[first]);
        let timeline = graph.run([1; UNITS]);
        assert_eq!((timeline.end, timeline.stage_end), (33, vec![23, 33]));
    }

    /// The task with the lower priority number starts first, regardless of the order of addition.
    #[test]
    fn the_lowest_priority_starts_first() {
        let mut graph = Graph::default();
        let late = graph.add(0, 9, work(Unit::Sums, 5.0), &[]);
        graph.add(0, 1, work(Unit::Sums, 3.0), &[]);
        graph.add(1, 0, work(Unit::Key, 1.0), &[late]);
        assert_eq!(graph.run([1; UNITS]).end, 9);
    }

    /// A unit is never idle while a task could start: one core runs independent tasks without gaps.
    #[test]
    fn no_unit_idles_while_a_task_could_start() {
        let mut graph = Graph::default();
        let mut before = graph.add(0, 0, work(Unit::Transform, 4.0), &[]);
        for i in 1..10 {
            before = graph.add(0, i, work(Unit::Conversion, 4.0), &[before]);
            graph.add(0, 100, work(Unit::Transform, 2.0), &[]);
        }
        let timeline = graph.run([1; UNITS]);
        assert_eq!((timeline.end, timeline.busy), (40, [22, 36, 0, 0]));
    }
}
