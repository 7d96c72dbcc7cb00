//! Transposition of clues from rows to diagonals.

use super::{ClueBatch, LINE};
use crate::clear::Params;
use omr_protocol::ClueParser;
use omr_ring::SlotOrder;

/// A reader of runs of `Neg^0(a)`, which is `a` in reverse order, `a_0, -a_(n-1), .., -a_1`, continued
/// antiperiodically.
pub(super) struct Reader<'a> {
    clues: &'a ClueBatch,
    order: &'a SlotOrder,
    parser: ClueParser<'a>,
    half: usize,
    p: u32,
    /// The number of residues of a clue and of a run.
    sizes: [usize; 2],
    /// The number of groups of eight residues in a window.
    groups: usize,
    /// Two windows for each run of a line. Clues are read from random places in memory: copying waits for many
    /// of them at a time, unpacking would wait for each.
    windows: Vec<u8>,
    /// Two windows, unpacked.
    residues: Vec<u32>,
    run: Vec<u32>,
    /// The diagonals of a line.
    line: Vec<u32>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(params: &'a Params, clues: &'a ClueBatch) -> Self {
        let (parser, baby) = (ClueParser::new(&params.clue), params.spec().baby);
        let groups = baby.div_ceil(8) + 1;
        Self {
            clues,
            order: params.plain.order(),
            half: params.slots() / 2,
            p: params.p().value() as u32,
            sizes: [params.spec().clue.n, baby],
            groups,
            windows: vec![0; 2 * LINE * parser.window_bytes(groups)],
            residues: vec![0; 2 * 8 * groups],
            run: vec![0; baby],
            line: vec![0; LINE * baby],
            parser,
        }
    }

    /// Writes the evaluation points from `start` on of all diagonals `rows`, rotated back by `back`.
    pub(super) fn diagonals(&mut self, back: usize, start: usize, rows: &mut [&mut [u32]]) {
        let bytes = 2 * self.parser.window_bytes(self.groups);
        let mut windows = std::mem::take(&mut self.windows);
        for first in (0..rows[0].len()).step_by(LINE) {
            let runs: [Option<Run>; LINE] =
                std::array::from_fn(|s| self.locate(back, start + first + s));
            for (run, windows) in runs.iter().zip(windows.chunks_mut(bytes)) {
                if let Some(run) = run {
                    self.copy(run, windows);
                }
            }
            for (s, (run, windows)) in runs.iter().zip(windows.chunks(bytes)).enumerate() {
                match run {
                    Some(run) => self.turn(run, windows),
                    None => self.run.fill(0),
                }
                for (&value, line) in self.run.iter().zip(self.line.chunks_mut(LINE)) {
                    line[s] = value;
                }
            }
            for (row, line) in rows.iter_mut().zip(self.line.chunks(LINE)) {
                row[first..first + LINE].copy_from_slice(line);
            }
        }
        self.windows = windows;
    }

    /// Returns the run at an evaluation point; `None` for a slot without a usable clue.
    fn locate(&self, back: usize, point: usize) -> Option<Run> {
        let [n, _] = self.sizes;
        let slot = self.order.slot(point);
        let (row, column) = (slot / self.half, slot % self.half);
        let from = row * self.half + (column + self.half - back % self.half) % self.half;
        // Column 0 of one period is column n of the previous one.
        let before = column + n - 1;
        Some(Run {
            clue: self.clues.clue[from]?,
            top: n - 1 - before % n,
            negative: before / n % 2 == 1,
        })
    }

    /// Returns the position of the first residue of a run, and whether the run is contiguous. If it wraps
    /// around, the position is that of its part at the end.
    fn bottom(&self, run: &Run) -> (usize, bool) {
        let [n, len] = self.sizes;
        match (run.top + 1).checked_sub(len) {
            Some(first) => (first, true),
            None => (n + run.top + 1 - len, false),
        }
    }

    /// Copies the windows that contain a run.
    fn copy(&self, run: &Run, windows: &mut [u8]) {
        let clue_bytes = self.clues.clue_bytes;
        let bytes = &self.clues.bytes[run.clue as usize * clue_bytes..][..clue_bytes];
        let (first, second) = windows.split_at_mut(windows.len() / 2);
        let (bottom, whole) = self.bottom(run);
        self.parser.copy_window(bytes, bottom, first);
        if !whole {
            self.parser.copy_window(bytes, 0, second);
        }
    }

    /// Writes the run, which is the content of its windows in reverse order.
    fn turn(&mut self, run: &Run, windows: &[u8]) {
        let (first, second) = windows.split_at(windows.len() / 2);
        let (bottom, whole) = self.bottom(run);
        let (low, high) = self.residues.split_at_mut(8 * self.groups);
        self.parser.unpack_window(first, low);
        let low = &low[bottom % 8..];
        if whole {
            let low = low[..self.run.len()].iter().rev();
            return signed(self.p, run.negative, low, &mut self.run);
        }
        self.parser.unpack_window(second, high);
        let (until, after) = self.run.split_at_mut(run.top + 1);
        let (low, high) = (&low[..after.len()], &high[..until.len()]);
        signed(self.p, run.negative, high.iter().rev(), until);
        signed(self.p, !run.negative, low.iter().rev(), after);
    }
}

/// A run of residues of `Neg^0(a)`: `a_top, a_(top-1), ..`, with one sign down to `a_0` and the other sign from
/// `a_(n-1)` on.
struct Run {
    clue: u32,
    top: usize,
    negative: bool,
}

/// Copies residues modulo p, negated if `negative`.
fn signed<'a>(p: u32, negative: bool, from: impl Iterator<Item = &'a u32>, out: &mut [u32]) {
    out.iter_mut().zip(from).for_each(|(out, &x)| *out = x);
    if negative {
        out.iter_mut().for_each(|x| *x = negated(p, *x));
    }
}

/// Returns `-x` modulo p.
fn negated(p: u32, x: u32) -> u32 {
    if x == 0 { 0 } else { p - x }
}
