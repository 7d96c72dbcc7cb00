//! A synthetic board of clues of a paper's scheme.

use super::keys::Address;
use crate::measure::workload::{uniform_bound_clue, uniform_clue};
use chacha20::ChaCha20Rng;
use omr_client::{BoundSender, ClueSeed, Sender};
use omr_detector::{BoundTo, DetectorError, Stages};
use omr_papers::clear::{LweParams, PaperParams, Params};
use omr_papers::client::LweSender;
use omr_papers::detector::ClueBatch;
use omr_protocol::clue::{Binding, BoundClue, FingerprintKey, Hashed};
use omr_protocol::{Clue, ClueKind, Placement, SEED_BYTES};
use omr_ring::Xof;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;

/// The board's id.
const BOARD: [u8; 16] = [0; 16];

/// Messages made from a seed: pertinent ones at random positions, the others strangers', whose clues look uniform.
pub(super) struct Board<'a> {
    set_params: &'a PaperParams,
    params: &'a Params,
    sender: EitherSender<'a>,
    seed: [u8; 32],
    payload_bytes: usize,
    pertinent: BTreeSet<u64>,
}

enum EitherSender<'a> {
    Ring(Sender),
    Bound(BoundSender),
    Lwe(&'a LweParams, Box<LweSender<'a>>),
}

impl<'a> Board<'a> {
    /// Returns a board of `messages` messages with `pertinent` pertinent ones.
    ///
    /// Panics: if more are pertinent than there are.
    pub(super) fn new(
        set_params: &'a PaperParams,
        address: &'a Address,
        messages: u64,
        pertinent: usize,
        payload_bytes: usize,
        seed: u64,
    ) -> Self {
        assert!(pertinent as u64 <= messages, "pertinent messages");
        let params = &*set_params.params;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut places = BTreeSet::new();
        while places.len() < pertinent {
            places.insert(rng.next_u64() % messages);
        }
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        let sender = match address {
            Address::Ring { clue, .. } => match clue.kind {
                ClueKind::Plain => EitherSender::Ring(Sender::new(&params.clue, clue)),
                ClueKind::Bound => EitherSender::Bound(BoundSender::new(&params.clue, clue, BOARD)),
            },
            Address::Lwe { params, clue, .. } => {
                EitherSender::Lwe(params, Box::new(LweSender::new(params, clue)))
            }
        };
        Self {
            set_params,
            params,
            sender,
            seed: bytes,
            payload_bytes,
            pertinent: places,
        }
    }

    pub(super) fn is_pertinent(&self, message: u64) -> bool {
        self.pertinent.contains(&message)
    }

    pub(super) fn payload(&self, message: u64) -> Vec<u8> {
        let mut bytes = vec![0; self.payload_bytes];
        Xof::stream("omr bench payload v1", &self.seed, &[message]).fill_bytes(&mut bytes);
        bytes
    }

    pub(super) fn is_bound(&self) -> bool {
        matches!(self.sender, EitherSender::Bound(_))
    }

    pub(super) fn clue_bytes(&self) -> usize {
        match &self.sender {
            EitherSender::Ring(_) => Clue::bytes(&self.params.clue),
            EitherSender::Bound(_) => BoundClue::bytes(&self.params.clue),
            EitherSender::Lwe(lwe, _) => lwe.clue_bytes(),
        }
    }

    /// Returns the concatenated clues of a range.
    pub(super) fn clues(&self, messages: Range<u64>) -> Vec<u8> {
        let bytes = self.clue_bytes();
        let mut out = vec![0; bytes * (messages.end - messages.start) as usize];
        let places = out.par_chunks_exact_mut(bytes).enumerate();
        places.for_each(|(i, place)| place.copy_from_slice(&self.clue(messages.start + i as u64)));
        out
    }

    /// Returns the clues of a range in the form that a detector accepts.
    pub(super) fn batch(
        &self,
        messages: Range<u64>,
        placement: &Placement,
        seed: &[u8; SEED_BYTES],
        stages: &mut Stages,
    ) -> Result<ClueBatch, DetectorError> {
        let (params, bytes) = (self.params, self.clue_bytes());
        let clues = stages.time("read", || self.clues(messages.clone()));
        let EitherSender::Bound(_) = self.sender else {
            let batch = || self.set_params.batch(placement, clues, bytes);
            return Ok(stages.time("clues", batch));
        };
        let count = (messages.end - messages.start) as usize;
        let payloads = stages.time("read", || self.payloads(messages));
        stages.time("clues", || {
            let to = BoundTo::new(&BOARD, seed, &payloads, count, Some(self.payload_bytes))?;
            Ok(ClueBatch::bound(params, placement, clues, bytes, &to))
        })
    }

    /// Returns the fingerprint of a message's clue in a digest with this seed; 0 for a plain clue.
    pub(super) fn fingerprint(&self, message: u64, seed: &[u8; SEED_BYTES]) -> u32 {
        if !self.is_bound() {
            return 0;
        }
        let (clue, payload) = (self.clue(message), self.payload(message));
        let to = Binding::new(&BOARD, &payload);
        Hashed::new(&self.params.clue, to, &clue).fingerprint(&FingerprintKey::new(seed))
    }

    fn payloads(&self, messages: Range<u64>) -> Vec<u8> {
        let payload = |message| self.payload(message);
        messages.into_par_iter().flat_map_iter(payload).collect()
    }

    fn clue(&self, message: u64) -> Vec<u8> {
        let mut stream = Xof::stream("omr bench clue v1", &self.seed, &[message]);
        match (&self.sender, self.is_pertinent(message)) {
            (EitherSender::Ring(sender), true) => {
                sender.gen_clue(&mut stream).to_bytes(&self.params.clue)
            }
            (EitherSender::Ring(_), false) => {
                uniform_clue(&self.params.clue, &mut stream).to_bytes(&self.params.clue)
            }
            (EitherSender::Bound(sender), true) => {
                let clue = sender.clue(&ClueSeed::generate(&mut stream), &self.payload(message));
                clue.to_bytes(&self.params.clue)
            }
            (EitherSender::Bound(_), false) => {
                uniform_bound_clue(&self.params.clue, &mut stream).to_bytes(&self.params.clue)
            }
            (EitherSender::Lwe(lwe, sender), true) => {
                lwe.clue_to_bytes(&sender.gen_clue(&mut stream))
            }
            (EitherSender::Lwe(lwe, _), false) => {
                let mut a = vec![0; lwe.spec().n + lwe.spec().coordinates];
                lwe.residues().fill(&mut stream, &mut a);
                let b = a.split_off(lwe.spec().n);
                lwe.clue_to_bytes(&Clue { a, b })
            }
        }
    }
}
