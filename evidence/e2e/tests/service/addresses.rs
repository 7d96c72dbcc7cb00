//! Published addresses whose keys of periods change.

use crate::world::{Running, config, set};
use omr_api::address_fingerprint;
use omr_api::v1::address_service_client::AddressServiceClient;
use omr_api::v1::{Address, FindAddressRequest, PublishAddressRequest};
use omr_client::periods::PeriodSecrets;
use omr_client::{identity, os_rng};
use omr_protocol::{ClueKind, Sealing};
use tonic::{Code, Status};

#[tokio::test(flavor = "multi_thread")]
async fn the_last_keys_of_periods_that_the_owner_signed_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(config(dir.path())).await;
    let client = AddressServiceClient::new(server.channel().await);
    let (owner, clue) = identity(set().clue(), ClueKind::Bound, &mut os_rng());
    let secrets = PeriodSecrets::generate(3, &mut os_rng());
    let of = |first: u32| Address {
        server: "https://mail.example".into(),
        sealing: 1,
        bound: 10,
        parts: 50,
        clue_key: clue.to_bytes(set().clue()).unwrap().into(),
        verifying_key: owner.verifying_key().to_vec().into(),
        period_keys: secrets
            .keys(&owner, Sealing::HpkeX25519, first, 24)
            .to_bytes()
            .to_vec()
            .into(),
    };
    let publish = async |address: &Address| -> Result<(), Status> {
        let address = Some(address.clone());
        let request = PublishAddressRequest { address };
        client.clone().publish_address(request).await.map(drop)
    };
    let fingerprint = address_fingerprint(&of(3)).unwrap();
    let found = async || {
        let fingerprint = fingerprint.to_vec().into();
        let request = FindAddressRequest { fingerprint };
        let answer = client.clone().find_address(request).await.unwrap();
        answer.into_inner().address.unwrap()
    };
    // Who has an earlier list, such as a sender, cannot bring it back.
    for (published, last) in [(3, 3), (8, 8), (3, 8), (8, 8), (9, 9)] {
        publish(&of(published)).await.unwrap();
        assert!(found().await == of(last), "{published}");
    }
    let refused = async |address: Address, expected: &str| {
        let status = publish(&address).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(expected), "{status}");
    };
    let mut address = of(20);
    address.verifying_key = Vec::new().into();
    refused(address, "32 bytes with period_keys").await;
    let mut address = of(20);
    address.verifying_key = vec![7; 32].into();
    refused(address, "that the owner of the address signed").await;
    let mut address = of(20);
    address.period_keys = vec![1; 8193].into();
    refused(address, "period_keys: expected 70 to 8192 bytes").await;
    assert!(found().await == of(9));
    server.stop().await;
}
