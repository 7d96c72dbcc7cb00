//! Orders in the protocol: requests are checked, and orders are turned into responses.

use super::Detection;
use crate::caller::Caller;
use crate::jobs::{Id, derived};
use crate::orders::OrderRecord;
use crate::refuse::{self, blocking};
use crate::services::hash_bytes;
use crate::tokens::Right;
use omr_api::v1;
use omr_protocol::EngineKind;
use tonic::{Request, Status};

impl Detection {
    /// Returns the response for an order.
    ///
    /// Errors: those of the store.
    pub(super) fn order(&self, id: &Id, next: u64) -> Result<v1::Order, Status> {
        Ok(v1::Order {
            order_id: id.to_vec().into(),
            next,
            batch_messages: self.0.orders.batch(),
            log_hash: hash_bytes(self.0.log_hash(next)?),
        })
    }

    fn order_record(
        &self,
        caller: &Caller,
        request: &v1::CreateOrderRequest,
    ) -> Result<OrderRecord, Status> {
        let keys = refuse::hashes("key_hashes", &request.key_hashes)?;
        let scheme = self.scheme(caller, request.scheme, request.indices_only, &keys)?;
        if !scheme.engines().contains(&EngineKind::Sophomr) {
            let expected = "one that works batch by batch";
            return Err(refuse::invalid("scheme", expected, scheme));
        }
        self.check_bound(scheme, request.bound)?;
        let (batch, most) = (self.0.orders.batch(), self.0.config.limits.digest_messages);
        if batch > most {
            let text = format!("a batch has {batch} messages, a digest here at most {most}");
            return Err(Status::failed_precondition(text));
        }
        Ok(OrderRecord {
            account: caller.account.clone(),
            request_id: refuse::id("request_id", &request.request_id)?,
            keys,
            next: request.start,
            bound: request.bound,
            indices_only: request.indices_only || scheme.is_for_indices(),
            scheme: scheme.tag(),
        })
    }

    pub(super) async fn take_order(
        &self,
        request: Request<v1::CreateOrderRequest>,
    ) -> Result<v1::Order, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let record = self.order_record(&caller, &request.into_inner())?;
        let id = derived(&caller.account, &record.request_id);
        let shared = self.0.clone();
        let next = blocking(move || {
            let each = shared.config.limits.orders;
            let next = shared.orders.create(id, record, &caller, each)?;
            shared.orders.feed(&shared.jobs);
            Ok(next)
        });
        self.order(&id, next.await?)
    }

    pub(super) async fn drop_order(
        &self,
        request: Request<v1::EndOrderRequest>,
    ) -> Result<(), Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let id = refuse::id("order_id", &request.get_ref().order_id)?;
        let shared = self.0.clone();
        blocking(move || shared.orders.end(&caller.account, &id)).await
    }
}
