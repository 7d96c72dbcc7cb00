//! Reflection, in its first version and in the last one before.

use crate::world;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

/// Returns the names of the services that a version of reflection lists. Both versions have the same messages.
async fn listed(channel: Channel, version: &str) -> Vec<String> {
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let requests = tonic::Request::new(tokio_stream::iter([request]));
    let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
    let codec = ProstCodec::<_, ServerReflectionResponse>::default();
    let mut client = Grpc::new(channel);
    client.ready().await.unwrap();
    let answers = client.streaming(requests, path.parse().unwrap(), codec);
    let answer = answers.await.unwrap().into_inner().message().await.unwrap();
    let Some(MessageResponse::ListServicesResponse(listed)) = answer.unwrap().message_response
    else {
        panic!("expected a list of services");
    };
    listed.service.into_iter().map(|found| found.name).collect()
}

#[tokio::test]
async fn both_versions_list_the_same_services() {
    let (_dir, server, _client) = world::served(|_| ()).await;
    let channel = server.channel().await;
    let first = listed(channel.clone(), "v1").await;
    let before = listed(channel, "v1alpha").await;
    assert!(
        first.iter().any(|name| name == "omr.v1.BoardService"),
        "{first:?}"
    );
    let named = |names: &[String]| -> Vec<String> {
        let ours = names.iter().filter(|name| name.starts_with("omr."));
        ours.cloned().collect()
    };
    assert_eq!(named(&before), named(&first));
    server.stop().await;
}
