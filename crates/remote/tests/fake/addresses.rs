//! Addresses of the fake.

use super::Fake;
use omr_remote::v1::address_service_server::AddressService;
use omr_remote::v1::*;
use tonic::{Request, Response, Status};

#[tonic::async_trait]
impl AddressService for Fake {
    async fn publish_address(
        &self,
        request: Request<PublishAddressRequest>,
    ) -> Result<Response<PublishAddressResponse>, Status> {
        let fate = self.enter("PublishAddress", "")?;
        let address = request.into_inner().address.unwrap();
        let fingerprint = omr_remote::address_fingerprint(&address).unwrap();
        self.with(|state| state.addresses.insert(fingerprint.to_vec(), address));
        fate.answer(PublishAddressResponse { seconds: 90 })
    }

    async fn find_address(
        &self,
        request: Request<FindAddressRequest>,
    ) -> Result<Response<FindAddressResponse>, Status> {
        let has_token = request.metadata().contains_key("authorization");
        let fate = self.enter("FindAddress", format!("token {has_token}"))?;
        let fingerprint = request.into_inner().fingerprint;
        let found = self.with(|state| state.addresses.get(&fingerprint[..]).cloned());
        let address = Some(found.ok_or_else(|| Status::not_found("no such address"))?);
        fate.answer(FindAddressResponse { address })
    }
}
