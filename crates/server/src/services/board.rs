//! The methods that post to the board and read it.

use super::{Answers, READY};
use crate::caller::Caller;
use crate::feeding;
use crate::parts::clue_kind;
use crate::refuse::{self, blocking};
use crate::shared::Shared;
use crate::tokens::Right;
use bytes::Bytes;
use omr_api::v1::board_service_server::BoardService;
use omr_api::v1::{self, PostMessagesRequest, PostMessagesResponse};
use omr_protocol::clue::post_hash;
use omr_protocol::{Clue, ClueError, ClueKind, ParamSet};
use omr_store::{MessageHashes, Post, Store};
use rayon::prelude::*;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// The number of messages in one response.
const TOGETHER: u64 = 256;
/// The greatest number of blocks in one response.
const BLOCKS: u64 = 1000;
/// The greatest number of ids in one response with blocks, unless the first block has more.
const IDS: usize = 1 << 16;
/// The error of a stream whose messages may have been withdrawn.
const WITHDRAWN: &str =
    "messages were withdrawn from the board: ask for its length, and read them again";
/// The greatest number of running hashes of the log that one call requests.
const LOG_HASHES: usize = 64;

pub(crate) struct Board(pub(crate) Arc<Shared>);

impl Board {
    async fn post(
        &self,
        caller: &Caller,
        request: PostMessagesRequest,
    ) -> Result<PostMessagesResponse, Status> {
        let start = Instant::now();
        let done = self.try_post(caller, request).await;
        match &done {
            Ok(posted) => self
                .0
                .metrics
                .post(u64::from(posted.count), start.elapsed().as_secs_f64()),
            Err(status) => self
                .0
                .metrics
                .post_refused(omr_ops::grpc_code_name(status.code().into())),
        }
        done
    }

    async fn try_post(
        &self,
        caller: &Caller,
        request: PostMessagesRequest,
    ) -> Result<PostMessagesResponse, Status> {
        let post = self.measured(caller, request)?;
        let count = post.messages.len() as u32;
        // The rate is checked before signatures, which take time.
        self.0.callers.take(caller, count)?;
        let verified = self.verified(post).await?;
        let appended = self.0.posting.post(verified).await?;
        Ok(PostMessagesResponse {
            first_index: appended.range.start,
            count,
        })
    }

    /// Checks everything in a post except its clues.
    ///
    /// Errors: INVALID_ARGUMENT with the wrong field.
    fn measured(&self, caller: &Caller, request: PostMessagesRequest) -> Result<Post, Status> {
        let shared = &self.0;
        if let Some(ledger) = &shared.config.board.ledger {
            return Err(Status::failed_precondition(format!(
                "expected a board for posts, found that of the ledger {ledger:?}: messages come with its blocks"
            )));
        }
        let id = refuse::id("post_id", &request.post_id)?;
        let (limit, found) = (shared.config.limits.post_messages, request.messages.len());
        if !(1..=limit as usize).contains(&found) {
            return Err(refuse::invalid(
                "messages",
                format_args!("1 to {limit}"),
                found,
            ));
        }
        let board = shared.store.board();
        for (at, message) in request.messages.iter().enumerate() {
            for (what, expected, found) in [
                ("clue", board.clue_bytes, message.clue.len()),
                ("payload", board.payload_bytes, message.payload.len()),
            ] {
                if expected as usize != found {
                    return Err(refuse::invalid(
                        &format!("message {at}, {what}"),
                        format_args!("{expected} bytes"),
                        found,
                    ));
                }
            }
        }
        self.check_work(caller, &request)?;
        let message = |m: v1::Message| omr_store::Message {
            clue: m.clue.into(),
            payload: m.payload.into(),
        };
        Ok(Post::new(
            id,
            caller.account.clone(),
            request.messages.into_iter().map(message).collect(),
        ))
    }

    /// Checks the clues of a post, including signatures, and adds the hashes of bound clues for the store.
    ///
    /// Errors: INVALID_ARGUMENT with the first wrong message and its error.
    async fn verified(&self, post: Post) -> Result<Post, Status> {
        let shared = self.0.clone();
        blocking(move || {
            let check = |(at, message)| {
                check_clue(&shared.set, &shared.store, message)
                    .map_err(|error| Status::invalid_argument(format!("message {at}: {error}")))
            };
            let hashes: Option<Vec<[u8; 32]>> = match &post.messages[..] {
                // A single message is checked faster here than on another thread.
                [only] => check((0, only))?.map(|hash| vec![hash]),
                all => all
                    .par_iter()
                    .enumerate()
                    .map(check)
                    .collect::<Result<Option<_>, _>>()?,
            };
            Ok(match hashes {
                Some(hashes) => {
                    post.with_hashes(MessageHashes::new(shared.set.clue().tag(), hashes))
                }
                None => post,
            })
        })
        .await
    }

    /// Checks the proof of work of a client without a token.
    fn check_work(&self, caller: &Caller, request: &PostMessagesRequest) -> Result<(), Status> {
        let bits = self.0.config.access.posting_work_bits;
        let board_id = &self.0.store.board().board_id;
        if !caller.is_anonymous()
            || omr_api::check_posting_work(
                board_id,
                &request.post_id,
                &request.messages,
                request.work,
                bits,
            )
        {
            return Ok(());
        }
        Err(Status::invalid_argument(format!(
            "work: expected a proof of work of {bits} bits or a token, found neither"
        )))
    }
}

/// Checks the form and the norm of a clue, and the signature of a bound one. Returns the hash of a bound clue.
pub(crate) fn check_clue(
    set: &ParamSet,
    store: &Store,
    message: &omr_store::Message,
) -> Result<Option<[u8; 32]>, ClueError> {
    let (board, params) = (store.board(), set.clue());
    match clue_kind(board) {
        ClueKind::Plain => {
            Clue::from_bytes(params, &message.clue)?.check_norm(params)?;
            Ok(None)
        }
        ClueKind::Bound => {
            post_hash(params, &board.board_id, &message.clue, &message.payload).map(Some)
        }
    }
}

fn messages(
    shared: &Shared,
    range: Range<u64>,
    part: v1::Part,
) -> Result<Vec<v1::Message>, Status> {
    let mut out = Vec::with_capacity((range.end - range.start) as usize);
    let take = |wanted: bool, bytes: &[u8]| {
        if wanted {
            Bytes::copy_from_slice(bytes)
        } else {
            Bytes::new()
        }
    };
    let read = shared.store.read(range, &mut |index, clue, payload| {
        if clue.is_empty() {
            shared.damage.lost(index);
        }
        out.push(v1::Message {
            clue: take(part != v1::Part::Payloads, clue),
            payload: take(part != v1::Part::Clues, payload),
        });
        ControlFlow::Continue(())
    });
    read.map_err(|error| {
        shared.damage.note(&error);
        refuse::store(&error)
    })?;
    Ok(out)
}

fn part(number: i32) -> Result<v1::Part, Status> {
    v1::Part::try_from(number).map_err(|_| refuse::invalid("part", "0, 1 or 2", number))
}

/// Sends the messages of a range in several responses. Returns `false` if the client has left or an error was sent.
async fn send<T>(
    shared: &Arc<Shared>,
    range: Range<u64>,
    part: v1::Part,
    to: &mpsc::Sender<Result<T, Status>>,
    answer: impl Fn(u64, Vec<v1::Message>) -> T,
) -> bool {
    let mut start = range.start;
    let history = shared.store.history().id;
    while start < range.end {
        let piece = start..range.end.min(start + TOGETHER);
        start = piece.end;
        let (shared, first) = (shared.clone(), piece.start);
        let read = blocking(move || {
            let read = messages(&shared, piece, part)?;
            if shared.store.history().id != history {
                return Err(Status::aborted(WITHDRAWN));
            }
            Ok(read)
        })
        .await;
        let failed = read.is_err();
        let answer = read.map(|messages| answer(first, messages));
        if to.send(answer).await.is_err() || failed {
            return false;
        }
    }
    true
}

#[tonic::async_trait]
impl BoardService for Board {
    async fn get_board(
        &self,
        request: Request<v1::GetBoardRequest>,
    ) -> Result<Response<v1::GetBoardResponse>, Status> {
        let answer = async {
            let lengths = request.into_inner().lengths;
            if lengths.len() > LOG_HASHES {
                let expected = format_args!("at most {LOG_HASHES}");
                return Err(refuse::invalid("lengths", expected, lengths.len()));
            }
            let shared = self.0.clone();
            blocking(move || {
                let board = Some(super::capability::board(&shared)?);
                let mut log_hashes = Vec::new();
                for length in lengths {
                    log_hashes.push(super::hash_bytes(shared.log_hash(length)?));
                }
                Ok(Response::new(v1::GetBoardResponse { board, log_hashes }))
            })
            .await
        };
        self.0.observe("GetBoard", answer).await
    }

    async fn post_messages(
        &self,
        request: Request<PostMessagesRequest>,
    ) -> Result<Response<PostMessagesResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Post)?;
            Ok(Response::new(
                self.post(&caller, request.into_inner()).await?,
            ))
        };
        self.0.observe("PostMessages", answer).await
    }

    async fn feed_blocks(
        &self,
        request: Request<Streaming<v1::FeedBlocksRequest>>,
    ) -> Result<Response<v1::FeedBlocksResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Feed)?;
            let _room = self.0.stream(&caller)?;
            if self.0.config.board.ledger.is_none() {
                let text = "expected a board of a ledger, found one that takes posts";
                return Err(Status::failed_precondition(text));
            }
            let blocks = feeding::received(&self.0, request.into_inner()).await?;
            let shared = self.0.clone();
            let fed = blocking(move || feeding::feed(&shared, blocks)).await?;
            Ok(Response::new(fed))
        };
        self.0.observe("FeedBlocks", answer).await
    }

    async fn get_blocks(
        &self,
        request: Request<v1::GetBlocksRequest>,
    ) -> Result<Response<v1::GetBlocksResponse>, Status> {
        let answer = async {
            let v1::GetBlocksRequest { start, end } = request.into_inner();
            let shared = self.0.clone();
            blocking(move || {
                let store = &shared.store;
                let found = match end {
                    0 => store.tip().map(|tip| tip.into_iter().collect()),
                    end => store.blocks(start..end.min(start.saturating_add(BLOCKS))),
                };
                let blocks = found.map_err(|error| refuse::store(&error))?;
                let mut ids = 0;
                let has_room = |block: &omr_store::Placed| {
                    let is_first = ids == 0;
                    ids += block.ids.len();
                    is_first || ids <= IDS
                };
                let placed = |block: omr_store::Placed| v1::PlacedBlock {
                    height: block.height,
                    hash: block.hash.to_vec().into(),
                    start: block.range.start,
                    end: block.range.end,
                    ids: block.ids.iter().map(|id| id.to_vec().into()).collect(),
                };
                let blocks = blocks
                    .into_iter()
                    .take_while(has_room)
                    .map(placed)
                    .collect();
                Ok(Response::new(v1::GetBlocksResponse { blocks }))
            })
            .await
        };
        self.0.observe("GetBlocks", answer).await
    }

    type StreamPostsStream = Answers<v1::StreamPostsResponse>;

    async fn stream_posts(
        &self,
        request: Request<Streaming<v1::StreamPostsRequest>>,
    ) -> Result<Response<Self::StreamPostsStream>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Post)?;
            let room = self.0.stream(&caller)?;
            let (to, answers) = mpsc::channel(READY);
            let (board, mut posts) = (Self(self.0.clone()), request.into_inner());
            tokio::spawn(async move {
                let _room = room;
                loop {
                    let answer = match board.0.next(&mut posts).await {
                        Ok(None) => return,
                        Ok(Some(request)) => board.streamed(&caller, request).await,
                        Err(status) => Err(status),
                    };
                    let failed = answer.is_err();
                    if to.send(answer).await.is_err() || failed {
                        return;
                    }
                }
            });
            Ok(Response::new(
                Box::pin(ReceiverStream::new(answers)) as Self::StreamPostsStream
            ))
        };
        self.0.observe("StreamPosts", answer).await
    }

    type ReadMessagesStream = Answers<v1::ReadMessagesResponse>;

    async fn read_messages(
        &self,
        request: Request<v1::ReadMessagesRequest>,
    ) -> Result<Response<Self::ReadMessagesStream>, Status> {
        let answer = async {
            // The board is public. A token still matters: its owner's streams count for the token.
            let room = self.0.stream(&self.0.callers.of(&request)?)?;
            let request = request.into_inner();
            let (part, len) = (part(request.part)?, self.0.store.len());
            let range = request.start..request.end;
            if range.start > range.end || range.end > len {
                let text = format!(
                    "expected a range in 0..{len}, found {}..{}",
                    range.start, range.end
                );
                return Err(Status::out_of_range(text));
            }
            if !range.is_empty() {
                refuse::expired(&self.0.store, range.start)?;
            }
            let (to, answers) = mpsc::channel(READY);
            let shared = self.0.clone();
            tokio::spawn(async move {
                let _room = room;
                let answer = |first_index, messages| v1::ReadMessagesResponse {
                    first_index,
                    messages,
                };
                send(&shared, range, part, &to, answer).await;
            });
            Ok(Response::new(
                Box::pin(ReceiverStream::new(answers)) as Self::ReadMessagesStream
            ))
        };
        self.0.observe("ReadMessages", answer).await
    }

    type SubscribeStream = Answers<v1::SubscribeResponse>;

    async fn subscribe(
        &self,
        request: Request<v1::SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let answer = async {
            // The board is public. A token still matters: its owner's streams count for the token.
            let room = self.0.stream(&self.0.callers.of(&request)?)?;
            let request = request.into_inner();
            let (part, len) = (part(request.part)?, self.0.store.len());
            if request.start > len {
                let text = format!("start: expected at most {len}, found {}", request.start);
                return Err(Status::out_of_range(text));
            }
            refuse::expired(&self.0.store, request.start)?;
            let (to, answers) = mpsc::channel(READY);
            let shared = self.0.clone();
            tokio::spawn(async move {
                let _room = room;
                let _counted = shared.metrics.subscriber();
                follow(&shared, request.start, part, &to).await;
            });
            Ok(Response::new(
                Box::pin(ReceiverStream::new(answers)) as Self::SubscribeStream
            ))
        };
        self.0.observe("Subscribe", answer).await
    }
}

impl Board {
    async fn streamed(
        &self,
        caller: &Caller,
        request: v1::StreamPostsRequest,
    ) -> Result<v1::StreamPostsResponse, Status> {
        let Some(post) = request.post else {
            return Err(refuse::invalid("post", "a post", "none"));
        };
        let post_id = post.post_id.clone();
        let posted = Some(self.post(caller, post).await?);
        Ok(v1::StreamPostsResponse { post_id, posted })
    }
}

/// Sends messages as they are posted, until the client leaves or the server stops.
async fn follow(
    shared: &Arc<Shared>,
    start: u64,
    part: v1::Part,
    to: &mpsc::Sender<Result<v1::SubscribeResponse, Status>>,
) {
    let (mut lengths, mut stopping) = (shared.store.lengths(), shared.stopping.clone());
    let history = shared.store.history().id;
    let mut next = start;
    loop {
        let len = *lengths.borrow_and_update();
        if shared.store.history().id != history {
            let _ = to.send(Err(Status::aborted(WITHDRAWN))).await;
            return;
        }
        let answer = |first_index, messages| v1::SubscribeResponse {
            first_index,
            messages,
        };
        if next < len && !send(shared, next..len, part, to, answer).await {
            return;
        }
        next = next.max(len);
        tokio::select! {
            () = to.closed() => return,
            changed = lengths.changed() => if changed.is_err() { return },
            _ = stopping.changed() => {
                let _ = to.send(Err(Status::unavailable("the server stops"))).await;
                return;
            }
        }
    }
}
