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
