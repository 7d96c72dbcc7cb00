//! Messages that strangers may post to disturb the digests, scans and fetches of others.

use chacha20::ChaCha20Rng;
use omr_client::{Sender, identity};
use omr_codec::{CodecError, Symbols};
use omr_protocol::clue::norms;
use omr_protocol::rounds::RoundsParams;
use omr_protocol::sophomr::Params;
use omr_protocol::{Clue, ClueKind, SlotClasses};
use rand_core::{Rng, SeedableRng};
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::Arc;

/// The poster of the impertinent messages.
pub enum Strangers {
    /// Uniform clues, random payloads.
    Honest,
    /// Bytes that maximise the noise.
    Hostile(Box<Hostile>),
}

/// Kinds of hostile clues. The messages of a run have one kind, and those of the next run the next kind.
#[derive(Clone, Copy)]
enum Clues {
    /// One value everywhere.
    Constant(u32),
    /// The two residues of largest absolute value, alternating.
    Alternating,
    /// A single coordinate, as large as possible.
    Single,
    /// A clue for the recipient that is just outside the window.
    Near,
    /// Bytes that are no clues.
    Garbage,
    /// Clues with the longest vectors that are accepted.
    Longest,
    /// Clues for somebody else.
    Other,
    /// One clue for somebody else, again and again.
    Repeated,
}

/// Kinds of hostile payloads.
#[derive(Clone, Copy)]
enum Payloads {
    Fill(u8),
    /// 0xff and 0x00, alternating.
    Stripes,
    /// Symbols of the largest absolute value.
    Extreme,
    /// Symbols for which every encoded polynomial has the largest possible embedding.
    Aligned,
}

const PAYLOADS: [Payloads; 6] = [
    Payloads::Aligned,
    Payloads::Fill(0xff),
    Payloads::Extreme,
    Payloads::Fill(0),
    Payloads::Stripes,
    Payloads::Fill(0x80),
];

/// Strangers who know everything but the keys' secrets, for boards that start at message 0.
pub struct Hostile {
    params: Arc<Params>,
    shift: u64,
    /// The number of messages of a run.
    run: u64,
    clues: Vec<Clues>,
    /// The distances from 0, in posted units, of clues that are just outside the window.
    outside: Range<u64>,
    other: Sender,
    code: Symbols,
    /// Slots of a polynomial of the small ring with coefficients +-p/2 that add up at one embedding.
    small: Vec<u32>,
    classes: SlotClasses,
}

impl Hostile {
    /// Returns strangers who disturb digests, with payloads of `payload_bytes`; a run is a batch. Another `shift` starts
    /// with other kinds of messages and aims at other embeddings.
    ///
    /// Errors: the code does not support the payload size.
    pub fn new(params: &Arc<Params>, payload_bytes: usize, shift: u64) -> Result<Self, CodecError> {
        let p = params.p().value() as u32;
        let mut rng = ChaCha20Rng::seed_from_u64(shift);
        let root = rng.next_u64() as usize | 1;
        let aligned = aligned_polynomial(params.small.n(), p.into(), root);
        let small = params.small_plain.decode(aligned);
        let q = params.spec().clue.posted_modulus() as u32;
        let constants = [q / 2, q / 2 + 1, 1, q - 1, 0].map(Clues::Constant);
        let others = [
            Clues::Alternating,
            Clues::Near,
            Clues::Single,
            Clues::Garbage,
        ];
        let (_, address) = identity(&params.clue, ClueKind::Plain, &mut rng);
        // Outside the window by more than the noise. In most sets units of p are those of posted residues.
        let least = 2 * params.spec().range + 1;
        let posted = |units: u64| units * u64::from(q) / u64::from(p);
        Ok(Self {
            params: params.clone(),
            shift,
            run: params.slots() as u64,
            outside: posted(least)..posted(least + 64),
            other: Sender::new(&params.clue, &address),
            clues: [&others[..2], &constants, &others[2..]].concat(),
            code: Symbols::new(p, payload_bytes)?,
            small,
            classes: SlotClasses::new(&params.plain, &params.small_plain),
        })
    }

    /// Returns strangers who disturb two rounds of the same set; a run is a block of a scan.
    ///
    /// Errors: those of [`Hostile::new`].
    pub fn of_rounds(
        params: &Arc<Params>,
        rounds: &RoundsParams,
        payload_bytes: usize,
        shift: u64,
    ) -> Result<Self, CodecError> {
        let mut hostile = Self::new(params, payload_bytes, shift)?;
        let (scan, q) = (&rounds.scan, params.spec().clue.posted_modulus() as f64);
        let step = q / f64::from(scan.spec().body_bits[0]).exp2();
        // A rounded body is off by up to half a step, and the other noise is a tenth of a step.
        let least = (scan.beyond(0) + 1.5) * step;
        hostile.outside = least as u64..(least + 4.0 * step) as u64;
        hostile.run = scan.block() as u64;
        let more = [Clues::Longest, Clues::Other, Clues::Repeated];
        hostile.clues.extend(more);
        Ok(hostile)
    }

    /// Returns the clue of message `index`, made from `stream`.
    pub(crate) fn clue(&self, sender: &Sender, stream: &mut ChaCha20Rng, index: u64) -> Vec<u8> {
        let q = self.params.spec().clue.posted_modulus() as u32;
        let width = self.params.spec().clue.n;
        let mut fixed = vec![q / 2 - 1001, q / 3];
        fixed.resize(self.params.spec().clue.coordinates, q / 4);
        let (a, b) = match self.kind(&self.clues, 1, index) {
            Clues::Constant(value) => (vec![value; width], fixed),
            Clues::Alternating => ((0..width as u32).map(|i| q / 2 + i % 2).collect(), fixed),
            Clues::Single => {
                let mut a = vec![0; width];
                a[index as usize % width] = q / 2;
                (a, fixed)
            }
            Clues::Near => self.near(sender, stream),
            Clues::Garbage => {
                let mut bytes = vec![0; Clue::bytes(&self.params.clue)];
                stream.fill_bytes(&mut bytes);
                return bytes;
            }
            Clues::Longest => {
                let [_, longest] = norms(width);
                // Residues of this absolute value have nearly that norm, and random signs.
                let value = (0.99 * longest / 12.0).sqrt() * f64::from(q);
                let both = [value as u32, q - value as u32];
                let sign = |_| both[(stream.next_u32() & 1) as usize];
                ((0..width).map(sign).collect(), fixed)
            }
            Clues::Other => return self.other.gen_clue(stream).to_bytes(&self.params.clue),
            Clues::Repeated => {
                let mut again = ChaCha20Rng::seed_from_u64(index / self.run);
                return self.other.gen_clue(&mut again).to_bytes(&self.params.clue);
            }
        };
        Clue { a, b }.to_bytes(&self.params.clue)
    }

    /// Returns the payload of message `index`.
    pub(crate) fn payload(&self, index: u64) -> Vec<u8> {
        let bytes = self.code.payload_bytes();
        let half = self.params.p().value() as u32 / 2;
        match self.kind(&PAYLOADS, 5, index) {
            Payloads::Fill(byte) => vec![byte; bytes],
            Payloads::Stripes => (0..bytes).map(|i| [0xff, 0][i % 2]).collect(),
            Payloads::Extreme => self.payload_of(half),
            Payloads::Aligned => {
                let slot = index as usize % self.params.slots();
                self.payload_of(self.small[self.classes.locate(slot).1])
            }
        }
    }

    fn kind<T: Copy>(&self, kinds: &[T], stride: u64, index: u64) -> T {
        let at = self
            .shift
            .wrapping_mul(stride)
            .wrapping_add(index / self.run);
        kinds[(at % kinds.len() as u64) as usize]
    }

    fn near(&self, sender: &Sender, stream: &mut ChaCha20Rng) -> (Vec<u32>, Vec<u32>) {
        let clue = sender.gen_clue(stream);
        let q = self.params.spec().clue.posted_modulus();
        let Range { start, end } = self.outside;
        let offset = start + stream.next_u64() % (end - start);
        let moved = |&b: &u32| ((u64::from(b) + offset) % q) as u32;
        let b = clue.b.iter().map(moved).collect();
        (clue.a, b)
    }

    /// Returns a payload whose symbols are all `value`, except the last symbol of each block, which may have to be
    /// smaller.
    fn payload_of(&self, value: u32) -> Vec<u8> {
        let (block_bytes, block_symbols) = self.code.block();
        let mut symbols = vec![value; self.code.count()];
        let blocks = symbols.chunks_mut(block_symbols).enumerate();
        for (block, symbols) in blocks {
            let bytes = block_bytes.min(self.code.payload_bytes() - block * block_bytes);
            let below = symbols.len() as f64 - 1.0;
            let room = 8.0 * bytes as f64 - below * (self.params.p().value() as f64).log2();
            if let Some(top) = symbols.last_mut() {
                *top = (*top).min((room.exp2() as u32).saturating_sub(1));
            }
        }
        let payload = self.code.unpack(&symbols);
        payload.expect("the last symbol of each block leaves room for the others")
    }
}

/// Returns coefficients +-p/2 (modulo p) whose signs follow the root of odd exponent `e`. There the polynomial
/// reaches `n p / pi`, the largest value for real coefficients.
fn aligned_polynomial(n: usize, p: u64, e: usize) -> Vec<u64> {
    let angle = |k: usize| PI * (e % (2 * n) * k % (2 * n)) as f64 / n as f64;
    let sign = |k: usize| {
        if angle(k).cos() < 0.0 {
            p - p / 2
        } else {
            p / 2
        }
    };
    (0..n).map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_client::sophomr::keygen;

    fn tiny() -> Arc<Params> {
        Params::named("insecure-tiny-v4").expect("published")
    }

    #[test]
    fn every_kind_makes_messages_of_the_right_size() {
        let params = tiny();
        let rounds = RoundsParams::named(params.name()).expect("two rounds");
        let keys = keygen(&params, ClueKind::Plain, &mut ChaCha20Rng::seed_from_u64(1));
        let sender = Sender::new(&params.clue, &keys.clue);
        for bytes in [1, 57, 612] {
            let of_digests = Hostile::new(&params, bytes, 2).expect("a payload size");
            let of_rounds = Hostile::of_rounds(&params, &rounds, bytes, 2).expect("a payload size");
            for (hostile, expected) in [(of_digests, 8), (of_rounds, 11)] {
                let mut usable = 0;
                for run in 0..hostile.clues.len() as u64 {
                    let index = run * hostile.run + 7;
                    let mut stream = ChaCha20Rng::seed_from_u64(index);
                    assert_eq!(hostile.payload(index).len(), bytes);
                    let clue = hostile.clue(&sender, &mut stream, index);
                    assert_eq!(clue.len(), Clue::bytes(&params.clue));
                    usable += usize::from(Clue::from_bytes(&params.clue, &clue).is_ok());
                }
                // All but garbage are parsed, although boards refuse most.
                assert_eq!(usable, expected);
            }
        }
    }
}
