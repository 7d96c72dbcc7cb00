//! A server in memory that fails on command.
#![allow(dead_code, reason = "each test file uses its own part")]

mod addresses;
mod detection;
mod keys;

use bytes::Bytes;
use futures::stream::BoxStream;
use omr_remote::v1::address_service_server::AddressServiceServer;
use omr_remote::v1::board_service_server::{BoardService, BoardServiceServer};
use omr_remote::v1::capability_service_server::{CapabilityService, CapabilityServiceServer};
use omr_remote::v1::detection_service_server::DetectionServiceServer;
use omr_remote::v1::key_service_server::KeyServiceServer;
use omr_remote::v1::*;
use omr_remote::{Client, Endpoint, Retry};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, Response, Status, Streaming};

/// How a call fails.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Before anything is done.
    Refuse(Code),
    /// Fails before anything is done, and asks for a pause of this number of milliseconds.
    Busy(u64),
    /// Done, but the answer is lost.
    LoseAnswer,
    /// A stream breaks after this number of messages.
    BreakAfter(usize),
    /// A stream breaks after this number of messages, and is silent for this time before.
    SilentAfter(usize, Duration),
}

/// A function that makes a digest of messages.
pub(crate) type Maker = dyn Fn(&CreateJobRequest, &[Message]) -> Vec<u8> + Send + Sync;

impl State {
    /// The places of the blocks.
    fn placed(&self) -> Vec<PlacedBlock> {
        let mut end = 0;
        let place = |block: &LedgerBlock| {
            let start = end;
            end += block.messages.len() as u64;
            PlacedBlock {
                height: block.height,
                hash: block.hash.clone(),
                start,
                end,
                ids: block
                    .messages
                    .iter()
                    .map(|message| message.id.clone())
                    .collect(),
            }
        };
        self.blocks.iter().map(place).collect()
    }

    /// The running hash of the log at a length; empty beyond the board and before its first message.
    pub(crate) fn log_hash(&self, length: u64) -> Bytes {
        if length < self.board.first_index || length > self.messages.len() as u64 {
            return Bytes::new();
        }
        let mut hash = [0; 32];
        for message in &self.messages[..length as usize] {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&hash);
            hasher.update(&message.clue).update(&message.payload);
            hash = *hasher.finalize().as_bytes();
        }
        hash.to_vec().into()
    }
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) board: Board,
    /// Backups that were restored.
    pub(crate) restores: u8,
    pub(crate) messages: Vec<Message>,
    pub(crate) posts: BTreeMap<Vec<u8>, (PostMessagesResponse, Vec<Message>)>,
    /// Takes every clue once, as boards of bound clues do their keys.
    pub(crate) once: bool,
    pub(crate) post_requests: Vec<PostMessagesRequest>,
    pub(crate) uploads: BTreeMap<Vec<u8>, (Vec<u8>, u64)>,
    pub(crate) chunk_bytes_seen: u64,
    pub(crate) registered: BTreeSet<Vec<u8>>,
    pub(crate) jobs: BTreeMap<Vec<u8>, CreateJobRequest>,
    pub(crate) digests: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) sessions: BTreeMap<Vec<u8>, detection::Stream>,
    pub(crate) orders: BTreeMap<Vec<u8>, CreateOrderRequest>,
    /// Messages of the batches of orders.
    pub(crate) batch: u64,
    /// Messages of a page of two rounds.
    pub(crate) page: u64,
    pub(crate) limits: Limits,
    pub(crate) work_bits: u32,
    pub(crate) tokens: Vec<Option<String>>,
    /// Calls with what they said, random ids aside.
    pub(crate) log: Vec<String>,
    pub(crate) faults: VecDeque<(&'static str, Fault)>,
    /// The call of this number and all later ones fail for good, with or without their effect.
    pub(crate) dies_at: Option<(usize, bool)>,
    /// The board begins here once somebody asks for the limits.
    pub(crate) expires_at_limits: Option<u64>,
    /// Addresses that were published, by their fingerprints.
    pub(crate) addresses: BTreeMap<Vec<u8>, Address>,
    /// The next digest that is made is damaged.
    pub(crate) spoils: bool,
    /// The blocks of a ledger, lowest first.
    pub(crate) blocks: Vec<LedgerBlock>,
    calls: usize,
}

/// A server, shared with its test.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) state: Arc<Mutex<State>>,
    maker: Arc<Maker>,
    pub(crate) address: SocketAddr,
}

type Boxed<T> = BoxStream<'static, Result<T, Status>>;

/// The planned result of a call.
pub(crate) struct Fate {
    lost: Option<Status>,
    breaks: Option<usize>,
    /// Before it breaks.
    silence: Duration,
}

impl Fate {
    fn answer<T>(self, answer: T) -> Result<Response<T>, Status> {
        match self.lost {
            Some(status) => Err(status),
            None => Ok(Response::new(answer)),
        }
    }

    fn stream<T: Send + 'static>(self, items: Vec<T>) -> Result<Response<Boxed<T>>, Status> {
        let breaks = self.breaks.unwrap_or(usize::MAX);
        let broken = breaks < items.len();
        let items: Vec<Result<T, Status>> = items.into_iter().take(breaks).map(Ok).collect();
        let silence = self.silence;
        let end = futures::stream::iter(broken.then_some(())).then(move |()| async move {
            tokio::time::sleep(silence).await;
            Err(Status::unavailable("broken"))
        });
        self.answer(Box::pin(futures::stream::iter(items).chain(end)))
    }
}

impl Fake {
    pub(crate) async fn start(board: Board, maker: Arc<Maker>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = State {
            board,
            limits: Limits {
                post_messages: 3,
                chunk_bytes: 1000,
                digest_messages: 1 << 20,
                ..Limits::default()
            },
            ..State::default()
        };
        let fake = Self {
            state: Arc::new(Mutex::new(state)),
            maker,
            address: listener.local_addr().unwrap(),
        };
        let router = tonic::transport::Server::builder()
            .add_service(BoardServiceServer::new(fake.clone()))
            .add_service(CapabilityServiceServer::new(fake.clone()))
            .add_service(KeyServiceServer::new(fake.clone()))
            .add_service(AddressServiceServer::new(fake.clone()))
            .add_service(DetectionServiceServer::new(fake.clone()));
        tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
        fake
    }

    /// A board of short messages, without detection.
    pub(crate) async fn plain() -> Self {
        let board = Board {
            board_id: vec![7; 16].into(),
            ..Board::default()
        };
        Self::start(
            board,
            Arc::new(|_, _| (0..5000u32).map(|i| i as u8).collect()),
        )
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn client(&self) -> Client {
        client(&self.url(), None)
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap())
    }

    pub(crate) fn fail(&self, call: &'static str, fault: Fault) {
        self.with(|state| state.faults.push_back((call, fault)));
    }

    /// How often a call was made.
    pub(crate) fn count(&self, call: &str) -> usize {
        self.with(|state| {
            state
                .log
                .iter()
                .filter(|line| line.starts_with(call))
                .count()
        })
    }

    /// Notes a call and decides its fate.
    fn enter(&self, call: &'static str, what: impl std::fmt::Display) -> Result<Fate, Status> {
        self.with(|state| {
            state.log.push(format!("{call} {what}"));
            state.calls += 1;
            let mut fate = Fate {
                lost: None,
                breaks: None,
                silence: Duration::ZERO,
            };
            if let Some((at, effect)) = state.dies_at
                && state.calls > at
            {
                let dead = Status::failed_precondition("dead");
                if !effect || state.calls > at + 1 {
                    return Err(dead);
                }
                fate.lost = Some(dead);
                return Ok(fate);
            }
            let Some(at) = state.faults.iter().position(|(name, _)| *name == call) else {
                return Ok(fate);
            };
            match state.faults.remove(at).unwrap().1 {
                Fault::Refuse(code) => return Err(Status::new(code, "told to")),
                Fault::Busy(ms) => {
                    let mut status = Status::resource_exhausted("busy");
                    let pause = ms.to_string().parse().unwrap();
                    status.metadata_mut().insert("retry-after-ms", pause);
                    return Err(status);
                }
                Fault::LoseAnswer => fate.lost = Some(Status::unavailable("lost")),
                Fault::BreakAfter(messages) => fate.breaks = Some(messages),
                Fault::SilentAfter(messages, silence) => {
                    (fate.breaks, fate.silence) = (Some(messages), silence);
                }
            }
            Ok(fate)
        })
    }

    /// Posts, or refuses as the server does.
    pub(crate) fn make_post(
        &self,
        post: PostMessagesRequest,
    ) -> Result<PostMessagesResponse, Status> {
        let refused = |known_id, used_keys| {
            let refusal = PostRefusal {
                known_id,
                used_keys,
            };
            omr_remote::with_post_refusal(Status::already_exists("refused"), &refusal)
        };
        self.with(|state| {
            state.post_requests.push(post.clone());
            match state.posts.get(&post.post_id[..]) {
                Some((answer, messages)) if *messages == post.messages => return Ok(*answer),
                Some(_) => return Err(refused(true, Vec::new())),
                None => {}
            }
            let used = |(position, message): (usize, &Message)| {
                let mut known = state.messages.iter();
                let index = known.position(|known| known.clue == message.clue)? as u64;
                let position = position as u32;
                Some(UsedKey { position, index })
            };
            let used: Vec<UsedKey> = post.messages.iter().enumerate().filter_map(used).collect();
            if state.once && !used.is_empty() {
                return Err(refused(false, used));
            }
            let answer = PostMessagesResponse {
                first_index: state.messages.len() as u64,
                count: post.messages.len() as u32,
            };
            state.messages.extend(post.messages.iter().cloned());
            let known = (answer, post.messages);
            state.posts.insert(post.post_id.to_vec(), known);
            Ok(answer)
        })
    }

    /// Appends blocks, after those at their heights and above are removed.
    fn append(&self, blocks: Vec<LedgerBlock>) -> Result<FeedBlocksResponse, Status> {
        self.with(|state| {
            let mut answer = FeedBlocksResponse::default();
            for block in blocks {
                if state.blocks.contains(&block) {
                    continue;
                }
                let kept = state
                    .blocks
                    .partition_point(|known| known.height < block.height);
                let fits = |last: &LedgerBlock| {
                    (last.height + 1, &last.hash) == (block.height, &block.parent)
                };
                if !state.blocks[..kept].last().is_none_or(fits) {
                    return Err(Status::failed_precondition("another branch"));
                }
                if kept < state.blocks.len() {
                    answer.withdrawn_end = state.messages.len() as u64;
                    state.blocks.truncate(kept);
                    answer.withdrawn_start = state.placed().last().map_or(0, |last| last.end);
                    state.messages.truncate(answer.withdrawn_start as usize);
                }
                let messages = block.messages.iter();
                let contents = messages.map(|message| message.message.clone().unwrap());
                state.messages.extend(contents);
                answer.appended += 1;
                state.blocks.push(block);
            }
            answer.tip = state.blocks.last().map_or(0, |block| block.height);
            Ok(answer)
        })
    }

    fn messages(&self, range: Range<u64>) -> Vec<(u64, Vec<Message>)> {
        self.with(|state| {
            let of = |index: u64| (index, vec![state.messages[index as usize].clone()]);
            range.map(of).collect()
        })
    }
}

/// A client that does not wait long.
pub(crate) fn client(url: &str, token: Option<&str>) -> Client {
    let endpoint = Endpoint {
        token: token.map(str::to_owned),
        retry: Retry {
            first: Duration::from_millis(1),
            most: Duration::from_millis(20),
            total: Duration::from_secs(20),
        },
        ..Endpoint::new(url)
    };
    Client::connect(&endpoint).unwrap()
}

#[tonic::async_trait]
impl CapabilityService for Fake {
    async fn get_capabilities(
        &self,
        request: Request<GetCapabilitiesRequest>,
    ) -> Result<Response<GetCapabilitiesResponse>, Status> {
        let token = request.metadata().get("authorization");
        let token = token.map(|token| token.to_str().unwrap().to_owned());
        let fate = self.enter("GetCapabilities", "")?;
        fate.answer(self.with(|state| {
            state.tokens.push(token);
            if let Some(first) = state.expires_at_limits.take() {
                state.board.first_index = first;
            }
            GetCapabilitiesResponse {
                board: Some(state.board.clone()),
                limits: Some(state.limits),
                posting_work_bits: state.work_bits,
                rights: Some(Rights {
                    post: true,
                    detect: true,
                    admin: false,
                    work: false,
                    feed: true,
                }),
                ..GetCapabilitiesResponse::default()
            }
        }))
    }
}

#[tonic::async_trait]
impl BoardService for Fake {
    async fn get_board(
        &self,
        request: Request<GetBoardRequest>,
    ) -> Result<Response<GetBoardResponse>, Status> {
        let lengths = request.into_inner().lengths;
        let fate = self.enter("GetBoard", format!("{lengths:?}"))?;
        let (board, log_hashes) = self.with(|state| {
            let messages = state.messages.len() as u64;
            let board = Board {
                messages,
                log_hash: state.log_hash(messages),
                history_id: vec![state.restores; 16].into(),
                ..state.board.clone()
            };
            let hashes = lengths.iter().map(|length| state.log_hash(*length));
            (board, hashes.collect())
        });
        fate.answer(GetBoardResponse {
            board: Some(board),
            log_hashes,
        })
    }

    async fn post_messages(
        &self,
        request: Request<PostMessagesRequest>,
    ) -> Result<Response<PostMessagesResponse>, Status> {
        let post = request.into_inner();
        let fate = self.enter("PostMessages", post.messages.len())?;
        fate.answer(self.make_post(post)?)
    }

    type StreamPostsStream = Boxed<StreamPostsResponse>;

    async fn stream_posts(
        &self,
        request: Request<Streaming<StreamPostsRequest>>,
    ) -> Result<Response<Self::StreamPostsStream>, Status> {
        let fate = self.enter("StreamPosts", "")?;
        let (fake, breaks) = (self.clone(), fate.breaks.unwrap_or(usize::MAX));
        let mut answered = 0;
        let answers = request.into_inner().map(move |post| {
            let post = post?.post.unwrap();
            let post_id = post.post_id.clone();
            // Made all the same: the answer is what gets lost.
            let posted = Some(fake.make_post(post)?);
            answered += 1;
            if answered > breaks {
                Err(Status::unavailable("broken"))
            } else {
                Ok(StreamPostsResponse { post_id, posted })
            }
        });
        fate.answer(Box::pin(answers))
    }

    type ReadMessagesStream = Boxed<ReadMessagesResponse>;

    async fn read_messages(
        &self,
        request: Request<ReadMessagesRequest>,
    ) -> Result<Response<Self::ReadMessagesStream>, Status> {
        let read = request.into_inner();
        let fate = self.enter("ReadMessages", format!("{}..{}", read.start, read.end))?;
        let answer = |(first_index, messages)| ReadMessagesResponse {
            first_index,
            messages,
        };
        let pieces = self.messages(read.start..read.end);
        fate.stream(pieces.into_iter().map(answer).collect())
    }

    async fn feed_blocks(
        &self,
        request: Request<Streaming<FeedBlocksRequest>>,
    ) -> Result<Response<FeedBlocksResponse>, Status> {
        let mut stream = request.into_inner();
        let mut blocks: Vec<LedgerBlock> = Vec::new();
        while let Some(request) = stream.message().await? {
            let block = request.block.unwrap();
            match blocks.last_mut() {
                Some(last) if last.hash == block.hash => last.messages.extend(block.messages),
                _ => blocks.push(block),
            }
        }
        let heights: Vec<u64> = blocks.iter().map(|block| block.height).collect();
        let fate = self.enter("FeedBlocks", format!("{heights:?}"))?;
        fate.answer(self.append(blocks)?)
    }

    async fn get_blocks(
        &self,
        request: Request<GetBlocksRequest>,
    ) -> Result<Response<GetBlocksResponse>, Status> {
        let GetBlocksRequest { start, end } = request.into_inner();
        let fate = self.enter("GetBlocks", format!("{start}..{end}"))?;
        let mut blocks = self.with(|state| state.placed());
        match end {
            0 => drop(blocks.drain(..blocks.len().saturating_sub(1))),
            end => blocks.retain(|block| (start..end).contains(&block.height)),
        }
        fate.answer(GetBlocksResponse { blocks })
    }

    type SubscribeStream = Boxed<SubscribeResponse>;

    async fn subscribe(
        &self,
        request: Request<SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let start = request.into_inner().start;
        let fate = self.enter("Subscribe", start)?;
        let end = self.with(|state| state.messages.len() as u64);
        let answer = |(first_index, messages)| SubscribeResponse {
            first_index,
            messages,
        };
        // Ends where the board does: the client must come back for more.
        fate.stream(self.messages(start..end).into_iter().map(answer).collect())
    }
}
