//! The attacks of [`super`] on LWEmongrass clues.

use super::{Change, Shape};
use chacha20::ChaCha20Rng;
use omr_papers::clear::{LweParams, PaperSet};
use omr_papers::client::{LweSecret, LweSender, identity};
use omr_protocol::{Clue, ParamsError};
use rand_core::SeedableRng;
use rayon::prelude::*;

/// Recipients who test LWEmongrass clues with their secrets.
pub(super) struct Fixture {
    params: LweParams,
    targets: Vec<Target>,
}

/// A recipient with honest clues. Addresses of many recipients would take gigabytes.
struct Target {
    secret: LweSecret,
    clues: [Clue; 2],
}

impl Fixture {
    /// Generates the keys of `keys` recipients.
    ///
    /// Errors: `Dimension`.
    pub(super) fn new(keys: usize, seed: u64) -> Result<Self, ParamsError> {
        let set = PaperSet::named("dos-perfomr-v1", false).expect("a set of 128 bits");
        let params = set.lwe().expect("a set with LWE clues")?;
        let target = |i: usize| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            rng.set_stream(i as u64);
            let (secret, key) = identity(&params, &mut rng);
            let sender = LweSender::new(&params, &key);
            let clues = std::array::from_fn(|_| sender.gen_clue(&mut rng));
            Target { secret, clues }
        };
        let targets = (0..keys).into_par_iter().map(target).collect();
        Ok(Self { params, targets })
    }

    /// Returns whether a board accepts the clue and it is pertinent to the recipient.
    fn hits(&self, target: &Target, clue: &Clue) -> bool {
        let taken = self.params.check_clue(clue).is_ok();
        taken && target.secret.is_pertinent(&self.params, clue)
    }

    fn count(&self, hits: impl Fn(usize, &Target) -> bool + Sync) -> u64 {
        let all = self.targets.par_iter().enumerate();
        all.filter(|(i, target)| hits(*i, target)).count() as u64
    }

    /// Counts honest clues that are pertinent to the recipient after the intended one.
    pub(super) fn honest(&self) -> u64 {
        let of = |i: usize| &self.targets[(i + 1) % self.targets.len()].clues[0];
        self.count(|i, target| self.hits(target, of(i)))
    }

    /// Counts vectors chosen by the attacker, with the b for which a vector of zeros is pertinent to everybody.
    pub(super) fn universal(&self, shape: Shape, forms: usize, rng: &mut ChaCha20Rng) -> u64 {
        let (n, q) = (self.params.spec().n, self.params.spec().q);
        let b = vec![self.params.offset(); self.params.spec().coordinates];
        let clues: Vec<Clue> = (0..forms)
            .map(|_| Clue {
                a: shape.vector(n, q.into(), rng),
                b: b.clone(),
            })
            .collect();
        let hits = |form: usize| {
            self.count(|i, target| i % forms != form && self.hits(target, &clues[form]))
        };
        (0..forms).map(hits).sum()
    }

    /// Counts clues that were changed and posted again to their recipients.
    pub(super) fn again(&self, change: Change) -> u64 {
        self.count(|_, target| self.hits(target, &self.changed(target, change)))
    }

    fn changed(&self, target: &Target, change: Change) -> Clue {
        let q = self.params.spec().q;
        let [mut clue, other] = target.clues.clone();
        match change {
            Change::Sum => {
                super::add(&mut clue, &other, q);
                clue.b
                    .iter_mut()
                    .for_each(|b| *b = (*b + q - self.params.offset()) % q);
            }
            // The clue does not depend on a payload or on the poster.
            Change::Payload | Change::Key => {}
            Change::B => clue.b[0] = (clue.b[0] + 1) % q,
            Change::A => clue.a[5] = (clue.a[5] + 1) % q,
        }
        clue
    }
}
