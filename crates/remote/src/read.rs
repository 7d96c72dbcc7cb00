//! Reading the board, as streams that survive broken connections.

use crate::retry::Patience;
use crate::{Client, RemoteError};
use futures::Stream;
use futures::stream::try_unfold;
use omr_api::v1::{Message, Part, ReadMessagesRequest, SubscribeRequest};
use std::ops::Range;
use tonic::{Status, Streaming};

/// Messages that follow one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Index of the first.
    pub first_index: u64,
    /// The messages. One that the server has lost is empty: it has neither clue nor payload.
    pub messages: Vec<Message>,
}

type Pieces = Result<Option<(u64, Vec<Message>)>, Status>;

/// A stream of messages, wherever it stands.
struct Reader<S> {
    client: Client,
    part: Part,
    next: u64,
    /// `None` for a subscription.
    end: Option<u64>,
    open: Option<Streaming<S>>,
}

impl Client {
    /// The messages of a range, some at a time, in order.
    ///
    /// Errors, as items: the server's; `Answer`.
    pub fn read(
        &self,
        range: Range<u64>,
        part: Part,
    ) -> impl Stream<Item = Result<Piece, RemoteError>> + Send + 'static {
        let reader = Reader {
            client: self.clone(),
            part,
            next: range.start,
            end: Some(range.end),
            open: None,
        };
        try_unfold(reader, |mut reader| async move {
            let piece = reader.piece("ReadMessages", reading, |answer| {
                (answer.first_index, answer.messages)
            });
            Ok(piece.await?.map(|piece| (piece, reader)))
        })
    }

    /// The messages from `start` on, then new ones as they are posted. Goes on where it stopped when the
    /// connection breaks; ends never but with an error.
    ///
    /// Errors, as items: the server's; `Answer`.
    pub fn subscribe(
        &self,
        start: u64,
        part: Part,
    ) -> impl Stream<Item = Result<Piece, RemoteError>> + Send + 'static {
        let reader = Reader {
            client: self.clone(),
            part,
            next: start,
            end: None,
            open: None,
        };
        try_unfold(reader, |mut reader| async move {
            let piece = reader.piece("Subscribe", following, |answer| {
                (answer.first_index, answer.messages)
            });
            Ok(piece.await?.map(|piece| (piece, reader)))
        })
    }
}

type Read = Reader<omr_api::v1::ReadMessagesResponse>;
type Follow = Reader<omr_api::v1::SubscribeResponse>;

async fn reading(reader: &Read) -> Result<Streaming<omr_api::v1::ReadMessagesResponse>, Status> {
    let request = ReadMessagesRequest {
        start: reader.next,
        end: reader.end.unwrap_or(u64::MAX),
        part: reader.part.into(),
    };
    let mut client = reader.client.boards();
    Ok(client.read_messages(request).await?.into_inner())
}

async fn following(reader: &Follow) -> Result<Streaming<omr_api::v1::SubscribeResponse>, Status> {
    let request = SubscribeRequest {
        start: reader.next,
        part: reader.part.into(),
    };
    let mut client = reader.client.boards();
    Ok(client.subscribe(request).await?.into_inner())
}

impl<S> Reader<S> {
    /// The next messages; `None` at the end of the range.
    async fn piece(
        &mut self,
        call: &'static str,
        open: impl AsyncFn(&Self) -> Result<Streaming<S>, Status>,
        split: impl Fn(S) -> (u64, Vec<Message>),
    ) -> Result<Option<Piece>, RemoteError> {
        let policy = self.client.retry.clone();
        let mut patience = Patience::new(&policy, call);
        while self.end.is_none_or(|end| self.next < end) {
            match self.attempt(&open, &split).await {
                Ok(Some((_, messages))) if messages.is_empty() => patience.progress(),
                Ok(Some((first, messages))) => return self.accept(call, first, messages).map(Some),
                Ok(None) => {
                    let early = Status::unavailable("the stream ended early");
                    patience.reopen(&mut self.open, &early).await?;
                }
                Err(status) => {
                    patience.reopen(&mut self.open, &status).await?;
                }
            }
        }
        Ok(None)
    }

    async fn attempt(
        &mut self,
        open: &impl AsyncFn(&Self) -> Result<Streaming<S>, Status>,
        split: &impl Fn(S) -> (u64, Vec<Message>),
    ) -> Pieces {
        if self.open.is_none() {
            self.open = Some(open(self).await?);
        }
        match &mut self.open {
            Some(stream) => Ok(stream.message().await?.map(split)),
            None => Ok(None),
        }
    }

    /// Errors: `Answer` for messages that do not follow.
    fn accept(
        &mut self,
        call: &'static str,
        first: u64,
        messages: Vec<Message>,
    ) -> Result<Piece, RemoteError> {
        let end = first.checked_add(messages.len() as u64);
        let fits = |end: &u64| first == self.next && self.end.is_none_or(|most| *end <= most);
        match end.filter(fits) {
            Some(end) => {
                self.next = end;
                Ok(Piece {
                    first_index: first,
                    messages,
                })
            }
            None => Err(RemoteError::answer(
                call,
                format!("messages from {} on", self.next),
                format!("{} from {first} on", messages.len()),
            )),
        }
    }
}
