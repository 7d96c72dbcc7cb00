//! Oblivious mail: identities, addresses, an inbox, canaries.
//!
//! What a wallet or a messenger would embed. An [`Identity`] lives in a [`Home`], a folder of its owner's;
//! its [`Inbox`] keeps what came. A fetch has two halves that do not know each other: [`collect`] speaks to
//! the server through [`Requests`], which cannot name a message, and [`Inbox::take_in`] decodes what was
//! collected, without a connection. So nothing that a server sees depends on what a digest held.
#![forbid(unsafe_code)]

mod address;
mod canary;
mod collect;
mod contacts;
mod error;
mod export;
mod home;
mod identity;
mod inbox;
mod keys;
mod passphrase;
mod register;
mod retired;
mod sealing;
mod send;
mod session;
mod short;
mod watch;

pub use address::{Address, Terms};
pub use canary::{Audit, Canary, CanaryState, post_canary};
pub use collect::{Collected, Spares, Stage, collect};
pub use error::MailError;
pub use home::{Home, Server};
pub use identity::{Identity, KeyFile, NewIdentity, Profile, check_bound};
pub use inbox::{Inbox, Incomplete, Kept, Listed, MAX_LEVELS, Outcome, Reader, Requests, Taken};
pub use register::{check_limits, register, revoke};
pub use sealing::check_sealing;
pub use send::{Draft, Letter, Rules, Sent, board_place, check_clues, send};
pub use session::{close_session, cut};
pub use short::{ShortAddress, publish, publish_again};
pub use watch::{Grid, next_canary};

/// Seconds since 1970 by the system's clock; 0 for a clock before.
fn unix_now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
