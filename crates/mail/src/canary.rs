//! Posting canaries: messages to oneself, whose absence shows a detector that leaves messages out.

use crate::send::{board_place, message, write};
use crate::{Identity, Inbox, MailError, Server, unix_now};
use omr_client::letter::Written;
use omr_client::os_rng;
use omr_inbox::CANARY_BYTES;
use omr_remote::{Client, Endpoint};
use rand_core::Rng;

/// What canaries are posted through: without the token if the server lets strangers post. True: it does not, and can
/// tell them from other people's letters.
///
/// Errors: those of `connect`; `Remote`.
pub async fn canary_client<E: From<MailError>>(
    server: &Server,
    connect: impl Fn(Endpoint) -> Result<Client, E>,
) -> Result<(Client, bool), E> {
    let stranger = connect(server.stranger())?;
    let capabilities = stranger.capabilities().await.map_err(MailError::from)?;
    let may_post = capabilities.rights.is_some_and(|rights| rights.post);
    if may_post || server.token.is_none() {
        Ok((stranger, false))
    } else {
        Ok((connect(server.endpoint())?, true))
    }
}

/// Posts a message to oneself. It is noted first; one whose posting was interrupted is posted now, under its
/// first id, so that none is posted twice. Nobody can tell it from others on the board, but whoever sees who
/// posts can: `client` should not tell, see [`canary_client`].
///
/// Errors: `Remote`, `OtherBoard`, `OtherParams`, `OtherSealing`, `Unsealed`, `Database`.
pub async fn post_canary(
    client: &Client,
    identity: &Identity,
    inbox: &Inbox,
) -> Result<(), MailError> {
    let board = client.board().await?;
    let place = board_place(&board)?;
    identity.check(&place)?;
    let mut content = [0; CANARY_BYTES];
    os_rng().fill_bytes(&mut content);
    let post = write(&identity.address()?, (&board, &place), &content)?.pop();
    let post = post.map(|post| (post.clue, post.payload));
    inbox.note_canary(content, post, unix_now())?;
    for canary in inbox.canaries_to_post()? {
        let written = |(clue, payload)| message(Written { clue, payload });
        let posts = canary.message.into_iter().map(written).collect();
        let done = client.post_under(canary.post_id, posts).await?;
        if let Some(range) = done.ranges.first() {
            inbox.canary_posted(&canary.content, range.start)?;
        }
    }
    Ok(())
}
