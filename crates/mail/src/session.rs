//! Streaming sessions: the server looks at messages as they come, a digest is cut off at every tick.

use crate::collect::{Collected, collect_open, form};
use crate::inbox::{Form, Requests, Session};
use crate::send::{board_place, messages_of};
use crate::{Identity, MailError};
use omr_protocol::Response;
use omr_remote::v1::{Board, OpenSessionRequest};
use omr_remote::{Client, RemoteError};
use std::ops::Range;

/// Messages between two ticks for which the first session of everybody has room: so few are cheap to look at.
const FIRST_ROOM: u32 = 1 << 10;
/// From here on room gains nothing.
const LAST_ROOM: u32 = 1 << 16;

/// Cuts a digest off the open session and keeps it undecoded, and the spare digest whose turn it is; opens a session from the cursor on where none
/// is. To be called on a fixed schedule: what the server sees depends on nothing else. Repeated after an
/// interruption it gets the same digest.
///
/// Errors: `NoInstant`, `NotRegistered`, `OtherBoard`, `OtherParams`, `Remote`, `Digest`.
pub async fn cut(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
) -> Result<Collected, MailError> {
    let board = client.board().await?;
    let first = messages_of(&board)?.start;
    let bound = identity.profile.bound;
    let missed = requests.begin_at(first, bound)?;
    // One that fell so far behind never goes on.
    if requests.session()?.is_some_and(|open| open.next < first) {
        close_session(client, requests).await?;
    }
    let mut session = match requests.session()? {
        Some(session) => session,
        None => begin(identity, requests, &board)?,
    };
    let session_id = match session.session_id {
        Some(id) => id,
        None => open(client, identity, requests, &mut session).await?,
    };
    let session_id = session_id.to_vec().into();
    let digest = match client.cut_session(&session_id, session.cuts).await {
        Err(error @ RemoteError::NotFound(..)) => {
            // Closed by the server: the next tick opens another, from the cursor on.
            requests.set_session(None)?;
            return Err(error.into());
        }
        digest => digest?,
    };
    let messages = client.board().await?.messages;
    let range = covered(identity, &session, messages, &digest)?;
    session.cuts += 1;
    session.next = range.end;
    let (form, spares) = form(identity, &client.limits().await?, None)?;
    let taken = range.end - range.start;
    requests.keep_cut(&session, range, &Form { bound, ..form }, &digest)?;
    if let Some(room) = larger(session.room, taken) {
        close_session(client, requests).await?;
        requests.set_session(Some(&Session::new(session.next, room)))?;
    }
    let refused = collect_open(client, identity, requests, |_| {}).await?;
    Ok(Collected {
        refused,
        spares,
        bound,
        missed,
        ordered: Ok(()),
    })
}

/// The room of the session that follows one whose digest was full: a full session takes nothing more before the next
/// tick. It depends on how many messages are posted, whoever they are for. `None`: it was not full.
fn larger(room: u32, taken: u64) -> Option<u32> {
    let full = room > 0 && taken >= room.into();
    let next = room.saturating_mul(4);
    full.then_some(if next < LAST_ROOM { next } else { 0 })
}

/// The range of a digest that follows the last one: the cursor moves on the server's word, so it may not
/// leave messages out or announce more than there are.
fn covered(
    identity: &Identity,
    session: &Session,
    messages: u64,
    digest: &[u8],
) -> Result<Range<u64>, MailError> {
    let (next, bound) = (session.next, identity.profile.bound);
    let request = Response::from_bytes(&identity.set()?, digest)?.request();
    let range = request.range;
    let follows = range.start == next && next <= range.end && range.end <= messages;
    match follows && request.bound == bound as usize {
        true => Ok(range),
        false => Err(MailError::Remote(RemoteError::answer(
            "CutSession",
            format!("a digest from {next} on, within {messages}, of bound {bound}"),
            format!("one of {range:?}, bound {}", request.bound),
        ))),
    }
}

/// Notes a new session before the server hears of it.
fn begin(identity: &Identity, requests: Requests<'_>, board: &Board) -> Result<Session, MailError> {
    identity.instant()?;
    identity.check(&board_place(board)?)?;
    let session = Session::new(requests.cursor()?, FIRST_ROOM);
    requests.set_session(Some(&session))?;
    Ok(session)
}

async fn open(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
    session: &mut Session,
) -> Result<[u8; 16], MailError> {
    let request = OpenSessionRequest {
        request_id: session.request_id.to_vec().into(),
        key_hash: identity.instant()?.to_vec().into(),
        start: session.start,
        bound: identity.profile.bound,
        indices_only: false,
        room: session.room,
    };
    let opened = client.open_session(&request).await?;
    let id: Result<[u8; 16], _> = opened.session_id.as_ref().try_into();
    let id = id.map_err(|_| {
        let found = format!("one of {}", opened.session_id.len());
        RemoteError::answer("OpenSession", "an id of 16 bytes", found)
    })?;
    session.session_id = Some(id);
    requests.set_session(Some(session))?;
    Ok(id)
}

/// Ends the open session, if there is one.
///
/// Errors: `Remote`, `Database`.
pub async fn close_session(client: &Client, requests: Requests<'_>) -> Result<(), MailError> {
    let Some(session) = requests.session()? else {
        return Ok(());
    };
    if let Some(id) = session.session_id {
        match client.close_session(&id.to_vec().into()).await {
            Ok(()) | Err(RemoteError::NotFound(..)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    requests.set_session(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_until_there_is_no_end() {
        assert_eq!(larger(FIRST_ROOM, 1023), None);
        let mut rooms = vec![FIRST_ROOM];
        while let Some(next) = larger(rooms[rooms.len() - 1], u64::from(rooms[rooms.len() - 1])) {
            rooms.push(next);
        }
        assert_eq!(rooms, [1024, 4096, 16_384, 0]);
        assert_eq!(larger(0, u64::MAX), None);
    }
}
