//! The methods about addresses that the server stores.

use crate::records::Id;
use crate::refuse::{self, blocking};
use crate::shared::Shared;
use crate::tokens::Right;
use omr_api::v1::address_service_server::AddressService;
use omr_api::{address_fingerprint, v1};
use omr_protocol::periods::PeriodKeys;
use omr_protocol::{ClueKey, Sealing};
use prost::Message;
use std::sync::Arc;
use tonic::{Request, Response, Status};

/// The greatest length of a URL, in bytes.
const SERVER_BYTES: usize = 256;

pub(crate) struct Addresses(pub(crate) Arc<Shared>);

impl Addresses {
    /// Checks that an address is one of the board's set, and returns its fingerprint.
    ///
    /// Errors: INVALID_ARGUMENT with the wrong field.
    fn fingerprint(&self, address: &v1::Address) -> Result<Id, Status> {
        let found = address.server.len();
        if !(1..=SERVER_BYTES).contains(&found) {
            let expected = format_args!("1 to {SERVER_BYTES} bytes");
            return Err(refuse::invalid("server", expected, found));
        }
        let sealing = u8::try_from(address.sealing).ok();
        if sealing
            .and_then(|tag| Sealing::try_from(tag).ok())
            .is_none()
        {
            return Err(refuse::invalid("sealing", "0, 1 or 2", address.sealing));
        }
        for (what, number) in [("bound", address.bound), ("parts", address.parts)] {
            if number == 0 {
                return Err(refuse::invalid(what, "at least 1", number));
            }
        }
        ClueKey::from_bytes(self.0.set.clue(), &address.clue_key)
            .map_err(|error| Status::invalid_argument(format!("clue_key: {error}")))?;
        address_fingerprint(address).ok_or_else(|| {
            let found = address.verifying_key.len();
            refuse::invalid("verifying_key", "0 or 32 bytes", found)
        })
    }
}

/// Returns the first period after those whose keys an address contains; 0 if it contains none.
///
/// Errors: INVALID_ARGUMENT unless the owner of the address signed the keys.
fn periods_end(address: &v1::Address) -> Result<u32, Status> {
    let keys = &address.period_keys;
    if keys.is_empty() {
        return Ok(0);
    }
    let signer = address.verifying_key.as_ref().try_into();
    let signer = signer.map_err(|_| {
        let found = address.verifying_key.len();
        refuse::invalid("verifying_key", "32 bytes with period_keys", found)
    })?;
    let keys = PeriodKeys::from_bytes(keys, signer);
    let keys = keys.map_err(|error| Status::invalid_argument(format!("period_keys: {error}")))?;
    Ok(keys.end())
}

#[tonic::async_trait]
impl AddressService for Addresses {
    async fn publish_address(
        &self,
        request: Request<v1::PublishAddressRequest>,
    ) -> Result<Response<v1::PublishAddressResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let Some(address) = request.into_inner().address else {
                return Err(refuse::invalid("address", "one", "none"));
            };
            self.0.callers.take(&caller, 1)?;
            let fingerprint = self.fingerprint(&address)?;
            let periods_end = periods_end(&address)?;
            let shared = self.0.clone();
            blocking(move || {
                let bytes = address.encode_to_vec();
                shared
                    .addresses
                    .publish(&caller, fingerprint, bytes, periods_end)
            })
            .await?;
            let days = self.0.config.limits.address_days;
            Ok(Response::new(v1::PublishAddressResponse {
                seconds: days.saturating_mul(24 * 3600),
            }))
        };
        self.0.observe("PublishAddress", answer).await
    }

    async fn find_address(
        &self,
        request: Request<v1::FindAddressRequest>,
    ) -> Result<Response<v1::FindAddressResponse>, Status> {
        let answer = async {
            // Anybody may ask, as often as they may post.
            let caller = self.0.callers.of(&request)?;
            let fingerprint = refuse::id("fingerprint", &request.get_ref().fingerprint)?;
            self.0.callers.take(&caller, 1)?;
            let shared = self.0.clone();
            let bytes = blocking(move || shared.addresses.find(&fingerprint)).await?;
            let address = v1::Address::decode(&bytes[..]).map_err(|error| {
                tracing::error!(%error, "a published address is damaged");
                Status::data_loss("the address is damaged: publish it again")
            })?;
            Ok(Response::new(v1::FindAddressResponse {
                address: Some(address),
            }))
        };
        self.0.observe("FindAddress", answer).await
    }
}
