//! The methods for digests: jobs, sessions and orders.

mod jobs;
mod orders;
mod sessions;

use super::Answers;
use crate::refuse::{self, blocking};
use crate::shared::Shared;
use crate::tokens::Right;
use jobs::job;
use omr_api::v1;
use omr_api::v1::detection_service_server::DetectionService;
use omr_protocol::{PlanError, Scheme};
use sessions::session;
use std::sync::Arc;
use tonic::{Request, Response, Status};

pub(crate) struct Detection(pub(crate) Arc<Shared>);

impl Detection {
    /// Checks that the set's engines serve a bound and that the configuration allows it.
    fn check_bound(&self, scheme: Scheme, bound: u32) -> Result<(), Status> {
        let text = |error: PlanError| Status::invalid_argument(format!("bound: {error}"));
        self.0
            .set
            .spec()
            .check_bound(scheme, bound as usize)
            .map_err(text)?;
        let most = self.0.config.limits.bound;
        if bound <= most {
            Ok(())
        } else {
            Err(refuse::invalid("bound", format_args!("1 to {most}"), bound))
        }
    }
}

#[tonic::async_trait]
impl DetectionService for Detection {
    async fn create_job(
        &self,
        request: Request<v1::CreateJobRequest>,
    ) -> Result<Response<v1::CreateJobResponse>, Status> {
        let answer = async {
            let job = Some(self.create(request).await?);
            Ok(Response::new(v1::CreateJobResponse { job }))
        };
        self.0.observe("CreateJob", answer).await
    }

    async fn get_job(
        &self,
        request: Request<v1::GetJobRequest>,
    ) -> Result<Response<v1::GetJobResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let id = refuse::id("job_id", &request.get_ref().job_id)?;
            let shared = self.0.clone();
            let (view, ahead) = blocking(move || shared.jobs.find(&caller.account, &id)).await?;
            let job = Some(job(&id, &view.borrow(), ahead));
            Ok(Response::new(v1::GetJobResponse { job }))
        };
        self.0.observe("GetJob", answer).await
    }

    type WatchJobStream = Answers<v1::WatchJobResponse>;

    async fn watch_job(
        &self,
        request: Request<v1::WatchJobRequest>,
    ) -> Result<Response<Self::WatchJobStream>, Status> {
        let answer = async { Ok(Response::new(self.watch(request).await?)) };
        self.0.observe("WatchJob", answer).await
    }

    type FetchDigestStream = Answers<v1::FetchDigestResponse>;

    async fn fetch_digest(
        &self,
        request: Request<v1::FetchDigestRequest>,
    ) -> Result<Response<Self::FetchDigestStream>, Status> {
        let answer = async { Ok(Response::new(self.digest(request).await?)) };
        self.0.observe("FetchDigest", answer).await
    }

    async fn cancel_job(
        &self,
        request: Request<v1::CancelJobRequest>,
    ) -> Result<Response<v1::CancelJobResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let id = refuse::id("job_id", &request.get_ref().job_id)?;
            let shared = self.0.clone();
            blocking(move || shared.jobs.cancel(&caller.account, &id)).await?;
            Ok(Response::new(v1::CancelJobResponse {}))
        };
        self.0.observe("CancelJob", answer).await
    }

    async fn get_seeds(
        &self,
        request: Request<v1::GetSeedsRequest>,
    ) -> Result<Response<v1::GetSeedsResponse>, Status> {
        let answer = async { Ok(Response::new(self.seeds(&request)?)) };
        self.0.observe("GetSeeds", answer).await
    }

    async fn open_session(
        &self,
        request: Request<v1::OpenSessionRequest>,
    ) -> Result<Response<v1::OpenSessionResponse>, Status> {
        let answer = async {
            let session = Some(self.open(request).await?);
            Ok(Response::new(v1::OpenSessionResponse { session }))
        };
        self.0.observe("OpenSession", answer).await
    }

    async fn get_session(
        &self,
        request: Request<v1::GetSessionRequest>,
    ) -> Result<Response<v1::GetSessionResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let id = refuse::id("session_id", &request.get_ref().session_id)?;
            let session = Some(session(&id, self.sessions()?.view(&caller.account, &id)?));
            Ok(Response::new(v1::GetSessionResponse { session }))
        };
        self.0.observe("GetSession", answer).await
    }

    type CutSessionStream = Answers<v1::CutSessionResponse>;

    async fn cut_session(
        &self,
        request: Request<v1::CutSessionRequest>,
    ) -> Result<Response<Self::CutSessionStream>, Status> {
        let answer = async { Ok(Response::new(self.cut(request).await?)) };
        self.0.observe("CutSession", answer).await
    }

    async fn close_session(
        &self,
        request: Request<v1::CloseSessionRequest>,
    ) -> Result<Response<v1::CloseSessionResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let sessions = self.sessions()?.clone();
            let id = refuse::id("session_id", &request.get_ref().session_id)?;
            blocking(move || sessions.close(&caller.account, &id)).await?;
            Ok(Response::new(v1::CloseSessionResponse {}))
        };
        self.0.observe("CloseSession", answer).await
    }

    async fn create_order(
        &self,
        request: Request<v1::CreateOrderRequest>,
    ) -> Result<Response<v1::CreateOrderResponse>, Status> {
        let answer = async {
            let order = Some(self.take_order(request).await?);
            Ok(Response::new(v1::CreateOrderResponse { order }))
        };
        self.0.observe("CreateOrder", answer).await
    }

    async fn get_order(
        &self,
        request: Request<v1::GetOrderRequest>,
    ) -> Result<Response<v1::GetOrderResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let id = refuse::id("order_id", &request.get_ref().order_id)?;
            let shared = self.0.clone();
            let next = blocking(move || shared.orders.next(&caller.account, &id)).await?;
            let order = Some(self.order(&id, next)?);
            Ok(Response::new(v1::GetOrderResponse { order }))
        };
        self.0.observe("GetOrder", answer).await
    }

    async fn end_order(
        &self,
        request: Request<v1::EndOrderRequest>,
    ) -> Result<Response<v1::EndOrderResponse>, Status> {
        let answer = async {
            self.drop_order(request).await?;
            Ok(Response::new(v1::EndOrderResponse {}))
        };
        self.0.observe("EndOrder", answer).await
    }
}
