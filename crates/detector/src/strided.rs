//! A board of which only every so many-th message is looked at.

use crate::MessageSource;
use crate::error::check_len;
use crate::source::SourceError;
use omr_protocol::Stride;
use std::ops::Range;

/// Messages of the board that are read together, to pick from.
const TOGETHER: u64 = 1024;

/// The messages of a stride, counted without gaps as its digest counts them.
pub struct Strided<'a> {
    board: &'a mut dyn MessageSource,
    stride: Stride,
}

impl<'a> Strided<'a> {
    /// A stride of a board. One without gaps is the board itself.
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
        let together = (TOGETHER / step).max(1);
        let mut picked = Vec::new();
        let mut at = counted.start;
        while at < counted.end {
            let end = counted.end.min(at + together);
            let span = self.stride.index(at)..self.stride.index(end - 1) + 1;
            let messages = (span.end - span.start) as usize;
            let bytes = read(self.board, span)?;
            let of_message = bytes.len() / messages;
            check_len("a piece of the board", messages * of_message, bytes.len())?;
            for message in bytes.chunks_exact(of_message.max(1)).step_by(step as usize) {
                picked.extend_from_slice(message);
            }
            at = end;
        }
        Ok(picked)
    }
}

impl MessageSource for Strided<'_> {
    fn clue_bytes(&self) -> usize {
        self.board.clue_bytes()
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.pick(range, |board, range| board.clues(range))
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.pick(range, |board, range| board.payloads(range))
    }

    fn is_private(&self) -> bool {
        self.stride.has_gaps() || self.board.is_private()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn the_messages_of_a_view_are_read_and_no_others() {
        for step in [1, 2, 7, 61, 2000] {
            let mut board = Numbers(5000);
            let stride = Stride::new(3..5000, step);
            let mut strided = Strided::new(&mut board, stride);
            assert_eq!(strided.is_private(), step > 1);
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
