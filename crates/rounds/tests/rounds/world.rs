//! Keys, messages and both parties for tests of the second round.

use chacha20::ChaCha20Rng;
use omr_bgv::GaloisKey;
use omr_ring::Kernels;
use omr_rlwe::{MaskSeed, Secret, SecretPoly, SharedKey, SwitchingKey};
use omr_rounds::fetch::{Choice, Fetch, FetchKey, FetchSecret, FetchSpec, Places, Prepared, Query};
use rand_core::{Rng, SeedableRng};

pub(crate) const FULL: FetchSpec = FetchSpec {
    p: 786_433,
    n: 8192,
    buckets: 64,
    choices: 4,
    page: 1824,
    fetched: 56,
    sum_bits: 32,
    level_bits: 36,
    special_bits: 50,
    final_n: 2048,
    final_bits: 50,
    digits: 2,
    digit_bits: 16,
    parts: 2,
    mask_bits: 29,
    body_bits: [21, 23],
    short: 72,
};

pub(crate) const TINY: FetchSpec = FetchSpec {
    n: 256,
    buckets: 16,
    page: 48,
    fetched: 14,
    final_n: 64,
    ..FULL
};

pub(crate) struct World {
    pub(crate) fetch: Fetch,
    pub(crate) secret: FetchSecret,
    pub(crate) key: FetchKey,
    pub(crate) rng: ChaCha20Rng,
}

impl World {
    pub(crate) fn new(spec: FetchSpec, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let fetch = Fetch::new(spec, Kernels::detect()).unwrap();
        let mut masks = [0; 32];
        rng.fill_bytes(&mut masks);
        let (ring, shape, p) = (&fetch.ring, &fetch.shape, fetch.p().value());
        let query = Secret::uniform_ternary(&mut rng, ring.n());
        let s = query.poly(ring, &shape.extended());
        let mut merge = Vec::new();
        for level in fetch.levels() {
            let to = GaloisKey::preimage(ring, &s, fetch.exponent(level));
            let at = MaskSeed::new(&masks, level.into());
            merge.push(SwitchingKey::generate(
                ring, shape, &s, &to, p, at, &mut rng,
            ));
        }
        let square = s.product(ring, &s);
        let at = MaskSeed::new(&masks, 100);
        let product = SwitchingKey::generate(ring, shape, &square, &s, p, at, &mut rng);
        let bodies = fetch.final_shape().bodies();
        let finals: Vec<Secret> = (0..bodies)
            .map(|_| Secret::uniform_ternary(&mut rng, fetch.final_ring.n()))
            .collect();
        let polys = || -> Vec<SecretPoly> {
            let last = &fetch.final_ring;
            let poly = |secret: &Secret| secret.poly(last, &last.everything());
            finals.iter().map(poly).collect()
        };
        let at = MaskSeed::new(&masks, 101);
        let (last, shape) = (&fetch.final_ring, fetch.final_shape());
        let last = SharedKey::generate(last, shape, &query, &polys(), at, &mut rng);
        let secret = FetchSecret::new(&fetch, query, polys);
        Self {
            key: FetchKey::new(&fetch, merge, product, last),
            secret,
            fetch,
            rng,
        }
    }

    pub(crate) fn choices(&mut self, rows: usize) -> Vec<Choice> {
        let positions = self.fetch.positions();
        let mut below = |bound: usize| self.rng.next_u32() as usize % bound;
        (0..self.fetch.spec().buckets)
            .map(|_| Choice {
                row: below(rows),
                position: below(positions),
            })
            .collect()
    }

    pub(crate) fn query(&mut self, rows: usize, choices: &[Choice]) -> Query {
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        let s = self
            .secret
            .query()
            .poly(&self.fetch.ring, self.fetch.chain.basis(0));
        Query::encrypt(&self.fetch, &s, rows, choices, seed, &mut self.rng)
    }
}

/// A page of random symbols, its places and its plaintexts.
pub(crate) struct Page {
    pub(crate) places: Places,
    pub(crate) values: Vec<u32>,
    pub(crate) prepared: Prepared,
}

impl Page {
    pub(crate) fn new(world: &mut World, number: u64, messages: usize, symbols: usize) -> Self {
        let p = world.fetch.p().value() as u32;
        let mut value = || world.rng.next_u32() % p;
        let values: Vec<u32> = (0..messages * symbols).map(|_| value()).collect();
        let places = Places::new(&world.fetch, &[3; 32], number);
        let prepared = Prepared::new(&world.fetch, &places, symbols, &values);
        Self {
            places,
            values,
            prepared,
        }
    }
}
