//! Recipients and the messages to them.

use crate::trials::TrialError;
use crate::trials::place::PAYLOAD;
use bytes::Bytes;
use chacha20::ChaCha20Rng;
use omr_client::sophomr::detection_key;
use omr_client::{BoundSender, ClueSeed, SecretKey, identity, instantomr};
use omr_protocol::{ClueKey, ClueKind, ParamSet};
use omr_remote::v1::{Board, Message};
use rand_core::{Rng, SeedableRng};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of recipients who request digests.
pub(crate) const RECIPIENTS: usize = 2;
/// The owner of messages that are to no recipient.
const STRANGER: usize = RECIPIENTS;
/// One of this many messages is to a given recipient.
const SHARE: u64 = 32;
/// The bytes before a payload: id of its post, position in the post, owner.
const LABEL: usize = 16 + 2 + 1;

/// A recipient with keys as files.
pub(crate) struct Person {
    pub(crate) secret: SecretKey,
    pub(crate) bulk: PathBuf,
    pub(crate) instant: PathBuf,
}

/// All recipients of a board.
pub(crate) struct People {
    pub(crate) set: Arc<ParamSet>,
    pub(crate) recipients: Vec<Person>,
    /// Addresses of the recipients and of a stranger.
    addresses: Vec<ClueKey>,
}

fn broken(error: impl std::fmt::Display) -> TrialError {
    TrialError::Broken(format!("making keys: {error}"))
}

impl People {
    /// Generates keys; those for the server are written to files in `folder`.
    ///
    /// Errors: `Io`; `Broken` if the set lacks an engine.
    pub(crate) fn new(params: &str, seed: u64, folder: &Path) -> Result<Self, TrialError> {
        let set = ParamSet::named(params).map_err(broken)?;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (mut recipients, mut addresses) = (Vec::new(), Vec::new());
        for who in 0..RECIPIENTS {
            let (secret, address) = identity(set.clue(), ClueKind::Bound, &mut rng);
            let create = |name: &str| {
                let path = folder.join(format!("{who}-{name}"));
                let file = File::create(&path).map_err(TrialError::io("writing a key"))?;
                Ok::<_, TrialError>((path, file))
            };
            let params = set.sophomr().map_err(broken)?;
            let (bulk, mut file) = create("detection.key")?;
            let key = detection_key(params, &secret, None, &mut rng);
            key.write(params, &mut file).map_err(broken)?;
            let params = set.instantomr().map_err(broken)?;
            let (instant, mut file) = create("instant.key")?;
            let key = instantomr::detection_key(params, &secret, &mut rng).map_err(broken)?;
            key.write(params, &mut file).map_err(broken)?;
            recipients.push(Person {
                secret,
                bulk,
                instant,
            });
            addresses.push(address);
        }
        addresses.push(identity(set.clue(), ClueKind::Bound, &mut rng).1);
        Ok(Self {
            set: Arc::new(set),
            recipients,
            addresses,
        })
    }

    /// Returns senders to everybody on a board.
    ///
    /// Errors: `Broken` if the board's id is invalid.
    pub(crate) fn senders(&self, board: &Board) -> Result<Vec<BoundSender>, TrialError> {
        let id = board_id(board)?;
        Ok(self
            .addresses
            .iter()
            .map(|key| BoundSender::new(self.set.clue(), key, id))
            .collect())
    }

    /// Returns the messages of a post. Each begins with its position in the post and its owner.
    pub(crate) fn messages(
        &self,
        senders: &[BoundSender],
        id: &[u8; 16],
        count: usize,
        rng: &mut ChaCha20Rng,
    ) -> Vec<Message> {
        let message = |place: usize| {
            let owner = match (rng.next_u64() % SHARE) as usize {
                who if who < RECIPIENTS => who,
                _ => STRANGER,
            };
            let mut payload = vec![0; PAYLOAD];
            rng.fill_bytes(&mut payload);
            payload[..16].copy_from_slice(id);
            payload[16..18].copy_from_slice(&(place as u16).to_le_bytes());
            payload[18] = owner as u8;
            Message {
                clue: senders[owner]
                    .clue(&ClueSeed::generate(rng), &payload)
                    .to_bytes(self.set.clue())
                    .into(),
                payload: payload.into(),
            }
        };
        (0..count).map(message).collect()
    }
}

/// Returns the id of a server's board.
///
/// Errors: `Broken`.
pub(crate) fn board_id(board: &Board) -> Result<[u8; 16], TrialError> {
    board.board_id.as_ref().try_into().map_err(|_| {
        let found = board.board_id.len();
        TrialError::Broken(format!("expected a board id of 16 bytes, found {found}"))
    })
}

/// Returns the post, position in it and owner that a payload begins with.
pub(crate) fn label(payload: &Bytes) -> Option<([u8; 16], usize, usize)> {
    let label: &[u8; LABEL] = payload.first_chunk()?;
    let place = u16::from_le_bytes([label[16], label[17]]);
    let id = *label.first_chunk()?;
    Some((id, place.into(), label[18].into()))
}
