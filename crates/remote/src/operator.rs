//! An operator's calls.

use crate::{Client, RemoteError};
use futures::Stream;
use futures::stream::try_unfold;
use omr_api::MESSAGE_BYTES;
use omr_api::v1::admin_service_client::AdminServiceClient;
use omr_api::v1::{BackupRequest, BackupResponse};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

/// Bytes around a name in a request.
const AROUND: usize = 8;

impl Client {
    /// Whether the server serves.
    ///
    /// Errors: those of the network.
    pub async fn is_serving(&self) -> Result<bool, RemoteError> {
        let answer = self.unary("Check", || async {
            let mut client = HealthClient::new(self.service.clone());
            client.check(HealthCheckRequest::default()).await
        });
        Ok(answer.await?.status() == ServingStatus::Serving)
    }

    /// Everything that the server keeps but for the immutable files that the caller has; of those, as many as
    /// fit a request, some 80,000. A broken stream is an error: begin again with the files that are complete by
    /// then.
    ///
    /// Errors: the server's.
    pub async fn backup(
        &self,
        have: Vec<String>,
    ) -> Result<impl Stream<Item = Result<BackupResponse, RemoteError>> + Send + 'static, RemoteError>
    {
        let have = fitting(have);
        let opened = self.unary("Backup", || async {
            let mut client = AdminServiceClient::new(self.service.clone())
                .max_decoding_message_size(MESSAGE_BYTES)
                .max_encoding_message_size(MESSAGE_BYTES);
            client.backup(BackupRequest { have: have.clone() }).await
        });
        Ok(try_unfold(opened.await?, |mut stream| async move {
            let next = stream
                .message()
                .await
                .map_err(|status| RemoteError::refusal("Backup", &status))?;
            Ok(next.map(|piece| (piece, stream)))
        }))
    }
}

/// The first names that one request can carry.
fn fitting(mut names: Vec<String>) -> Vec<String> {
    let mut bytes = 0;
    let fit = names.iter().take_while(|name| {
        bytes += name.len() + AROUND;
        bytes <= MESSAGE_BYTES
    });
    let count = fit.count();
    names.truncate(count);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_a_request_are_left_out() {
        let name = "segments/".to_owned() + &"7".repeat(91);
        let fit = fitting(vec![name.clone(); 100_000]);
        assert_eq!(fit.len(), MESSAGE_BYTES / (100 + AROUND));
        assert_eq!(fitting(vec![name; 3]).len(), 3);
    }
}
