//! Recipients: keys from words, letters that point to payments, and the notes that they find in a node's blocks.

use crate::KEPT_BLOCKS;
use crate::ZcashError;
use crate::address::PaymentAddress;
use crate::chain::{Chain, EXPIRY};
use crate::pointer::Pointer;
use crate::windows;
use bip39::{Language, Mnemonic};
use lightwallet_protocol::{CompactBlock, CompactOrchardAction};
use omr_client::{Words, os_rng};
use omr_mail::{Home, Identity, Inbox, Listed, NewIdentity, Reader, Server, collect, register};
use omr_protocol::{ClueKind, Sealing, hex};
use omr_remote::Client;
use orchard::keys::{FullViewingKey, PreparedIncomingViewingKey, Scope, SpendingKey};
use orchard::note::{ExtractedNoteCommitment, Nullifier};
use orchard::note_encryption::{CompactAction, OrchardDomain};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use zcash_note_encryption::{EphemeralKeyBytes, try_compact_note_decryption};

/// The coin type of Zcash's networks for tests (SLIP 44).
const COIN_TYPE: u32 = 1;
/// The greatest number of pertinent messages of a request for a digest. Two rounds have no such bound.
const BOUND: u32 = 50;
/// The file of the notes, in the folder of the recipient.
const RECORD: &str = "zcash.json";

/// A recipient, in a folder.
pub struct Wallet {
    identity: Identity,
    viewing: FullViewingKey,
    path: PathBuf,
    record: Record,
}

/// A recipient's records about the chain.
#[derive(Default, Serialize, Deserialize)]
struct Record {
    /// The lowest height that no request was about.
    next: u64,
    /// The letters whose payments were looked up, by their numbers; `None` for those that point to no payment.
    letters: BTreeMap<u64, Option<Note>>,
}

/// A note that was received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The height of its block.
    pub height: u64,
    /// The hash of its block, in hexadecimal digits and the order of the network.
    pub block: String,
    /// The id of its transaction, in hexadecimal digits and the order of explorers.
    pub txid: String,
    /// The position among the transaction's Orchard actions.
    pub output: u32,
    /// The value of the note.
    pub zatoshis: u64,
    /// The sender's text.
    pub memo: String,
}

/// The result of a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The notes that were found by this fetch.
    pub found: Vec<Note>,
    /// The number of letters that point to no payment to this recipient.
    pub idle: usize,
    /// The number of letters that are looked up again: their windows did not fit into this request, or the node did not
    /// have all their blocks yet.
    pub waiting: usize,
}

impl Wallet {
    /// Makes a recipient from words in a folder, and registers detection keys at a server. A birthday is a height below
    /// which nothing was paid; without one, the board's messages so far are not for this recipient.
    ///
    /// Errors: `Network`, `Seed`, `Call`, `Block`, `Mail`, `Remote`, `File`.
    pub async fn create(
        dir: &Path,
        words: &Words,
        birthday: Option<u64>,
        server: &Server,
        chain: &mut Chain,
    ) -> Result<Self, ZcashError> {
        let client = Client::connect(&server.endpoint())?;
        chain.check(&client.board().await?).await?;
        let viewing = viewing_key(words)?;
        let new = NewIdentity {
            params: String::new(),
            scheme: None,
            clues: ClueKind::Bound,
            bound: BOUND,
            sealing: Sealing::HpkeX25519,
            spares: 0,
            board_id: None,
            own_masks: false,
            batches: false,
        };
        let sealing = Some(Sealing::HpkeX25519);
        let (new, end) = new.for_board(&client, None, sealing).await?;
        let home = Home::new(dir);
        let mut identity = Identity::of_words(&home, &new, words)?;
        home.set_server(server)?;
        let next = match birthday {
            Some(height) => {
                identity.born_at(message_at(&client, height).await?)?;
                height
            }
            None => {
                identity.begin_at(&end)?;
                chain.tip().await? + 1
            }
        };
        register(&mut identity, &client, |_, _, _| {}).await?;
        let record = Record {
            next,
            letters: BTreeMap::new(),
        };
        let path = dir.join(RECORD);
        let wallet = Self {
            identity,
            viewing,
            path,
            record,
        };
        wallet.save()?;
        Ok(wallet)
    }

    /// Opens the recipient in a folder.
    ///
    /// Errors: `Seed`, `Mail`, `File`, `Record`.
    pub fn open(dir: &Path, words: &Words) -> Result<Self, ZcashError> {
        let path = dir.join(RECORD);
        let text = std::fs::read(&path);
        let text = text.map_err(|source| ZcashError::File {
            path: path.clone(),
            source,
        })?;
        let record = serde_json::from_slice(&text);
        Ok(Self {
            identity: Identity::open(&Home::new(dir))?,
            viewing: viewing_key(words)?,
            record: record.map_err(|source| ZcashError::Record {
                path: path.clone(),
                source,
            })?,
            path,
        })
    }

    /// Returns the address for senders.
    ///
    /// Errors: `Mail`.
    pub fn address(&self) -> Result<PaymentAddress, ZcashError> {
        Ok(PaymentAddress {
            orchard: self.viewing.address_at(0u32, Scope::External),
            letters: self.identity.address()?,
        })
    }

    /// Fetches letters from the server, and the blocks to which they point from a node, among decoys.
    ///
    /// Errors: `Network`, `Call`, `Block`, `Mail`, `Remote`, `File`.
    pub async fn receive(&mut self, chain: &mut Chain) -> Result<Received, ZcashError> {
        let server = self.identity.home.server()?;
        let client = Client::connect(&server.endpoint())?;
        chain.check(&client.board().await?).await?;
        let inbox = Inbox::open(&self.identity.home)?;
        let reader = Reader::new(&self.identity)?;
        collect(&client, &self.identity, &inbox, &reader, |_| {}).await?;
        inbox.take_in(&reader)?;
        let replaced = self.replaced(&client).await?;
        let letters: Vec<Listed> = inbox.list(true)?;
        let is_open = |letter: &&Listed| {
            let is_known = self.record.letters.contains_key(&letter.number);
            !letter.withdrawn && (!is_known || replaced.contains(&letter.number))
        };
        let mut pointers = BTreeMap::new();
        for letter in letters.iter().filter(is_open) {
            let body = inbox.body(letter.number)?;
            pointers.insert(letter.number, Pointer::from_bytes(&body));
        }
        self.look_up(pointers, chain).await
    }

    /// Returns the letters whose notes are in blocks that other ones have replaced. The request for the board's blocks
    /// depends on the time of the last one alone.
    async fn replaced(&self, client: &Client) -> Result<BTreeSet<u64>, ZcashError> {
        let next = self.record.next;
        let recent = next.saturating_sub(KEPT_BLOCKS)..next;
        let blocks = client.blocks(recent.clone()).await?;
        let hashes: BTreeSet<String> = blocks.iter().map(|block| hex(&block.hash)).collect();
        let is_replaced =
            |note: &Note| recent.contains(&note.height) && !hashes.contains(&note.block);
        let letters = self.record.letters.iter();
        Ok(letters
            .filter(|(_, note)| note.as_ref().is_some_and(is_replaced))
            .map(|(number, _)| *number)
            .collect())
    }

    /// Returns the notes whose blocks are on the chain, and those whose blocks were withdrawn.
    ///
    /// Errors: `Mail`.
    pub fn notes(&self) -> Result<(Vec<Note>, Vec<Note>), ZcashError> {
        let inbox = Inbox::beside(&self.identity.home)?;
        let withdrawn: BTreeSet<u64> = inbox.withdrawn()?.into_iter().collect();
        let (mut here, mut gone) = (Vec::new(), Vec::new());
        for (number, note) in &self.record.letters {
            if withdrawn.contains(number) {
                gone.extend(note.clone());
            } else {
                here.extend(note.clone());
            }
        }
        Ok((here, gone))
    }

    /// Looks up the payments to which letters point. Its requests depend on the letters as little as [`windows`] says.
    async fn look_up(
        &mut self,
        pointers: BTreeMap<u64, Option<Pointer>>,
        chain: &mut Chain,
    ) -> Result<Received, ZcashError> {
        let first = chain.first().await?;
        let tip = chain.tip().await?;
        let served = first..tip + 1;
        // A payment may have been announced a while before it was mined.
        let new = self.record.next.saturating_sub(EXPIRY).max(first)..served.end;
        let mut wanted = BTreeSet::new();
        for pointer in pointers.values().flatten() {
            // A pointer to heights that are not served is looked up nowhere.
            let heights = within(&pointer.heights(), &served);
            if !heights.is_empty() {
                wanted.extend(windows::overlapping(&heights));
            }
        }
        let mut blocks = BTreeMap::new();
        let chosen = windows::choose(&wanted, &new, first, &mut os_rng());
        for window in &chosen {
            let heights = within(&windows::heights(*window), &served);
            for block in chain.blocks(heights).await? {
                blocks.insert(block.height, block);
            }
        }
        let mut received = Received::default();
        let key = self.viewing.to_ivk(Scope::External).prepare();
        for (number, pointer) in pointers {
            let note = match pointer {
                Some(pointer) => {
                    let heights = within(&pointer.heights(), &served);
                    if heights.clone().any(|height| !blocks.contains_key(&height)) {
                        received.waiting += 1;
                        continue;
                    }
                    let found = find(&pointer, heights, &blocks, &key);
                    if found.is_none() && pointer.heights().end > served.end {
                        received.waiting += 1;
                        continue;
                    }
                    found
                }
                None => None,
            };
            match &note {
                Some(note) => received.found.push(note.clone()),
                None => received.idle += 1,
            }
            self.record.letters.insert(number, note);
        }
        self.record.next = served.end;
        self.save()?;
        Ok(received)
    }

    fn save(&self) -> Result<(), ZcashError> {
        let text = serde_json::to_vec_pretty(&self.record);
        let text = text.map_err(|source| ZcashError::Record {
            path: self.path.clone(),
            source,
        })?;
        std::fs::write(&self.path, text).map_err(|source| ZcashError::File {
            path: self.path.clone(),
            source,
        })
    }
}

/// Returns the index of the first message of the blocks from a height on.
async fn message_at(client: &Client, height: u64) -> Result<u64, ZcashError> {
    let placed = client.blocks(height..height + 1).await?;
    match placed.first() {
        Some(block) => Ok(block.start),
        // The board does not have the block yet.
        None => Ok(client.tip().await?.map_or(0, |block| block.end)),
    }
}

/// Returns the viewing key of words by ZIP 32, from the seed of BIP 39.
pub(crate) fn viewing_key(words: &Words) -> Result<FullViewingKey, ZcashError> {
    let text = words.each().collect::<Vec<_>>().join(" ");
    let mnemonic = Mnemonic::parse_in_normalized(Language::English, &text);
    let seed = mnemonic.map_err(|_| ZcashError::Seed)?;
    let seed = seed.to_seed_normalized("");
    let spending = SpendingKey::from_zip32_seed(&seed, COIN_TYPE, zip32::AccountId::ZERO);
    Ok(FullViewingKey::from(
        &spending.map_err(|_| ZcashError::Seed)?,
    ))
}

fn within(heights: &Range<u64>, served: &Range<u64>) -> Range<u64> {
    heights.start.max(served.start)..heights.end.min(served.end)
}

/// Decrypts the note to which a pointer leads; returns `None` where there is none for the key.
fn find(
    pointer: &Pointer,
    heights: Range<u64>,
    blocks: &BTreeMap<u64, CompactBlock>,
    key: &PreparedIncomingViewingKey,
) -> Option<Note> {
    let mut here = heights.filter_map(|height| blocks.get(&height));
    let (block, transaction) = here.find_map(|block| {
        let mut transactions = block.vtx.iter();
        let found = transactions.find(|one| one.txid == pointer.txid)?;
        Some((block, found))
    })?;
    let action = transaction.actions.get(pointer.output as usize)?;
    let mut txid = pointer.txid;
    txid.reverse();
    Some(Note {
        height: block.height,
        block: hex(&block.hash),
        txid: hex(&txid),
        output: pointer.output,
        zatoshis: decrypt(action, key)?,
        memo: pointer.memo.clone(),
    })
}

/// Returns the value of an action's note, if it is for the key.
fn decrypt(action: &CompactOrchardAction, key: &PreparedIncomingViewingKey) -> Option<u64> {
    let action = parse(action)?;
    let domain = OrchardDomain::for_compact_action(&action);
    let (note, _) = try_compact_note_decryption(&domain, key, &action)?;
    Some(note.value().inner())
}

/// Reads an action of a compact block.
pub(crate) fn parse(action: &CompactOrchardAction) -> Option<CompactAction> {
    let nullifier = action.nullifier[..].try_into().ok()?;
    let commitment = action.cmx[..].try_into().ok()?;
    Some(CompactAction::from_parts(
        Nullifier::from_bytes(&nullifier).into_option()?,
        ExtractedNoteCommitment::from_bytes(&commitment).into_option()?,
        EphemeralKeyBytes(action.ephemeral_key[..].try_into().ok()?),
        action.ciphertext[..].try_into().ok()?,
    ))
}
