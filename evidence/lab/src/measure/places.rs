//! How often a message of a query finds no bucket.

use chacha20::ChaCha20Rng;
use omr_protocol::rounds::RoundsParams;
use omr_rounds::fetch::{Places, assign};
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::VecDeque;

/// The number of messages of the range of several pages: a full batch of SophOMR.
const RANGE: usize = 65_536;
/// The number of drawn pages in one task.
const TASK: u64 = 1_000;

/// Counts over pages with random seeds. `reference/rounds_places.py` computes the same from random numbers.
#[derive(Clone, Debug, Serialize)]
pub struct PlacesFigures {
    /// The name of the parameter set.
    pub params: &'static str,
    /// The number of messages of a query.
    pub fetched: usize,
    /// The number of pages of a range of 65,536 messages.
    pub pages: usize,
    /// Queries by their messages.
    pub queries: Queries,
    /// The least number of buckets with room before the last message of a page.
    pub buckets_with_room: usize,
}

/// Queries by the messages that they ask for.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Queries {
    /// Random messages of a range of 65,536.
    pub several_pages: LeftOut,
    /// Random messages of one page.
    pub one_page: LeftOut,
    /// The last messages of a page.
    pub end_of_a_page: LeftOut,
}

/// Queries of one kind.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LeftOut {
    /// The number of queries.
    pub queries: u64,
    /// The number of queries that leave out a message.
    pub with_one_left_out: u64,
    /// The number of messages that are left out.
    pub messages_left_out: u64,
    /// log2 of the share of queries that leave out a message.
    pub share_log2: Option<f64>,
}

/// Draws pages and makes a query of each kind for each.
#[must_use]
pub fn places(params: &RoundsParams, pages: u64, seed: u64) -> PlacesFigures {
    let task = |task: u64| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        rng.set_stream(task);
        counted(params, TASK.min(pages - task * TASK), &mut rng)
    };
    let spec = params.fetch.spec();
    let tasks = (0..pages.div_ceil(TASK)).into_par_iter().map(task);
    let (queries, room) = tasks.reduce(
        || (Queries::default(), spec.buckets),
        |(sum, least), (queries, room)| (sum.plus(queries), least.min(room)),
    );
    PlacesFigures {
        params: params.name(),
        fetched: spec.fetched,
        pages: RANGE.div_ceil(spec.page),
        queries,
        buckets_with_room: room,
    }
}

/// Returns the counts of some pages, and the least number of buckets with room.
fn counted(params: &RoundsParams, pages: u64, rng: &mut ChaCha20Rng) -> (Queries, usize) {
    let (fetch, spec) = (&params.fetch, params.fetch.spec());
    let (fetched, size) = (spec.fetched, spec.page);
    let page = |rng: &mut ChaCha20Rng| {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        Places::new(fetch, &seed, 0)
    };
    let window = RANGE.div_ceil(size);
    let mut range: VecDeque<Places> = (1..window).map(|_| page(rng)).collect();
    let (mut queries, mut room) = (Queries::default(), spec.buckets);
    for _ in 0..pages {
        // The range moves on by a page.
        range.push_back(page(rng));
        let newest = &range[window - 1];
        room = room.min(buckets_with_room(newest, spec.buckets, fetch.positions()));
        let several = sample(window * size, fetched, rng);
        let several = several.iter().map(|&m| buckets(&range[m / size], m % size));
        queries.several_pages.count(spec.buckets, several.collect());
        let one = sample(size, fetched, rng);
        let one = one.iter().map(|&message| buckets(newest, message));
        queries.one_page.count(spec.buckets, one.collect());
        let end = (size - fetched..size).map(|message| buckets(newest, message));
        queries.end_of_a_page.count(spec.buckets, end.collect());
        range.pop_front();
    }
    (queries, room)
}

fn buckets(places: &Places, message: usize) -> Vec<usize> {
    places.of(message).map(|place| place.bucket).collect()
}

/// Returns the number of buckets with room before the last message of a page.
fn buckets_with_room(places: &Places, buckets: usize, positions: usize) -> usize {
    let mut taken = vec![0; buckets];
    for message in 0..places.messages() - 1 {
        for place in places.of(message) {
            taken[place.bucket] += 1;
        }
    }
    taken.iter().filter(|&&taken| taken < positions).count()
}

/// Returns distinct random numbers below a bound.
fn sample(bound: usize, count: usize, rng: &mut ChaCha20Rng) -> Vec<usize> {
    let mut sample = Vec::with_capacity(count);
    while sample.len() < count {
        let number = (rng.next_u64() % bound as u64) as usize;
        if !sample.contains(&number) {
            sample.push(number);
        }
    }
    sample
}

impl Queries {
    fn plus(self, other: Self) -> Self {
        Self {
            several_pages: self.several_pages.plus(other.several_pages),
            one_page: self.one_page.plus(other.one_page),
            end_of_a_page: self.end_of_a_page.plus(other.end_of_a_page),
        }
    }
}

impl LeftOut {
    /// Counts a query for messages with these buckets.
    fn count(&mut self, buckets: usize, messages: Vec<Vec<usize>>) {
        let owners = assign(buckets, &messages);
        let left_out = (messages.len() - owners.iter().flatten().count()) as u64;
        *self = self.plus(Self {
            queries: 1,
            with_one_left_out: left_out.min(1),
            messages_left_out: left_out,
            share_log2: None,
        });
    }

    fn plus(self, other: Self) -> Self {
        let queries = self.queries + other.queries;
        let with_one_left_out = self.with_one_left_out + other.with_one_left_out;
        let share = with_one_left_out as f64 / queries as f64;
        Self {
            queries,
            with_one_left_out,
            messages_left_out: self.messages_left_out + other.messages_left_out,
            share_log2: (share > 0.0).then(|| share.log2()),
        }
    }
}
