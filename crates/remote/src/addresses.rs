//! Calls that publish addresses and look them up.

use crate::{Client, RemoteError};
use omr_api::v1::address_service_client::AddressServiceClient;
use omr_api::v1::{Address, FindAddressRequest, PublishAddressRequest};
use std::time::Duration;

impl Client {
    /// Publishes an address, or keeps it for as long again; gives how long that is.
    ///
    /// Errors: the server's.
    pub async fn publish_address(&self, address: &Address) -> Result<Duration, RemoteError> {
        let answer = self.unary("PublishAddress", || async {
            let address = Some(address.clone());
            let request = PublishAddressRequest { address };
            let mut client = AddressServiceClient::new(self.service.clone());
            client.publish_address(request).await
        });
        Ok(Duration::from_secs(answer.await?.seconds))
    }

    /// Looks up the address of a fingerprint. The server may return any address: the caller checks
    /// that it has this fingerprint.
    ///
    /// Errors: `NotFound` and others of the server; `Answer`.
    pub async fn find_address(&self, fingerprint: &[u8]) -> Result<Address, RemoteError> {
        let call = "FindAddress";
        let answer = self.unary(call, || async {
            let fingerprint = fingerprint.to_vec().into();
            let mut client = AddressServiceClient::new(self.service.clone());
            client
                .find_address(FindAddressRequest { fingerprint })
                .await
        });
        let missing = || RemoteError::answer(call, "an address", "none");
        answer.await?.address.ok_or_else(missing)
    }
}
