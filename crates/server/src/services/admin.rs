//! The methods for an operator.

use super::{Answers, READY};
use crate::refuse;
use crate::shared::Shared;
use crate::tokens::Right;
use omr_api::v1;
use omr_api::v1::admin_service_server::AdminService;
use omr_store::StoreError;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

pub(crate) struct Admin(pub(crate) Arc<Shared>);

#[tonic::async_trait]
impl AdminService for Admin {
    type BackupStream = Answers<v1::BackupResponse>;

    async fn backup(
        &self,
        request: Request<v1::BackupRequest>,
    ) -> Result<Response<Self::BackupStream>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Admin)?;
            let room = self.0.stream(&caller)?;
            let names = request.into_inner().have;
            let (to, answers) = mpsc::channel(READY);
            let (store, tokens) = (self.0.store.clone(), self.0.config.tokens());
            tokio::task::spawn_blocking(move || {
                let _room = room;
                let have: HashSet<String> = names.into_iter().collect();
                let mut left = false;
                let mut send = |answer| {
                    to.blocking_send(answer).map_err(|_| {
                        left = true;
                        StoreError::Stopped
                    })
                };
                let done = crate::backup(&store, &tokens, &have, &mut |piece| {
                    send(Ok(v1::BackupResponse {
                        name: piece.name.to_owned(),
                        offset: piece.offset,
                        data: bytes::Bytes::copy_from_slice(piece.data),
                        last: piece.last,
                        fault: String::new(),
                    }))
                });
                match done {
                    Ok(faults) => {
                        for fault in faults {
                            let _ = send(Ok(v1::BackupResponse {
                                fault: fault.to_string(),
                                ..Default::default()
                            }));
                        }
                    }
                    Err(_) if left => {}
                    Err(error) => {
                        let _ = to.blocking_send(Err(refuse::store(&error)));
                    }
                }
            });
            Ok(Response::new(
                Box::pin(ReceiverStream::new(answers)) as Self::BackupStream
            ))
        };
        self.0.observe("Backup", answer).await
    }
}
