use crate::SecretKey;
use crate::instantomr::InstantRecipient;
use omr_codec::{CodecError, Located, Solver, Symbols, find_support};
use omr_protocol::digest::{BODY_BITS, MASK_BITS};
use omr_protocol::plan::{CHECKSUM_SYMBOLS, INDEX_SYMBOLS, checksum};
use omr_protocol::{Digest, DigestPlan, PackedCiphertext, ParamSet, Params, ParamsError, Response};
use omr_ring::{Coeff, Eval, Poly};
use omr_rlwe::SecretPoly;
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
    /// The same in a digest of InstantOMR, whose counter wraps.
    #[error(
        "the sums of messages {start}..{end} contradict each other ({cause}): they hold more than 96 \
         pertinent messages, or the digest is damaged or its detector faulty; ask for smaller ranges"
    )]
    InstantInconsistent {
        /// First message of the group.
        start: u64,
        /// One past its last.
        end: u64,
        /// What contradicts what.
        cause: String,
    },
    /// The digest needs an engine that its set lacks.
    #[error(transparent)]
    Params(#[from] ParamsError),
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

/// Her pertinent messages in the range of a digest of any scheme, in the order of the board.
///
/// Errors: those of [`Recipient::decode`] and [`InstantRecipient::decode`]; `Params` when the set lacks
/// the digest's engine.
pub fn decode(
    set: &ParamSet,
    secret: &SecretKey,
    response: &Response,
) -> Result<Vec<Retrieved>, DecodeError> {
    let bulk = |digest: &Digest| Recipient::new(set.bulk()?, secret).decode(digest);
    let instant = |digest| InstantRecipient::new(set.instant()?, secret).decode(digest);
    match response {
        Response::Bulk(digest) => bulk(digest),
        Response::Instant(digest) => instant(digest),
        Response::Hybrid(first, rest) => {
            let mut found = bulk(first)?;
            found.extend(instant(rest)?);
            Ok(found)
        }
    }
}

/// A recipient: her secret, ready to decode SophOMR's digests.
pub struct Recipient<'a> {
    params: &'a Params,
    secret: &'a SecretKey,
    digest: Vec<SecretPoly>,
}

impl<'a> Recipient<'a> {
    /// Prepares a secret key.
    pub fn new(params: &'a Params, secret: &'a SecretKey) -> Self {
        Self {
            params,
            secret,
            digest: secret
                .digest
                .polys(&params.final_ring, params.final_shape.bodies()),
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
        let parts = self.decrypt(digest)?;
        let mut out = Vec::new();
        for (group, parts) in parts.chunks(plan.parts() / plan.groups()).enumerate() {
            self.group(digest, group, &sums(plan, parts), &mut out)?;
        }
        Ok(out)
    }

    /// How far each coefficient of a digest lies from a symbol, in steps of a symbol: 0 is exact,
    /// 0.5 is wrong. For measuring noise.
    ///
    /// Errors: `Inconsistent` when the digest has another shape.
    pub fn roundings(&self, digest: &Digest) -> Result<Vec<f64>, DecodeError> {
        let p = self.params.p().value() as f64;
        let distance = |value: u64| {
            let symbol = value as f64 * p / f64::from(MASK_BITS).exp2();
            symbol - symbol.round()
        };
        let phases = self.phases(digest)?;
        Ok(phases.into_iter().flatten().map(distance).collect())
    }

    /// The largest of [`Self::roundings`] in absolute value.
    ///
    /// Errors: the same.
    pub fn worst_rounding(&self, digest: &Digest) -> Result<f64, DecodeError> {
        let roundings = self.roundings(digest)?;
        Ok(roundings.into_iter().map(f64::abs).fold(0.0, f64::max))
    }

    /// The symbols in the kept coefficients, part by part.
    fn decrypt(&self, digest: &Digest) -> Result<Vec<Vec<u32>>, DecodeError> {
        let p = self.params.p().value();
        let half = 1u64 << (MASK_BITS - 1);
        let symbol = |value| (((value * p + half) >> MASK_BITS) % p) as u32;
        let symbols = |values: Vec<u64>| values.into_iter().map(symbol).collect();
        Ok(self.phases(digest)?.into_iter().map(symbols).collect())
    }

    /// `body + mask * secret` modulo `2^MASK_BITS` at the kept coefficients, part by part.
    ///
    /// Errors: `Inconsistent` when the digest has another shape.
    fn phases(&self, digest: &Digest) -> Result<Vec<Vec<u64>>, DecodeError> {
        let (plan, together) = (&digest.header.plan, self.params.final_shape.parts);
        let expected = plan.parts().div_ceil(together);
        expect("ciphertexts", expected, digest.ciphertexts.len())?;
        let mut out = Vec::with_capacity(plan.parts());
        for ct in &digest.ciphertexts {
            expect(
                "mask coefficients",
                self.params.final_ring.n(),
                ct.mask.len(),
            )?;
            let parts = together.min(plan.parts() - out.len());
            expect("parts of a ciphertext", parts, ct.parts.len())?;
            let mask = self.mask(ct);
            for (i, part) in ct.parts.iter().enumerate() {
                expect("body coefficients", plan.part_len(out.len()), part.len())?;
                let (round, set) = plan.position(out.len());
                out.push(self.phase(&mask, i, part, plan.kept(round, set)));
            }
        }
        Ok(out)
    }

    fn mask(&self, ct: &PackedCiphertext) -> Poly<Eval> {
        let ring = &self.params.final_ring;
        let mask = Poly::<Coeff>::from_rows(ring.n(), &ring.everything(), ct.mask.clone());
        ring.forward(mask)
    }

    /// The phases of part `part` of a ciphertext.
    fn phase(
        &self,
        mask: &Poly<Eval>,
        part: usize,
        body: &[u64],
        kept: impl Iterator<Item = usize>,
    ) -> Vec<u64> {
        let (ring, components) = (&self.params.final_ring, self.params.final_shape.components);
        let secrets = &self.digest[part * components..(part + 1) * components];
        let mut products: Vec<Poly<Coeff>> = secrets
            .iter()
            .map(|secret| {
                let mut product = mask.clone();
                ring.mul_assign(&mut product, secret);
                ring.inverse(product)
            })
            .collect();
        let m = ring.modulus(0);
        let value = |(at, &body): (usize, &u64)| {
            // |mask * secret| < n 2^MASK_BITS: exact modulo the prime, then modulo 2^MASK_BITS.
            let product = products[at % components].row(0)[at / components];
            let product = m.to_centered(product) as u64;
            product.wrapping_add(body << (MASK_BITS - BODY_BITS)) & ((1 << MASK_BITS) - 1)
        };
        let out = kept.zip(body).map(value).collect();
        products.iter_mut().for_each(Zeroize::zeroize);
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

/// The sums of one group: symbol by symbol, exponent by exponent.
fn sums(plan: &DigestPlan, parts: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut sums = vec![Vec::with_capacity(plan.bound()); plan.symbols()];
    for ((_, set), values) in plan.positions().zip(parts) {
        let symbols = plan.symbols_of(set);
        for (k, &value) in values.iter().enumerate() {
            sums[symbols.start + k % symbols.len()].push(value);
        }
    }
    sums
}

pub(crate) fn expect(what: &str, expected: usize, found: usize) -> Result<(), DecodeError> {
    match expected == found {
        true => Ok(()),
        false => Err(DecodeError::Inconsistent(format!(
            "expected {expected} {what}, found {found}"
        ))),
    }
}
