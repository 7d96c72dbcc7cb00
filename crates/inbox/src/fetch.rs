//! A fetch: requests for all messages since the last one.

use crate::call::{Answer, Board, Call, Failed, Failure, Limits};
use crate::exchange::{Collected, Exchange, Step, unexpected};
use crate::job::Batches;
use crate::jobs::{Fetches, Jobs};
use crate::rounds::Rounds;
use crate::storage::Storage;
use crate::{Recipient, Requests};
use std::fmt::Display;

/// Compares the board with its earlier states (see [`crate::Fork`]), requests digests of all messages from the cursor
/// to the board's length, the spare digest whose turn it is, and the digests that are still open from before, and keeps
/// them undecoded. In two rounds it requests scans in place of digests, and then payloads of the messages that they
/// found, with queries that [`crate::Inbox::ask`] makes ([`Step::Ask`]). Bound, scheme and spare requests are those of the recipient, ranges follow from the board's lengths:
/// nothing that the server sees depends on the content of a digest. Nothing is acknowledged.
///
/// A request that the server refuses for good, or gave up, does not hold up the others.
pub struct Fetch<E> {
    recipient: Recipient,
    /// The shape of two rounds, if it is not that of the parameter set.
    shape: Option<Rounds>,
    stage: Stage<E>,
}

enum Stage<E> {
    Board,
    Limits(Board),
    Order(Batches, Collected),
    Jobs(Jobs<E>),
    Over,
}

impl<E: Display> Fetch<E> {
    /// Returns a fetch of a recipient.
    #[must_use]
    pub fn new(recipient: Recipient) -> Self {
        Self {
            recipient,
            shape: None,
            stage: Stage::Board,
        }
    }

    /// Returns a fetch whose two rounds have another shape than that of the parameter set.
    #[cfg(test)]
    pub(crate) fn shaped(recipient: Recipient, shape: Rounds) -> Self {
        let shape = Some(shape);
        Self {
            shape,
            ..Self::new(recipient)
        }
    }

    /// Records all requests, once everything on which they depend is known.
    fn plan<S>(
        &mut self,
        requests: Requests<'_, S>,
        board: Board,
        limits: Limits,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        if self.recipient.has_two_rounds() {
            return self.plan_rounds(requests, board, limits);
        }
        let batches = self.recipient.batches(requests)?;
        let (form, spares) = self.recipient.form(&limits, batches);
        let mut collected = Collected {
            refused: Vec::new(),
            spares,
            bound: form.bound,
            missed: requests.plan(&board, &form)?,
            ordered: Ok(()),
        };
        let Some(batches) = batches else {
            return self.collect(requests, collected, None);
        };
        if limits.orders == 0 {
            collected.ordered = Err("it takes no orders".to_owned());
            return self.collect(requests, collected, None);
        }
        let order = self.recipient.order(batches, form.bound);
        self.stage = Stage::Order(batches, collected);
        Ok(Step::Call(Call::CreateOrder(order)))
    }

    /// Records all requests of two rounds.
    fn plan_rounds<S>(
        &mut self,
        requests: Requests<'_, S>,
        board: Board,
        limits: Limits,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        let rounds = match self.shape.take() {
            Some(shape) => shape,
            None => Rounds::of(&self.recipient.agreed.params)?,
        };
        let (form, spares) = Recipient::form_of_rounds(&limits, &rounds.sizes);
        let collected = Collected {
            refused: Vec::new(),
            spares,
            bound: form.bound,
            missed: requests.plan(&board, &form)?,
            ordered: Ok(()),
        };
        let place = board.place;
        self.collect(requests, collected, Some(Fetches { rounds, place }))
    }

    fn collect<S>(
        &mut self,
        requests: Requests<'_, S>,
        collected: Collected,
        fetches: Option<Fetches>,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        let mut jobs = Jobs::new(requests, collected, fetches)?;
        let step = jobs.next(&self.recipient, requests)?;
        self.stage = Stage::Jobs(jobs);
        Ok(step)
    }
}

/// Returns whether an order was placed, with the reason if it was not; `None` if the answer is that of another call.
///
/// Errors: those of the call.
fn ordered<E: Display>(
    batches: Batches,
    answer: Result<Answer, Failed<E>>,
) -> Result<Option<Result<(), String>>, E> {
    match answer {
        Ok(Answer::Order(messages)) if messages == batches.messages => Ok(Some(Ok(()))),
        Ok(Answer::Order(messages)) => Ok(Some(Err(format!(
            "its batches have {messages} messages, those of the keys {}",
            batches.messages
        )))),
        Ok(_) => Ok(None),
        Err(Failed { kind, error }) => match kind {
            Failure::Refused | Failure::Final | Failure::OutOfRange | Failure::Exists => {
                Ok(Some(Err(error.to_string())))
            }
            _ => Err(error),
        },
    }
}

impl<E: Display> Exchange<E> for Fetch<E> {
    type Done = Collected;

    fn begin<S: Storage>(
        &mut self,
        requests: Requests<'_, S>,
    ) -> Result<Step<Collected>, S::Error> {
        self.stage = Stage::Board;
        Ok(Step::Call(Call::Board(requests.lengths()?)))
    }

    fn answer<S>(
        &mut self,
        requests: Requests<'_, S>,
        answer: Result<Answer, Failed<E>>,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        match (std::mem::replace(&mut self.stage, Stage::Over), answer) {
            (Stage::Order(batches, collected), answer) => {
                let ordered = ordered(batches, answer)?.ok_or_else(|| unexpected("CreateOrder"))?;
                self.collect(
                    requests,
                    Collected {
                        ordered,
                        ..collected
                    },
                    None,
                )
            }
            (Stage::Jobs(mut jobs), answer) => {
                let step = jobs.answer(&self.recipient, requests, answer)?;
                self.stage = Stage::Jobs(jobs);
                Ok(step)
            }
            (_, Err(failed)) => Err(failed.error.into()),
            (Stage::Board, Ok(Answer::Board(board))) => {
                self.recipient.agreed.check(&board.place)?;
                self.stage = Stage::Limits(board);
                Ok(Step::Call(Call::Limits))
            }
            (Stage::Limits(board), Ok(Answer::Limits(limits))) => {
                self.plan(requests, board, limits)
            }
            (Stage::Board, Ok(_)) => Err(unexpected("GetBoard").into()),
            (_, Ok(_)) => Err(unexpected("GetCapabilities").into()),
        }
    }
}
