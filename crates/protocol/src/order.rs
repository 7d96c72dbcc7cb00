//! Ids of the requests that an order for every full batch leads to.

/// Returns the request id of the digest of the batch that begins with message `start`.
#[must_use]
pub fn order_batch_id(request_id: &[u8; 16], start: u64) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_derive_key("omr order v1 batch");
    hasher.update(request_id).update(&start.to_le_bytes());
    let hash = hasher.finalize();
    *hash.as_bytes().first_chunk().expect("32 bytes")
}

#[cfg(test)]
mod tests {
    use super::order_batch_id;

    #[test]
    fn orders_and_batches_differ() {
        let id = order_batch_id(&[1; 16], 65_536);
        assert_eq!(id, order_batch_id(&[1; 16], 65_536));
        assert_ne!(id, order_batch_id(&[1; 16], 131_072));
        assert_ne!(id, order_batch_id(&[2; 16], 65_536));
    }
}
