//! The median of measurements.

/// Returns the middle value, or the mean of the two middle values.
///
/// Panics: without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// Returns the median of the figures of `runs` runs.
///
/// Errors: those of the first run that fails.
pub(crate) fn median_of_runs<E>(
    runs: usize,
    run: impl FnMut() -> Result<f64, E>,
) -> Result<f64, E> {
    let figures = std::iter::repeat_with(run).take(runs);
    Ok(median(figures.collect::<Result<Vec<_>, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_odd_and_even_counts() {
        assert_eq!(median([3.0, -1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 9.0]), 3.0);
        let mut run = [Ok(5.0), Ok(7.0), Err("broken")].into_iter();
        let mut of = |runs| median_of_runs(runs, || run.next().unwrap());
        assert_eq!(of(2), Ok(6.0));
        assert_eq!(of(1), Err("broken"));
    }
}
