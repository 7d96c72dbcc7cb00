//! The ranges of blocks for which a recipient asks a node: those that can hold payments, hidden among decoys.
//!
//! Heights are divided into windows. How many windows are asked for depends on the time since the last request alone. If
//! payments came at heights that are evenly distributed, then the set of windows is so, too, whether there were payments or
//! not. A node therefore learns nothing but what it guesses from elsewhere.

use rand_core::Rng;
use std::collections::BTreeSet;
use std::ops::Range;

/// The number of blocks of a window, which are about 80 minutes of the network.
const BLOCKS: u64 = 64;
/// The least number of windows in a request.
const LEAST: u64 = 4;
/// Of this number of windows that are new, one is asked for.
const ONE_OF: u64 = 8;

/// Returns the windows that overlap a range of heights, by their numbers.
pub(crate) fn overlapping(heights: &Range<u64>) -> Range<u64> {
    heights.start / BLOCKS..heights.end.div_ceil(BLOCKS)
}

/// Returns the heights of a window.
pub(crate) fn heights(window: u64) -> Range<u64> {
    window * BLOCKS..(window + 1) * BLOCKS
}

/// Returns the windows to ask for, in ascending order: as many of `wanted` as a request has room for, lowest first, and
/// decoys among the windows that overlap `new`, the heights since the last request. If these are few, then earlier windows
/// from `first` on are decoys, too.
pub(crate) fn choose(
    wanted: &BTreeSet<u64>,
    new: &Range<u64>,
    first: u64,
    rng: &mut impl Rng,
) -> BTreeSet<u64> {
    let mut all = overlapping(new);
    let least = all.end.saturating_sub(LEAST).max(first / BLOCKS);
    all.start = all.start.min(least);
    let count = (all.end - all.start).div_ceil(ONE_OF).max(LEAST) as usize;
    let mut chosen: BTreeSet<u64> = wanted.iter().copied().take(count).collect();
    let mut decoys: Vec<u64> = all.filter(|window| !chosen.contains(window)).collect();
    while chosen.len() < count && !decoys.is_empty() {
        // The remainder favours some windows by less than 2^-40.
        let place = rng.next_u64() % decoys.len() as u64;
        chosen.insert(decoys.swap_remove(place as usize));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_client::os_rng;

    #[test]
    fn the_number_of_windows_depends_on_the_time_alone() {
        for (new, count) in [(5_000..5_010, 4), (5_000..6_000, 4), (1_000..9_000, 16)] {
            for wanted in 0..8u64 {
                let place = |number| new.end / BLOCKS - number % 4;
                let wanted: BTreeSet<u64> = (0..wanted).map(place).collect();
                let chosen = choose(&wanted, &new, 1_000, &mut os_rng());
                assert_eq!(chosen.len(), count, "{new:?} {wanted:?}");
                assert!(wanted.is_subset(&chosen));
            }
        }
    }

    #[test]
    fn no_more_windows_are_chosen_than_a_request_has() {
        let wanted: BTreeSet<u64> = (20..40).collect();
        let chosen = choose(&wanted, &(2_000..2_100), 1_000, &mut os_rng());
        assert_eq!(chosen, (20..24).collect());
    }
}
