//! A growing row of bits.

/// A growing row of bits: which values of a column are present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    pub(crate) fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.words[self.len / 64] |= u64::from(bit) << (self.len % 64);
        self.len += 1;
    }

    pub(crate) fn ones(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if let (Some(last), used @ 1..) = (words.last_mut(), len % 64) {
            *last = (1 << used) - 1;
        }
        Bits { words, len }
    }

    /// Bits from bytes, the lowest first. `None`: another number of bytes, or bits set behind the end.
    pub(crate) fn from_bytes(bytes: &[u8], len: usize) -> Option<Self> {
        if bytes.len() != len.div_ceil(8) {
            return None;
        }
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let words: Vec<u64> = bytes.chunks(8).map(word).collect();
        let behind = match (words.last(), len % 64) {
            (Some(last), used @ 1..) => last >> used,
            _ => 0,
        };
        (behind == 0).then_some(Bits { words, len })
    }

    /// The bit at `place`. Panics where there is none.
    pub(crate) fn at(&self, place: usize) -> bool {
        assert!(
            place < self.len,
            "place {place} of a row of {} bits",
            self.len
        );
        self.words[place / 64] >> (place % 64) & 1 == 1
    }

    pub(crate) fn all(&self) -> bool {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum::<usize>()
            == self.len
    }

    /// 64 bits a word, the first one lowest; bits behind the end are 0.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}
