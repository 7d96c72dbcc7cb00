//! A cursor over the bytes of a block.

use crate::TransactionsError;

/// A cursor over the bytes of a block.
///
/// Every method fails, rather than panics, when the bytes run out.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// Returns the bytes read since `start`, an earlier [`Reader::offset`].
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.offset]
    }

    /// Returns the next byte without reading it; `None` at the end.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    /// Reads `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], TransactionsError> {
        self.records(1, len)
    }

    /// Reads `count` records of `size` bytes each.
    pub(crate) fn records(
        &mut self,
        count: u64,
        size: usize,
    ) -> Result<&'a [u8], TransactionsError> {
        let expected = count.saturating_mul(size as u64);
        let len = usize::try_from(expected)
            .ok()
            .filter(|len| *len <= self.remaining())
            .ok_or(TransactionsError::Truncated {
                offset: self.offset,
                expected,
                found: self.remaining(),
            })?;
        let start = self.offset;
        self.offset += len;
        Ok(self.since(start))
    }

    /// Reads bytes that follow their number, a compact size.
    pub(crate) fn sized(&mut self) -> Result<&'a [u8], TransactionsError> {
        let len = self.compact_size()?;
        self.records(len, 1)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, TransactionsError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32, TransactionsError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads a compact size of 1, 3, 5 or 9 bytes. Only the shortest form is accepted.
    pub(crate) fn compact_size(&mut self) -> Result<u64, TransactionsError> {
        let offset = self.offset;
        let (found, smallest, width) = match self.u8()? {
            0xfd => (u64::from(u16::from_le_bytes(self.array()?)), 0xfd, 2),
            0xfe => (u64::from(self.u32()?), 1 << 16, 4),
            0xff => (u64::from_le_bytes(self.array()?), 1 << 32, 8),
            small => return Ok(u64::from(small)),
        };
        if found < smallest {
            return Err(TransactionsError::NonCanonicalSize {
                offset,
                found,
                width,
            });
        }
        Ok(found)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TransactionsError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compact_size(bytes: &[u8]) -> Result<u64, TransactionsError> {
        Reader::new(bytes).compact_size()
    }

    #[test]
    fn compact_sizes_of_every_width() {
        assert_eq!(compact_size(&[0xfc]), Ok(0xfc));
        assert_eq!(compact_size(&[0xfd, 0xfd, 0]), Ok(0xfd));
        assert_eq!(compact_size(&[0xfe, 0, 0, 1, 0]), Ok(1 << 16));
        assert_eq!(compact_size(&[0xff, 0, 0, 0, 0, 1, 0, 0, 0]), Ok(1 << 32));
    }

    #[test]
    fn wide_compact_sizes_are_refused() {
        for (bytes, found, width) in [
            (&[0xfd, 0xfc, 0][..], 0xfc, 2),
            (&[0xfe, 0xff, 0xff, 0, 0], 0xffff, 4),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], 0xffff_ffff, 8),
        ] {
            let expected = TransactionsError::NonCanonicalSize {
                offset: 0,
                found,
                width,
            };
            assert_eq!(compact_size(bytes), Err(expected));
        }
    }

    #[test]
    fn an_absurd_count_is_truncated() {
        let mut reader = Reader::new(&[0; 8]);
        reader.take(3).unwrap();
        let expected = TransactionsError::Truncated {
            offset: 3,
            expected: u64::MAX,
            found: 5,
        };
        assert_eq!(reader.records(u64::MAX / 2, 948), Err(expected));
        assert_eq!(
            reader.remaining(),
            5,
            "a failed read must not move the cursor"
        );
    }
}
