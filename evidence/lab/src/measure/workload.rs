//! A synthetic board, made message by message from a seed.

use crate::measure::Strangers;
use chacha20::ChaCha20Rng;
use omr_client::{BoundSender, ClueSeed, Sender};
use omr_detector::MessageSource;
use omr_protocol::clue::{Binding, BoundClue, Hashed, HashesOf, KeptHashes};
use omr_protocol::{Clue, ClueKey, ClueParams};
use omr_ring::{Xof, uniform_residues};
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A synthetic board, made message by message from a seed and never stored whole: pertinent messages with random
/// payloads at random positions, the rest strangers'. Honest messages look uniform.
pub struct Workload {
    params: Arc<ClueParams>,
    /// One key for each recipient.
    keys: Vec<ClueKey>,
    seed: [u8; 32],
    payload_bytes: usize,
    /// The pertinent messages of each recipient, in order.
    pertinent: Vec<Vec<u64>>,
    /// The recipient of each pertinent message.
    owners: BTreeMap<u64, usize>,
    strangers: Strangers,
    /// The board that bound clues are made for; `None` for plain clues.
    bound_to: Option<[u8; 16]>,
}

impl Workload {
    /// Returns a board of `messages` messages, `pertinent` of them for the owner of `key`.
    ///
    /// Panics: if more are pertinent than there are.
    pub fn new(
        params: Arc<ClueParams>,
        key: ClueKey,
        messages: u64,
        pertinent: usize,
        payload_bytes: usize,
        seed: u64,
    ) -> Self {
        Self::for_recipients(params, vec![key], messages, pertinent, payload_bytes, seed)
    }

    /// Returns a board for the owners of several keys, with `pertinent` messages for each of them.
    ///
    /// Panics: if more are pertinent than there are.
    pub fn for_recipients(
        params: Arc<ClueParams>,
        keys: Vec<ClueKey>,
        messages: u64,
        pertinent: usize,
        payload_bytes: usize,
        seed: u64,
    ) -> Self {
        let all = pertinent * keys.len();
        assert!(
            all as u64 <= messages,
            "no more pertinent messages than messages"
        );
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut owners = BTreeMap::new();
        while owners.len() < all {
            let owner = owners.len() / pertinent;
            owners.entry(rng.next_u64() % messages).or_insert(owner);
        }
        let of = |who: usize| {
            let own = owners.iter().filter(move |(_, owner)| **owner == who);
            own.map(|(index, _)| *index).collect()
        };
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self {
            params,
            pertinent: (0..keys.len()).map(of).collect(),
            keys,
            seed: bytes,
            payload_bytes,
            owners,
            strangers: Strangers::Honest,
            bound_to: None,
        }
    }

    /// Returns this board with clues bound to payloads and to the board; its strangers are honest.
    pub fn bound_to(self, board_id: [u8; 16]) -> Self {
        let bound_to = Some(board_id);
        Self { bound_to, ..self }
    }

    /// Returns this board with other strangers.
    pub fn with_strangers(self, strangers: Strangers) -> Self {
        Self { strangers, ..self }
    }

    /// Returns the positions of the pertinent messages, of the first recipient if there are several.
    pub fn pertinent(&self) -> &[u64] {
        self.pertinent_to(0)
    }

    /// Returns the positions of a recipient's messages.
    ///
    /// Panics: if there is no such recipient.
    pub fn pertinent_to(&self, recipient: usize) -> &[u64] {
        &self.pertinent[recipient]
    }

    /// Returns the payload of a message.
    pub fn payload(&self, index: u64) -> Vec<u8> {
        if let (Strangers::Hostile(hostile), false) =
            (&self.strangers, self.owners.contains_key(&index))
        {
            return hostile.payload(index);
        }
        let mut bytes = vec![0; self.payload_bytes];
        Xof::stream("omr bench payload v1", &self.seed, &[index]).fill_bytes(&mut bytes);
        bytes
    }

    /// Returns a sender to each recipient.
    pub(crate) fn senders(&self) -> Vec<Sender> {
        self.keys
            .iter()
            .map(|key| Sender::new(&self.params, key))
            .collect()
    }

    /// Returns the clue of a message as it is on the board.
    pub(crate) fn clue(&self, senders: &[Sender], index: u64) -> Vec<u8> {
        let mut stream = Xof::stream("omr bench clue v1", &self.seed, &[index]);
        if let Some(board_id) = self.bound_to {
            return self.bound_clue(board_id, &mut stream, index);
        }
        match (&self.strangers, self.owners.get(&index)) {
            (_, Some(&who)) => senders[who].gen_clue(&mut stream).to_bytes(&self.params),
            (Strangers::Hostile(hostile), _) => hostile.clue(&senders[0], &mut stream, index),
            (Strangers::Honest, _) => {
                uniform_clue(&self.params, &mut stream).to_bytes(&self.params)
            }
        }
    }

    /// Returns the bound clue of a message. A stranger's clue has a random key and no signature, which only the board
    /// checks.
    fn bound_clue(&self, board_id: [u8; 16], stream: &mut ChaCha20Rng, index: u64) -> Vec<u8> {
        let Some(&who) = self.owners.get(&index) else {
            return uniform_bound_clue(&self.params, stream).to_bytes(&self.params);
        };
        let sender = BoundSender::new(&self.params, &self.keys[who], board_id);
        let clue = sender.clue(&ClueSeed::generate(stream), &self.payload(index));
        clue.to_bytes(&self.params)
    }

    /// Returns the concatenated results of `message` for every message of a range.
    fn fill(range: Range<u64>, bytes: usize, message: impl Fn(u64) -> Vec<u8> + Sync) -> Vec<u8> {
        let mut out = vec![0; bytes * (range.end - range.start) as usize];
        let places = out.par_chunks_exact_mut(bytes).enumerate();
        places.for_each(|(i, place)| place.copy_from_slice(&message(range.start + i as u64)));
        out
    }
}

/// Returns a bound clue that is bound to nothing. Only the board checks its signature.
pub(crate) fn uniform_bound_clue(params: &ClueParams, stream: &mut impl Rng) -> BoundClue {
    let clue = uniform_clue(params, stream);
    let mut key = [0; 32];
    stream.fill_bytes(&mut key);
    BoundClue {
        clue,
        key,
        signature: [0; 64],
    }
}

/// Returns a clue that looks like one for somebody else.
pub(crate) fn uniform_clue(params: &ClueParams, stream: &mut impl Rng) -> Clue {
    let spec = params.spec();
    let mut words = vec![0; spec.n + spec.coordinates];
    uniform_residues(stream, params.q(), &mut words);
    let mut a: Vec<u32> = words
        .into_iter()
        .map(|x| (x * spec.posted_modulus() / spec.q) as u32)
        .collect();
    let b = a.split_off(spec.n);
    Clue { a, b }
}

impl MessageSource for Workload {
    fn clue_bytes(&self) -> usize {
        match self.bound_to {
            Some(_) => BoundClue::bytes(&self.params),
            None => Clue::bytes(&self.params),
        }
    }

    fn clues(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let senders = self.senders();
        let clue = |index| self.clue(&senders, index);
        Ok(Self::fill(range, self.clue_bytes(), clue))
    }

    fn payloads(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let payload = |index| self.payload(index);
        Ok(Self::fill(range, self.payload_bytes, payload))
    }

    /// Returns hashes as a board computes them when a message is posted; this is not part of a digest.
    fn hashes(
        &mut self,
        range: Range<u64>,
    ) -> Result<Option<KeptHashes>, Box<dyn std::error::Error + Send + Sync>> {
        let Some(board_id) = self.bound_to else {
            return Ok(None);
        };
        let senders = self.senders();
        let hash = |index| {
            let payload = self.payload(index);
            let to = Binding::new(&board_id, &payload);
            Hashed::new(&self.params, to, &self.clue(&senders, index)).hash()
        };
        let of = HashesOf::new(&self.params, &board_id);
        let hashes = range.into_par_iter().map(hash).collect();
        Ok(Some(KeptHashes::new(of, hashes)))
    }
}
