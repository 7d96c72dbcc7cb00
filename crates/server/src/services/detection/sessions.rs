//! Sessions in the protocol: requests are checked, and sessions are turned into responses.

use super::Detection;
use crate::caller::Caller;
use crate::jobs::{Id, derived};
use crate::refuse::{self, blocking};
use crate::services::{Answers, chunks, hash_bytes};
use crate::sessions::{SessionRecord, Sessions, View};
use crate::tokens::Right;
use omr_api::v1;
use omr_protocol::EngineKind;
use omr_protocol::Scheme;
use std::sync::Arc;
use tonic::{Request, Status};

pub(super) fn session(id: &Id, view: View) -> v1::Session {
    v1::Session {
        session_id: id.to_vec().into(),
        next: view.next,
        cuts: view.cuts,
        error: view.error,
        log_hash: hash_bytes(view.log_hash),
    }
}

impl Detection {
    pub(super) fn sessions(&self) -> Result<&Arc<Sessions>, Status> {
        self.0.sessions.as_ref().ok_or_else(|| {
            let name = self.0.set.name();
            Status::unimplemented(format!(
                "parameter set {name} has no InstantOMR, so no sessions"
            ))
        })
    }

    fn session_record(
        &self,
        caller: &Caller,
        request: &v1::OpenSessionRequest,
    ) -> Result<SessionRecord, Status> {
        let key = refuse::hash("key_hash", &request.key_hash)?;
        let kind = self.0.registrations.kind(&caller.account, &key)?;
        if kind != EngineKind::Instantomr {
            let found = format!("one for {kind}");
            return Err(refuse::invalid("key_hash", "a key for InstantOMR", &found));
        }
        let len = self.0.store.len();
        if request.start > len {
            let text = format!("start: expected at most {len}, found {}", request.start);
            return Err(Status::out_of_range(text));
        }
        refuse::expired(&self.0.store, request.start)?;
        let scheme = Scheme::instantomr(!request.indices_only);
        self.check_bound(scheme, request.bound)?;
        Ok(SessionRecord {
            account: caller.account.clone(),
            key,
            start: request.start,
            bound: request.bound,
            indices_only: request.indices_only,
            room: request.room,
            start_hash: self.0.log_hash(request.start)?,
        })
    }

    pub(super) async fn open(
        &self,
        request: Request<v1::OpenSessionRequest>,
    ) -> Result<v1::Session, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let sessions = self.sessions()?.clone();
        let request = request.into_inner();
        let id = derived(
            &caller.account,
            &refuse::id("request_id", &request.request_id)?,
        );
        let record = self.session_record(&caller, &request)?;
        blocking(move || Ok(session(&id, sessions.create(id, record, &caller)?))).await
    }

    pub(super) async fn cut(
        &self,
        request: Request<v1::CutSessionRequest>,
    ) -> Result<Answers<v1::CutSessionResponse>, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let sessions = self.sessions()?.clone();
        let id = refuse::id("session_id", &request.get_ref().session_id)?;
        let number = request.get_ref().number;
        let cut = blocking(move || sessions.cut(&caller.account, &id, number)).await?;
        let log_hash = hash_bytes(cut.log_hash);
        chunks(cut.digest, 0, move |offset, data, total_bytes| {
            v1::CutSessionResponse {
                offset,
                data,
                total_bytes,
                log_hash: log_hash.clone(),
            }
        })
    }
}
