//! The order of an identity that takes whole batches: the server works each when it fills, whoever asks when.

use crate::inbox::{Batches, Form, Requests};
use crate::{Identity, MailError};
use omr_remote::{Client, RemoteError, v1};

/// How an identity's fetches take batches, if they do. The id of its order depends on everything that it asks for, so
/// that a changed bound or key is another order.
///
/// Errors: `NotRegistered`, `Params`, `Damaged`, `Database`.
pub(crate) fn batches(
    identity: &Identity,
    requests: Requests<'_>,
) -> Result<Option<Batches>, MailError> {
    if !identity.profile.batches {
        return Ok(None);
    }
    let set = identity.set()?;
    let messages = set.sophomr_recipient()?.slots() as u64;
    let mut hasher = blake3::Hasher::new_derive_key("omr mail v1 order");
    hasher.update(&requests.order_seed()?);
    hasher.update(&[identity.profile.scheme]);
    hasher.update(&identity.profile.bound.to_le_bytes());
    for key in identity.registered()? {
        hasher.update(&key);
    }
    let hash = hasher.finalize();
    let order = *hash.as_bytes().first_chunk().expect("32 bytes");
    Ok(Some(Batches { messages, order }))
}

/// Places the order of an identity that has one, or tells the server that it is still wanted. Inner error: why it works
/// batches when they are asked for alone.
///
/// Errors: `NotRegistered`, `Remote`.
pub(crate) async fn place(
    client: &Client,
    identity: &Identity,
    form: &Form,
    most: u32,
) -> Result<Result<(), String>, MailError> {
    let Some(batches) = form.batches else {
        return Ok(Ok(()));
    };
    if most == 0 {
        return Ok(Err("it takes no orders".to_owned()));
    }
    let keys = identity.registered()?;
    let request = v1::CreateOrderRequest {
        request_id: batches.order.to_vec().into(),
        key_hashes: keys.iter().map(|hash| hash.to_vec().into()).collect(),
        start: identity.profile.begins,
        bound: form.bound,
        indices_only: false,
        scheme: identity.profile.scheme.into(),
    };
    match client.create_order(&request).await {
        Ok(order) if order.batch_messages == batches.messages => Ok(Ok(())),
        Ok(order) => Ok(Err(format!(
            "its batches have {} messages, those of the keys {}",
            order.batch_messages, batches.messages
        ))),
        Err(error @ (RemoteError::Refused { .. } | RemoteError::Exists(..))) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}
