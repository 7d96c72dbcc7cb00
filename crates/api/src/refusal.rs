//! The reason of a refused post, in the metadata of a status.

use crate::v1::PostRefusal;
use prost::Message;
use tonic::Status;
use tonic::metadata::MetadataValue;

/// The metadata entry of a status that contains a [`PostRefusal`].
const POST_REFUSAL: &str = "post-refusal-bin";

/// Returns the status with the reason of a post's refusal in its metadata.
#[must_use]
pub fn with_post_refusal(mut status: Status, refusal: &PostRefusal) -> Status {
    let value = MetadataValue::from_bytes(&refusal.encode_to_vec());
    status.metadata_mut().insert_bin(POST_REFUSAL, value);
    status
}

/// Reads the reason of a post's refusal from the metadata of a status.
///
/// Returns `None` if there is none, or if it cannot be decoded.
#[must_use]
pub fn post_refusal(status: &Status) -> Option<PostRefusal> {
    let value = status.metadata().get_bin(POST_REFUSAL)?;
    PostRefusal::decode(value.to_bytes().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::UsedKey;

    #[test]
    fn a_written_reason_is_read_again() {
        let refusal = PostRefusal {
            known_id: false,
            used_keys: vec![UsedKey {
                position: 3,
                index: 1 << 40,
            }],
        };
        let status = with_post_refusal(Status::already_exists("used"), &refusal);
        assert_eq!(post_refusal(&status), Some(refusal));
        assert_eq!(post_refusal(&Status::already_exists("used")), None);
        let mut bad = Status::already_exists("used");
        let value = MetadataValue::from_bytes(&[0xFF; 3]);
        bad.metadata_mut().insert_bin(POST_REFUSAL, value);
        assert_eq!(post_refusal(&bad), None);
    }
}
