//! Reassembling files from parts in any order.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::envelope::{Whole, opened, unmarked};
use super::part::{Multi, Part, parse};
use super::{FileHash, FragmentError, MessageId, file_hash};

/// A collection of parts. Its memory grows with the parts that were pushed, not with the lengths they announce.
#[derive(Debug, Default)]
pub struct Reassembler {
    /// Files in the order of their first parts.
    files: Vec<File>,
    by_id: HashMap<MessageId, usize>,
}

/// A file with missing parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The file.
    pub id: MessageId,
    /// Number of parts that have arrived; 0 if all arrived but were dropped with `FragmentError::Hash`.
    pub have: u32,
    /// Number of parts of the file.
    pub total: u32,
    /// Numbers of the missing parts. There is at most one range more than parts have arrived.
    pub missing: Vec<Range<u32>>,
}

#[derive(Debug)]
enum File {
    Whole(Whole),
    Partial(Partial),
}

#[derive(Debug)]
struct Partial {
    id: MessageId,
    total: u32,
    hash: FileHash,
    capacity: usize,
    marked: bool,
    parts: BTreeMap<u32, Vec<u8>>,
}

impl Reassembler {
    /// Makes an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one part of any file, in any order.
    ///
    /// A part of a file in several parts may be pushed more than once. A file in one part has no id, so it is returned
    /// as often as it is pushed: push each opened payload once. After an error the collection is as before, except for
    /// `Hash` and `Fields`.
    ///
    /// Errors: those of a malformed part; `Inconsistent` and `Conflict`, where the earlier part is kept; `Hash` and
    /// `Fields` of a file in several parts, which are all dropped.
    pub fn push(&mut self, part: &[u8]) -> Result<(), FragmentError> {
        let (marked, content) = unmarked(part)?;
        let multi = match parse(content)? {
            Part::Single(content) => {
                self.files
                    .push(File::Whole(whole(marked, content.to_vec())?));
                return Ok(());
            }
            Part::Multi(multi) => multi,
        };
        let files = &mut self.files;
        let at = *self.by_id.entry(multi.id).or_insert_with(|| {
            files.push(File::Partial(Partial::new(&multi, part.len(), marked)));
            files.len() - 1
        });
        match &mut files[at] {
            File::Whole(_) => Ok(()),
            File::Partial(partial) => {
                if let Some(file) = partial.push(&multi, part.len(), marked)? {
                    files[at] = File::Whole(whole(marked, file)?);
                }
                Ok(())
            }
        }
    }

    /// Returns the complete files, whose hashes have been verified, and the incomplete ones, each in the order of their
    /// first parts.
    #[must_use]
    pub fn finish(self) -> (Vec<Whole>, Vec<Incomplete>) {
        let (mut complete, mut incomplete) = (Vec::new(), Vec::new());
        for file in self.files {
            match file {
                File::Whole(whole) => complete.push(whole),
                File::Partial(Partial {
                    id, total, parts, ..
                }) => {
                    incomplete.push(Incomplete {
                        id,
                        have: parts.len() as u32,
                        total,
                        missing: missing(parts.keys().copied(), total),
                    });
                }
            }
        }
        (complete, incomplete)
    }
}

/// Returns the gaps in `numbers`, which are ascending and below `total`.
fn missing(numbers: impl Iterator<Item = u32>, total: u32) -> Vec<Range<u32>> {
    let mut gaps = Vec::new();
    let mut next = 0;
    for number in numbers.chain([total]) {
        if next < number {
            gaps.push(next..number);
        }
        next = number + 1;
    }
    gaps
}

impl Partial {
    fn new(first: &Multi<'_>, capacity: usize, marked: bool) -> Self {
        let &Multi {
            id, total, hash, ..
        } = first;
        Self {
            id,
            total,
            hash,
            capacity,
            marked,
            parts: BTreeMap::new(),
        }
    }

    /// Adds one part; returns the file once it is complete.
    fn push(
        &mut self,
        part: &Multi<'_>,
        capacity: usize,
        marked: bool,
    ) -> Result<Option<Vec<u8>>, FragmentError> {
        let &Multi {
            id,
            total,
            index,
            hash,
            content,
        } = part;
        let kept = (self.total, self.hash, self.capacity, self.marked);
        if (total, hash, capacity, marked) != kept {
            return Err(FragmentError::Inconsistent(id));
        }
        let kept = self.parts.entry(index).or_insert_with(|| content.to_vec());
        if kept != content {
            return Err(FragmentError::Conflict { id, index });
        }
        if self.parts.len() < total as usize {
            return Ok(None);
        }
        let whole: Vec<u8> = std::mem::take(&mut self.parts)
            .into_values()
            .flatten()
            .collect();
        if file_hash(&whole) != self.hash {
            return Err(FragmentError::Hash(id));
        }
        Ok(Some(whole))
    }
}

fn whole(marked: bool, bytes: Vec<u8>) -> Result<Whole, FragmentError> {
    if marked {
        opened(&bytes)
    } else {
        Ok(Whole {
            bytes,
            ..Whole::default()
        })
    }
}
