//! Decimal numbers as written: exact until a scale is asked for.

use std::fmt;

/// A number `coefficient` × 10^−`places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    coefficient: i128,
    places: i32,
}

/// `-12.50`; with an exponent where places are negative or too many to write down.
impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(places @ 0..=DIGITS) = u32::try_from(self.places) else {
            let exponent = -i64::from(self.places);
            return write!(f, "{}e{exponent}", self.coefficient);
        };
        if places == 0 {
            return write!(f, "{}", self.coefficient);
        }
        let sign = if self.coefficient < 0 { "-" } else { "" };
        let unit = 10u128.pow(places);
        let number = self.coefficient.unsigned_abs();
        let (whole, fraction) = (number / unit, number % unit);
        write!(
            f,
            "{sign}{whole}.{fraction:0width$}",
            width = places as usize
        )
    }
}

/// The largest coefficient of a decimal: 18 digits.
pub(crate) const MAX_DECIMAL: i64 = 999_999_999_999_999_999;
/// Most decimal places.
pub(crate) const MAX_SCALE: u8 = 18;
/// Digits that fit a coefficient.
const DIGITS: u32 = 38;

/// The reason why a number does not fit a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The number has more decimal places than the scale.
    Places,
    /// The number has more than 18 digits.
    Digits,
}

impl Written {
    pub(crate) fn new(coefficient: i128, places: i32) -> Self {
        Written {
            coefficient,
            places,
        }
    }

    /// Reads `-12.50`, `.5`, `7.` or `1.5e3`. `None`: no number, or of more than 38 digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, number) = match number.as_bytes().first()? {
            b'-' => (true, &number[1..]),
            b'+' => (false, &number[1..]),
            _ => (false, number),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let coefficient = coefficient(whole.bytes().chain(fraction.bytes()))?;
        let places = i32::try_from(fraction.len()).ok()? - exponent;
        Some(Written {
            coefficient: if negative { -coefficient } else { coefficient },
            places,
        })
    }

    /// Decimal places as written, 0 at least.
    pub(crate) fn places(self) -> u32 {
        if self.coefficient == 0 && self.places > i32::from(MAX_SCALE) {
            return 0;
        }
        u32::try_from(self.places).unwrap_or(0)
    }

    /// Digits before the point, without leading zeros.
    pub(crate) fn whole_digits(self) -> u32 {
        if self.coefficient == 0 {
            return 0;
        }
        let digits = self.coefficient.unsigned_abs().ilog10() + 1;
        u32::try_from(i64::from(digits) - i64::from(self.places)).unwrap_or(0)
    }

    /// The number in units of the last of `scale` places. Errors: further places, or more than 18
    /// digits.
    pub(crate) fn exactly(self, scale: u8) -> Result<i64, Misfit> {
        decimal(self.at(scale, false)?)
    }

    /// The number as an integer of 64 bits. Errors: a fraction, or out of that range.
    pub(crate) fn whole(self) -> Result<i64, Misfit> {
        i64::try_from(self.at(0, false)?).map_err(|_| Misfit::Digits)
    }

    /// The number in units of the last of `scale` places; further places are rounded, halves away
    /// from zero, as SQL's CAST does.
    pub(crate) fn rounded(self, scale: u8) -> Result<i64, Misfit> {
        decimal(self.at(scale, true)?)
    }

    fn at(self, scale: u8, round: bool) -> Result<i128, Misfit> {
        if self.coefficient == 0 {
            return Ok(0);
        }
        let shift = i64::from(scale) - i64::from(self.places);
        let power =
            |exponent: u64| (exponent <= u64::from(DIGITS)).then(|| 10i128.pow(exponent as u32));
        if shift >= 0 {
            let factor = power(shift.unsigned_abs()).ok_or(Misfit::Digits)?;
            self.coefficient.checked_mul(factor).ok_or(Misfit::Digits)
        } else {
            match power(shift.unsigned_abs()) {
                Some(divisor) => divide(self.coefficient, divisor, round),
                None if round => Ok(0),
                None => Err(Misfit::Places),
            }
        }
    }
}

/// A coefficient of at most 18 digits.
fn decimal(number: i128) -> Result<i64, Misfit> {
    let fits = number.unsigned_abs() <= MAX_DECIMAL as u128;
    fits.then_some(number as i64).ok_or(Misfit::Digits)
}

fn divide(number: i128, divisor: i128, round: bool) -> Result<i128, Misfit> {
    let (quotient, rest) = (number / divisor, number % divisor);
    if rest == 0 {
        return Ok(quotient);
    }
    if !round {
        return Err(Misfit::Places);
    }
    let up = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    Ok(quotient + if up { number.signum() } else { 0 })
}

fn coefficient(digits: impl Iterator<Item = u8>) -> Option<i128> {
    digits.into_iter().try_fold(0i128, |number, digit| {
        if !digit.is_ascii_digit() {
            return None;
        }
        let next = number
            .checked_mul(10)?
            .checked_add(i128::from(digit - b'0'))?;
        (next < 10i128.pow(DIGITS)).then_some(next)
    })
}

/// An exponent of at most four digits: none that is larger has a place in any column.
fn parse_exponent(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let well_formed =
        (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    well_formed.then(|| text.parse().ok()).flatten()
}

/// `-12.50` of −1250 with two places.
pub(crate) fn decimal_text(number: i64, scale: u8) -> String {
    let sign = if number < 0 { "-" } else { "" };
    if scale == 0 {
        return number.to_string();
    }
    let places = usize::from(scale);
    let digits = format!("{:0width$}", number.unsigned_abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(text: &str, scale: u8) -> Result<i64, Misfit> {
        Written::parse(text).expect("a number").exactly(scale)
    }

    fn rounded(text: &str, scale: u8) -> Result<i64, Misfit> {
        Written::parse(text).expect("a number").rounded(scale)
    }

    #[test]
    fn numbers_are_read_exactly() {
        assert_eq!(exactly("12.5", 2), Ok(1250));
        assert_eq!(exactly("-.05", 2), Ok(-5));
        assert_eq!(exactly("7.", 0), Ok(7));
        assert_eq!(exactly("1.5e3", 0), Ok(1500));
        assert_eq!(exactly("12.500", 1), Ok(125));
        assert_eq!(exactly("12.55", 1), Err(Misfit::Places));
        assert_eq!(exactly("1e-300", 18), Err(Misfit::Places));
        assert_eq!(exactly("0e9999", 18), Ok(0));
        assert_eq!(exactly("1e9999", 0), Err(Misfit::Digits));
        assert_eq!(exactly("999999999999999999", 0), Ok(MAX_DECIMAL));
        assert_eq!(exactly("1000000000000000000", 0), Err(Misfit::Digits));
        assert_eq!(exactly("10", 18), Err(Misfit::Digits));
    }

    #[test]
    fn halves_round_away_from_zero() {
        assert_eq!(rounded("0.125", 2), Ok(13));
        assert_eq!(rounded("-0.125", 2), Ok(-13));
        assert_eq!(rounded("0.1249999999999999999999999", 2), Ok(12));
        assert_eq!(rounded("0.30000000000000004", 2), Ok(30));
        assert_eq!(rounded("1e-300", 18), Ok(0));
        assert_eq!(rounded("0.5", 0), Ok(1));
        assert_eq!(rounded("0.4", 0), Ok(0));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            ".",
            "-",
            "+.",
            "1.2.3",
            "1e",
            "1e+",
            "1e12345",
            "NaN",
            "inf",
            "1_000",
            "0x10",
            " 1",
            "--1",
            "1e5.0",
            "１",
            "123456789012345678901234567890123456789",
        ] {
            assert_eq!(Written::parse(text), None, "{text}");
        }
    }

    #[test]
    fn text_has_all_places() {
        assert_eq!(decimal_text(1250, 2), "12.50");
        assert_eq!(decimal_text(-5, 2), "-0.05");
        assert_eq!(decimal_text(0, 3), "0.000");
        assert_eq!(decimal_text(-7, 0), "-7");
        assert_eq!(decimal_text(i64::MIN, 18), "-9.223372036854775808");
    }
}
