//! Oblivious mail: identities, addresses, an inbox, canaries.
//!
//! This is the library for a wallet or a messenger. An [`Identity`] is kept in a [`Home`], a folder that only its owner
//! can read; its [`Inbox`] keeps the letters. A fetch has two halves: [`collect`] calls the server through [`Requests`],
//! which cannot name a message, and [`Inbox::take_in`] decodes the collected digests, without a connection. So nothing that a server sees depends on the content of a digest. The rules are those of
//! [`omr_inbox`]; this crate adds the network, the database and the files.
//!
//! ```
//! use omr_mail::{Address, Home, Identity, NewIdentity};
//! use omr_protocol::{ClueKind, Scheme, Sealing};
//!
//! # let dir = tempfile::tempdir()?;
//! let home = Home::new(dir.path().join("ann"));
//! let new = NewIdentity {
//!     // A small set for tests; otherwise that of the server's board.
//!     params: "insecure-tiny-hybrid-v4".into(),
//!     scheme: Some(Scheme::Instantomr),
//!     clues: ClueKind::Bound,
//!     bound: 50,
//!     sealing: Sealing::HpkeX25519,
//!     spares: 2,
//!     board_id: None,
//!     own_masks: false,
//!     batches: false,
//! };
//! let ann = Identity::create(&home, &new)?;
//! // The address that Ann publishes, as text that can be sent by mail.
//! let text = ann.address()?.to_text();
//! let known = Address::from_file(text.into_bytes())?;
//! assert_eq!(known.fingerprint(), ann.address()?.fingerprint());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With a server, `home.set_server(..)`, then:
//!
//! ```no_run
//! use omr_mail::{Address, Home, Identity, Inbox, Letter, MailError, Reader, Rules};
//! use omr_mail::{collect, register, send};
//! use omr_remote::Client;
//!
//! # async fn mail(home: Home, bob: Address) -> Result<(), MailError> {
//! let mut ann = Identity::open(&home)?;
//! let client = Client::connect(&home.server()?.endpoint())?;
//! register(&mut ann, &client, |_, _, _| {}).await?;
//! let letter = Letter::from(b"hello Bob".to_vec());
//! send(&client, &bob, &[letter], &Rules::default()).await?;
//!
//! // All messages since the last fetch, whatever was found before.
//! let inbox = Inbox::open(&home)?;
//! let reader = Reader::new(&ann)?;
//! collect(&client, &ann, &inbox, &reader, |_| {}).await?;
//! inbox.take_in(&reader)?;
//! for letter in inbox.list(false)? {
//!     println!("{}: {} bytes", letter.number, letter.bytes);
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod address;
mod canary;
mod collect;
mod contacts;
mod delete;
mod devices;
mod error;
mod exchange;
mod export;
mod home;
mod identity;
mod inbox;
mod keys;
mod mailbox;
mod operators;
mod passphrase;
mod periods;
mod register;
mod reply;
mod retired;
mod sealing;
mod send;
mod session;
mod short;

pub use address::{Address, Terms};
pub use canary::{canary_client, post_canary};
pub use collect::{Stage, collect};
pub use delete::delete;
pub use devices::{Applied, Followed, MEDIA_TYPE, apply, follow, share};
pub use error::{MailError, MailErrorKind};
pub use home::{Home, Server};
pub use identity::{Identity, KeyFile, NewIdentity, Profile, check_bound};
pub use inbox::{Inbox, Reader, Requests};
pub use mailbox::{Mailbox, Retired};
pub use omr_client::header::{Header, Signer};
pub use omr_inbox::next_canary;
pub use omr_inbox::{Audit, Canary, CanaryState, Collected, Fork, Grid, Heading, Incomplete, Kept};
pub use omr_inbox::{Listed, MAX_LEVELS, Mark, Outcome, Sender, Spares, Taken, Waiting};
pub use operators::{Choice, Finding, choose};
pub use register::{check_limits, leave, register, revoke};
pub use reply::{Reply, stated};
pub use retired::Unfinished;
pub use sealing::check_sealing;
pub use send::{Draft, Letter, Rules, Sent, board_mark, board_place, check_clues, clue_kind, send};
pub use session::{close_session, cut};
pub use short::{Named, ShortAddress, publish, publish_again};

/// Returns the seconds since 1970 by the system's clock; 0 for a clock before 1970.
fn unix_now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
