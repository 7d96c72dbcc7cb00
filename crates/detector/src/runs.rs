//! The runs that recipients share.

use crate::sophomr::TOGETHER;

/// Returns the places of the recipients of each run: at most [`TOGETHER`], each of whom shares it with the first.
pub(crate) fn runs<T>(recipients: &[T], share: impl Fn(&T, &T) -> bool) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for (place, recipient) in recipients.iter().enumerate() {
        let fits =
            |run: &&mut Vec<usize>| run.len() < TOGETHER && share(&recipients[run[0]], recipient);
        match runs.iter_mut().find(fits) {
            Some(run) => run.push(place),
            None => runs.push(vec![place]),
        }
    }
    runs
}
