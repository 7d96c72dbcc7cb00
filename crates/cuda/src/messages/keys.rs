//! A recipient's keys in a machine's memory.

use super::{KeyAt, MessageRing, double};
use crate::{MachineError, Reading};
use omr_detector::instantomr::{Coming, Layers, LayersEngine};
use omr_protocol::instantomr::InstantKey;
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, Gadget, KEY_ROWS};
use omr_tfhe::{BootstrapKey, Lwe, RingCipher, TraceKey, Window};
use std::sync::Arc;

/// Largest number of ciphertexts that one run of a kernel rotates, for messages with one ciphertext each.
const MOST: usize = 256;

/// An engine that loads InstantOMR's keys to a machine.
pub struct MessageEngine(pub Arc<MessageRing>);

impl LayersEngine for MessageEngine {
    fn bring(&self, key: &InstantKey) -> Result<Box<dyn Layers>, String> {
        let keys = MessageKeys::new(self.0.clone(), &key.bootstrap, &key.trace);
        Ok(Box::new(keys.map_err(|error| error.to_string())?))
    }
}

impl Layers for MessageKeys {
    fn name(&self) -> String {
        self.ring.machine.name()
    }

    fn hits(&self, cts: &[Lwe], each: usize, window: Window) -> Result<Box<dyn Coming>, String> {
        coming(MessageKeys::hits(self, cts, each, window))
    }

    fn verdicts(&self, sums: &[Lwe], window: Window) -> Result<Box<dyn Coming>, String> {
        coming(self.traced(sums, window))
    }
}

fn coming(rotated: Result<Rotated, MachineError>) -> Result<Box<dyn Coming>, String> {
    match rotated {
        Ok(ciphertexts) => Ok(Box::new(ciphertexts)),
        Err(error) => Err(error.to_string()),
    }
}

/// Ciphertexts of dimension n that are being read from a machine, batch by batch, with the number of ciphertexts in
/// each batch.
pub enum Rotated {
    /// Sums of first layers: the first words of bodies, and masks.
    Sums(usize, Vec<(usize, [Box<dyn Reading>; 2])>),
    /// Alternating bodies and masks. There may be more after the last ciphertext.
    Whole(usize, Vec<(usize, Box<dyn Reading>)>),
}

impl Coming for Rotated {
    fn wait(self: Box<Self>) -> Result<Vec<RingCipher>, String> {
        Rotated::wait(*self).map_err(|error| error.to_string())
    }
}

impl Rotated {
    /// Waits for the ciphertexts.
    ///
    /// Errors: those of the machine.
    pub fn wait(self) -> Result<Vec<RingCipher>, MachineError> {
        let mut all = Vec::new();
        match self {
            Self::Sums(n, batches) => {
                for (count, [mut bodies, mut masks]) in batches {
                    let body_words = bodies.words()?;
                    let each_body = body_words.par_chunks(body_words.len() / count);
                    let each_mask = masks.words()?.par_chunks(n);
                    all.par_extend(each_body.zip(each_mask).map(|(body, mask)| {
                        let mut sum = RingCipher::trivial(&vec![0; n]);
                        sum.body[0] = body[0];
                        sum.mask.copy_from_slice(mask);
                        sum
                    }));
                }
            }
            Self::Whole(n, batches) => {
                for (count, mut words) in batches {
                    let pairs = words.words()?[..2 * n * count].par_chunks(2 * n);
                    all.par_extend(pairs.map(|pair| {
                        let [body, mask] = [&pair[..n], &pair[n..]].map(row);
                        RingCipher { body, mask }
                    }));
                }
            }
        }
        Ok(all)
    }
}

fn row(words: &[u64]) -> AlignedVec {
    let mut row = AlignedVec::zeroed(words.len());
    row.copy_from_slice(words);
    row
}

/// A recipient's bootstrapping key and trace key, which are overwritten when they are dropped.
pub struct MessageKeys {
    ring: Arc<MessageRing>,
    bootstrap: KeyAt,
    words: usize,
    trace: u64,
    trace_words: usize,
    cut: Gadget,
}

impl MessageKeys {
    /// Writes keys to a machine: 134 MB and 2 MB at full size.
    ///
    /// Errors: those of the machine.
    pub fn new(
        ring: Arc<MessageRing>,
        bootstrap: &BootstrapKey,
        trace: &TraceKey,
    ) -> Result<Self, MachineError> {
        let shape = *bootstrap.shape();
        let words = shape.rows() * 2 * ring.n;
        let trace_words = 2 * trace.rows().count() * ring.n;
        let address = ring.machine.allocate(words)?;
        let mut keys = Self {
            bootstrap: KeyAt { shape, address },
            words,
            trace: 0,
            trace_words,
            cut: trace.gadget(),
            ring,
        };
        keys.write(bootstrap, trace)?;
        Ok(keys)
    }

    fn write(&mut self, bootstrap: &BootstrapKey, trace: &TraceKey) -> Result<(), MachineError> {
        let (ring, shape) = (&self.ring, &self.bootstrap.shape);
        let (m, n) = (&ring.modulus, ring.n);
        // Inverse transforms on the machine omit this factor.
        let scale = m.inv(m.reduce(n as u64));
        let scaled = |&x: &u64| double(m, m.mul(x, scale));
        let of_block = KEY_ROWS * n * shape.block;
        let mut address = self.bootstrap.address;
        for digit in 0..shape.gadget.digits as usize {
            for block in 0..shape.blocks() {
                let mut words = vec![0; of_block];
                let rows = words.par_chunks_mut(n).enumerate();
                rows.for_each(|(row, words)| {
                    let key = block * shape.block + row / KEY_ROWS;
                    let residues = bootstrap.residues(key, digit, row % KEY_ROWS);
                    words
                        .iter_mut()
                        .zip(&residues)
                        .for_each(|(to, x)| *to = scaled(x));
                });
                ring.machine.write_words(address, &words)?;
                address += 8 * of_block as u64;
            }
        }
        let rows = trace.rows().flatten();
        let words: Vec<u64> = rows.flatten().map(scaled).collect();
        self.trace = ring.machine.allocate(words.len())?;
        ring.machine.write_words(self.trace, &words)
    }

    /// Computes first layers: for every `each` ciphertexts the constant coefficient and the mask of the sum of their
    /// rotations with one digit.
    ///
    /// Errors: those of the machine.
    pub fn hits(&self, cts: &[Lwe], each: usize, window: Window) -> Result<Rotated, MachineError> {
        let mut batches = Vec::new();
        for cts in cts.chunks(MOST * each) {
            let rotated = self.ring.rotate(self.bootstrap, 1, cts, window)?;
            let count = cts.len() / each;
            batches.push((count, self.ring.sums(&rotated, each, count)?));
        }
        Ok(Rotated::Sums(self.ring.n, batches))
    }

    /// Rotates ciphertexts with both digits.
    ///
    /// Errors: those of the machine.
    pub fn rotated(&self, cts: &[Lwe], window: Window) -> Result<Rotated, MachineError> {
        self.rotate(cts, window, false)
    }

    /// Rotates ciphertexts with both digits and computes the traces of the results.
    ///
    /// Errors: those of the machine.
    pub fn traced(&self, cts: &[Lwe], window: Window) -> Result<Rotated, MachineError> {
        self.rotate(cts, window, true)
    }

    fn rotate(&self, cts: &[Lwe], window: Window, traces: bool) -> Result<Rotated, MachineError> {
        let mut batches = Vec::new();
        for cts in cts.chunks(MOST) {
            let rotated = self.ring.rotate(self.bootstrap, 2, cts, window)?;
            if traces {
                self.ring.trace(self.trace, self.cut, &rotated, cts.len())?;
            }
            batches.push((cts.len(), self.ring.read(&rotated)?));
        }
        Ok(Rotated::Whole(self.ring.n, batches))
    }
}

impl Drop for MessageKeys {
    fn drop(&mut self) {
        let machine = &self.ring.machine;
        for (address, words) in [
            (self.bootstrap.address, self.words),
            (self.trace, self.trace_words),
        ] {
            if address != 0 {
                // If the card fails, its memory need not be overwritten.
                let _ = machine.clear(address, words);
                machine.release(address, words);
            }
        }
    }
}

impl Drop for MessageRing {
    fn drop(&mut self) {
        let words = [crate::calls::PRIME_WORDS, 2 * self.n, 2 * self.n];
        for (address, words) in self.tables.into_iter().zip(words) {
            self.pool.give(address, words);
        }
    }
}
