use crate::SecretKey;
use omr_codec::{CodecError, Located, Solver, Symbols, find_support};
use omr_protocol::digest::{BODY_BITS, MASK_BITS};
use omr_protocol::plan::{CHECKSUM_SYMBOLS, INDEX_SYMBOLS, checksum};
use omr_protocol::{Digest, PackedCiphertext, Params};
use omr_ring::{Basis, Coeff, Eval, Poly};
use zeroize::Zeroize;

/// A digest that does not decode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The digest was made with another detection key.
    #[error("expected a digest of detection key {expected:02x?}, found one of {found:02x?}")]
    OtherKey {
        /// This recipient's.
        expected: [u8; 16],
        /// The digest's.
        found: [u8; 16],
    },
    /// More pertinent messages than the bound.
    #[error(
        "overflow: messages {start}..{end} hold {count} pertinent messages, the digest's bound is \
         {bound}; ask for a digest with a bound of at least {count}, or for smaller ranges"
    )]
    Overflow {
        /// First message of the group.
        start: u64,
        /// One past its last.
        end: u64,
        /// How many there are.
        count: usize,
        /// How many fit.
        bound: usize,
    },
    /// The sums contradict each other: damage, or a faulty detector.
    #[error("the digest contradicts itself ({0}): it is damaged or its detector is faulty")]
    Inconsistent(String),
    /// A payload does not match its checksum.
    #[error(
        "the payload of message {index} does not match its checksum: the digest is damaged or its detector is faulty"
    )]
    Checksum {
        /// The message.
        index: u64,
    },
    /// The digest's shape does not suit the code.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

/// A pertinent message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retrieved {
    /// Its place on the board.
    pub index: u64,
    /// Its payload, as it stands on the board; `None` from a digest of indices.
    pub payload: Option<Vec<u8>>,
}

/// A recipient: her secret, ready to decode.
pub struct Recipient<'a> {
    params: &'a Params,
    secret: &'a SecretKey,
    small: omr_rlwe::SecretPoly,
}

impl<'a> Recipient<'a> {
    /// Prepares a secret key.
    pub fn new(params: &'a Params, secret: &'a SecretKey) -> Self {
        let small = secret.small.poly(&params.small, &Basis::new([0]));
        Self {
            params,
            secret,
            small,
        }
    }

    /// Her pertinent messages in the digest's range, in the order of the board.
    ///
    /// Errors: `OtherKey`; `Overflow`, which names the true count; `Inconsistent`; `Checksum`.
    pub fn decode(&self, digest: &Digest) -> Result<Vec<Retrieved>, DecodeError> {
        let (expected, found) = (self.secret.detection_id, digest.header.key_id);
        if expected != found {
            return Err(DecodeError::OtherKey { expected, found });
        }
        let plan = &digest.header.plan;
        let per_group = plan.rounds() * plan.ciphertexts();
        expect(
            "ciphertexts",
            plan.groups() * per_group,
            digest.ciphertexts.len(),
        )?;
        let mut out = Vec::new();
        for (group, ciphertexts) in digest.ciphertexts.chunks(per_group).enumerate() {
            let sums = self.sums(digest, ciphertexts)?;
            self.group(digest, group, &sums, &mut out)?;
        }
        Ok(out)
    }

    /// How far the worst coefficient of a digest lies from a symbol: 0 is exact, 0.5 is wrong.
    /// For measuring noise.
    pub fn worst_rounding(&self, digest: &Digest) -> f64 {
        let roundings = self.roundings(digest);
        roundings.into_iter().map(f64::abs).fold(0.0, f64::max)
    }

    /// How far each coefficient of a digest lies from the next symbol, in `[-0.5, 0.5]`.
    /// For measuring noise.
    pub fn roundings(&self, digest: &Digest) -> Vec<f64> {
        let plan = &digest.header.plan;
        let per_group = plan.rounds() * plan.ciphertexts();
        let p = self.params.p().value() as f64;
        let distance = |value: u64| {
            let symbol = value as f64 * p / f64::from(MASK_BITS).exp2();
            symbol - symbol.round()
        };
        let of_ciphertext = |(i, ciphertext): (usize, &PackedCiphertext)| {
            let within = i % per_group;
            let kept = plan.kept(within / plan.ciphertexts(), within % plan.ciphertexts());
            self.phase(ciphertext, kept)
        };
        let ciphertexts = digest.ciphertexts.iter().enumerate();
        ciphertexts.flat_map(of_ciphertext).map(distance).collect()
    }

    /// The sums of one group: symbol by symbol, exponent by exponent.
    ///
    /// Errors: `Inconsistent` when a ciphertext has another shape.
    fn sums(
        &self,
        digest: &Digest,
        ciphertexts: &[PackedCiphertext],
    ) -> Result<Vec<Vec<u32>>, DecodeError> {
        let plan = &digest.header.plan;
        let mut sums = vec![Vec::with_capacity(plan.bound()); plan.symbols()];
        for ((round, ct), ciphertext) in plan.positions().zip(ciphertexts) {
            expect(
                "mask coefficients",
                self.params.small.n(),
                ciphertext.mask.len(),
            )?;
            expect(
                "body coefficients",
                plan.kept_len(round, ct),
                ciphertext.body.len(),
            )?;
            let symbols = plan.symbols_of(ct);
            let values = self.decrypt(ciphertext, plan.kept(round, ct));
            for (k, value) in values.into_iter().enumerate() {
                sums[symbols.start + k % symbols.len()].push(value);
            }
        }
        Ok(sums)
    }

    /// The symbols in the kept coefficients of a rounded ciphertext.
    fn decrypt(&self, ct: &PackedCiphertext, kept: impl Iterator<Item = usize>) -> Vec<u32> {
        let p = self.params.p().value();
        let half = 1u64 << (MASK_BITS - 1);
        let symbol = |value| (((value * p + half) >> MASK_BITS) % p) as u32;
        self.phase(ct, kept).into_iter().map(symbol).collect()
    }

    /// `body + mask * s` modulo 2^30 at the kept coefficients.
    fn phase(&self, ct: &PackedCiphertext, kept: impl Iterator<Item = usize>) -> Vec<u64> {
        let ring = &self.params.small;
        let mask: Poly<Coeff> = Poly::from_rows(ring.n(), &Basis::new([0]), ct.mask.clone());
        let mut product: Poly<Eval> = ring.forward(mask);
        ring.mul_assign(&mut product, &self.small);
        let mut product = ring.inverse(product);
        let m = ring.modulus(0);
        let value = |(i, &body): (usize, &u64)| {
            // |mask * s| < n' 2^30: exact modulo the prime, then modulo 2^30.
            let product = m.to_centered(product.row(0)[i]) as u64;
            product.wrapping_add(body << (MASK_BITS - BODY_BITS)) & ((1 << MASK_BITS) - 1)
        };
        let out = kept.zip(&ct.body).map(value).collect();
        product.zeroize();
        out
    }

    fn group(
        &self,
        digest: &Digest,
        group: usize,
        sums: &[Vec<u32>],
        out: &mut Vec<Retrieved>,
    ) -> Result<(), DecodeError> {
        let plan = &digest.header.plan;
        let messages = plan.group(group);
        let (start, end) = (
            plan.batch(messages.start).start,
            plan.batch(messages.end - 1).end,
        );
        let inconsistent = |e: omr_codec::DecodeError| match e {
            omr_codec::DecodeError::Overflow { count, bound } => DecodeError::Overflow {
                start,
                end,
                count,
                bound,
            },
            other => DecodeError::Inconsistent(other.to_string()),
        };
        let [count, shifted] = [&sums[0], &sums[1]];
        if count[1..] != shifted[..shifted.len() - 1] {
            return Err(DecodeError::Inconsistent(format!(
                "the two index sums of messages {start}..{end} differ; they count {} messages",
                count[0]
            )));
        }
        let powers: Vec<u32> = count.iter().chain(shifted.last()).copied().collect();
        let nodes = &self.params.nodes;
        let located = find_support(nodes, &powers, plan.bound()).map_err(inconsistent)?;
        let messages = self.messages(digest, group, &located)?;
        let Some(bytes) = plan.payload_bytes() else {
            out.extend(messages.into_iter().map(|(index, _)| Retrieved {
                index,
                payload: None,
            }));
            return Ok(());
        };
        let x: Vec<u32> = messages.iter().map(|&(_, node)| node).collect();
        let solver = Solver::new(nodes.field(), &x)?;
        let columns = sums[INDEX_SYMBOLS..]
            .iter()
            .map(|rhs| solver.solve(rhs))
            .collect::<Result<Vec<_>, _>>()
            .map_err(inconsistent)?;
        let code = Symbols::new(self.params.p().value() as u32, bytes)?;
        for (k, (index, _)) in messages.into_iter().enumerate() {
            let symbols: Vec<u32> = columns.iter().map(|column| column[k]).collect();
            let (body, sum) = symbols.split_at(symbols.len() - CHECKSUM_SYMBOLS);
            let payload = code
                .unpack(body)
                .map_err(|_| DecodeError::Checksum { index })?;
            if checksum(index, &payload, self.params.p().value()) != *sum {
                return Err(DecodeError::Checksum { index });
            }
            out.push(Retrieved {
                index,
                payload: Some(payload),
            });
        }
        Ok(())
    }

    /// The messages in located slots with their nodes, in the order of the board.
    ///
    /// Errors: `Inconsistent` where no message is.
    fn messages(
        &self,
        digest: &Digest,
        group: usize,
        located: &[Located],
    ) -> Result<Vec<(u64, u32)>, DecodeError> {
        let plan = &digest.header.plan;
        let first = plan.group(group).start;
        let mut messages = Vec::with_capacity(located.len());
        // Sorted by batch: one placement serves all messages of a batch.
        for of_batch in located.chunk_by(|a, b| a.batch == b.batch) {
            let batch = of_batch[0].batch;
            let placement = digest.header.placement(self.params, first + batch);
            for place in of_batch {
                let number = placement.messages()[place.slot] as usize;
                let index = plan.message(group, batch, number).ok_or_else(|| {
                    DecodeError::Inconsistent(format!(
                        "a message past the end of the range: batch {batch}, message {number}"
                    ))
                })?;
                messages.push((index, place.node));
            }
        }
        messages.sort_unstable();
        Ok(messages)
    }
}

fn expect(what: &str, expected: usize, found: usize) -> Result<(), DecodeError> {
    match expected == found {
        true => Ok(()),
        false => Err(DecodeError::Inconsistent(format!(
            "expected {expected} {what}, found {found}"
        ))),
    }
}
