//! Posting: every post has an id of its own, the same at every attempt, so that none is made twice.

use crate::delivery::{Delivery, Posted};
use crate::retry::Patience;
use crate::{Client, RemoteError, random_id};
use futures::{Stream, StreamExt};
use omr_api::v1::{
    Message, PostMessagesRequest, PostMessagesResponse, StreamPostsRequest, StreamPostsResponse,
};
use omr_api::{MESSAGE_BYTES, WORK_BITS_MAX, posting_work};
use std::collections::VecDeque;
use std::ops::Range;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

/// Room for the fields around the messages of a post, and around each.
const FRAME_BYTES: usize = 64;
const FIELD_BYTES: usize = 16;

/// Posts of a stream that wait for their answers at most.
const UNANSWERED: usize = 8;

type Answer = Result<Posted, RemoteError>;

impl Client {
    /// Posts messages in order, in as many posts as it takes. Each message comes onto the board once, whatever
    /// others do with copies of it; see [`Client::post_under`].
    ///
    /// Errors: those of `post_under`; `MessageSize`. Posts before the one that failed stand.
    pub async fn post(&self, messages: Vec<Message>) -> Answer {
        let mut posted = Posted::default();
        for part in self.parts(messages).await? {
            posted.append(self.post_under(random_id(), part).await?);
        }
        Ok(posted)
    }

    /// Posts messages, first under an id of the caller's, who may repeat it after a crash. At most
    /// `Limits.post_messages` messages. Those that somebody copied and posted first are left out: they are on the
    /// board; the others follow under a new id, with the same clues. So does a post whose id somebody used first.
    ///
    /// Errors: the server's; `Work`; `Answer`; `OtherPost` where every new id was used first.
    pub async fn post_under(&self, post_id: [u8; 16], messages: Vec<Message>) -> Answer {
        let mut delivery = Delivery::new(messages);
        let mut id = post_id;
        while !delivery.is_done() {
            match self.post_as(id, delivery.left().to_vec()).await {
                Ok(range) => delivery.posted(range),
                Err(refused) => delivery.refused(refused)?,
            }
            id = random_id();
        }
        Ok(delivery.end())
    }

    /// One post as it is, under an id of the caller's.
    ///
    /// Errors: the server's; `OtherPost`, `UsedKeys`; `Work`; `Answer`.
    pub async fn post_as(
        &self,
        post_id: [u8; 16],
        messages: Vec<Message>,
    ) -> Result<Range<u64>, RemoteError> {
        let request = self.request(post_id, messages).await?;
        let answer = self.unary("PostMessages", || async {
            self.boards().post_messages(request.clone()).await
        });
        indices("PostMessages", &request, &answer.await?)
    }

    /// Posts what a stream gives, one item after another, several on their way at a time; gives what became of
    /// them in the same order, with messages that others posted first as in [`Client::post_under`]. Ends after the
    /// first error.
    pub fn post_stream(
        &self,
        posts: impl Stream<Item = Vec<Message>> + Send + 'static,
    ) -> impl Stream<Item = Answer> + Send + 'static {
        let (answers, received) = mpsc::channel(UNANSWERED);
        let client = self.clone();
        tokio::spawn(async move {
            let mut poster = Poster {
                client: &client,
                waiting: VecDeque::new(),
                answers: &answers,
            };
            if let Err(error) = poster.run(Box::pin(posts)).await {
                // A caller that went away wants no error.
                let _ = answers.send(Err(error)).await;
            }
        });
        ReceiverStream::new(received)
    }

    /// A request with its proof of work.
    async fn request(
        &self,
        post_id: [u8; 16],
        messages: Vec<Message>,
    ) -> Result<PostMessagesRequest, RemoteError> {
        let bits = if self.has_token {
            0
        } else {
            self.known().await?.posting_work_bits
        };
        let work = match bits {
            0 => 0,
            _ => self.work(post_id, messages.clone(), bits).await?,
        };
        Ok(PostMessagesRequest {
            post_id: post_id.to_vec().into(),
            messages,
            work,
        })
    }

    async fn work(
        &self,
        post_id: [u8; 16],
        messages: Vec<Message>,
        found: u32,
    ) -> Result<u64, RemoteError> {
        let board = self.known().await?.board.clone().unwrap_or_default();
        let search = move || posting_work(&board.board_id, &post_id, &messages, found);
        let work = tokio::task::spawn_blocking(search).await;
        let most = WORK_BITS_MAX;
        work.map_err(|_| RemoteError::Task)?
            .ok_or(RemoteError::Work { most, found })
    }

    /// Messages in posts within the server's limits.
    async fn parts(&self, messages: Vec<Message>) -> Result<Vec<Vec<Message>>, RemoteError> {
        let together = self.limits().await?.post_messages.max(1) as usize;
        let most = MESSAGE_BYTES - FRAME_BYTES;
        let (mut parts, mut last, mut bytes) = (Vec::new(), Vec::new(), 0);
        for message in messages {
            let found = message.clue.len() + message.payload.len() + FIELD_BYTES;
            if found > most {
                return Err(RemoteError::MessageSize { most, found });
            }
            if last.len() == together || bytes + found > most {
                parts.push(std::mem::take(&mut last));
                bytes = 0;
            }
            bytes += found;
            last.push(message);
        }
        parts.extend((!last.is_empty()).then_some(last));
        Ok(parts)
    }
}

/// The indices that an answer gives to a post.
fn indices(
    call: &'static str,
    request: &PostMessagesRequest,
    answer: &PostMessagesResponse,
) -> Result<Range<u64>, RemoteError> {
    let (first, count) = (answer.first_index, u64::from(answer.count));
    let expected = request.messages.len() as u64;
    match first.checked_add(count) {
        Some(end) if count == expected => Ok(first..end),
        _ => Err(RemoteError::answer(
            call,
            format!("{expected} messages"),
            format!("{count} from {first} on"),
        )),
    }
}

/// A post on its way.
struct Waiting {
    request: PostMessagesRequest,
    delivery: Delivery,
}

/// Posts on their way.
struct Poster<'a> {
    client: &'a Client,
    waiting: VecDeque<Waiting>,
    answers: &'a mpsc::Sender<Answer>,
}

const STREAM: &str = "StreamPosts";

impl Poster<'_> {
    async fn run(
        &mut self,
        mut posts: impl Stream<Item = Vec<Message>> + Unpin,
    ) -> Result<(), RemoteError> {
        let policy = self.client.retry.clone();
        let mut patience = Patience::new(&policy, STREAM);
        let mut ended = false;
        loop {
            let done = ended && self.waiting.is_empty();
            if done || self.answers.is_closed() {
                return Ok(());
            }
            let connected = self.connection(&mut posts, &mut ended, &mut patience);
            if let Err(status) = connected.await?
                && !self.refused(&status).await?
            {
                patience.pause(&status).await?;
            }
        }
    }

    /// Posts until all are answered or the connection breaks.
    async fn connection(
        &mut self,
        posts: &mut (impl Stream<Item = Vec<Message>> + Unpin),
        ended: &mut bool,
        patience: &mut Patience<'_>,
    ) -> Result<Result<(), Status>, RemoteError> {
        let (out, outgoing) = mpsc::channel(UNANSWERED);
        for post in &self.waiting {
            // There is room for all that can wait.
            let _ = out.try_send(stream_request(&post.request));
        }
        let stream = ReceiverStream::new(outgoing);
        let mut incoming = match self.client.boards().stream_posts(stream).await {
            Ok(response) => response.into_inner(),
            Err(status) => return Ok(Err(status)),
        };
        while !(*ended && self.waiting.is_empty()) {
            let room = self.waiting.len() < UNANSWERED && !*ended;
            tokio::select! {
                next = posts.next(), if room => match next {
                    Some(messages) => {
                        let delivery = Delivery::new(messages);
                        let post = self.waiting(delivery).await?;
                        let _ = out.send(stream_request(&post.request)).await;
                        self.waiting.push_back(post);
                    }
                    None => *ended = true,
                },
                answer = next_answer(&mut incoming), if !self.waiting.is_empty() => {
                    match answer {
                        Ok(answer) => self.answered(&answer).await?,
                        Err(status) => return Ok(Err(status)),
                    }
                    patience.progress();
                }
            }
        }
        Ok(Ok(()))
    }

    async fn waiting(&self, delivery: Delivery) -> Result<Waiting, RemoteError> {
        let messages = delivery.left().to_vec();
        let request = self.client.request(random_id(), messages).await?;
        Ok(Waiting { request, delivery })
    }

    /// Prepares the rest of the oldest post where that is what was refused; false: it was not.
    async fn refused(&mut self, status: &Status) -> Result<bool, RemoteError> {
        if omr_api::post_refusal(status).is_none() {
            return Ok(false);
        }
        let wrong = || RemoteError::answer(STREAM, "an answer to a post", "a refusal of none");
        let mut delivery = self.waiting.pop_front().ok_or_else(wrong)?.delivery;
        delivery.refused(RemoteError::refusal(STREAM, status))?;
        if delivery.is_done() {
            let _ = self.answers.send(Ok(delivery.end())).await;
        } else {
            let rest = self.waiting(delivery).await?;
            self.waiting.push_front(rest);
        }
        Ok(true)
    }

    async fn answered(&mut self, answer: &StreamPostsResponse) -> Result<(), RemoteError> {
        let wrong = || RemoteError::answer(STREAM, "an answer to the oldest post", "another");
        let mut oldest = self.waiting.pop_front().ok_or_else(wrong)?;
        let posted = answer.posted.as_ref().ok_or_else(wrong)?;
        if answer.post_id != oldest.request.post_id {
            return Err(wrong());
        }
        let range = indices(STREAM, &oldest.request, posted)?;
        oldest.delivery.posted(range);
        // A caller that went away is noticed by the loop.
        let _ = self.answers.send(Ok(oldest.delivery.end())).await;
        Ok(())
    }
}

fn stream_request(post: &PostMessagesRequest) -> StreamPostsRequest {
    StreamPostsRequest {
        post: Some(post.clone()),
    }
}

/// An end before all is answered is a break too.
async fn next_answer(
    incoming: &mut Streaming<StreamPostsResponse>,
) -> Result<StreamPostsResponse, Status> {
    let ended = || Status::unavailable("the stream ended early");
    incoming.message().await?.ok_or_else(ended)
}
