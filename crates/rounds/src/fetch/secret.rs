//! The recipient's part of the second round.

use crate::RoundsError;
use crate::fetch::Fetch;
use omr_compress::{PackedCiphertext, Phases};
use omr_rlwe::{Secret, SecretPoly};

/// The secrets of queries and responses. They are wiped when dropped.
pub struct FetchSecret {
    /// The secret of queries.
    query: Secret,
    /// The secrets of responses, for each number of body bits.
    phases: [Phases; 2],
}

impl FetchSecret {
    /// Prepares the secret of queries, and secrets of the ring of responses made by `last`, one for each body that shares a
    /// mask.
    ///
    /// Panics: unless there are as many.
    pub fn new(fetch: &Fetch, query: Secret, last: impl Fn() -> Vec<SecretPoly>) -> Self {
        let short = fetch.spec().short;
        let phases = |rows| Phases::new(fetch.packing(rows).last(), last());
        Self {
            query,
            phases: [phases(short), phases(short + 1)],
        }
    }

    /// Returns the secret of queries.
    pub fn query(&self) -> &Secret {
        &self.query
    }

    /// Decrypts an answer to a query of `rows` rows: returns the symbols of the place that the query asked for in each
    /// bucket, bucket by bucket.
    ///
    /// Time: that of the shape.
    /// Errors: `Packed` if the ciphertexts have another shape.
    pub fn symbols(
        &self,
        fetch: &Fetch,
        rows: usize,
        symbols: usize,
        answer: &[PackedCiphertext],
    ) -> Result<Vec<Vec<u32>>, RoundsError> {
        let shape = fetch.answer_shape(symbols);
        let sums = self
            .phases_of(fetch, rows)
            .sums(shape.expect("at least one symbol"), answer)?;
        let (p, buckets) = (fetch.p(), fetch.spec().buckets);
        let roots: Vec<u64> = (0..2 * buckets).map(|e| fetch.bucket_root(e)).collect();
        let of_bucket = |bucket: usize| {
            let value = |coefficients: &Vec<u32>| {
                // Products are below 2^40, and there are 64 at most.
                let terms = coefficients.iter().enumerate().map(|(i, &c)| {
                    let exponent = (2 * bucket + 1) * i % (2 * buckets);
                    u64::from(c) * roots[exponent]
                });
                p.reduce(terms.sum()) as u32
            };
            sums.iter().map(value).collect()
        };
        Ok((0..buckets).map(of_bucket).collect())
    }

    /// Returns the distance of each coefficient of an answer from a symbol, in steps of a symbol: 0 is exact, 0.5 is
    /// wrong. For measurements of noise.
    ///
    /// Errors: `Packed` if the ciphertexts have another shape.
    pub fn roundings(
        &self,
        fetch: &Fetch,
        rows: usize,
        symbols: usize,
        answer: &[PackedCiphertext],
    ) -> Result<Vec<f64>, RoundsError> {
        let shape = fetch.answer_shape(symbols).expect("at least one symbol");
        let phases = self.phases_of(fetch, rows).phases(shape, 1, answer)?;
        let steps = f64::from(fetch.spec().mask_bits).exp2();
        let p = fetch.p().value() as f64;
        let distance = |phase: u64| {
            let symbol = phase as f64 * p / steps;
            symbol - symbol.round()
        };
        Ok(phases.into_iter().flatten().map(distance).collect())
    }

    fn phases_of(&self, fetch: &Fetch, rows: usize) -> &Phases {
        let is_short = rows <= fetch.spec().short;
        &self.phases[usize::from(!is_short)]
    }
}
