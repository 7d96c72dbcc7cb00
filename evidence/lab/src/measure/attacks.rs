//! Attacks with clues that are aimed at every recipient, tested in the clear under many keys: plain clues, bound
//! clues, LWEmongrass.

mod lwemongrass;

use super::clear;
use chacha20::ChaCha20Rng;
use omr_client::{BoundSender, ClueSeed, SecretKey, Sender, identity};
use omr_protocol::clue::{Binding, BoundClue, OFFSET_LEN, offset};
use omr_protocol::sophomr::ParamsSpec;
use omr_protocol::{Clue, ClueKey, ClueKind, ClueParams, ParamsError};
use omr_ring::{Eval, Poly};
use omr_rlwe::SecretPoly;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;

const BOARD: [u8; 16] = [7; 16];
/// The number of clues of an attack that has several forms.
const FORMS: usize = 8;

/// The results of all attacks on a parameter set.
#[derive(Clone, Debug, Serialize)]
pub struct AttackTable {
    /// The name of the parameter set.
    pub params: &'static str,
    /// The number of recipients.
    pub keys: usize,
    /// Half the width of the window.
    pub range: u64,
    /// The rate at which a uniform clue is pertinent to a recipient.
    pub stranger_rate: f64,
    /// One line for each attack.
    pub lines: Vec<AttackLine>,
}

/// The result of one attack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttackLine {
    /// The attack's name.
    pub attack: &'static str,
    /// The number of pairs of a clue and a recipient to whom it should not be pertinent.
    pub pairs: u64,
    /// The number of pairs in which a plain clue is pertinent.
    pub plain: u64,
    /// The number of pairs in which a bound clue is pertinent.
    pub bound: u64,
    /// The number of pairs in which an LWEmongrass clue of set `dos-perfomr-v1` is pertinent and a board accepts it.
    pub lwemongrass: u64,
    /// The number of bound clues that a board refuses because their one-time key did not sign them.
    pub refused: u64,
}

/// A recipient who tests clues with the secret key.
struct Target {
    key: ClueKey,
    secret: SecretPoly,
    w: [u32; OFFSET_LEN],
}

/// The parameters of the test: the set and its window.
struct Fixture<'a> {
    params: &'a Arc<ClueParams>,
    coordinates: usize,
    range: u64,
    targets: Vec<Target>,
    lwemongrass: lwemongrass::Fixture,
}

/// Counts the clues of each attack that are pertinent to `keys` recipients with fresh keys.
///
/// Range: at least one key.   Errors: `Dimension`.
pub fn attacks(
    params: &Arc<ClueParams>,
    spec: &ParamsSpec,
    keys: usize,
    seed: u64,
) -> Result<AttackTable, ParamsError> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let fixture = Fixture::new(params, spec, keys, &mut rng)?;
    let honest = AttackLine {
        lwemongrass: fixture.lwemongrass.honest(),
        ..fixture.line(
            "honest clues, for others",
            1,
            |i, rng| fixture.honest(i, rng),
            &mut rng,
        )
    };
    let mut lines = vec![honest];
    for (attack, shape) in [
        ("zero", Shape::Zero),
        ("halves of q, signs at random", Shape::Halves),
        ("t (1, .., 1)", Shape::Constant),
        ("4 constants in a row", Shape::Block(4)),
        ("16 constants in a row", Shape::Block(16)),
    ] {
        lines.push(fixture.universal(attack, shape, &mut rng));
    }
    for (attack, change) in [
        ("sum of two clues", Change::Sum),
        ("copy with another payload", Change::Payload),
        ("copy under another key", Change::Key),
        ("b changed by 1", Change::B),
        ("a changed by 1", Change::A),
    ] {
        lines.push(fixture.again(attack, change, &mut rng));
    }
    let window = (2 * spec.range + 1) as f64 / spec.p as f64;
    Ok(AttackTable {
        params: params.name(),
        keys,
        range: spec.range,
        stranger_rate: window.powi(fixture.coordinates as i32),
        lines,
    })
}

/// A vector a chosen by the attacker.
#[derive(Clone, Copy)]
enum Shape {
    Zero,
    Halves,
    Constant,
    /// Equal constants in consecutive positions, zeros elsewhere.
    Block(usize),
}

impl Shape {
    fn vector(self, n: usize, q: u64, rng: &mut ChaCha20Rng) -> Vec<u32> {
        let (half, value) = ((q / 2) as u32, (rng.next_u64() % q) as u32);
        match self {
            Self::Zero => vec![0; n],
            Self::Halves => (0..n).map(|_| half + (rng.next_u32() & 1)).collect(),
            Self::Constant => vec![value; n],
            Self::Block(length) => {
                let start = rng.next_u64() as usize % (n - length);
                let mut a = vec![0; n];
                a[start..start + length].fill(value);
                a
            }
        }
    }
}

/// A change to a clue that was pertinent to its recipient.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Sum,
    Payload,
    Key,
    B,
    A,
}

impl<'a> Fixture<'a> {
    fn new(
        params: &'a Arc<ClueParams>,
        spec: &ParamsSpec,
        keys: usize,
        rng: &mut ChaCha20Rng,
    ) -> Result<Self, ParamsError> {
        let target = |_| {
            let (secret, key) = identity(params, ClueKind::Bound, rng);
            Target::new(params, &secret, key)
        };
        let targets = (0..keys).map(target).collect();
        Ok(Self {
            params,
            coordinates: ParamsSpec::COORDINATES,
            range: spec.clue_range(),
            targets,
            lwemongrass: lwemongrass::Fixture::new(keys, rng.next_u64())?,
        })
    }

    /// Returns whether `d_j = b_j - (a s)_j - offset_j` is in the window for all evaluated coordinates. All values
    /// are doubled.
    fn is_pertinent(&self, target: &Target, a: &Poly<Eval>, b: &[u64]) -> bool {
        let distances = clear::distances(self.params, &target.secret, a, &b[..self.coordinates]);
        distances.iter().all(|d| d.unsigned_abs() <= 2 * self.range)
    }

    fn plain_hits(&self, target: &Target, clue: &Clue) -> bool {
        let b = clear::doubled(self.params, &clue.b);
        self.is_pertinent(target, &clear::vector(self.params, &clue.a), &b)
    }

    fn bound_hits(&self, target: &Target, clue: &BoundClue, payload: &[u8]) -> bool {
        let a = clear::vector(self.params, &clue.clue.a);
        self.is_pertinent(target, &a, &self.without_offset(target, clue, payload))
    }

    fn without_offset(&self, target: &Target, clue: &BoundClue, payload: &[u8]) -> Vec<u64> {
        let q = self.params.q();
        let rows = clue.rows(self.params, binding(payload));
        let b = clear::doubled(self.params, &clue.clue.b);
        let bare = b.into_iter().zip(&rows);
        bare.map(|(b, row)| q.sub(b, q.mul(2, offset(self.params, row, &target.w))))
            .collect()
    }

    /// Makes a clue for each recipient and counts those that are pertinent to the recipient `further` on. Clues that
    /// a board refuses do not count.
    fn line(
        &self,
        attack: &'static str,
        further: usize,
        clues: impl Fn(usize, &mut ChaCha20Rng) -> (Clue, BoundClue, [u8; 8]) + Sync,
        rng: &mut ChaCha20Rng,
    ) -> AttackLine {
        let seed = rng.next_u64();
        let count = |i: usize| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            rng.set_stream(i as u64);
            let (plain, bound, payload) = clues(i, &mut rng);
            let target = &self.targets[(i + further) % self.targets.len()];
            let refused = bound.verify(self.params, binding(&payload)).is_err();
            let bound = !refused && self.bound_hits(target, &bound, &payload);
            [self.plain_hits(target, &plain), bound, refused].map(u64::from)
        };
        let [plain, bound, refused] = sums((0..self.targets.len()).into_par_iter().map(count));
        AttackLine {
            attack,
            pairs: self.targets.len() as u64,
            plain,
            bound,
            lwemongrass: 0,
            refused,
        }
    }

    fn honest(&self, i: usize, rng: &mut ChaCha20Rng) -> (Clue, BoundClue, [u8; 8]) {
        let key = &self.targets[i].key;
        let payload = rng.next_u64().to_le_bytes();
        let bound =
            BoundSender::new(self.params, key, BOARD).clue(&ClueSeed::generate(rng), &payload);
        (Sender::new(self.params, key).gen_clue(rng), bound, payload)
    }

    /// Counts vectors chosen by the attacker, with b = 0 and with the b that makes the clue pertinent to one
    /// recipient, who is not counted.
    fn universal(&self, attack: &'static str, shape: Shape, rng: &mut ChaCha20Rng) -> AttackLine {
        let (n, q) = (self.params.spec().n, self.params.spec().posted_modulus());
        let forms: Vec<_> = (0..FORMS)
            .map(|form| {
                let a = shape.vector(n, q, rng);
                let aimed = &self.targets[form % self.targets.len()];
                let plain = Clue {
                    b: vec![0; self.params.spec().coordinates],
                    a,
                };
                let payload = rng.next_u64().to_le_bytes();
                let bound = forged(self.params, plain.clone(), &aimed.w, &payload, rng);
                (plain, bound, payload)
            })
            .collect();
        let pairs = (0..forms.len() * self.targets.len())
            .into_par_iter()
            .map(|i| {
                let (form, target) = (i % forms.len(), i / forms.len());
                let (plain, bound, payload) = &forms[form];
                let is_aimed = target == form % self.targets.len();
                let target = &self.targets[target];
                let bound = !is_aimed && self.bound_hits(target, bound, payload);
                [
                    !is_aimed && self.plain_hits(target, plain),
                    bound,
                    !is_aimed,
                ]
                .map(u64::from)
            });
        let [plain, bound, pairs] = sums(pairs);
        AttackLine {
            attack,
            pairs,
            plain,
            bound,
            lwemongrass: self.lwemongrass.universal(shape, FORMS, rng),
            refused: 0,
        }
    }

    /// Counts honest clues that were changed and posted again to their recipients.
    fn again(&self, attack: &'static str, change: Change, rng: &mut ChaCha20Rng) -> AttackLine {
        let changed = |i, rng: &mut ChaCha20Rng| self.changed(i, change, rng);
        AttackLine {
            lwemongrass: self.lwemongrass.again(change),
            ..self.line(attack, 0, changed, rng)
        }
    }

    fn changed(
        &self,
        i: usize,
        change: Change,
        rng: &mut ChaCha20Rng,
    ) -> (Clue, BoundClue, [u8; 8]) {
        let q = self.params.spec().posted_modulus() as u32;
        let (mut plain, mut bound, payload) = self.honest(i, rng);
        let zero = [0; OFFSET_LEN];
        match change {
            Change::Sum => {
                let (other, bound_other, _) = self.honest(i, rng);
                add(&mut plain, &other, q);
                add(&mut bound.clue, &bound_other.clue, q);
                bound = forged(self.params, bound.clue, &zero, &payload, rng);
            }
            Change::Payload => {
                let payload = rng.next_u64().to_le_bytes();
                bound = forged(self.params, bound.clue, &zero, &payload, rng);
                return (plain, bound, payload);
            }
            Change::Key => bound = forged(self.params, bound.clue, &zero, &payload, rng),
            Change::B => {
                plain.b[0] = (plain.b[0] + 1) % q;
                bound.clue.b[0] = (bound.clue.b[0] + 1) % q;
            }
            Change::A => {
                plain.a[5] = (plain.a[5] + 1) % q;
                bound.clue.a[5] = (bound.clue.a[5] + 1) % q;
                bound = forged(self.params, bound.clue, &zero, &payload, rng);
            }
        }
        (plain, bound, payload)
    }
}

impl Target {
    fn new(params: &ClueParams, secret: &SecretKey, key: ClueKey) -> Self {
        let ring = &params.ring;
        Self {
            secret: secret.clue_secret().poly(ring, &ring.everything()),
            w: key.offset(params),
            key,
        }
    }
}

/// Returns a clue chosen by the attacker and signed by the attacker's own key, with the offset of `w` added to b.
fn forged(
    params: &ClueParams,
    clue: Clue,
    w: &[u32; OFFSET_LEN],
    payload: &[u8],
    rng: &mut ChaCha20Rng,
) -> BoundClue {
    let mut secret = [0; 32];
    rng.fill_bytes(&mut secret);
    // Residues modulo q that are posted as these bytes.
    let spec = params.spec();
    let b: Vec<u64> = clue
        .b
        .iter()
        .map(|&x| u64::from(spec.stands_for(x)) * spec.q / spec.modulus())
        .collect();
    BoundClue::bind(params, clue.a, &b, w, binding(payload), &secret)
}

fn binding(payload: &[u8]) -> Binding<'_> {
    Binding::new(&BOARD, payload)
}

fn add(sum: &mut Clue, other: &Clue, q: u32) {
    let pairs = sum.a.iter_mut().zip(&other.a);
    pairs
        .chain(sum.b.iter_mut().zip(&other.b))
        .for_each(|(x, y)| *x = (*x + y) % q);
}

fn sums(counts: impl ParallelIterator<Item = [u64; 3]>) -> [u64; 3] {
    let plus = |a: [u64; 3], b: [u64; 3]| std::array::from_fn(|i| a[i] + b[i]);
    counts.reduce(|| [0; 3], plus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::params::SetSpec;

    const PAIRS: u64 = 400;

    #[test]
    fn bound_clues_withstand_what_others_do_not() {
        let set = SetSpec::named("sophomr-v5").unwrap();
        let params = ClueParams::named("sophomr-v5").unwrap();
        let table = attacks(&params, &set.sophomr.unwrap(), PAIRS as usize, 3).unwrap();
        let line = |attack| {
            table
                .lines
                .iter()
                .find(|line| line.attack == attack)
                .unwrap()
        };
        let share = |attack| line(attack).plain as f64 / line(attack).pairs as f64;
        // All bound clues together: 18,000 pairs at 2^-26.6 expect 0.0002 pertinent ones.
        for line in &table.lines {
            assert_eq!(line.bound, 0, "{line:?}");
            assert_eq!(
                line.refused,
                if line.attack == "b changed by 1" {
                    PAIRS
                } else {
                    0
                }
            );
        }
        assert_eq!(share("honest clues, for others"), 0.0);
        assert_eq!(share("zero"), 1.0);
        assert_eq!(share("halves of q, signs at random"), 1.0);
        // By the weight's parity and the random walk of 316 signs: 3.1 % for both coordinates.
        let constant = share("t (1, .., 1)");
        assert!((0.008..0.06).contains(&constant), "{constant}");
        let [short, long] = [
            share("4 constants in a row"),
            share("16 constants in a row"),
        ];
        assert!(short > 0.12 && long > 0.04, "{short} {long}");
        // Twice the noise of a clue sometimes leaves the window.
        assert!(share("sum of two clues") > 0.99);
        for attack in ["copy with another payload", "copy under another key"] {
            assert_eq!(share(attack), 1.0);
        }
        assert!(share("b changed by 1") > 0.999 && share("a changed by 1") > 0.999);
        // LWEmongrass resists clues aimed at everybody, not copied ones.
        for line in &table.lines[..6] {
            assert_eq!(line.lwemongrass, 0, "{line:?}");
        }
        for line in &table.lines[7..] {
            assert!(
                line.lwemongrass as f64 > 0.999 * line.pairs as f64,
                "{line:?}"
            );
        }
        assert!(line("sum of two clues").lwemongrass as f64 > 0.95 * PAIRS as f64);
    }

    #[test]
    fn honest_bound_clues_reach_their_recipients_and_are_accepted() {
        let set = SetSpec::named("sophomr-v5").unwrap();
        let params = ClueParams::named("sophomr-v5").unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let fixture = Fixture::new(&params, &set.sophomr.unwrap(), 50, &mut rng).unwrap();
        for target in &fixture.targets {
            let sender = BoundSender::new(&params, &target.key, BOARD);
            let seed = ClueSeed::generate(&mut rng);
            let clue = sender.clue(&seed, b"sealed");
            assert!(fixture.bound_hits(target, &clue, b"sealed"));
            clue.verify(&params, binding(b"sealed")).unwrap();
            let posted = clue.to_bytes(&params);
            assert_eq!(BoundClue::from_bytes(&params, &posted).unwrap(), clue);
            assert!(sender.accepts(&seed, b"sealed", &posted));
            assert!(!sender.accepts(&seed, b"Sealed", &posted));
            assert!(!sender.accepts(&ClueSeed::generate(&mut rng), b"sealed", &posted));
            // A clue that is pertinent, but that no honest sender makes from this seed.
            let other = sender.clue(&ClueSeed::generate(&mut rng), b"sealed");
            assert!(fixture.bound_hits(target, &other, b"sealed"));
            assert!(!sender.accepts(&seed, b"sealed", &other.to_bytes(&params)));
        }
    }
}
