//! Damaged or missing rows of segments, made again from the objects.

use std::ops::Range;

use super::objects::Place;
use super::sealed;
use crate::error::StoreError;
use crate::format::{Layout, SEGMENTS, index_key};
use crate::meta::{Meta, Outcome};
use crate::segment::{SEGMENTS_PREFIX, Segment};

/// Makes damaged rows of segments again from their objects, which contain everything but the time of sealing. If an
/// object is missing or damaged, the rows stay as they are, and its messages cannot be read.
///
/// Errors: those of the database and of the objects.
pub(crate) fn segments(meta: &Meta, place: &Place) -> Result<(), StoreError> {
    let (state, mut segments) = meta.view(|view| Ok((view.state()?, sealed::list(view)?)))?;
    if segments.faults.is_empty() {
        return Ok(());
    }
    let gaps_before = gaps(&segments.intact, state.first..state.sealed);
    let found = filling(&meta.layout, &meta.config.board_id, place, &gaps_before)?;
    segments.intact.extend(&found);
    segments
        .intact
        .sort_unstable_by_key(|segment| segment.first);
    let missing = gaps(&segments.intact, state.first..state.sealed);
    if !missing.is_empty() {
        tracing::error!(?missing, "no object has these messages");
        return Ok(());
    }
    meta.transact(|writing, _| {
        writing.drop_damaged(SEGMENTS)?;
        for segment in &found {
            writing.put(SEGMENTS, &index_key(segment.first), &segment.encode())?;
        }
        Ok(Outcome::Commit(()))
    })?;
    tracing::warn!(
        rows = found.len(),
        "damaged rows of segments are made again from the objects"
    );
    Ok(())
}

/// Returns the segments among the objects that fill gaps, as far as there are any.
pub(crate) fn filling(
    layout: &Layout,
    board_id: &[u8; 16],
    place: &Place,
    gaps: &[Range<u64>],
) -> Result<Vec<Segment>, StoreError> {
    let names = place.list(SEGMENTS_PREFIX)?;
    let mut found = Vec::new();
    for gap in gaps {
        let mut next = gap.start;
        while next < gap.end
            && let Some(segment) = beginning(layout, board_id, place, &names, next, gap.end)?
        {
            next = segment.end();
            found.push(segment);
        }
    }
    Ok(found)
}

/// Returns the parts of a range that consecutive segments leave out.
pub(crate) fn gaps(segments: &[Segment], range: Range<u64>) -> Vec<Range<u64>> {
    let (mut out, mut next) = (Vec::new(), range.start);
    for segment in segments {
        if next < segment.first {
            out.push(next..segment.first);
        }
        next = next.max(segment.end());
    }
    if next < range.end {
        out.push(next..range.end);
    }
    out
}

/// Returns the intact segment among the objects that begins with message `first` and ends at or before `end`.
fn beginning(
    layout: &Layout,
    board_id: &[u8; 16],
    place: &Place,
    names: &[(String, u64)],
    first: u64,
    end: u64,
) -> Result<Option<Segment>, StoreError> {
    let prefix = format!("{SEGMENTS_PREFIX}/{first:020}-");
    for (name, _) in names.iter().filter(|(name, _)| name.starts_with(&prefix)) {
        let Some(bytes) = place.get(name)? else {
            continue;
        };
        let described = sealed::described(layout, board_id, first, &bytes);
        if let Ok(segment) = described
            && segment.name() == *name
            && segment.end() <= end
        {
            return Ok(Some(segment));
        }
    }
    Ok(None)
}
