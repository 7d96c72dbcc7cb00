//! Sending and accepting clues that are bound to their payload.

use crate::Fingerprint;
use crate::Sender;
use omr_protocol::clue::{Binding, BoundClue, Hashed, OFFSET_LEN};
use omr_protocol::{ClueKey, ClueParams};
use omr_ring::Xof;
use rand_core::CryptoRng;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Bytes that a sealed payload carries for its recipient, from which she makes its clue again.
pub const CLUE_SEED_BYTES: usize = 32;

/// What all randomness of a bound clue follows from. Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ClueSeed([u8; CLUE_SEED_BYTES]);

impl ClueSeed {
    /// A fresh one, for one message.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut seed = [0; CLUE_SEED_BYTES];
        rng.fill_bytes(&mut seed);
        Self(seed)
    }

    /// That of an opened payload.
    pub fn from_bytes(bytes: [u8; CLUE_SEED_BYTES]) -> Self {
        Self(bytes)
    }

    /// To be sealed with the message.
    pub fn as_bytes(&self) -> &[u8; CLUE_SEED_BYTES] {
        &self.0
    }
}

/// A sender to one recipient of one board, or the recipient who checks her senders.
pub struct BoundSender {
    params: Arc<ClueParams>,
    sender: Sender,
    /// Stands for the address in what seeds are expanded to.
    address: [u8; 32],
    w: [u32; OFFSET_LEN],
    board_id: [u8; 16],
}

impl BoundSender {
    /// Prepares an address.
    pub fn new(params: &Arc<ClueParams>, key: &ClueKey, board_id: [u8; 16]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("omr bound clue address v1");
        hasher.update(&params.tag());
        hasher.update(&key.seed);
        key.beta.iter().for_each(|x| {
            hasher.update(&x.to_le_bytes());
        });
        Self {
            params: params.clone(),
            sender: Sender::new(params, key),
            address: *hasher.finalize().as_bytes(),
            w: key.offset(params),
            board_id,
        }
    }

    /// The clue of a payload, as it is posted; the same seed and payload give the same clue.
    ///
    /// The seed must be fresh and must stand, sealed, in the payload. Who knows it recognises the clue, so it goes
    /// into no payload without sealing.
    pub fn clue(&self, seed: &ClueSeed, payload: &[u8]) -> BoundClue {
        let binding = Binding::new(&self.board_id, payload);
        let own = self.own("omr bound clue sample v1", seed, &[]);
        let mut stream = Xof::stream("omr bound clue randomness v1", &own, &[]);
        let [a, b] = self.sender.sample(&mut stream);
        let a = a
            .into_iter()
            .map(|x| self.params.spec().posted(x))
            .collect();
        // Of the payload too: a seed that is used again by mistake gives another key.
        let one_time = self.own("omr bound clue key v1", seed, payload);
        BoundClue::bind(&self.params, a, &b, &self.w, binding, &one_time)
    }

    /// Whether `posted` is what an honest sender makes of this seed and payload. A message whose clue is not is to
    /// be dropped without a sign: it was made to see how the recipient reacts.
    ///
    /// Time: that of making a clue, whatever the answer.
    pub fn accepts(&self, seed: &ClueSeed, payload: &[u8], posted: &[u8]) -> bool {
        let own = self.clue(seed, payload).to_bytes(&self.params);
        own[..].ct_eq(posted).into()
    }

    /// The same of what a digest says of the posted clue.
    pub fn agrees(&self, seed: &ClueSeed, payload: &[u8], posted: &Fingerprint) -> bool {
        let own = self.clue(seed, payload).to_bytes(&self.params);
        let binding = Binding::new(&self.board_id, payload);
        let own = Hashed::new(&self.params, binding, &own).fingerprint(&posted.key);
        own.ct_eq(&posted.value).into()
    }

    /// 32 bytes from the seed, for this address and these bytes alone.
    fn own(&self, domain: &str, seed: &ClueSeed, bytes: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(domain);
        hasher.update(&seed.0);
        hasher.update(&self.address);
        let hash = hasher.update(bytes).finalize();
        hasher.zeroize();
        Zeroizing::new(*hash.as_bytes())
    }
}
