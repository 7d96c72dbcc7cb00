//! Putting files together from parts in any order.

use std::collections::{BTreeMap, HashMap};

use super::part::{Multi, Part, parse};
use super::{FileHash, FragmentError, MessageId, file_hash};

/// Collects parts. Memory grows with the parts pushed, whatever they claim.
#[derive(Debug, Default)]
pub struct Reassembler {
    /// In the order of their first parts.
    files: Vec<File>,
    by_id: HashMap<MessageId, usize>,
}

/// A file of which parts are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The file.
    pub id: MessageId,
    /// Parts at hand; 0 if all came but were dropped with `FragmentError::Hash`.
    pub have: u32,
    /// Parts it has.
    pub total: u32,
}

#[derive(Debug)]
enum File {
    Whole(Vec<u8>),
    Partial(Partial),
}

#[derive(Debug)]
struct Partial {
    id: MessageId,
    total: u32,
    hash: FileHash,
    capacity: usize,
    parts: BTreeMap<u32, Vec<u8>>,
}

impl Reassembler {
    /// An empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one part, of any file, in any order.
    ///
    /// A part of a file in many may come again. A file in one part has no id, so it is delivered as
    /// often as it is pushed: push each opened payload once. After an error everything pushed
    /// before still stands, except with `Hash`.
    ///
    /// Errors: those of a malformed part; `Inconsistent`, `Conflict`: the earlier part is kept;
    /// `Hash`: all parts of the file are dropped.
    pub fn push(&mut self, part: &[u8]) -> Result<(), FragmentError> {
        let multi = match parse(part)? {
            Part::Single(content) => {
                self.files.push(File::Whole(content.to_vec()));
                return Ok(());
            }
            Part::Multi(multi) => multi,
        };
        let files = &mut self.files;
        let at = *self.by_id.entry(multi.id).or_insert_with(|| {
            files.push(File::Partial(Partial::new(&multi, part.len())));
            files.len() - 1
        });
        match &mut files[at] {
            File::Whole(_) => Ok(()),
            File::Partial(partial) => {
                if let Some(whole) = partial.push(&multi, part.len())? {
                    files[at] = File::Whole(whole);
                }
                Ok(())
            }
        }
    }

    /// The files that are whole, with their hashes verified, and those that are not; each in the
    /// order of their first parts.
    #[must_use]
    pub fn finish(self) -> (Vec<Vec<u8>>, Vec<Incomplete>) {
        let (mut complete, mut incomplete) = (Vec::new(), Vec::new());
        for file in self.files {
            match file {
                File::Whole(bytes) => complete.push(bytes),
                File::Partial(Partial {
                    id, total, parts, ..
                }) => {
                    incomplete.push(Incomplete {
                        id,
                        have: parts.len() as u32,
                        total,
                    });
                }
            }
        }
        (complete, incomplete)
    }
}

impl Partial {
    fn new(first: &Multi<'_>, capacity: usize) -> Self {
        let &Multi {
            id, total, hash, ..
        } = first;
        Self {
            id,
            total,
            hash,
            capacity,
            parts: BTreeMap::new(),
        }
    }

    /// Adds one part; returns the file once it is whole.
    fn push(
        &mut self,
        part: &Multi<'_>,
        capacity: usize,
    ) -> Result<Option<Vec<u8>>, FragmentError> {
        let &Multi {
            id,
            total,
            index,
            hash,
            content,
        } = part;
        if (total, hash, capacity) != (self.total, self.hash, self.capacity) {
            return Err(FragmentError::Inconsistent { id });
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
            return Err(FragmentError::Hash { id });
        }
        Ok(Some(whole))
    }
}
