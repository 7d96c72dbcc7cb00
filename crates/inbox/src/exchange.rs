//! Exchanges with a server: they determine each next call. The program that makes the calls decides nothing.

use crate::call::{Answer, Call, Failed};
use crate::storage::Storage;
use crate::{Asking, InboxError, Requests, Spares};
use std::fmt::Display;
use std::ops::Range;

/// The next step of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Make this call once all earlier changes are kept, and pass the answer to the exchange.
    Call(Call),
    /// Pass this to [`crate::Inbox::ask`], which has the secret, and then [`Answer::Asked`] to the exchange.
    Ask(Asking),
    /// The exchange is over, with this result.
    Done(T),
}

/// A sequence of calls of a server. An exchange that was interrupted is simply started again: the inbox has its state.
///
/// `E` is the caller's error of a call.
pub trait Exchange<E: Display> {
    /// The result of the exchange.
    type Done;

    /// Returns the first step.
    ///
    /// Errors: those of the storage.
    fn begin<S: Storage>(
        &mut self,
        requests: Requests<'_, S>,
    ) -> Result<Step<Self::Done>, S::Error>;

    /// Returns the step after a call.
    ///
    /// Errors: those of the exchange and of the storage; the call's error, where the exchange cannot continue.
    fn answer<S>(
        &mut self,
        requests: Requests<'_, S>,
        answer: Result<Answer, Failed<E>>,
    ) -> Result<Step<Self::Done>, S::Error>
    where
        S: Storage,
        S::Error: From<E>;
}

/// The result of a fetch, as far as the network half knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Ranges that the server refused for good, with the server's reason. They are kept.
    pub refused: Vec<(Range<u64>, String)>,
    /// Whether spare requests are made.
    pub spares: Spares,
    /// The bound of all requests: that of the identity, or less where the server allows less.
    pub bound: u32,
    /// Ranges that expired before they were fetched: none of their messages can come any more. They are kept.
    pub missed: Vec<Range<u64>>,
    /// For an identity that takes whole batches: an error with the reason if the server computes them when they are
    /// requested, and not as soon as they are full.
    pub ordered: Result<(), String>,
}

/// Returns the error for an answer that does not belong to the call that was made.
pub(crate) fn unexpected(call: &'static str) -> InboxError {
    InboxError::answer(call, "its own answer", "another")
}
