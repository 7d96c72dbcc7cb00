//! An inbox without input and output: it decides which requests are made and when, and keeps the answers.
//!
//! The rules against reaction attacks (`SECURITY.md`) are here, once for all programs. An [`Exchange`] determines which
//! call of a server comes next; the program around it makes the call and passes the answer back. An exchange sees an
//! inbox through [`Requests`], which cannot name a message. [`Inbox::take_in`] decodes the collected digests without a
//! connection. So nothing that a server sees depends on the content of a digest.
//!
//! Everything that lasts is a record in a [`Storage`]: a database or [`Memory`]. Time is an input.
//!
//! ```
//! use omr_inbox::{Answer, Exchange, Fetch, Inbox, InboxError, Memory, Reader, Recipient, Step};
//! # use omr_inbox::{Call, Collected, Failed};
//!
//! # fn perform(call: Call) -> Result<Answer, Failed<InboxError>> { unimplemented!() }
//! # fn kept(changes: Vec<omr_inbox::Change>) {}
//! # fn fetch(recipient: Recipient, reader: Reader) -> Result<Collected, InboxError> {
//! let inbox = Inbox::open(Memory::<InboxError>::new())?;
//! let mut fetch = Fetch::<InboxError>::new(recipient);
//! let mut step = fetch.begin(inbox.requests())?;
//! loop {
//!     let answer = match step {
//!         Step::Call(call) => {
//!             // Changes are kept before the server sees the call.
//!             kept(inbox.store().take_changes());
//!             perform(call)
//!         }
//!         // Only two rounds have this step. The exchange learns nothing but that the query was made.
//!         Step::Ask(asking) => {
//!             inbox.ask(&reader, &asking, &mut omr_client::os_rng())?;
//!             Ok(Answer::Asked)
//!         }
//!         Step::Done(collected) => return Ok(collected),
//!     };
//!     step = fetch.answer(inbox.requests(), answer)?;
//! }
//! # }
//! ```
#![forbid(unsafe_code)]

mod adopt;
mod ask;
mod call;
mod canary;
mod close;
mod cut;
mod decode;
mod delete;
mod error;
mod exchange;
mod expired;
mod fetch;
#[cfg(feature = "measure")]
mod fill;
mod header;
mod history;
mod inbox;
mod job;
mod jobs;
mod kept;
mod memory;
#[cfg(test)]
mod model;
mod mute;
mod received;
mod recipient;
mod requests;
mod rounds;
mod schedule;
mod sealed;
mod sealing;
mod share;
mod span;
pub mod storage;
mod table;
mod take;
mod view;
mod waiting;
mod watch;
mod withdrawn;

pub use ask::Asking;
pub use call::{
    Answer, Board, Call, Failed, Failure, JobRequest, Limits, Log, OrderRequest, SessionRequest,
};
pub use canary::{Audit, CANARY_BYTES, Canary, CanaryPost, CanaryState};
pub use close::Close;
pub use cut::Cut;
pub use decode::Reader;
pub use error::InboxError;
pub use exchange::{Collected, Exchange, Step};
pub use fetch::Fetch;
pub use header::{Heading, Sender};
pub use history::{Fork, Mark};
pub use inbox::Inbox;
pub use kept::Kept;
pub use memory::{Change, Memory};
pub use recipient::{Agreed, Recipient, Spares};
pub use requests::Requests;
pub use schedule::MAX_LEVELS;
pub use sealed::{RecordKey, SealedRecord};
pub use sealing::check_sealing;
pub use share::ReadMark;
pub use storage::{Storage, Table};
pub use take::{Outcome, Taken};
pub use view::{Incomplete, Listed};
pub use waiting::Waiting;
pub use watch::{Grid, next_canary};
