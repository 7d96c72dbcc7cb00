//! The connection to a server, and the calls that describe it.

use crate::endpoint::Bearer;
use crate::retry::{Patience, Policy};
use crate::{Endpoint, RemoteError};
use omr_api::MESSAGE_BYTES;
use omr_api::v1::board_service_client::BoardServiceClient;
use omr_api::v1::capability_service_client::CapabilityServiceClient;
use omr_api::v1::detection_service_client::DetectionServiceClient;
use omr_api::v1::key_service_client::KeyServiceClient;
use omr_api::v1::pdq_service_client::PdqServiceClient;
use omr_api::v1::{
    Board, GetBoardRequest, GetCapabilitiesRequest, GetCapabilitiesResponse, Limits,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Response, Status};

pub(crate) type Service = InterceptedService<Channel, Bearer>;

/// A connection to a server; clones share it.
#[derive(Clone)]
pub struct Client {
    pub(crate) service: Service,
    pub(crate) retry: Policy,
    timeout: Duration,
    pub(crate) has_token: bool,
    known: Arc<OnceCell<GetCapabilitiesResponse>>,
}

/// A running hash of a log, as an answer contains it; `None` where it is empty: the server does not know it.
///
/// Errors: `Answer` for another length than 32 bytes.
pub fn log_hash(call: &'static str, bytes: &[u8]) -> Result<Option<[u8; 32]>, RemoteError> {
    match (bytes, <[u8; 32]>::try_from(bytes)) {
        ([], _) => Ok(None),
        (_, Ok(hash)) => Ok(Some(hash)),
        (_, Err(_)) => {
            let expected = "a running hash of 32 bytes";
            let found = format!("{} bytes", bytes.len());
            Err(RemoteError::answer(call, expected, found))
        }
    }
}

impl Client {
    /// Checks the settings; connects with the first call and again whenever the connection broke.
    ///
    /// Errors: `Url`, `Plaintext`, `Token`, `Setup`.
    /// Panics: outside a Tokio runtime.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, RemoteError> {
        let service = InterceptedService::new(endpoint.channel()?, endpoint.bearer()?);
        Ok(Self {
            service,
            retry: Policy::new(endpoint),
            timeout: endpoint.timeouts.call,
            has_token: endpoint.token.is_some(),
            known: Arc::default(),
        })
    }

    /// Asks the server for its capabilities.
    ///
    /// Errors: the server's; `Answer` without a board or limits.
    pub async fn capabilities(&self) -> Result<GetCapabilitiesResponse, RemoteError> {
        let call = "GetCapabilities";
        let answer = self
            .unary(call, || async {
                let mut client = CapabilityServiceClient::new(self.service.clone());
                client.get_capabilities(GetCapabilitiesRequest {}).await
            })
            .await?;
        match (&answer.board, &answer.limits) {
            (Some(_), Some(_)) => Ok(answer),
            _ => Err(RemoteError::answer(call, "a board and limits", "none")),
        }
    }

    /// The first [`Self::capabilities`] of this client.
    pub(crate) async fn known(&self) -> Result<&GetCapabilitiesResponse, RemoteError> {
        self.known.get_or_try_init(|| self.capabilities()).await
    }

    /// The server's limits, asked for once.
    ///
    /// Errors: those of [`Self::capabilities`].
    pub async fn limits(&self) -> Result<Limits, RemoteError> {
        Ok(self.known().await?.limits.unwrap_or_default())
    }

    /// The board, as long as it is now.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn board(&self) -> Result<Board, RemoteError> {
        let (board, _) = self.board_and_hashes(&[]).await?;
        Ok(board)
    }

    /// The board, as long as it is now, and the running hash of its log at each of the given lengths, 64 at most; `None`
    /// where the server does not know it.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn board_and_hashes(
        &self,
        lengths: &[u64],
    ) -> Result<(Board, Vec<Option<[u8; 32]>>), RemoteError> {
        let call = "GetBoard";
        let answer = self
            .unary(call, || async {
                let lengths = lengths.to_vec();
                self.boards().get_board(GetBoardRequest { lengths }).await
            })
            .await?;
        let missing = || RemoteError::answer(call, "a board", "none");
        let board = answer.board.ok_or_else(missing)?;
        if answer.log_hashes.len() != lengths.len() {
            let expected = format!("{} running hashes", lengths.len());
            return Err(RemoteError::answer(
                call,
                expected,
                answer.log_hashes.len().to_string(),
            ));
        }
        let hashes = answer.log_hashes.iter().map(|hash| log_hash(call, hash));
        Ok((board, hashes.collect::<Result<_, _>>()?))
    }

    pub(crate) fn boards(&self) -> BoardServiceClient<Service> {
        BoardServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn keys(&self) -> KeyServiceClient<Service> {
        KeyServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn detection(&self) -> DetectionServiceClient<Service> {
        DetectionServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn pdq(&self) -> PdqServiceClient<Service> {
        PdqServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES)
    }

    /// A call with one answer, made again as long as that may help.
    pub(crate) async fn unary<T, F>(
        &self,
        call: &'static str,
        attempt: impl Fn() -> F,
    ) -> Result<T, RemoteError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let mut patience = Patience::new(&self.retry, call);
        loop {
            match tokio::time::timeout(self.timeout, attempt()).await {
                Ok(Ok(response)) => {
                    self.retry.note_success();
                    return Ok(response.into_inner());
                }
                Ok(Err(status)) => patience.pause(&status).await?,
                Err(_) => {
                    let late = Status::deadline_exceeded("no answer in time");
                    patience.pause(&late).await?;
                }
            }
        }
    }
}
