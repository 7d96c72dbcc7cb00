//! Sessions: the server looks at messages as they come, digests are cut off at any time.

use crate::jobs::{Data, append};
use crate::retry::Patience;
use crate::{Client, RemoteError, client};
use bytes::Bytes;
use omr_api::v1::{
    CloseSessionRequest, CutSessionRequest, CutSessionResponse, GetSessionRequest,
    OpenSessionRequest, Session,
};
use tonic::Status;

const CUT: &str = "CutSession";

/// A digest that was cut off a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The digest.
    pub digest: Vec<u8>,
    /// The running hash of the log at the end of the digest; `None` where the server does not know it.
    pub log_hash: Option<[u8; 32]>,
}

impl Client {
    /// Opens a session; the same request id gives the same one.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn open_session(&self, request: &OpenSessionRequest) -> Result<Session, RemoteError> {
        let open = || async { self.detection().open_session(request.clone()).await };
        let session = self.unary("OpenSession", open).await?.session;
        session.ok_or_else(|| RemoteError::answer("OpenSession", "a session", "none"))
    }

    /// A session as it is now.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn session(&self, session_id: &Bytes) -> Result<Session, RemoteError> {
        let get = || async {
            let session_id = session_id.clone();
            self.detection()
                .get_session(GetSessionRequest { session_id })
                .await
        };
        let session = self.unary("GetSession", get).await?.session;
        session.ok_or_else(|| RemoteError::answer("GetSession", "a session", "none"))
    }

    /// Cuts digest `number` off, or gives the last one again: the number makes repeated calls harmless.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn cut_session(&self, session_id: &Bytes, number: u64) -> Result<Cut, RemoteError> {
        let mut patience = Patience::new(&self.retry, CUT);
        loop {
            let request = CutSessionRequest {
                session_id: session_id.clone(),
                number,
            };
            match self.whole_cut(request).await? {
                Ok(cut) => return Ok(cut),
                Err(status) => patience.pause(&status).await?,
            }
        }
    }

    async fn whole_cut(
        &self,
        request: CutSessionRequest,
    ) -> Result<Result<Cut, Status>, RemoteError> {
        let mut stream = match self.detection().cut_session(request).await {
            Ok(stream) => stream.into_inner(),
            Err(status) => return Ok(Err(status)),
        };
        let (mut digest, mut total, mut log_hash) = (Vec::new(), None, None);
        while total.is_none_or(|total| (digest.len() as u64) < total) {
            match stream.message().await {
                Ok(Some(answer)) => {
                    log_hash = client::log_hash(CUT, &answer.log_hash)?;
                    append(CUT, &mut digest, &mut total, &answer.into())?;
                }
                Ok(None) => return Ok(Err(Status::unavailable("the stream ended early"))),
                Err(status) => return Ok(Err(status)),
            }
        }
        Ok(Ok(Cut { digest, log_hash }))
    }

    /// Ends a session.
    ///
    /// Errors: the server's.
    pub async fn close_session(&self, session_id: &Bytes) -> Result<(), RemoteError> {
        let close = || async {
            let session_id = session_id.clone();
            self.detection()
                .close_session(CloseSessionRequest { session_id })
                .await
        };
        self.unary("CloseSession", close).await.map(drop)
    }
}

impl From<CutSessionResponse> for Data {
    fn from(answer: CutSessionResponse) -> Self {
        Self {
            offset: answer.offset,
            data: answer.data,
            total: answer.total_bytes,
        }
    }
}
