//! The order of jobs, the jobs that run together, and the seconds that clients pay.

use super::*;
use omr_protocol::EngineKind;

/// The number of jobs that one run serves in these tests.
const MOST: usize = 4;

fn item(id: u8) -> Item {
    Item {
        id: [id; 16],
        group: None,
        needs: Kinds::default(),
        cost: 1.0,
        shared_cost: 0.0,
    }
}

/// Returns a set with one of the two engines.
fn only(engine: usize) -> Kinds {
    Kinds::of([EngineKind::ALL[engine]])
}

/// Returns a job over the first ten messages whose key has these masks.
fn grouped(id: u8, masks: u8) -> Item {
    let group = Group {
        stride: Stride::new(0..10, 1),
        bound: 50,
        indices_only: false,
        fetches: false,
        scheme: 1,
        masks: [masks; 32],
    };
    Item {
        group: Some(group),
        shared_cost: 1.0,
        ..item(id)
    }
}

/// Returns the jobs of the next run.
fn run(queue: &mut Queue) -> Option<Vec<u8>> {
    run_of(queue, Kinds::default())
}

/// Returns the jobs of the next run of a worker with some engines.
fn run_of(queue: &mut Queue, engines: Kinds) -> Option<Vec<u8>> {
    let first = queue.pop(engines)?;
    let mates = queue.batch_mates(&first, MOST);
    let all = std::iter::once(&first.item).chain(&mates);
    Some(all.map(|item| item.id[0]).collect())
}

fn runs(queue: &mut Queue) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| run(queue)).collect()
}

fn order(queue: &mut Queue) -> Vec<u8> {
    runs(queue).concat()
}

fn spent(queue: &Queue, client: u64) -> f64 {
    queue.lines[&client].spent
}

#[test]
fn a_client_with_many_jobs_does_not_hold_up_others() {
    let mut queue = Queue::default();
    for i in 0..5 {
        queue.push(1, item(i));
    }
    queue.push(2, item(10));
    queue.push(3, item(20));
    assert_eq!(queue.ahead(&[4; 16], MOST), Some(6));
    assert_eq!(order(&mut queue), [0, 10, 20, 1, 2, 3, 4]);
}

#[test]
fn idle_times_give_no_credit() {
    let mut queue = Queue::default();
    for i in 0..20 {
        queue.push(1, item(i));
    }
    for _ in 0..10 {
        queue.pop(Kinds::default());
    }
    queue.push(2, item(50));
    queue.push(2, item(51));
    queue.push(2, item(52));
    let order = order(&mut queue);
    let at = |id| order.iter().position(|&found| found == id).unwrap();
    assert!(at(52) > 3, "shared from now on, not made up for: {order:?}");
}

#[test]
fn a_removed_job_never_runs() {
    let mut queue = Queue::default();
    queue.push(1, item(0));
    queue.push(1, item(1));
    assert!(queue.remove(&[0; 16]));
    assert!(!queue.remove(&[0; 16]));
    assert_eq!(queue.ahead(&[0; 16], MOST), None);
    assert_eq!(order(&mut queue), [1]);
}

#[test]
fn one_run_serves_jobs_of_one_group_and_no_others() {
    let mut queue = Queue::default();
    let first = grouped(0, 7);
    let group = first.group.clone().unwrap();
    queue.push(1, first.clone());
    let others = [
        Group {
            stride: Stride::new(0..10, 7),
            ..group.clone()
        },
        Group {
            stride: Stride::new(0..11, 1),
            ..group.clone()
        },
        Group {
            bound: 51,
            ..group.clone()
        },
        Group {
            indices_only: true,
            ..group.clone()
        },
        Group {
            fetches: true,
            ..group.clone()
        },
        Group {
            scheme: 5,
            ..group.clone()
        },
        Group {
            masks: [8; 32],
            ..group
        },
    ];
    for (id, group) in (10..).zip(others) {
        let item = Item {
            group: Some(group),
            ..grouped(id, 7)
        };
        queue.push(u64::from(id), item);
    }
    queue.push(30, item(30));
    queue.push(31, grouped(31, 7));
    queue.push(32, grouped(32, 7));
    let mut later = queue.clone();
    assert_eq!(
        later.pop(Kinds::default()).map(|first| first.item),
        Some(first.clone())
    );
    assert_eq!(later.together(&first), 3);
    assert_eq!(queue.ahead(&[32; 16], MOST), Some(0), "in the first run");
    assert_eq!(queue.ahead(&[10; 16], MOST), Some(3));
    let runs = runs(&mut queue);
    assert_eq!(runs[0], [0, 31, 32]);
    assert!(runs[1..].iter().all(|run| run.len() == 1), "{runs:?}");
    assert_eq!(runs.concat().len(), 11);
}

#[test]
fn a_run_is_no_longer_than_configured_and_takes_each_clients_job_before_a_second() {
    let mut queue = Queue::default();
    for id in 0..6 {
        queue.push(1, grouped(id, 7));
    }
    for client in 2..5 {
        queue.push(client, grouped(10 * client as u8, 7));
    }
    assert_eq!(run(&mut queue).unwrap(), [0, 20, 30, 40]);
    assert_eq!(run(&mut queue).unwrap(), [1, 2, 3, 4]);
    assert_eq!(runs(&mut queue), [[5]]);
}

#[test]
fn a_run_costs_each_its_share() {
    let mut queue = Queue::default();
    for client in 1..=4 {
        queue.push(client, grouped(client as u8, 7));
        // With a second job no client is forgotten.
        queue.push(client, grouped(10 + client as u8, client as u8));
    }
    assert_eq!(run(&mut queue).unwrap(), [1, 2, 3, 4]);
    let share = (1.0 + 3.0 * FURTHER) / 4.0;
    for client in 1..=4 {
        assert!((spent(&queue, client) - share).abs() < 1e-9, "{client}");
    }
    // Seconds that are not shared, for example those of the second engine, are paid in full.
    let mut queue = Queue::default();
    for client in 1..=2 {
        let shared_cost = 0.5;
        queue.push(
            client,
            Item {
                shared_cost,
                ..grouped(client as u8, 7)
            },
        );
        queue.push(client, item(10));
    }
    run(&mut queue);
    let share = 0.5 + 0.5 * (1.0 + FURTHER) / 2.0;
    assert!((spent(&queue, 2) - share).abs() < 1e-9);
}

#[test]
fn jobs_that_run_alone_pay_all_of_their_cost() {
    let mut queue = Queue::default();
    for id in 0..3 {
        queue.push(1, item(id));
    }
    assert_eq!(run(&mut queue).unwrap(), [0]);
    assert_eq!(run(&mut queue).unwrap(), [1]);
    assert!((spent(&queue, 1) - 2.0).abs() < 1e-9);
}

/// Returns a pseudo-random number below `below`.
fn next(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    (*state >> 33) % below
}

/// Returns the charged seconds of clients 1 to 5 together.
fn total(queue: &Queue) -> f64 {
    (1..=5)
        .map(|client| queue.lines.get(&client).map_or(0.0, |line| line.spent))
        .sum()
}

/// Clients 1 to 5 always have jobs, client 1 most of them, alone or in one of three groups. Whatever jobs run together,
/// each job runs once, a run is paid by its cost, and a newcomer waits for at most one run of each client.
#[test]
fn groups_hold_up_nobody() {
    for seed in 0..40 {
        let (mut state, mut number, mut newcomer) = (seed, 0u64, 10);
        let mut queue = Queue::default();
        let mut push = |queue: &mut Queue, client: u64, masks: u8| {
            number += 1;
            let mut new = grouped(0, masks);
            new.id[0] = client as u8;
            new.id[8..].copy_from_slice(&number.to_le_bytes());
            queue.push(client, new);
        };
        let mut ran = std::collections::HashSet::new();
        // The number of runs since the newcomer came, if there is one.
        let mut waited = None;
        for _ in 0..300 {
            for client in 1..=5 {
                let least = if client == 1 { 12 } else { 2 };
                while queue.lines.get(&client).map_or(0, |line| line.jobs.len()) < least {
                    let masks = next(&mut state, 4) as u8;
                    // The job is of one of three groups, or alone.
                    push(
                        &mut queue,
                        client,
                        masks + if masks == 3 { client as u8 } else { 0 },
                    );
                }
            }
            if waited.is_none() && next(&mut state, 3) == 0 {
                newcomer += 1;
                push(&mut queue, newcomer, 100);
                waited = Some(0);
            }
            let before = total(&queue);
            let first = queue.pop(Kinds::default()).unwrap();
            let mates = queue.batch_mates(&first, MOST);
            let all: Vec<_> = std::iter::once(&first.item).chain(&mates).collect();
            assert!(all.len() <= MOST && all.iter().all(|item| ran.insert(item.id)));
            if first.client > 5 {
                waited = None;
                continue;
            }
            let cost = 1.0 + FURTHER * mates.len() as f64;
            assert!((total(&queue) - before - cost).abs() < 1e-6, "seed {seed}");
            if let Some(runs) = &mut waited {
                *runs += 1;
                assert!(*runs <= 5, "seed {seed}: a newcomer is held up");
            }
        }
        assert!(ran.len() > 400, "seed {seed}: groups were served together");
    }
}

/// Returns a job with an id of its own.
fn numbered(number: u64, group: Option<Group>) -> Item {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_le_bytes());
    // Jobs in one run need the same engines.
    let needs = match group {
        None => [Kinds::default(), only(0), only(1)][number as usize % 3],
        Some(_) => Kinds::default(),
    };
    Item {
        id,
        group,
        needs,
        cost: 1.0 + (number % 7) as f64,
        shared_cost: 1.0,
    }
}

/// Adds many jobs of many shapes. All jobs from `asking` on ask for their place when they arrive, and all jobs once
/// when all are there. Then some are removed, and the others run. Returns the number of entries looked at.
fn looks_at(jobs: u64, clients: u64, groups: u64, asking: u64) -> u64 {
    let before = fair_order::LOOKS.get();
    let group = |number: u64| match groups {
        0 => None,
        groups => Some(Group {
            bound: (number / clients % groups) as u32,
            ..grouped(0, 0).group?
        }),
    };
    let mut queue = Queue::default();
    for number in 0..jobs {
        let item = numbered(number, group(number));
        let id = item.id;
        queue.push(number * 7 % clients, item);
        if number >= asking {
            assert!(queue.ahead(&id, MOST).unwrap() <= number);
        }
    }
    for number in 0..jobs {
        let id = numbered(number, group(number)).id;
        assert!(queue.ahead(&id, MOST).unwrap() < jobs);
        if number % 10 == 0 {
            assert!(queue.remove(&id));
        }
    }
    let mut ran = 0;
    while let Some(first) = queue.pop(Kinds::default()) {
        ran += 1 + queue.batch_mates(&first, MOST).len() as u64;
    }
    assert_eq!(ran, jobs - jobs.div_ceil(10));
    fair_order::LOOKS.get() - before
}

#[test]
fn many_jobs_take_no_work_for_each_pair_of_them() {
    let clients = 4000;
    let check = |jobs: u64, clients, groups, asking| {
        let looks = looks_at(jobs, clients, groups, asking);
        // A forecast is made again after one change in 16, which makes 16 times n jobs while n jobs come one by one.
        let most = 20 * jobs * u64::from(jobs.ilog2());
        assert!(looks < most, "{clients} clients, {groups} groups: {looks}");
    };
    for (clients, groups) in [
        (1, 0),
        (clients, 0),
        (100, 0),
        (1, 100),
        (clients, 1),
        (100, 100),
    ] {
        check(4000, clients, groups, 0);
    }
    check(30_000, 300, 100, 29_000);
}

#[test]
fn a_long_queue_estimates_the_places_of_newcomers() {
    let mut queue = Queue::default();
    for number in 0..10_000 {
        queue.push(1, numbered(number, None));
    }
    let first = numbered(0, None).id;
    assert_eq!(queue.ahead(&first, MOST), Some(0));
    // A newcomer is served next, and the newcomer's tenth job after ten of the first client's.
    for number in 20_000..20_010 {
        queue.push(2, numbered(number, None));
    }
    let ahead = |queue: &mut Queue, number| {
        let id = numbered(number, None).id;
        queue.ahead(&id, MOST).unwrap()
    };
    assert!(ahead(&mut queue, 20_000) <= 2);
    assert!(ahead(&mut queue, 20_009) <= 40);
    assert_eq!(ahead(&mut queue, 9_999), 9_999);
}

#[test]
fn a_worker_has_what_its_engines_can_do_and_each_client_its_turn() {
    let mut queue = Queue::default();
    let jobs = [
        (1, 0, Kinds::default()),
        (1, 1, only(0)),
        (1, 2, only(1)),
        (1, 3, only(0)),
        (2, 10, only(1)),
        (2, 11, only(0)),
    ];
    for (client, id, needs) in jobs {
        let own = item(id);
        queue.push(client, Item { needs, ..own });
    }
    let mut run = |engines| {
        let runs = std::iter::from_fn(|| run_of(&mut queue, engines));
        runs.collect::<Vec<_>>().concat()
    };
    assert_eq!(run(only(0)), [1, 11, 3]);
    assert_eq!(run(only(1)), [10, 2], "client 1 has had more");
    assert_eq!(run(Kinds::default()), [0]);
}
