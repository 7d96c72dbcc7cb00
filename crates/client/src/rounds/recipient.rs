//! A recipient of scans and answers.

use crate::{DecodeError, Fingerprint, Retrieved, SecretKey};
use omr_marks::published;
use omr_protocol::clue::FingerprintKey;
use omr_protocol::rounds::{
    FetchAnswer, FetchQuery, RoundsError, RoundsHeader, RoundsParams, RoundsPlan, Scanned, units,
};
use omr_protocol::sophomr::checksum;
use omr_protocol::{ClueKind, Mismatch};
use omr_rlwe::SecretPoly;
use omr_rounds::fetch::{Choice, FetchSecret, Place, Places, Query, assign};
use omr_rounds::scan::ScanSecret;
use rand_core::{CryptoRng, Rng};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A recipient with a secret that is prepared for both rounds.
pub struct RoundsRecipient {
    params: Arc<RoundsParams>,
    key_id: [u8; 16],
    clues: ClueKind,
    scan: ScanSecret,
    fetch: FetchSecret,
}

/// A query, and what reads its answer.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The file of the query.
    pub query: Vec<u8>,
    /// The subject.
    pub header: RoundsHeader,
    /// For each bucket the index of the message that is asked for; `None` for a bucket that asks for some other place.
    pub buckets: Vec<Option<u64>>,
}

impl Asked {
    /// Returns the indices that are asked for, in the order of the board. Messages that found no bucket are not among
    /// them: they wait for the next query.
    pub fn indices(&self) -> Vec<u64> {
        let mut indices: Vec<u64> = self.buckets.iter().flatten().copied().collect();
        indices.sort_unstable();
        indices
    }
}

/// The messages of an answer.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The messages, in the order of the board.
    pub messages: Vec<Retrieved>,
    /// The indices whose payload does not match its checksum: the answer is damaged, its detector is faulty, or its noise
    /// was too large, which a new query repairs.
    pub unreadable: Vec<u64>,
}

impl RoundsRecipient {
    /// Prepares a secret key.
    pub fn new(params: &Arc<RoundsParams>, secret: &SecretKey) -> Self {
        let digest = secret.digest_secret();
        let (scan, fetch) = (&params.scan, &params.fetch);
        let scans = digest.scan_polys(scan.ring(), scan.spec().parts);
        let bodies = fetch.final_shape().bodies();
        let answers = || digest.answer_polys(&fetch.final_ring, bodies);
        Self {
            key_id: secret.rounds_id(),
            clues: secret.clues(),
            scan: ScanSecret::new(scan, scans),
            fetch: FetchSecret::new(fetch, digest.query_secret(&fetch.ring), answers),
            params: params.clone(),
        }
    }

    /// Returns the indices of the pertinent messages of a scan, in the order of the board.
    ///
    /// Time: until the indices are collected, that of the range.
    /// Errors: `OtherKey`; `Clues`; `Inconsistent` if the parts have another shape.
    pub fn indices(&self, scanned: &Scanned) -> Result<Vec<u64>, DecodeError> {
        let plan = self.plan(&scanned.header)?;
        let (section, group) = (
            self.params.scan.section() as u64,
            self.params.scan.spec().n as u64,
        );
        let mut rows = Vec::new();
        for (own, parts) in plan.sections().iter().zip(&scanned.sections) {
            let groups: Vec<usize> = own.groups.clone().collect();
            let inside = self.scan.inside(&self.params.scan, &groups, parts);
            let inside = inside.map_err(|error| DecodeError::Inconsistent(error.to_string()))?;
            for (&number, row) in groups.iter().zip(inside) {
                rows.push((own.section * section + number as u64 * group, row));
            }
        }
        let mut found = Vec::new();
        for (first, row) in rows {
            for (index, inside) in (first..).zip(row) {
                if published(inside) && plan.range().contains(&index) {
                    found.push(index);
                }
            }
        }
        Ok(found)
    }

    /// Returns messages from a scan that contains all payloads; `None` if the range is longer.
    ///
    /// Errors: those of [`RoundsRecipient::indices`].
    pub fn payloads(
        &self,
        scanned: &Scanned,
        indices: &[u64],
    ) -> Result<Option<Vec<Retrieved>>, DecodeError> {
        let plan = self.plan(&scanned.header)?;
        if !plan.sends_all() {
            return Ok(None);
        }
        let header = &scanned.header;
        let mut messages = Vec::with_capacity(indices.len());
        for &index in indices.iter().filter(|index| plan.range().contains(index)) {
            let at = (index - plan.range().start) as usize;
            let payload = &scanned.payloads[at * header.payload_bytes..][..header.payload_bytes];
            let mark = scanned.fingerprints.get(at).copied();
            let fingerprint = fingerprint(header, mark.unwrap_or(0));
            messages.push(Retrieved::new(index, Some(payload.to_vec()), fingerprint));
        }
        Ok(Some(messages))
    }

    /// Encrypts a query for messages of a scan's range. `wanted` comes in the order of importance: a query has room for
    /// a fixed number of messages, and leaves out further ones and those that find no bucket. Places that nobody wants fill the room, so that all
    /// queries of a range look alike.
    ///
    /// Errors: `OtherKey`, `Clues`; `Inconsistent` if an index lies outside the range.
    pub fn ask(
        &self,
        header: &RoundsHeader,
        wanted: &[u64],
        rng: &mut impl CryptoRng,
    ) -> Result<Asked, DecodeError> {
        let plan = self.plan(header)?;
        let range = plan.range();
        if let Some(index) = wanted.iter().find(|index| !range.contains(index)) {
            return Err(DecodeError::Inconsistent(format!(
                "expected indices of messages {}..{}, found {index}",
                range.start, range.end
            )));
        }
        let fetch = &self.params.fetch;
        let most = fetch.spec().fetched;
        let mut asked: Vec<u64> = wanted.iter().copied().take(most).collect();
        let own = asked.len();
        while asked.len() < most {
            asked.push(range.start + below(range.end - range.start, rng));
        }
        let places = self.places(header, &plan);
        let rows = fetch.spec().rows;
        let section = self.params.scan.section() as u64;
        let of = |index: u64| -> Vec<Place> {
            let number = (index / section - plan.sections()[0].section) as usize;
            let in_section = places[number].of((index % section) as usize);
            in_section
                .map(|place| Place {
                    row: number * rows + place.row,
                    ..place
                })
                .collect()
        };
        let places: Vec<Vec<Place>> = asked.iter().map(|&index| of(index)).collect();
        let buckets = |places: &Vec<Place>| places.iter().map(|place| place.bucket).collect();
        let of_messages: Vec<Vec<usize>> = places.iter().map(buckets).collect();
        let owners = assign(fetch.spec().buckets, &of_messages);
        let mut choices = Vec::with_capacity(owners.len());
        for (bucket, owner) in owners.iter().enumerate() {
            let other = Choice {
                row: below(plan.rows() as u64, rng) as usize,
                position: below(fetch.positions() as u64, rng) as usize,
            };
            let chosen = owner.and_then(|message| {
                let own = places[message].iter();
                own.copied().find(|place| place.bucket == bucket)
            });
            choices.push(chosen.map_or(other, |place| Choice {
                row: place.row,
                position: place.position,
            }));
        }
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let seed = published(seed);
        let secret = self.query_poly();
        let query = Query::encrypt(fetch, &secret, plan.rows(), &choices, seed, rng);
        let file = FetchQuery {
            header: header.clone(),
            query,
        };
        let is_own = |message: &usize| *message < own;
        let index = |owner: Option<usize>| owner.filter(is_own).map(|message| asked[message]);
        Ok(Asked {
            query: file
                .to_bytes(&self.params)
                .map_err(|error| DecodeError::Inconsistent(error.to_string()))?,
            header: header.clone(),
            buckets: owners.into_iter().map(index).collect(),
        })
    }

    /// Reads the answer to a query.
    ///
    /// Time: until results are collected, that of the shape.
    /// Errors: `OtherQuery`, `OtherScan`, and those of reading the file.
    pub fn fetched(&self, asked: &Asked, answer: &[u8]) -> Result<Fetched, RoundsError> {
        let answer = FetchAnswer::from_bytes(&self.params, answer)?;
        asked.header.expect(&answer.header)?;
        let (expected, found) = (FetchQuery::hash(&asked.query), answer.query);
        if expected != found {
            return Err(RoundsError::OtherQuery(Mismatch::new(expected, found)));
        }
        let plan = answer.header.plan(&self.params)?;
        let (fetch, code) = (&self.params.fetch, plan.code());
        let symbols = self
            .fetch
            .symbols(fetch, plan.rows(), plan.symbols(), &answer.ciphertexts)
            .expect("the shape of the file was checked");
        let section = self.params.scan.section() as u64;
        let p = fetch.p();
        let mut units_of = BTreeMap::new();
        for own in plan.sections() {
            let all = units(
                p.value(),
                &answer.header.seed,
                own.section,
                section as usize,
            );
            units_of.insert(own.section, all);
        }
        let mut checked = Vec::new();
        for (bucket, mut row) in asked.buckets.iter().zip(symbols) {
            // Buckets that ask for nothing are read in the same way.
            let index = bucket.unwrap_or(answer.header.range.start);
            let unit = units_of[&(index / section)][(index % section) as usize];
            let inverse = p.inv(unit.into());
            for symbol in &mut row {
                *symbol = p.mul((*symbol).into(), inverse) as u32;
            }
            let (body, sum) = row.split_at(code.count());
            let mut payload = vec![0; code.payload_bytes()];
            let unpacked = code.unpack_lossy_into(body, &mut payload);
            let (mark, canonical) = unpacked.expect("symbols of one payload, below p");
            let right = checksum(index, &payload, code)
                .iter()
                .zip(sum)
                .fold(canonical, |right, (a, b)| right & (a == b));
            checked.push((*bucket, right, payload, mark));
        }
        let mut fetched = Fetched::default();
        for (bucket, right, payload, mark) in checked {
            let Some(index) = bucket else { continue };
            if published(right) {
                let fingerprint = fingerprint(&answer.header, mark);
                let message = Retrieved::new(index, Some(payload), fingerprint);
                fetched.messages.push(message);
            } else {
                fetched.unreadable.push(index);
            }
        }
        fetched.messages.sort_by_key(|message| message.index);
        fetched.unreadable.sort_unstable();
        Ok(fetched)
    }

    /// Returns the distance of each coefficient of an answer from a symbol, in steps of a symbol, for measurements of
    /// noise: 0 is exact, 0.5 is wrong.
    ///
    /// Errors: `Inconsistent` if the answer has another shape.
    #[cfg(feature = "measure")]
    pub fn roundings(&self, answer: &FetchAnswer) -> Result<Vec<f64>, DecodeError> {
        let plan = self.plan(&answer.header)?;
        let (rows, symbols) = (plan.rows(), plan.symbols());
        let fetch = &self.params.fetch;
        let roundings = self
            .fetch
            .roundings(fetch, rows, symbols, &answer.ciphertexts);
        roundings.map_err(|error| DecodeError::Inconsistent(error.to_string()))
    }

    /// Returns the plan of a scan that was made for this recipient.
    ///
    /// Errors: `OtherKey`; `Clues`; `Inconsistent`.
    fn plan(&self, header: &RoundsHeader) -> Result<RoundsPlan, DecodeError> {
        if self.key_id != header.key_id {
            let of = Mismatch::new(self.key_id, header.key_id);
            return Err(DecodeError::OtherKey(of));
        }
        if self.clues != header.clues {
            return Err(DecodeError::Clues(Mismatch::new(self.clues, header.clues)));
        }
        let plan = header.plan(&self.params);
        plan.map_err(|error| DecodeError::Inconsistent(error.to_string()))
    }

    /// Returns the places of the messages of each section of a plan.
    fn places(&self, header: &RoundsHeader, plan: &RoundsPlan) -> Vec<Places> {
        let messages = self.params.scan.section();
        let of = |section| Places::new(&self.params.fetch, &header.seed, section, messages);
        plan.sections().iter().map(|own| of(own.section)).collect()
    }

    fn query_poly(&self) -> SecretPoly {
        let fetch = &self.params.fetch;
        self.fetch.query().poly(&fetch.ring, fetch.chain.basis(0))
    }
}

/// Returns the fingerprint of a message's bound clue.
fn fingerprint(header: &RoundsHeader, value: u32) -> Option<Fingerprint> {
    let key = || FingerprintKey::new(&header.seed);
    (header.clues == ClueKind::Bound).then(|| Fingerprint { key: key(), value })
}

/// Returns a uniform number below a bound.
fn below(bound: u64, rng: &mut impl Rng) -> u64 {
    // The product's high half is uniform up to bound / 2^64, which no query shows.
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}
