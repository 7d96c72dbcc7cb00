//! A view of a board with every n-th message only.

use crate::MessageSource;
use crate::error::check_len;
use crate::source::SourceError;
use omr_protocol::Stride;
use omr_protocol::clue::KeptHashes;
use std::ops::Range;

/// Number of messages of the board that are read together, for picking some of them.
const TOGETHER: u64 = 1024;

/// The messages of a stride, numbered without gaps as in the stride's digest.
pub struct Strided<'a> {
    board: &'a mut dyn MessageSource,
    stride: Stride,
}

impl<'a> Strided<'a> {
    /// Makes the view of a stride. A stride without gaps is the board itself.
    pub fn new(board: &'a mut dyn MessageSource, stride: Stride) -> Self {
        Self { board, stride }
    }

    /// Reads pieces of the board and picks the messages of the stride.
    fn pick(
        &mut self,
        counted: Range<u64>,
        mut read: impl FnMut(&mut dyn MessageSource, Range<u64>) -> Result<Vec<u8>, SourceError>,
    ) -> Result<Vec<u8>, SourceError> {
        if !self.stride.has_gaps() {
            return read(self.board, counted);
        }
        let step = self.stride.step();
        let mut picked = Vec::new();
        for span in spans(self.stride, counted) {
            let messages = (span.end - span.start) as usize;
            let bytes = read(self.board, span)?;
            let of_message = bytes.len() / messages;
            check_len("a piece of the board", messages * of_message, bytes.len())?;
            for message in bytes.chunks_exact(of_message.max(1)).step_by(step as usize) {
                picked.extend_from_slice(message);
            }
        }
        Ok(picked)
    }
}

/// Returns the pieces of a board that contain the messages of a stride, each from its first message of the stride to
/// its last.
fn spans(stride: Stride, counted: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let together = (TOGETHER / stride.step()).max(1);
    let starts = counted.clone().step_by(together as usize);
    starts.map(move |at| {
        let end = counted.end.min(at + together);
        stride.index(at)..stride.index(end - 1) + 1
    })
}

impl MessageSource for Strided<'_> {
    fn clue_bytes(&self) -> usize {
        self.board.clue_bytes()
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.pick(range, |board, piece| board.clues(piece))
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.pick(range, |board, piece| board.payloads(piece))
    }

    fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        if !self.stride.has_gaps() {
            return self.board.hashes(range);
        }
        let mut picked: Option<KeptHashes> = None;
        for span in spans(self.stride, range) {
            let messages = (span.end - span.start) as usize;
            let Some(piece) = self.board.hashes(span)? else {
                return Ok(None);
            };
            check_len("hashes", messages * 32, piece.hashes.len() * 32)?;
            let all = picked.get_or_insert(KeptHashes::new(piece.of, Vec::new()));
            if all.of != piece.of {
                return Ok(None);
            }
            let own = piece.hashes.iter().step_by(self.stride.step() as usize);
            all.hashes.extend(own);
        }
        Ok(picked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::clue::HashesOf;

    /// Message i has clue [i, i] and payload [i, 0, i], bytes modulo 256.
    struct Numbers(u64);

    impl MessageSource for Numbers {
        fn clue_bytes(&self) -> usize {
            2
        }

        fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
            assert!(range.end <= self.0);
            Ok(range.flat_map(|i| [i as u8; 2]).collect())
        }

        fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
            assert!(range.end <= self.0);
            Ok(range.flat_map(|i| [i as u8, 0, i as u8]).collect())
        }

        /// Returns no hash of message 4,000, and hashes of another set from 4,500 on.
        fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
            assert!(range.end <= self.0);
            if range.contains(&4000) {
                return Ok(None);
            }
            let of = HashesOf {
                tag: [u8::from(range.start >= 4500); 4],
                board_id: [1; 16],
            };
            let hash = |i: u64| [i as u8; 32];
            Ok(Some(KeptHashes::new(of, range.map(hash).collect())))
        }
    }

    #[test]
    fn the_hashes_of_a_view_are_those_of_its_messages_where_all_are_kept() {
        for step in [1, 2, 7, 61, 2000] {
            let mut board = Numbers(5000);
            let stride = Stride::new(3..5000, step);
            let mut strided = Strided::new(&mut board, stride);
            let all = stride.range();
            let until = all.start + (3900 / step).min(all.end - all.start);
            let kept = strided.hashes(all.start..until).unwrap().unwrap();
            assert_eq!(kept.of.tag, [0; 4]);
            let expected: Vec<[u8; 32]> = (all.start..until)
                .map(|counted| [stride.index(counted) as u8; 32])
                .collect();
            assert_eq!(kept.hashes, expected, "{step}");
            if step > 1 && step < 2000 {
                assert_eq!(strided.hashes(all).unwrap(), None, "{step}");
            }
        }
        // Hashes of two sets in one view.
        let mut board = Numbers(5000);
        let stride = Stride::new(4400..4999, 50);
        let mut strided = Strided::new(&mut board, stride);
        let all = stride.range();
        assert!(strided.hashes(all.start..all.start + 1).unwrap().is_some());
        let pieces: Vec<_> = spans(stride, all.clone()).collect();
        assert_eq!(strided.hashes(all).unwrap().is_some(), pieces.len() == 1);
    }

    #[test]
    fn the_messages_of_a_view_are_read_and_no_others() {
        for step in [1, 2, 7, 61, 2000] {
            let mut board = Numbers(5000);
            let stride = Stride::new(3..5000, step);
            let mut strided = Strided::new(&mut board, stride);
            assert_eq!(stride.has_gaps(), step > 1);
            let all = stride.range();
            for counted in [all.clone(), all.start + 1..all.end, all.end - 1..all.end] {
                let indices: Vec<u8> = counted.clone().map(|i| stride.index(i) as u8).collect();
                let clues: Vec<u8> = indices.iter().flat_map(|&i| [i; 2]).collect();
                let payloads: Vec<u8> = indices.iter().flat_map(|&i| [i, 0, i]).collect();
                assert_eq!(strided.clues(counted.clone()).unwrap(), clues, "{step}");
                assert_eq!(strided.payloads(counted).unwrap(), payloads, "{step}");
            }
        }
    }
}
