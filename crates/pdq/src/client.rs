//! The client: encrypts the constants of a query, decodes the answer.

mod constants;
mod decode;

pub(crate) use constants::entries;
pub use decode::{DecodeError, Rows};

use crate::keys::random;
use crate::query::{ciphertexts, constants_of};
use crate::{EncryptedQuery, Params, Plan, PlanError, QueryHead, SecretKey};
use omr_bgv::doublings;
use omr_marks::published;
use omr_rlwe::{encrypt, mask};
use omr_table::{Query, Schema};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// A client of one table.
pub struct Client<'a> {
    /// The parameters.
    pub params: &'a Params,
    /// The table's schema.
    pub schema: &'a Schema,
    /// The secret key of the client.
    pub secret: &'a SecretKey,
}

impl<'a> Client<'a> {
    /// A client of a table of this schema.
    pub const fn new(params: &'a Params, schema: &'a Schema, secret: &'a SecretKey) -> Self {
        Self {
            params,
            schema,
            secret,
        }
    }

    /// Plans a query before anything is encrypted; the plan contains its cost. Errors: those of
    /// [`Plan::new`].
    pub fn plan(&self, query: &Query, bound: usize) -> Result<Plan, PlanError> {
        Plan::new(self.params, self.schema, &query.shape(), bound)
    }

    /// Encrypts the constants of a planned query: all that the server then sees is the plan.
    ///
    /// Panics: when the plan is that of another query.
    pub fn encrypt(&self, query: &Query, plan: &Plan, rng: &mut impl CryptoRng) -> EncryptedQuery {
        assert_eq!(query.shape(), plan.shape, "the plan of this query");
        let params = self.params;
        let (ring, p) = (&params.ring, params.p());
        let basis = params.chain.basis(plan.start);
        let secret = self.secret.large(params).poly(ring, basis);
        // Public: masks follow from it.
        let seed = published(random(rng));
        let mut table = entries(self.schema, query, plan);
        let bodies = (0..ciphertexts(plan))
            .map(|i| {
                let range = constants_of(plan, i);
                let (scale, count) = (params.leaf_scale(plan.start), range.len());
                let mut coeffs = vec![0; ring.n()];
                for (leaf, &entry) in table[range].iter().enumerate() {
                    let factor = p.mul(scale, p.inv(1 << doublings(leaf, count)));
                    coeffs[leaf] = p.mul(entry.into(), factor) as u32;
                }
                let mut message = ring.lift_plain(&coeffs, p.value() as u32, basis);
                coeffs.zeroize();
                let mask = mask(ring, basis, &seed, &[i as u64]);
                let body = encrypt(ring, &secret, &message, p.value(), &mask, rng);
                message.zeroize();
                body
            })
            .collect();
        table.zeroize();
        EncryptedQuery {
            key_id: self.secret.id,
            head: QueryHead {
                schema: self.schema.fingerprint(),
                shape: plan.shape.clone(),
                bound: plan.bound,
            },
            seed,
            bodies,
        }
    }
}
