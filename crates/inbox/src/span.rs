//! The span: the messages of all long scans, as one range. Fetches cover its part near the end of the board, so that
//! what one fetch has no room for comes with the next ones.
//!
//! The span follows from the board's lengths, from earlier ranges and from the number of fetches.

use crate::job::{Job, Kind};
use crate::requests::{add, remove};
use crate::rounds::Sizes;
use crate::storage::{Edit, Look};
use crate::table::{JOBS, Number, QUERIES};
use omr_protocol::Stride;
use std::ops::Range;

/// Returns the span; it is empty where it does not begin before its end.
pub(crate) fn span<T: Look>(tx: &T) -> Result<Range<u64>, T::Error> {
    Ok(Number::SpanStart.get(tx)?..Number::SpanEnd.get(tx)?)
}

fn set<T: Edit>(tx: &mut T, span: &Range<u64>) -> Result<(), T::Error> {
    Number::SpanStart.set(tx, span.start)?;
    Number::SpanEnd.set(tx, span.end)
}

/// Extends the span by the messages of a long scan.
pub(crate) fn extend<T: Edit>(tx: &mut T, scan: &Range<u64>) -> Result<(), T::Error> {
    let old = span(tx)?;
    if old.is_empty() {
        return set(tx, scan);
    }
    let hull = old.start.min(scan.start)..old.end.max(scan.end);
    set(tx, &hull)
}

/// Returns whether a scan of a range contains no payloads.
pub(crate) fn is_long(range: &Range<u64>, short: u64) -> bool {
    range.end.saturating_sub(range.start) > short
}

/// Records the requests of this sync's fetches on a board of `messages` messages. `scans` are the requests for messages
/// that no earlier scan covers. The fetches take the place of earlier ones that were interrupted before their queries were
/// made.
pub(crate) fn plan<T: Edit>(
    tx: &mut T,
    messages: u64,
    scans: &[Job],
    sizes: &Sizes,
) -> Result<(), T::Error> {
    Number::Short.set(tx, sizes.short)?;
    Number::Room.set(tx, sizes.room)?;
    Number::Most.set(tx, sizes.most)?;
    let mut from = messages.saturating_sub(sizes.window);
    for (number, job) in JOBS.all(tx)? {
        // A fetch that a person's act requested has no turn. Whether a range was kept must not matter here.
        let is_planned = job.kind == Kind::Fetch && job.turn.is_some() && !job.fetched;
        if is_planned && !QUERIES.has(tx, &number)? {
            from = from.min(job.start);
            remove(tx, number, &job)?;
        }
    }
    for scan in scans {
        let range = scan.start..scan.end;
        if is_long(&range, sizes.short) {
            from = from.min(range.start);
            extend(tx, &range)?;
        }
    }
    let old = span(tx)?;
    let covered = from.max(old.start).max(Number::First.get(tx)?)..old.end;
    set(tx, &covered)?;
    let turn = Some(Number::Turn.get(tx)?);
    for piece in Stride::new(covered, 1).pieces(sizes.most) {
        let fetch = Job::of_kind(Kind::Fetch, piece);
        add(tx, &Job { turn, ..fetch })?;
    }
    Ok(())
}

/// Cuts the span at a fork: the messages from `common` on are scanned again.
pub(crate) fn go_back<T: Edit>(tx: &mut T, common: u64) -> Result<(), T::Error> {
    let old = span(tx)?;
    if old.end > common {
        set(tx, &(old.start..common))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Form;
    use crate::storage::Storage;
    use crate::{Inbox, InboxError, Memory};

    const SIZES: Sizes = Sizes {
        short: 4,
        room: 3,
        window: 40,
        most: 24,
    };
    const FORM: Form = Form {
        bound: 0,
        most: SIZES.most,
        levels: 0,
        batches: None,
        rounds: Some(SIZES),
    };

    type Tested = Inbox<Memory<InboxError>>;

    fn inbox() -> Tested {
        Inbox::open(Memory::new()).unwrap()
    }

    /// Plans a sync of a board. Returns the beginnings and ends of all scans, and of all fetches.
    fn plan(inbox: &Tested, board: Range<u64>) -> [Vec<[u64; 2]>; 2] {
        let board = crate::model::board(board);
        inbox.requests().plan(&board, &FORM).unwrap();
        let jobs = inbox.store().read(|tx| JOBS.all(tx)).unwrap();
        [Kind::Scan, Kind::Fetch].map(|kind| {
            let of_kind = jobs.iter().filter(|(_, job)| job.kind == kind);
            of_kind.map(|(_, job)| [job.start, job.end]).collect()
        })
    }

    /// Removes all requests, as if they had been answered.
    fn answer(inbox: &Tested) {
        let clear = inbox.store().write(|tx| JOBS.clear(tx, 0..=u64::MAX));
        clear.unwrap();
    }

    #[test]
    fn fetches_cover_the_span_within_the_window() {
        let inbox = inbox();
        let [scans, fetches] = plan(&inbox, 0..100);
        // The last scan is short: it contains all payloads.
        assert_eq!(scans, [[0, 24], [24, 48], [48, 72], [72, 96], [96, 100]]);
        // New messages before the window are fetched once.
        assert_eq!(fetches, [[0, 24], [24, 48], [48, 72], [72, 96]]);
        let syncs = [
            // The board does not change, grows by a short range, by a long one, and forgets messages.
            (0..100, vec![[60, 84], [84, 96]]),
            (0..103, vec![[63, 87], [87, 96]]),
            (0..110, vec![[70, 94], [94, 110]]),
            (90..112, vec![[90, 110]]),
            // A restore brings messages back, but the span does not begin earlier again.
            (0..112, vec![[90, 110]]),
            // The window passes the span.
            (0..149, vec![[109, 133], [133, 149]]),
            (0..153, vec![[113, 137], [137, 149]]),
            (0..157, vec![[117, 141], [141, 149]]),
            (0..161, vec![[121, 145], [145, 149]]),
            (0..165, vec![[125, 149]]),
            (0..169, vec![[129, 149]]),
            (0..173, vec![[133, 149]]),
            (0..177, vec![[137, 149]]),
            (0..181, vec![[141, 149]]),
            (0..185, vec![[145, 149]]),
            (0..189, vec![]),
            (0..189, vec![]),
            // A new span begins.
            (0..194, vec![[189, 194]]),
            (0..194, vec![[189, 194]]),
        ];
        for (board, expected) in syncs {
            answer(&inbox);
            let [_, fetches] = plan(&inbox, board.clone());
            assert_eq!(fetches, expected, "{board:?}");
        }
    }

    #[test]
    fn an_interrupted_fetch_is_planned_again_unless_its_query_was_made() {
        let inbox = inbox();
        plan(&inbox, 0..60);
        // The window begins at 30, the interrupted fetches at 0.
        let [scans, fetches] = plan(&inbox, 0..70);
        assert_eq!(scans, [[0, 24], [24, 48], [48, 60], [60, 70]]);
        assert_eq!(fetches, [[0, 24], [24, 48], [48, 70]]);
        let queries = inbox.store().write(|tx| {
            for (number, _) in JOBS.all(tx)? {
                QUERIES.put(tx, &number, &vec![1])?;
            }
            Ok(())
        });
        queries.unwrap();
        let [_, fetches] = plan(&inbox, 0..70);
        assert_eq!(fetches, [[0, 24], [24, 48], [48, 70], [30, 54], [54, 70]]);
    }

    #[test]
    fn a_fork_cuts_the_span_and_fetches() {
        let inbox = inbox();
        plan(&inbox, 0..20);
        let kept = inbox.store().write(|tx| {
            go_back(tx, 9)?;
            span(tx)
        });
        assert_eq!(kept.unwrap(), 0..9);
        let kept = inbox.store().write(|tx| {
            go_back(tx, 11)?;
            span(tx)
        });
        assert_eq!(kept.unwrap(), 0..9);
    }
}
