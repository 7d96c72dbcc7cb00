use omr_client::Sender;
use omr_detector::MessageSource;
use omr_protocol::{Clue, ClueKey, Params};
use omr_ring::{Xof, uniform_residues};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// A synthetic board, made message by message from a seed, never held whole: uniform clues (as
/// strangers' clues look), random payloads, and some pertinent messages at random places.
pub struct Workload {
    params: Arc<Params>,
    key: ClueKey,
    seed: [u8; 32],
    payload_bytes: usize,
    pertinent: Vec<u64>,
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
        }
    }

    /// The places of the pertinent messages.
    pub fn pertinent(&self) -> &[u64] {
        &self.pertinent
    }

    /// The payload of a message.
    pub fn payload(&self, index: u64) -> Vec<u8> {
        let mut bytes = vec![0; self.payload_bytes];
        Xof::stream("omr bench payload v1", &self.seed, &[index]).fill_bytes(&mut bytes);
        bytes
    }

    fn clue(&self, sender: &Sender, index: u64) -> Vec<u8> {
        let mut stream = Xof::stream("omr bench clue v1", &self.seed, &[index]);
        if self.pertinent.binary_search(&index).is_ok() {
            return sender.gen_clue(&mut stream).to_bytes(&self.params);
        }
        let spec = &self.params.spec().clue;
        let mut words = vec![0; spec.n + spec.coordinates];
        uniform_residues(&mut stream, self.params.p(), &mut words);
        let mut a: Vec<u32> = words.into_iter().map(|x| x as u32).collect();
        let b = a.split_off(spec.n);
        Clue { a, b }.to_bytes(&self.params)
    }
}

impl MessageSource for Workload {
    fn clue_bytes(&self) -> usize {
        Clue::bytes(&self.params)
    }

    fn clues(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let sender = Sender::new(&self.params, &self.key);
        let this = &*self;
        let clues: Vec<Vec<u8>> = range
            .into_par_iter()
            .map(|index| this.clue(&sender, index))
            .collect();
        Ok(clues.concat())
    }

    fn payloads(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let this = &*self;
        let payloads: Vec<Vec<u8>> = range
            .into_par_iter()
            .map(|index| this.payload(index))
            .collect();
        Ok(payloads.concat())
    }
}
