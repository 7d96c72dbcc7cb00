//! Orders: the server makes a digest of every batch as soon as it is full.

use crate::{Client, RemoteError};
use bytes::Bytes;
use omr_api::v1::{CreateOrderRequest, EndOrderRequest, GetOrderRequest, Order};

impl Client {
    /// Orders a digest of every batch; the same request id gives the same order. [`crate::order_batch_id`] names the job
    /// that is a batch's digest.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn create_order(&self, request: &CreateOrderRequest) -> Result<Order, RemoteError> {
        let create = || async { self.detection().create_order(request.clone()).await };
        let order = self.unary("CreateOrder", create).await?.order;
        order.ok_or_else(|| RemoteError::answer("CreateOrder", "an order", "none"))
    }

    /// An order as it is now.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn order(&self, order_id: &Bytes) -> Result<Order, RemoteError> {
        let get = || async {
            let order_id = order_id.clone();
            self.detection()
                .get_order(GetOrderRequest { order_id })
                .await
        };
        let order = self.unary("GetOrder", get).await?.order;
        order.ok_or_else(|| RemoteError::answer("GetOrder", "an order", "none"))
    }

    /// Ends an order.
    ///
    /// Errors: the server's.
    pub async fn end_order(&self, order_id: &Bytes) -> Result<(), RemoteError> {
        let end = || async {
            let order_id = order_id.clone();
            self.detection()
                .end_order(EndOrderRequest { order_id })
                .await
        };
        self.unary("EndOrder", end).await.map(drop)
    }
}
