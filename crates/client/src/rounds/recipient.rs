//! A recipient of scans and answers.

use crate::{DecodeError, Fingerprint, Retrieved, SecretKey};
use omr_compress::PackedCiphertext;
use omr_marks::published;
use omr_protocol::clue::FingerprintKey;
use omr_protocol::rounds::{
    FetchAnswer, FetchQuery, RoundsError, RoundsHeader, RoundsParams, RoundsPlan, Scanned, units,
};
use omr_protocol::sophomr::checksum;
use omr_protocol::{ClueKind, Mismatch};
use omr_rlwe::SecretPoly;
use omr_rounds::fetch::{Choice, Fetch, FetchSecret, Place, Places, Query, assign};
use omr_rounds::scan::ScanSecret;
use rand_core::{CryptoRng, Rng};
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The file of the query.
    pub query: Vec<u8>,
    /// The subject.
    pub header: RoundsHeader,
    /// For each bucket the index of the wanted message whose place it asks for; `None` if it asks for some other place.
    /// No index is in two buckets.
    pub buckets: Vec<Option<u64>>,
}

impl Asked {
    /// Returns the indices of the wanted messages that are asked for, in the order of the board. Wanted messages that found
    /// no bucket are not among them: they wait for the next query.
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

    /// Returns the distances of all messages of a scan in one coordinate, in the order of the board and in steps of a
    /// rounded body, for measurements of noise.
    ///
    /// Panics: if there is no such coordinate. Errors: those of [`RoundsRecipient::indices`].
    #[cfg(feature = "measure")]
    pub fn distances(&self, scanned: &Scanned, coordinate: usize) -> Result<Vec<f64>, DecodeError> {
        let plan = self.plan(&scanned.header)?;
        let (scan, range) = (&self.params.scan, plan.range());
        let bits = scan.spec().mask_bits[coordinate] - scan.spec().body_bits[coordinate];
        let unit = f64::from(1u32 << bits);
        let mut all = Vec::with_capacity((range.end - range.start) as usize);
        for (own, parts) in plan.sections().iter().zip(&scanned.sections) {
            let groups: Vec<usize> = own.groups.clone().collect();
            let rows = self
                .scan
                .distances(scan, &groups, coordinate, &parts[coordinate]);
            let rows = rows.map_err(|error| DecodeError::Inconsistent(error.to_string()))?;
            let first =
                own.section * scan.section() as u64 + (own.groups.start * scan.spec().n) as u64;
            for (index, distance) in (first..).zip(rows.into_iter().flatten()) {
                if range.contains(&index) {
                    all.push(distance as f64 / unit);
                }
            }
        }
        Ok(all)
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
            let fingerprint = fingerprint(header, plan.row_of(index), mark.unwrap_or(0));
            messages.push(Retrieved::new(index, Some(payload.to_vec()), fingerprint));
        }
        Ok(Some(messages))
    }

    /// Encrypts a query for messages of a range. `wanted` comes in the order of importance: a query has room for a fixed
    /// number of messages, and leaves out further ones and those that find no bucket. Random messages fill the room, so
    /// that all queries of a range look alike.
    ///
    /// Errors: `OtherKey`, `Clues`; `Inconsistent` if an index lies outside the range.
    pub fn ask(
        &self,
        header: &RoundsHeader,
        wanted: &[u64],
        rng: &mut impl CryptoRng,
    ) -> Result<Asked, DecodeError> {
        let plan = self.plan(header)?;
        check_inside(&plan, wanted)?;
        let (fetch, range) = (&self.params.fetch, plan.range());
        let most = fetch.spec().fetched;
        let mut asked: Vec<u64> = wanted.iter().copied().take(most).collect();
        while asked.len() < most {
            asked.push(range.start + below(range.end - range.start, rng));
        }
        let board = OnBoard::new(fetch, header, &plan);
        let places: Vec<Vec<InRow>> = asked.iter().map(|&index| board.places(index)).collect();
        let buckets = |places: &Vec<InRow>| places.iter().map(|place| place.bucket).collect();
        let of_messages: Vec<Vec<usize>> = places.iter().map(buckets).collect();
        let owners = assign(fetch.spec().buckets, &of_messages);
        let mut choices = Vec::with_capacity(owners.len());
        for (bucket, owner) in owners.into_iter().enumerate() {
            let other = Choice {
                row: below(plan.rows() as u64, rng) as usize,
                position: below(fetch.positions() as u64, rng) as usize,
            };
            let chosen = owner.and_then(|message| {
                let mut own = places[message].iter();
                own.find(|place| place.bucket == bucket)
            });
            choices.push(chosen.map_or(other, |place| place.choice));
        }
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let seed = published(seed);
        let secret = self.query_poly();
        let file = FetchQuery {
            header: header.clone(),
            query: Query::encrypt(fetch, &secret, plan.rows(), &choices, seed, rng),
        };
        let query = file.to_bytes(&self.params);
        Ok(Asked {
            query: query.map_err(|error| DecodeError::Inconsistent(error.to_string()))?,
            header: header.clone(),
            buckets: board.chosen(&choices, wanted),
        })
    }

    /// Returns what [`RoundsRecipient::ask`] returned with a query: decrypts it, and finds for each bucket the wanted
    /// message whose place was chosen, if there is one. `wanted` may have changed since.
    ///
    /// Time: until results are collected, that of the range and of the number of wanted messages.
    /// Errors: `OtherKey`, `Clues`; `Inconsistent` if the file is no query, or if an index lies outside its range.
    pub fn asked(&self, query: &[u8], wanted: &[u64]) -> Result<Asked, DecodeError> {
        let file = FetchQuery::from_bytes(&self.params, query)
            .map_err(|error| DecodeError::Inconsistent(error.to_string()))?;
        let plan = self.plan(&file.header)?;
        check_inside(&plan, wanted)?;
        let fetch = &self.params.fetch;
        let choices = file.query.decrypt(fetch, self.fetch.query());
        let board = OnBoard::new(fetch, &file.header, &plan);
        let buckets = board.chosen(&choices.expect("the rows of the range"), wanted);
        Ok(Asked {
            query: query.to_vec(),
            header: file.header,
            buckets,
        })
    }

    /// Reads the answer to a query.
    ///
    /// Time: until results are collected, that of the shape.
    /// Errors: `OtherQuery`, and those of reading the file.
    pub fn fetched(&self, asked: &Asked, answer: &[u8]) -> Result<Fetched, RoundsError> {
        let header = &asked.header;
        let plan = header.plan(&self.params)?;
        let ciphertexts = self.ciphertexts(asked, answer)?;
        let (fetch, code) = (&self.params.fetch, plan.code());
        let symbols = self
            .fetch
            .symbols(fetch, plan.rows(), plan.symbols(), &ciphertexts)
            .expect("the shape of the file was checked");
        let p = fetch.p();
        let seeds = plan.pages().zip(&header.seeds);
        let units: Vec<Vec<u32>> = seeds
            .map(|(page, seed)| units(p.value(), seed, page, fetch.spec().page))
            .collect();
        let mut checked = Vec::new();
        for (bucket, mut row) in asked.buckets.iter().zip(symbols) {
            // Buckets that ask for nothing are read in the same way.
            let index = bucket.unwrap_or(header.range.start);
            let unit = units[plan.row_of(index)][plan.number_in_page(index)];
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
                let fingerprint = fingerprint(header, plan.row_of(index), mark);
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

    /// Returns the distance of each coefficient of the answer to a query from a symbol, in steps of a symbol, for
    /// measurements of noise: 0 is exact, 0.5 is wrong.
    ///
    /// Errors: those of [`RoundsRecipient::fetched`].
    #[cfg(feature = "measure")]
    pub fn roundings(&self, asked: &Asked, answer: &[u8]) -> Result<Vec<f64>, RoundsError> {
        let plan = asked.header.plan(&self.params)?;
        let (rows, symbols) = (plan.rows(), plan.symbols());
        let ciphertexts = self.ciphertexts(asked, answer)?;
        let fetch = &self.params.fetch;
        let roundings = self.fetch.roundings(fetch, rows, symbols, &ciphertexts);
        Ok(roundings.expect("the shape of the file was checked"))
    }

    /// Returns the ciphertexts of the answer to a query.
    ///
    /// Errors: `OtherQuery`, and those of reading the file.
    fn ciphertexts(
        &self,
        asked: &Asked,
        answer: &[u8],
    ) -> Result<Vec<PackedCiphertext>, RoundsError> {
        let answer = FetchAnswer::from_bytes(&self.params, answer)?;
        answer.ciphertexts(&self.params, &asked.header, &asked.query)
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

    fn query_poly(&self) -> SecretPoly {
        let fetch = &self.params.fetch;
        self.fetch.query().poly(&fetch.ring, fetch.chain.basis(0))
    }
}

/// A place of a message among those of a range.
struct InRow {
    bucket: usize,
    /// The row and the position.
    choice: Choice,
}

/// The places of all messages of a range.
struct OnBoard<'a> {
    plan: &'a RoundsPlan,
    buckets: usize,
    /// The places of each page.
    pages: Vec<Places>,
}

impl<'a> OnBoard<'a> {
    fn new(fetch: &Fetch, header: &RoundsHeader, plan: &'a RoundsPlan) -> Self {
        let pages = plan.pages().zip(&header.seeds);
        Self {
            plan,
            buckets: fetch.spec().buckets,
            pages: pages
                .map(|(page, seed)| Places::new(fetch, seed, page))
                .collect(),
        }
    }

    /// Returns the places of a message, in the order of their choice.
    fn places(&self, index: u64) -> Vec<InRow> {
        let row = self.plan.row_of(index);
        let places = self.pages[row].of(self.plan.number_in_page(index));
        let in_row = |place: Place| InRow {
            bucket: place.bucket,
            choice: Choice {
                row,
                position: place.position,
            },
        };
        places.map(in_row).collect()
    }

    /// Returns for each bucket the wanted message whose place is chosen there. A message in several buckets keeps the first
    /// one in the order of its places.
    ///
    /// Time: until results are collected, that of the number of wanted messages.
    fn chosen(&self, choices: &[Choice], wanted: &[u64]) -> Vec<Option<u64>> {
        // One more than the index, or 0.
        let mut owners = vec![0; self.buckets];
        for &index in wanted {
            let mut is_left = 1;
            for place in self.places(index) {
                let InRow { bucket, choice } = place;
                let is_chosen =
                    is_left & u64::from(choices[bucket].is_at(choice.row, choice.position));
                owners[bucket] |= (index + 1) & is_chosen.wrapping_neg();
                is_left &= !is_chosen;
            }
        }
        let index = |owner: u64| published(owner).checked_sub(1);
        owners.into_iter().map(index).collect()
    }
}

/// Checks that messages lie in the range of a plan.
///
/// Errors: `Inconsistent`.
fn check_inside(plan: &RoundsPlan, wanted: &[u64]) -> Result<(), DecodeError> {
    let range = plan.range();
    match wanted.iter().find(|index| !range.contains(index)) {
        None => Ok(()),
        Some(index) => Err(DecodeError::Inconsistent(format!(
            "expected indices of messages {}..{}, found {index}",
            range.start, range.end
        ))),
    }
}

/// Returns the fingerprint of the bound clue of a message in a row of the range.
fn fingerprint(header: &RoundsHeader, row: usize, value: u32) -> Option<Fingerprint> {
    let key = || FingerprintKey::new(&header.seeds[row]);
    (header.clues == ClueKind::Bound).then(|| Fingerprint { key: key(), value })
}

/// Returns a uniform number below a bound.
fn below(bound: u64, rng: &mut impl Rng) -> u64 {
    // The product's high half is uniform up to bound / 2^64, which no query shows.
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}
