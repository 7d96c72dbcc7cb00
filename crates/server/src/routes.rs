//! The routes of methods and pages.

use crate::config::MetricsAt;
use crate::error::ServerError;
use crate::host_rules::guarded;
use crate::listening::{Site, called, common_services};
use crate::mail;
use crate::requests::{CHUNK, longest_post, longest_query};
use crate::services;
use crate::shared::Shared;
use crate::status::Watched;
use omr_api::v1;
use std::sync::Arc;
use tonic::service::Routes;

/// The length in bytes of the longest request that contains only ids and numbers, which grow many times when decoded,
/// or an address, and no query.
const SMALL: usize = 64 << 10;

/// Returns the services and pages of a server, and the reporter of its health.
pub(crate) async fn routes(
    shared: &Arc<Shared>,
    watched: &Arc<Watched>,
) -> Result<Site, ServerError> {
    use v1::address_service_server::AddressServiceServer;
    use v1::admin_service_server::AdminServiceServer;
    use v1::board_service_server::BoardServiceServer;
    use v1::capability_service_server::CapabilityServiceServer;
    use v1::detection_service_server::DetectionServiceServer;
    use v1::key_service_server::KeyServiceServer;
    use v1::worker_service_server::WorkerServiceServer;
    let (reporter, mut builder) = common_services().await?;
    let board = shared.store.board();
    let message = (board.clue_bytes + board.payload_bytes) as usize;
    let post = longest_post(shared.config.limits.post_messages, message);
    let payload = board.payload_bytes as usize;
    let fetched = shared.room.fetch_messages();
    let rounds = shared.set.rounds();
    let query = rounds.map_or(0, |params| longest_query(params, fetched, payload));
    builder
        .add_service(
            BoardServiceServer::new(services::Board(shared.clone()))
                .max_decoding_message_size(post),
        )
        .add_service(
            KeyServiceServer::new(services::Keys(shared.clone())).max_decoding_message_size(CHUNK),
        )
        .add_service(
            DetectionServiceServer::new(services::Detection(shared.clone()))
                .max_decoding_message_size(SMALL + query),
        )
        .add_service(
            AddressServiceServer::new(services::Addresses(shared.clone()))
                .max_decoding_message_size(SMALL),
        )
        .add_service(
            WorkerServiceServer::new(services::Workers(shared.clone()))
                .max_decoding_message_size(CHUNK),
        )
        .add_service(CapabilityServiceServer::new(services::Capability(
            shared.clone(),
        )))
        .add_service(
            AdminServiceServer::new(services::Admin(shared.clone()))
                .max_decoding_message_size(omr_api::MESSAGE_BYTES),
        );
    let mut router = called(builder, &shared.config, shared.room.requests(), post);
    let mut paths = Vec::new();
    if shared.config.metrics_at() == MetricsAt::Server {
        paths.push("/metrics");
        router = router.merge(omr_ops::metrics_router(shared.metrics.clone()));
    }
    if shared.config.watch.status {
        let (shared, watched) = (shared.clone(), watched.clone());
        paths.extend(["/", "/status.json"]);
        router = router.merge(omr_ops::router(move || watched.status(&shared)));
    }
    if let Some(folder) = &shared.config.page.mail {
        paths.extend(mail::PATHS);
        router = router.merge(mail::router(folder));
    }
    let guarded_router = guarded(router, &shared.config, paths)?;
    Ok(Site {
        reporter,
        routes: Routes::from(guarded_router),
    })
}
