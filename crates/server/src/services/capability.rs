//! The method that returns the server's capabilities.

use crate::refuse;
use crate::shared::Shared;
use crate::status::now;
use crate::tokens::Right;
use omr_api::v1;
use omr_api::v1::capability_service_server::CapabilityService;
use omr_detector::engines::Costs;
use std::sync::Arc;
use tonic::{Request, Response, Status};

pub(crate) struct Capability(pub(crate) Arc<Shared>);

/// Returns the board's parameters, its present length, and the running hash of the log at that length.
///
/// Errors: those of the store.
pub(super) fn board(shared: &Shared) -> Result<v1::Board, Status> {
    let store = &shared.store;
    let (config, history) = (store.board(), store.history());
    let head = store.head().map_err(|error| refuse::store(&error))?;
    let tip = store.tip().map_err(|error| refuse::store(&error))?;
    Ok(v1::Board {
        board_id: config.board_id.to_vec().into(),
        params_id: config.params_id.clone(),
        sealing: config.sealing.clone(),
        clue_bytes: config.clue_bytes,
        payload_bytes: config.payload_bytes,
        messages: head.messages,
        clues: i32::from(config.clues.tag()),
        first_index: head.first,
        log_hash: head.hash.to_vec().into(),
        history_id: history.id.to_vec().into(),
        history_start: history.start,
        ledger: shared.config.board.ledger.clone().unwrap_or_default(),
        next_height: tip.map_or(0, |tip| tip.height + 1),
        time: now(),
    })
}

#[tonic::async_trait]
impl CapabilityService for Capability {
    async fn get_capabilities(
        &self,
        request: Request<v1::GetCapabilitiesRequest>,
    ) -> Result<Response<v1::GetCapabilitiesResponse>, Status> {
        let answer = async {
            let (shared, config) = (&self.0, &self.0.config);
            let caller = shared.callers.of(&request)?;
            let limits = &config.limits;
            let costs = Costs {
                batch_s: config.detector.batch_seconds,
                message_s: config.detector.message_seconds,
            };
            let work = if caller.is_anonymous() {
                config.access.posting_work_bits
            } else {
                0
            };
            let schemes = shared.schemes();
            let has_batches = shared.orders.batch() <= limits.digest_messages;
            Ok(Response::new(v1::GetCapabilitiesResponse {
                version: omr_runner::version(&config.build),
                board: Some(board(shared)?),
                schemes: schemes
                    .into_iter()
                    .map(|scheme| i32::from(scheme.tag()))
                    .collect(),
                limits: Some(v1::Limits {
                    post_messages: limits.post_messages,
                    chunk_bytes: omr_api::CHUNK_BYTES as u32,
                    key_bytes: shared.longest_key,
                    digest_messages: limits.digest_messages,
                    bound: limits.bound,
                    digest_seconds: limits.digest_hours * 3600,
                    post_id_memory_seconds: limits.post_id_hours * 3600,
                    jobs: caller.jobs,
                    sessions: caller.sessions,
                    step: omr_protocol::stride::MAX_STEP,
                    orders: if has_batches { limits.orders } else { 0 },
                    order_seconds: limits.order_time().as_secs(),
                    fetch_messages: shared.room.fetch_messages(),
                    fork_blocks: match config.board.ledger {
                        Some(_) => config.board.fork_blocks,
                        None => 0,
                    },
                }),
                rights: Some(v1::Rights {
                    post: caller.may(Right::Post),
                    detect: caller.may(Right::Detect),
                    admin: caller.may(Right::Admin),
                    work: caller.may(Right::Work),
                    feed: caller.may(Right::Feed),
                }),
                posting_work_bits: work,
                crossover: costs.crossover(),
            }))
        };
        self.0.observe("GetCapabilities", answer).await
    }
}
