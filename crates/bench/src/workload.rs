use crate::Strangers;
use omr_client::Sender;
use omr_detector::MessageSource;
use omr_protocol::{Clue, ClueKey, Params};
use omr_ring::{Xof, uniform_residues};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// A synthetic board, made message by message from a seed, never held whole: pertinent messages
/// with random payloads at random places, the rest strangers'. Honest ones look uniform.
pub struct Workload {
    params: Arc<Params>,
    key: ClueKey,
    seed: [u8; 32],
    payload_bytes: usize,
    pertinent: Vec<u64>,
    strangers: Strangers,
}

impl Workload {
    /// `messages` messages, `pertinent` of them for the owner of `key`.
    /// Panics: when more are pertinent than there are.
    pub fn new(
        params: Arc<Params>,
        key: ClueKey,
        messages: u64,
        pertinent: usize,
        payload_bytes: usize,
        seed: u64,
    ) -> Self {
        assert!(
            pertinent as u64 <= messages,
            "no more pertinent messages than messages"
        );
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut chosen = std::collections::BTreeSet::new();
        while chosen.len() < pertinent {
            chosen.insert(rng.next_u64() % messages);
        }
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self {
            params,
            key,
            seed: bytes,
            payload_bytes,
            pertinent: chosen.into_iter().collect(),
            strangers: Strangers::Honest,
        }
    }

    /// The same board with other strangers.
    pub fn with_strangers(self, strangers: Strangers) -> Self {
        Self { strangers, ..self }
    }

    /// The places of the pertinent messages.
    pub fn pertinent(&self) -> &[u64] {
        &self.pertinent
    }

    /// The payload of a message.
    pub fn payload(&self, index: u64) -> Vec<u8> {
        if let (Strangers::Hostile(hostile), false) = (&self.strangers, self.is_pertinent(index)) {
            return hostile.payload(index);
        }
        let mut bytes = vec![0; self.payload_bytes];
        Xof::stream("omr bench payload v1", &self.seed, &[index]).fill_bytes(&mut bytes);
        bytes
    }

    /// Someone who posts to the board's recipient.
    pub fn sender(&self) -> Sender<'_> {
        Sender::new(&self.params, &self.key)
    }

    /// The clue of a message, as it stands on the board.
    pub fn clue(&self, sender: &Sender, index: u64) -> Vec<u8> {
        let mut stream = Xof::stream("omr bench clue v1", &self.seed, &[index]);
        match (&self.strangers, self.is_pertinent(index)) {
            (_, true) => sender.gen_clue(&mut stream).to_bytes(&self.params),
            (Strangers::Hostile(hostile), _) => hostile.clue(sender, &mut stream, index),
            (Strangers::Honest, _) => uniform_clue(&self.params, &mut stream),
        }
    }

    fn is_pertinent(&self, index: u64) -> bool {
        self.pertinent.binary_search(&index).is_ok()
    }

    /// What `message` writes for every message of a range, one after another.
    fn fill(range: Range<u64>, bytes: usize, message: impl Fn(u64) -> Vec<u8> + Sync) -> Vec<u8> {
        let mut out = vec![0; bytes * (range.end - range.start) as usize];
        let places = out.par_chunks_exact_mut(bytes).enumerate();
        places.for_each(|(i, place)| place.copy_from_slice(&message(range.start + i as u64)));
        out
    }
}

/// As a clue for somebody else looks.
fn uniform_clue(params: &Params, stream: &mut impl Rng) -> Vec<u8> {
    let spec = &params.spec().clue;
    let mut words = vec![0; spec.n + spec.coordinates];
    uniform_residues(stream, params.p(), &mut words);
    let mut a: Vec<u32> = words.into_iter().map(|x| x as u32).collect();
    let b = a.split_off(spec.n);
    Clue { a, b }.to_bytes(params)
}

impl MessageSource for Workload {
    fn clue_bytes(&self) -> usize {
        Clue::bytes(&self.params)
    }

    fn clues(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let sender = self.sender();
        let clue = |index| self.clue(&sender, index);
        Ok(Self::fill(range, self.clue_bytes(), clue))
    }

    fn payloads(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let payload = |index| self.payload(index);
        Ok(Self::fill(range, self.payload_bytes, payload))
    }
}
