//! Linear equations modulo a prime; equations beyond the number of unknowns are a check.

use crate::error::{DecodeError, Inconsistency};
use crate::field::Field;
use omr_errors::Mismatch;

/// Solves for `unknowns` unknowns by Gauss and Jordan: row `i` then starts with what unknown `i` is.
///
/// A row has the unknowns' coefficients first and then any number of right-hand sides.
/// Every row that is not needed must come out as zero: no row is dropped unseen.
/// Shape:  rows of one length.   Range: in and out `[0, p)`.   Time: vartime.
/// Errors: [`DecodeError::TooFewSums`] where the rows do not determine the unknowns;
/// [`DecodeError::Inconsistent`] names the first sum that contradicts the others.
pub fn eliminate(field: &Field, rows: &mut [Vec<u32>], unknowns: usize) -> Result<(), DecodeError> {
    // Rows are swapped; errors name them by the place they came from.
    let mut names: Vec<usize> = (0..rows.len()).collect();
    for column in 0..unknowns {
        let pivot = (column..rows.len())
            .find(|&r| rows[r][column] != 0)
            .ok_or(DecodeError::TooFewSums(Mismatch::new(unknowns, column)))?;
        rows.swap(column, pivot);
        names.swap(column, pivot);
        let mut own = std::mem::take(&mut rows[column]);
        let inverse = field.inv(own[column]).unwrap_or_default(); // the pivot is not 0
        own.iter_mut().for_each(|x| *x = field.mul(*x, inverse));
        for row in rows.iter_mut().filter(|row| !row.is_empty()) {
            subtract(field, row, &own, column);
        }
        rows[column] = own;
    }
    let spare = rows[unknowns..].iter().zip(&names[unknowns..]);
    let wrong = |(row, &name): (&Vec<u32>, &usize)| {
        let found = row.iter().copied().find(|&x| x != 0)?;
        Some((name, found))
    };
    match spare.filter_map(wrong).min() {
        None => Ok(()),
        Some((exponent, found)) => {
            Err(Inconsistency::Sum(exponent, Mismatch::new(0, found)).into())
        }
    }
}

/// Takes `own`, whose first value that is not 0 is a 1 at `column`, out of a row.
fn subtract(field: &Field, row: &mut [u32], own: &[u32], column: usize) {
    let factor = field.neg(row[column]);
    if factor == 0 {
        return;
    }
    for (x, &y) in row[column..].iter_mut().zip(&own[column..]) {
        *x = field.reduce(u64::from(*x) + u64::from(factor) * u64::from(y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(rows: &[&[u32]], unknowns: usize) -> Result<Vec<u32>, DecodeError> {
        let field = Field::new(65_537).unwrap();
        let mut reduced: Vec<Vec<u32>> = rows.iter().map(|row| row.to_vec()).collect();
        eliminate(&field, &mut reduced, unknowns)?;
        Ok(reduced[..unknowns]
            .iter()
            .map(|row| row[unknowns])
            .collect())
    }

    #[test]
    fn by_hand() {
        // x = 5, y = 7; the third equation is a check
        let rows: [&[u32]; 3] = [&[0, 3, 21], &[2, 1, 17], &[2, 3, 31]];
        assert_eq!(solved(&rows, 2), Ok(vec![5, 7]));
        // Entries that equal the pivot are eliminated like others.
        let equal: [&[u32]; 3] = [&[2, 1, 17], &[2, 3, 31], &[2, 5, 45]];
        assert_eq!(solved(&equal, 2), Ok(vec![5, 7]));
    }

    #[test]
    fn every_row_is_looked_at() {
        let rows: [&[u32]; 4] = [&[0, 3, 21], &[2, 1, 17], &[2, 3, 31], &[0, 0, 0]];
        for at in 0..4 {
            let mut changed = rows.map(<[u32]>::to_vec);
            changed[at][2] += 1;
            let error = solved(&changed.each_ref().map(Vec::as_slice), 2).unwrap_err();
            assert!(matches!(error, DecodeError::Inconsistent(_)), "{at}");
        }
    }

    #[test]
    fn dependent_rows_are_too_few() {
        let rows: [&[u32]; 3] = [&[1, 2, 5], &[2, 4, 10], &[3, 6, 15]];
        let (expected, found) = (2, 1);
        assert_eq!(
            solved(&rows, 2),
            Err(DecodeError::TooFewSums(Mismatch { expected, found }))
        );
    }
}
