//! Words that start on a cache line, on huge pages where there are many.

use std::ops::{Deref, DerefMut};

#[cfg(target_os = "linux")]
use memmap2::Advice;
use memmap2::MmapMut;

/// Words from which memory is mapped on huge pages: two of them.
const MAPPED_FROM: usize = 1 << 19;

/// A fixed number of words whose first lies on a 64-byte boundary.
///
/// Kernels take rows anywhere, but vectors that straddle cache lines cost a transform about a
/// third of its speed. Rows of a multiple of 8 residues, one after the other, are all aligned.
/// From 4 MiB on the words lie on huge pages if the system has some: small ones are faulted in one
/// by one, which costs more than the arithmetic on them.
#[derive(Debug)]
pub struct AlignedVec(Words);

#[derive(Debug)]
enum Words {
    Heap { words: Vec<u64>, start: usize },
    Mapped { map: MmapMut, len: usize },
}

impl AlignedVec {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let mapped = (len >= MAPPED_FROM).then(|| map(len)).flatten();
        Self(mapped.unwrap_or_else(|| heap(len)))
    }
}

fn heap(len: usize) -> Words {
    let mut words = vec![0; len + 7];
    let bytes_past = words.as_ptr().addr() % 64;
    let start = (64 - bytes_past) / 8 % 8;
    words.truncate(start + len);
    Words::Heap { words, start }
}

/// Maps fresh pages, which are zeros; `None` where the system refuses, and then the allocator
/// reports why.
fn map(len: usize) -> Option<Words> {
    let map = MmapMut::map_anon(len * size_of::<u64>()).ok()?;
    // Only advice: without huge pages all is the same, but slower.
    #[cfg(target_os = "linux")]
    let _ = map.advise(Advice::HugePage);
    Some(Words::Mapped { map, len })
}

impl AlignedVec {
    /// The words read as 64-bit floats: words of zeros are floats of zero.
    pub fn floats(&self) -> &[f64] {
        bytemuck::cast_slice(self)
    }

    /// The words as 64-bit floats, to write.
    pub fn floats_mut(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(self)
    }
}

impl AlignedVec {
    /// The words read as two 32-bit words each.
    pub fn halves(&self) -> &[u32] {
        bytemuck::cast_slice(self)
    }

    /// The words as two 32-bit words each, to write.
    pub fn halves_mut(&mut self) -> &mut [u32] {
        bytemuck::cast_slice_mut(self)
    }
}

impl Default for AlignedVec {
    fn default() -> Self {
        Self(heap(0))
    }
}

impl From<&[u64]> for AlignedVec {
    fn from(words: &[u64]) -> Self {
        let mut aligned = Self::zeroed(words.len());
        aligned.copy_from_slice(words);
        aligned
    }
}

impl Clone for AlignedVec {
    fn clone(&self) -> Self {
        self[..].into()
    }
}

impl PartialEq for AlignedVec {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Eq for AlignedVec {}

impl Deref for AlignedVec {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        match &self.0 {
            Words::Heap { words, start } => &words[*start..],
            Words::Mapped { map, len } => &bytemuck::cast_slice(map)[..*len],
        }
    }
}

impl DerefMut for AlignedVec {
    fn deref_mut(&mut self) -> &mut [u64] {
        match &mut self.0 {
            Words::Heap { words, start } => &mut words[*start..],
            Words::Mapped { map, len } => &mut bytemuck::cast_slice_mut(map)[..*len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AlignedVec, MAPPED_FROM};

    #[test]
    fn starts_on_a_cache_line_and_keeps_its_words() {
        for len in (0..40).chain([MAPPED_FROM as u64 - 1, MAPPED_FROM as u64 + 9]) {
            let words: Vec<u64> = (1..=len).collect();
            let row = AlignedVec::from(&words[..]);
            for row in [&row, &row.clone()] {
                assert_eq!(row.as_ptr().addr() % 64, 0, "{len} words");
                assert_eq!(row[..], words[..]);
            }
        }
    }
}
