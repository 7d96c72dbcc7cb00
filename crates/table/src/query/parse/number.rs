//! Numbers as they are written, exactly.

/// Beyond every ordinal, and far enough from the ends of `i128` for what is added to it.
const HUGE: i128 = 1 << 100;

/// A number on the scale of a column's ordinals: `floor`, or between it and the next whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    /// The whole part, rounded down; at most 2^100 in size, where larger numbers stand.
    pub(super) floor: i128,
    /// Nothing was rounded off.
    pub(super) whole: bool,
}

impl Exact {
    /// A whole number.
    pub(super) fn of(value: impl Into<i128>) -> Self {
        Self {
            floor: value.into(),
            whole: true,
        }
    }

    fn negated(self) -> Self {
        let floor = if self.whole {
            -self.floor
        } else {
            -self.floor - 1
        };
        Self { floor, ..self }
    }

    /// Converts to the next coarser unit, which is `factor` times as long, such as seconds to days.
    pub(super) fn coarser(self, factor: i128) -> Self {
        let whole = self.whole && self.floor.rem_euclid(factor) == 0;
        Self {
            floor: self.floor.div_euclid(factor),
            whole,
        }
    }
}

/// Reads `digits [. digits] [e [sign] digits]`, times `10^scale`, negated where asked for. `None` where it is no such number.
pub(super) fn read(text: &str, negative: bool, scale: u8) -> Option<Exact> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, places) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{places}");
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let behind = i64::try_from(places.len()).ok()?;
    let value = shifted(
        digits.trim_start_matches('0'),
        exponent - behind + i64::from(scale),
    );
    Some(if negative { value.negated() } else { value })
}

/// Exponents beyond a million are all the same: texts are shorter.
fn read_exponent(text: &str) -> Option<i64> {
    const MOST: i64 = 1_000_000;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(MOST).min(MOST);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Digits without leading zeros, times `10^power`.
fn shifted(digits: &str, power: i64) -> Exact {
    const MOST_DIGITS: i64 = 30;
    let length = digits.len() as i64 + power;
    if digits.is_empty() || length <= 0 {
        return Exact {
            floor: 0,
            whole: digits.is_empty(),
        };
    }
    if length > MOST_DIGITS {
        return Exact::of(HUGE);
    }
    let (front, behind) = digits.split_at(digits.len().min(length as usize));
    let zeros = (length as usize).saturating_sub(digits.len()) as u32;
    // At most 30 digits: below 2^100.
    let value = front.parse::<i128>().unwrap_or(HUGE) * 10_i128.pow(zeros);
    Exact {
        floor: value,
        whole: behind.bytes().all(|digit| digit == b'0'),
    }
}
