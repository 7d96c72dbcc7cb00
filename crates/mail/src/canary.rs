//! Posts canaries: messages to oneself; their absence shows that a detector leaves messages out.

use crate::send::{board_place, to_wire, write};
use crate::{Identity, Inbox, MailError, Server, unix_now};
use omr_client::letter::Written;
use omr_client::os_rng;
use omr_inbox::CANARY_BYTES;
use omr_remote::{Client, Endpoint};
use rand_core::Rng;

/// Returns a connection for posting canaries, without the token if the server accepts posts without one. The returned
/// bool is true if it does not, and so can distinguish canaries from other people's letters.
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

/// Posts a message to oneself. It is recorded first; a canary whose post was interrupted is posted now, with its first
/// id, so that none is posted twice. On the board nobody can distinguish it from other messages, but an observer of the
/// connection can: `client` should be anonymous, see [`canary_client`].
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
    let written = write(&identity.address()?, &board, &place, &content)?.pop();
    let message = written.map(|written| (written.clue, written.payload));
    inbox.note_canary(content, message, unix_now())?;
    for canary in inbox.canaries_to_post()? {
        let posts = canary
            .message
            .into_iter()
            .map(|(clue, payload)| to_wire(Written { clue, payload }))
            .collect();
        let done = client.post_under(canary.post_id, posts).await?;
        if let Some(range) = done.ranges.first() {
            inbox.canary_posted(&canary.content, range.start)?;
        }
    }
    Ok(())
}
