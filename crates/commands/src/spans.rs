//! Numbers as ranges, so that thousands of them are one short line.

use std::ops::Range;

/// The number of ranges that are printed; the others are counted.
const MOST_LISTED: usize = 8;

/// Returns the ranges of ascending numbers.
pub(super) fn spans(numbers: impl IntoIterator<Item = u64>) -> Vec<Range<u64>> {
    let mut spans: Vec<Range<u64>> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => spans.push(number..number + 1),
        }
    }
    spans
}

/// Returns ranges as text, such as `3, 5..9, 12`.
pub(super) fn in_words(spans: &[Range<u64>]) -> String {
    let listed = spans.iter().take(MOST_LISTED).map(|span| {
        if span.end - span.start == 1 {
            span.start.to_string()
        } else {
            format!("{}..{}", span.start, span.end)
        }
    });
    let mut text = listed.collect::<Vec<_>>().join(", ");
    if spans.len() > MOST_LISTED {
        text += &format!(" and {} more ranges", spans.len() - MOST_LISTED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_short() {
        let words = |numbers: &[u64]| in_words(&spans(numbers.iter().copied()));
        assert_eq!(words(&[]), "");
        assert_eq!(words(&[7]), "7");
        assert_eq!(words(&[3, 5, 6, 7, 8, 12]), "3, 5..9, 12");
        let all: Vec<u64> = (0..4000).collect();
        assert_eq!(words(&all), "0..4000");
        let even: Vec<u64> = (0..2000).map(|i| 2 * i).collect();
        assert_eq!(
            words(&even),
            "0, 2, 4, 6, 8, 10, 12, 14 and 1992 more ranges"
        );
    }
}
