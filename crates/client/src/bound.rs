//! Making clues that are bound to their payload, and checking that posted ones were made honestly.

use crate::Fingerprint;
use crate::Sender;
use omr_protocol::clue::{Binding, BoundClue, Hashed, OFFSET_LEN};
use omr_protocol::{ClueKey, ClueParams};
use omr_ring::Xof;
use rand_core::CryptoRng;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Length in bytes of the seed in a sealed payload, from which the recipient makes the payload's clue again.
pub const CLUE_SEED_BYTES: usize = 32;

/// The seed of all randomness of a bound clue. It is wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ClueSeed([u8; CLUE_SEED_BYTES]);

impl ClueSeed {
    /// Draws a fresh seed, for one message.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut seed = [0; CLUE_SEED_BYTES];
        rng.fill_bytes(&mut seed);
        Self(seed)
    }

    /// Returns the seed that an opened payload contains.
    pub fn from_bytes(bytes: [u8; CLUE_SEED_BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to be sealed with the message.
    pub fn as_bytes(&self) -> &[u8; CLUE_SEED_BYTES] {
        &self.0
    }
}

/// A sender of bound clues to one recipient on one board. Recipients use it to check the clues of their messages.
pub struct BoundSender {
    params: Arc<ClueParams>,
    sender: Sender,
    /// The hash of the address, which is an input to the derivation of all randomness.
    address: [u8; 32],
    w: [u32; OFFSET_LEN],
    board_id: [u8; 16],
}

impl BoundSender {
    /// Prepares an address for many clues on a board.
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

    /// Returns the clue of a payload, as it is posted. Equal seeds and payloads lead to equal clues.
    ///
    /// The seed must be fresh, and the sealed payload must contain it. Anybody who knows the seed recognises the clue,
    /// so an unsealed payload must not contain it.
    pub fn clue(&self, seed: &ClueSeed, payload: &[u8]) -> BoundClue {
        let binding = Binding::new(&self.board_id, payload);
        let own = self.own("omr bound clue sample v1", seed, &[]);
        let mut stream = Xof::stream("omr bound clue randomness v1", &own, &[]);
        let [a, b] = self.sender.sample(&mut stream);
        let posted_a = a
            .into_iter()
            .map(|x| self.params.spec().posted(x))
            .collect();
        // Derived from the payload too: if a seed is used again by mistake, the key is another one.
        let one_time = self.own("omr bound clue key v1", seed, payload);
        BoundClue::bind(&self.params, posted_a, &b, &self.w, binding, &one_time)
    }

    /// Returns whether `posted` is the clue that an honest sender makes for this seed and payload. A recipient must
    /// silently drop a message with any other clue: it was posted to observe how the recipient reacts.
    ///
    /// Time: that of making a clue, for either result.
    pub fn accepts(&self, seed: &ClueSeed, payload: &[u8], posted: &[u8]) -> bool {
        let own = self.clue(seed, payload).to_bytes(&self.params);
        own[..].ct_eq(posted).into()
    }

    /// Returns whether the fingerprint that a digest contains of the posted clue is that of an honest sender's clue, as
    /// [`Self::accepts`] does for the whole clue.
    pub fn agrees(&self, seed: &ClueSeed, payload: &[u8], posted: &Fingerprint) -> bool {
        let clue = self.clue(seed, payload).to_bytes(&self.params);
        let binding = Binding::new(&self.board_id, payload);
        let own = Hashed::new(&self.params, binding, &clue).fingerprint(&posted.key);
        own.ct_eq(&posted.value).into()
    }

    /// Derives 32 bytes from the seed, the address and `bytes`.
    fn own(&self, domain: &str, seed: &ClueSeed, bytes: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(domain);
        hasher.update(&seed.0);
        hasher.update(&self.address);
        let hash = hasher.update(bytes).finalize();
        hasher.zeroize();
        Zeroizing::new(*hash.as_bytes())
    }
}
