//! Files of vectors: 64-bit words in little-endian order, read by `hw/tb/image.h`.

use crate::Outcome;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The first word of every file, "OMRHWVE1".
const MAGIC: u64 = 0x3145_5657_4852_4d4f;

/// The content of a file.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Products = 1,
    Machine = 2,
}

/// A file that is being written.
pub(crate) struct Writer(BufWriter<File>);

impl Writer {
    /// Starts a file: magic, kind, width in bits, dimension, name of the set in 32 bytes.
    pub(crate) fn create(
        path: &Path,
        kind: Kind,
        set: &str,
        width: u32,
        n: usize,
    ) -> Outcome<Self> {
        let mut out = Self(BufWriter::new(File::create(path)?));
        for word in [MAGIC, kind as u64, width.into(), n as u64] {
            out.word(word)?;
        }
        out.name(set)?;
        Ok(out)
    }

    pub(crate) fn word(&mut self, word: u64) -> Outcome<()> {
        Ok(self.0.write_all(&word.to_le_bytes())?)
    }

    fn words(&mut self, words: &[u64]) -> Outcome<()> {
        words.iter().try_for_each(|&word| self.word(word))
    }

    fn name(&mut self, name: &str) -> Outcome<()> {
        let mut bytes = [0; 32];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(self.0.write_all(&bytes)?)
    }

    pub(crate) fn finish(mut self) -> Outcome<()> {
        Ok(self.0.flush()?)
    }
}

/// An operation of the engine: its fields from bit 223 down, in words from the lowest.
#[derive(Clone, Copy)]
pub(crate) struct Op([u64; 4]);

/// Kinds of operations, as in `hw/rtl/engine.sv`.
#[derive(Clone, Copy)]
pub(crate) enum OpKind {
    Dot = 0,
    Add = 2,
    Copy = 3,
    Ntt = 4,
    Intt = 5,
    Bconv = 6,
    Switch = 8,
    Rot = 9,
    MatMul = 10,
}

impl Op {
    pub(crate) fn new(kind: OpKind) -> Self {
        Self([0; 4])
            .field(220, 4, kind as u64)
            .field(112 - 8, 8, 255)
    }

    fn field(mut self, low: usize, bits: usize, value: u64) -> Self {
        for bit in 0..bits {
            let (word, place) = ((low + bit) / 64, (low + bit) % 64);
            self.0[word] &= !(1 << place);
            self.0[word] |= (value >> bit & 1) << place;
        }
        self
    }

    pub(crate) fn permute(self) -> Self {
        self.field(219, 1, 1)
    }

    pub(crate) fn prime(self, prime: usize) -> Self {
        self.field(208, 8, prime as u64)
    }

    pub(crate) fn terms(self, terms: usize) -> Self {
        self.field(200, 8, terms as u64)
    }

    /// Sets the targets of a base conversion: their number, and the targets that are skipped.
    pub(crate) fn targets(self, count: usize, skip: std::ops::Range<usize>) -> Self {
        self.field(192, 8, count as u64)
            .field(184, 8, skip.start as u64)
            .field(176, 8, skip.len() as u64)
    }

    pub(crate) fn constants(self, at: usize) -> Self {
        self.field(160, 16, at as u64)
    }

    /// Sets the limb of the first operand, and the distance to the next.
    pub(crate) fn a(self, limb: usize, stride: usize) -> Self {
        self.field(144, 16, limb as u64)
            .field(128, 16, stride as u64)
    }

    /// Sets the limb of the second operand, and the distance to the next.
    pub(crate) fn b(self, limb: usize, stride: usize) -> Self {
        self.field(88, 16, limb as u64).field(72, 16, stride as u64)
    }

    /// Sets the limb of the result.
    pub(crate) fn to(self, limb: usize) -> Self {
        self.field(40, 16, limb as u64)
    }
}

/// Operations that run in sequence, and the limbs that must result.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) ops: Vec<Op>,
    pub(crate) expected: Vec<(usize, Vec<u64>)>,
}

/// The data that the testbench loads, and the tests that it runs.
pub(crate) struct Image {
    pub(crate) set: String,
    pub(crate) n: usize,
    pub(crate) config: Vec<(usize, u64)>,
    /// The number of each prime with q, 1 / P in Montgomery form, and the limb of the twiddles.
    pub(crate) primes: Vec<(usize, [u64; 3])>,
    pub(crate) constants: Vec<[u64; 2]>,
    pub(crate) limbs: BTreeMap<usize, Vec<u64>>,
    pub(crate) tests: Vec<Test>,
}

impl Image {
    /// Writes the file.
    pub(crate) fn write(&self, path: &Path) -> Outcome<()> {
        let width = crate::machine::WIDTH;
        let mut out = Writer::create(path, Kind::Machine, &self.set, width, self.n)?;
        out.word(self.config.len() as u64)?;
        for &(at, value) in &self.config {
            out.words(&[at as u64, value])?;
        }
        out.word(self.primes.len() as u64)?;
        for (at, entry) in &self.primes {
            out.word(*at as u64)?;
            out.words(entry)?;
        }
        out.word(self.constants.len() as u64)?;
        for entry in &self.constants {
            out.words(entry)?;
        }
        out.word(self.limbs.len() as u64)?;
        for (limb, row) in &self.limbs {
            out.word(*limb as u64)?;
            out.words(row)?;
        }
        out.word(self.tests.len() as u64)?;
        for test in &self.tests {
            out.name(test.name)?;
            out.word(test.ops.len() as u64)?;
            test.ops.iter().try_for_each(|op| out.words(&op.0))?;
            out.word(test.expected.len() as u64)?;
            for (limb, row) in &test.expected {
                out.word(*limb as u64)?;
                out.words(row)?;
            }
        }
        out.finish()
    }
}
