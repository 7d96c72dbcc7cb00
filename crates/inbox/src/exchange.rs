//! Exchanges with a server: which call comes next. Whoever makes the calls decides nothing.

use crate::call::{Answer, Call, Failed};
use crate::storage::Storage;
use crate::{InboxError, Requests, Spares};
use std::fmt::Display;
use std::ops::Range;

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Make this call, once everything that was written is kept, and give its answer to the exchange.
    Call(Call),
    /// Nothing: this came of it.
    Done(T),
}

/// Calls of a server, one after another. One that breaks off is begun anew: its state is in the inbox.
///
/// `E` is the caller's own error of a call.
pub trait Exchange<E: Display> {
    /// What comes of it.
    type Done;

    /// The first step.
    ///
    /// Errors: the storage's.
    fn begin<S: Storage>(
        &mut self,
        requests: Requests<'_, S>,
    ) -> Result<Step<Self::Done>, S::Error>;

    /// The step after a call.
    ///
    /// Errors: those of the exchange; the call's, where nothing can go on; the storage's.
    fn answer<S>(
        &mut self,
        requests: Requests<'_, S>,
        answer: Result<Answer, Failed<E>>,
    ) -> Result<Step<Self::Done>, S::Error>
    where
        S: Storage,
        S::Error: From<E>;
}

/// What a fetch came to, as far as the network half knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Ranges that the server will never serve as they were asked for, with its words. They are kept.
    pub refused: Vec<(Range<u64>, String)>,
    /// Spare requests.
    pub spares: Spares,
    /// The bound of its requests: the identity's, or less where the server allows less.
    pub bound: u32,
    /// Ranges that expired before they were fetched: nothing of them comes any more. They are kept.
    pub missed: Vec<Range<u64>>,
    /// For an identity that takes whole batches: why the server works them when they are asked for, if it does not when
    /// they fill.
    pub ordered: Result<(), String>,
}

/// What is wrong with an answer that does not belong to the call that was made.
pub(crate) fn unexpected(call: &'static str) -> InboxError {
    InboxError::answer(call, "its own answer", "another")
}
