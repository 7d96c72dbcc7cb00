//! Reflection, in its first version and in the last one before.

use crate::world;
use tonic_reflection::pb::{v1, v1alpha};

#[tokio::test]
async fn both_versions_list_the_same_services() {
    let (_dir, server, _client) = world::served(|_| ()).await;
    let channel = server.channel().await;

    let request = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
    };
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(channel.clone());
    let answers = client.server_reflection_info(tokio_stream::iter([request]));
    let answer = answers.await.unwrap().into_inner().message().await.unwrap();
    let Some(v1::server_reflection_response::MessageResponse::ListServicesResponse(listed)) =
        answer.unwrap().message_response
    else {
        panic!("expected a list of services");
    };
    let first: Vec<String> = listed.service.into_iter().map(|found| found.name).collect();

    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            v1alpha::server_reflection_request::MessageRequest::ListServices(String::new()),
        ),
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(channel);
    let answers = client.server_reflection_info(tokio_stream::iter([request]));
    let answer = answers.await.unwrap().into_inner().message().await.unwrap();
    let Some(v1alpha::server_reflection_response::MessageResponse::ListServicesResponse(listed)) =
        answer.unwrap().message_response
    else {
        panic!("expected a list of services");
    };
    let before: Vec<String> = listed.service.into_iter().map(|found| found.name).collect();

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
