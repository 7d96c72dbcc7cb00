//! The key of SophOMR's detector and its file format.
//!
//! # File
//!
//! `docs/wire.md` defines the rest of the notation, the sections that are named here, and what precedes these parts
//! (section 9). Each part has its bodies `c0` without gaps: `pack(bits(q); row)` for each prime of the part, in the
//! evaluation domain. Masks `c1 = Mask(seed, index)` are not stored.
//!
//! **Evaluation domain.** In dimension `m` modulo a prime `q` = 1 mod 2m let `psi = x^((q-1)/2m)` for the least
//! `x >= 2` with `psi^m = -1`. Entry `j` of a row is the value at `psi^(2 brv(j) + 1)`, where `brv` reverses `log2 m`
//! bits. A polynomial has one row for each prime of its list.
//!
//! **Masks.** `Mask(seed, index)` is the polynomial in the evaluation domain whose row modulo `q` is
//! `Uniform(q; "omr rlwe mask v1", seed, index || q)`.
//!
//! **Slots** of a plaintext in dimension `m` form two rows of `m/2`. Slot (row `r`, column `c`), number `r m/2 + c`,
//! is the value at `psi^e`, `e = (-1)^r 5^c mod 2m`, with `psi` as above modulo `p`. `X -> X^(5^k)` rotates both rows
//! left by `k`; `X -> X^(2m-1)` swaps them.
//!
//! **Ciphertexts** are pairs of a body `c0` and a mask `c1` with `c0 + c1 s = m + p e`, except those of the final ring.
//!
//! **Secrets and errors** of a key, also those of `instant.key`, come from the ChaCha20 stream of the following, with 32
//! random bytes `r` and `V(x) = LE64(bytes of x) || x`:
//!
//! ```text
//! KDF("omr detection key v1"; r || linear seed, or 32 zero bytes for own masks || seed of the digest's secrets
//!     || V(file name of the key) || V(name of the set) || V(primes of the rings of masks, LE64 each)
//!     || V(offset w, LE32 each; empty for plain clues) || V(coefficients of the clue secret, LE64 each))
//! ```
//!
//! The rings are for `detection.key` the large one, with all primes below, that of digests, packing and narrowing; for
//! `rounds.key` packing, narrowing, scans, queries and answers; for `instant.key` its ring of bootstrapping and its
//! small ring.
//!
//! ```text
//! part                                            ring     primes, in order      digits              mask index
//! Step, X -> X^5                                  large    0–23, 24–35           12 + 12             (0, d)        linear
//! Giant, X -> X^(5^2048)                          large    0–23, 24–34           12 + 12             (1, d)        linear
//! Product, relinearisation                        large    59 down to 36, 24–34  12 + 12             (2, d)
//! Descent, to the small ring                      large    36, 37, 24, 25        2                   (3, 0)
//! Baby, X -> X^(5^256)                            large    as Step               12 + 12             (9, d)        linear
//! Packing                                         packing  q_1                   –                   (10, i, l)    linear
//! Narrow                                          narrow   q_2                   –                   (11, i, l)    linear
//! Turn, X -> X^5                                  small    as Descent            2                   (4, 0)
//! Swap, X -> X^(2n'-1)                            small    as Descent            2                   (5, 0)
//! Merge(v), X -> X^(2^v + 1), v = 5 .. log2 n'    small    as Descent            2                   (16 + v, 0)
//! Secret                                          large    0–23                  –                   (6)           linear
//! Final, to the final ring                        final    Q                     16 rows of 8 bodies (7, row)
//! ```
//!
//! `q_1` = 1125899906826241 and `q_2` = 759264257: the largest prime below 2^50 and the least from 2^29.5 on that are
//! 1 modulo 1,024. In tiny sets, Step and Baby (`X -> X^(5^64)`) have the primes 0–21, 22–31 and 33, Giant
//! (`X -> X^(5^256)`) 0–21, 22–31, both in 11 + 11 digits, Product 55 down to 34 and 22–32 in 11 + 11; Descent 34, 35,
//! 22, 23; `q_1` = 1125899906840833, `q_2` = 759250433.
//!
//! **Packing** and **Narrow** are modules over `Z[Z]/(Z^f + 1)`, `f` = 512 (tiny: 64), with one prime each. The
//! packing secret has 4 uniform ternary polynomials `u_l`, the *sparse* secret 3 polynomials `v_l` with exactly 36
//! (tiny: 20) coefficients ±1 each. Row `i` has one mask polynomial for each `l`, whose index ends with `l`, and the
//! body `c0 = m + e - sum_l c1_l u_l` (or `v_l`).
//!
//! - Packing: row `i` = 0 .. n_c has `m = -round(q_1 / q) s'` (halved residues: `2 q` for `q`), a constant, with
//!   `s' = s_(1 - i)` for `i` below 2 and `-s_(1 - i + n_c)` from there on. For bound clues 8 rows follow with
//!   `m = -trunc(q_1 w_i / q)`. `e` is narrow Gaussian with parameter 0.62.
//! - Narrow: row `13 l + d` has `m = round(q_2 / 2^(2 (d + 1))) u_l`; `e` is centred binomial.
//!
//! **Secret** encrypts the sparse secret by slots. With `c` = 128 points (tiny: 16), `k = f / c`, and `omega` the
//! least root `psi` for dimension `c` modulo `p`, part `k l + r` of the secret is the polynomial of the
//! coefficients `r, r + k, r + 2 k, ..` of `v_l`. Slot `i n/2c + u` of both slot rows, `u < n / 2c`, holds part
//! `P(u)` at `omega^(2 i + 1)`, or 0. `P` runs through all `3 k` parts repeatedly and leaves columns empty after each
//! run, equally many after each except one more after the first ones, so that all columns are used (256 columns of 12
//! parts: 21 runs, one empty column after each of the first four).
//!
//! The message in slot `h n/2 + i n/2c + u` (row h, point i, column u) is coefficient `N mod k + k i` of block
//! `floor(N / k)`, `N = h n/2c + u`. How a detector packs and opens blocks does not matter to clients;
//! `docs/design/opening.md` has omr's way and `testdata/opening` known answers.
//!
//! The length of the body shows whether it has rows for bound clues. Without them it has 129,950,400 bytes (tiny:
//! 3,572,880).
//!
//! **Switching keys** from `s1` to `s2` have for each digit `d`, a run of primes, the body
//! `c0 = g_d s1 + p e - c1 s2`. `g_d` is the product `P` of the special primes (those after all digits) modulo the
//! digit's primes, and 0 modulo all others.
//!
//! ```text
//! part                                            from s1              to s2
//! Step, Giant, Turn, Swap, Merge with exponent g  s of the ring        s(X^(1/g)): the image of the result is under s
//! Product                                         s^2                  s
//! Descent                                         s of the large ring  s'(X^(n/n'))
//! ```
//!
//! **Final** has the row number `(t r + k) 2 + d` for part `t < 2`, component `k < r` and digit `d < 2`. The 8 bodies
//! of a row share a mask. Body `t r + c` encrypts component `c` of `Y^k s'`, the others zero, each under its own
//! secret and without a factor `p` before the error: `c0_i = g_d (Y^k s')_c + e_i - c1 z_i`,
//! `g_d = round(Q / 2^(16 (d + 1)))`.
//!
//! `docs/wire.md` defines the secret of the large ring. `s'` is uniform ternary, `e` centred binomial (21 coin pairs).
//!
//! # Primes
//!
//! Each set has one list of primes: *top* (level 0), *special* (key switching), *base*, *terminal* and *drops*. In
//! `sophomr-v5` and `hybrid-v4`: top 0–23, special 24–35, base 36–37, terminal 38–39, drops 40–59. Each line begins
//! with the number of its first prime.
//!
//! ```text
//!  0: 479852555272193 479852556976129 281474976317441 281474975662081 281474974482433 281474966880257
//!  6: 281474962554881 281474960326657 281474957180929 281474955476993 281474952462337 281474949316609
//! 12: 479852561563649 479852567068673 281474949185537 281474948923393 281474948136961 281474945253377
//! 18: 281474943025153 281474941059073 281474938175489 281474935422977 281474933456897 281474931621889
//! 24: 1125899903827969 1125899902124033 1125899887312897 1125899886395393 1125899885740033 1125899884167169
//! 30: 1125899884036097 1125899883642881 1125899883380737 1125899882987521 1125899879710721 1683619841
//! 36: 20805796495361 20805798854657 94520737793 8519681
//! 40: 1048647638843393 275891378716673 275891380420609 1048647641726977 275891381207041
//! 45: 275891384614913 1048647642120193 275891386580993 275891387105281 1048647644348417
//! 50: 275891389726721 275891392086017 1048647644741633 275891393003521 275891393789953 283562868737
//! 56: 1048647645134849 275891394052097 275891396935681 94522441729
//! ```
//!
//! A level consists of the base, the first drops, and terminal primes:
//!
//! ```text
//! level    1     2     3   4      5   6   7   8   9      10  11  12  13     14  15  16  17     18
//! drops    20    19    18  17     17  16  16  15  13     13  12  12  10     10  9   9   7      7
//! terminal 38    38    –   38 39  39  38  –   –   38 39  39  38  –   38 39  39  38  –   38 39  39
//! ```
//!
//! Tiny sets, primes 1 modulo 4,096: top 0–21, in each half ten primes from 67446038179841 upwards and then one, which
//! are 35184372060161 and 35184371986433; special 22–33, the first from 1125899906826241 downwards and the last
//! 33574913; base and terminal 34–37: 3562427072513, 3562427092993, 2964963329, 2964975617; drops 38–55, the first from
//! 161445734748161 upwards (`testdata/wire/v1/opened-v4`).
//!
//! The final ring has one prime `Q` = 1125899906826241 (tiny: 1125899906840833).

mod place;
mod read;

pub use place::KeyPlace;

use super::{Params, RecipientParams};
use crate::clue::OFFSET_LEN;
use crate::frame::{FrameHeader, FrameWriter, Kind};
use crate::key_file::{WriteBody, row_bytes, write_poly};
use crate::{ClueKind, DetectionKeyError};
use omr_bgv::{Ciphertext, GaloisKey};
use omr_compress::{KeyUse, Keys, MergeKeys};
use omr_opening::{NarrowKey, PackingKey};
use omr_ring::{Automorphism, Basis, Eval, Poly, Ring};
use omr_rlwe::{KeyShape, Masks, Rlwe, SharedKey, SharedRlwe, SwitchingKey};
use std::io::Write;

/// The parts of a detection key in the order of the file. A part's number is the index of its first mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rotation by one slot, large ring.
    Step,
    /// Rotation by a giant step, large ring.
    Giant,
    /// Rotation by a baby step of the transform that opens clues, large ring.
    Baby,
    /// The encrypted clue secret, at one small prime. For an address with bound clues it includes the encrypted `w`.
    Packing,
    /// The switching key to the secret with which packed clues are opened.
    Narrow,
    /// Relinearisation, large ring.
    Product,
    /// The switching key to the small ring.
    Descent,
    /// Rotation by one slot, small ring.
    Turn,
    /// Swap of slot rows, small ring.
    Swap,
    /// `X -> X^(2^l + 1)`, small ring: merges packed ciphertexts.
    Merge(u32),
    /// The encryption of the secret with which packed clues are opened.
    Secret,
    /// The switching key to the ring of digests, with shared masks.
    Final,
}

impl Part {
    /// Returns the parts of a key, in the order of the file.
    pub fn all(params: &Params) -> Vec<Part> {
        let mut parts = vec![
            Part::Step,
            Part::Giant,
            Part::Product,
            Part::Descent,
            Part::Baby,
            Part::Packing,
            Part::Narrow,
            Part::Turn,
            Part::Swap,
        ];
        parts.extend(merge_levels(params).map(Part::Merge));
        parts.extend([Part::Secret, Part::Final]);
        parts
    }

    /// Returns the index of the part's first mask.
    pub fn index(self) -> u64 {
        match self {
            Part::Step => 0,
            Part::Giant => 1,
            Part::Product => 2,
            Part::Descent => 3,
            Part::Turn => 4,
            Part::Swap => 5,
            Part::Secret => 6,
            Part::Final => 7,
            Part::Baby => 9,
            Part::Packing => 10,
            Part::Narrow => 11,
            Part::Merge(level) => 16 + u64::from(level),
        }
    }

    /// Returns whether the part belongs to the stages up to the opened clues, whose masks are derived from
    /// [`DetectionKey::masks`].
    pub fn is_linear(self) -> bool {
        matches!(
            self,
            Part::Step | Part::Giant | Part::Baby | Part::Packing | Part::Narrow | Part::Secret
        )
    }

    /// Returns the seed of the part's masks: `own`, or `masks`, which several recipients may share.
    pub fn seed<'a>(self, own: &'a [u8; 32], masks: &'a [u8; 32]) -> &'a [u8; 32] {
        if self.is_linear() { masks } else { own }
    }

    /// Returns the exponent of the automorphism of the part's Galois key, if it has one.
    pub fn exponent(self, params: &Params) -> Option<usize> {
        match self {
            Part::Step => Some(Automorphism::rotation(params.ring.n(), 1)),
            Part::Giant => {
                let [_, giant] = params.transform_steps();
                Some(Automorphism::rotation(params.ring.n(), giant))
            }
            Part::Baby => {
                let [baby, _] = params.transform_steps();
                Some(Automorphism::rotation(params.ring.n(), baby))
            }
            Part::Turn => Some(KeyUse::Turn.exponent(params.small.n())),
            Part::Swap => Some(KeyUse::Swap.exponent(params.small.n())),
            Part::Merge(level) => Some(KeyUse::Merge(level).exponent(params.small.n())),
            _ => None,
        }
    }

    /// Returns the part's ring and gadget; no gadget if the part is no [`SwitchingKey`].
    pub fn shape(self, params: &Params) -> (&Ring, Option<&KeyShape>) {
        match self {
            Part::Step | Part::Baby => (&params.ring, Some(&params.step_shape)),
            Part::Giant => (&params.ring, Some(&params.giant_shape)),
            Part::Product => (&params.ring, Some(&params.product_shape)),
            Part::Descent => (&params.ring, Some(&params.descent_shape)),
            Part::Secret => (&params.ring, None),
            Part::Final => (&params.final_ring, None),
            Part::Packing => (&params.opening.packing, None),
            Part::Narrow => (&params.opening.narrow, None),
            _ => (&params.small, Some(&params.small_shape)),
        }
    }

    fn bodies(self, params: &Params, clues: ClueKind) -> (&Ring, Basis, usize) {
        match (self, self.shape(params)) {
            (_, (ring, Some(shape))) => (ring, shape.extended(), shape.digits().len()),
            (Part::Final, (ring, None)) => {
                let shape = &params.final_shape;
                (ring, ring.everything(), shape.rows() * shape.bodies())
            }
            (Part::Packing, (ring, None)) => {
                let bodies = params.opening.packing_bodies(extra_of(clues));
                (ring, ring.everything(), bodies)
            }
            (Part::Narrow, (ring, None)) => {
                (ring, ring.everything(), params.opening.narrow_bodies())
            }
            (_, (ring, None)) => (ring, params.chain.basis(0).clone(), 1),
        }
    }

    fn bytes(self, params: &Params, clues: ClueKind) -> u64 {
        let (ring, basis, count) = self.bodies(params, clues);
        let row = |&id: &usize| row_bytes(ring, id) as u64;
        basis.ids().iter().map(row).sum::<u64>() * count as u64
    }
}

/// Length in bytes of the two seeds at the beginning of a key's file.
const SEEDS_BYTES: u64 = 64;

/// Returns the number of values beside the secret's coefficients that packing subtracts from clues of a kind.
fn extra_of(clues: ClueKind) -> usize {
    match clues {
        ClueKind::Plain => 0,
        ClueKind::Bound => OFFSET_LEN,
    }
}

/// Returns the levels of merging that some width of digests may use.
pub fn merge_levels(params: &RecipientParams) -> std::ops::RangeInclusive<u32> {
    omr_compress::merge_levels(params.small_n(), omr_compress::MIN_WIDTH)
}

/// The parts of a key that only packing and opening of clues use.
pub struct OpeningKey {
    /// Rotation by a baby step of the transform.
    pub baby: GaloisKey,
    /// The encrypted clue secret.
    pub packing: PackingKey,
    /// The switching key to the secret with which packed clues are opened.
    pub narrow: NarrowKey,
}

/// The encryption, at level 0, of the secret with which packed clues are opened.
pub struct EncryptedSecret {
    body: Poly<Eval>,
    /// The ciphertext's only mask.
    masks: Masks,
}

impl EncryptedSecret {
    /// Returns the encryption as a ciphertext.
    pub fn to_ciphertext(&self) -> Ciphertext {
        let pair = Rlwe::new(self.body.clone(), self.masks[0].clone());
        Ciphertext::new(pair, 0, 1)
    }

    /// Combines the encryptions of one or more recipients whose masks have one seed.
    ///
    /// Panics: if there is none.
    pub fn together(secrets: &[&Self]) -> SharedRlwe<Eval> {
        SharedRlwe {
            mask: secrets[0].masks[0].clone(),
            bodies: secrets.iter().map(|secret| secret.body.clone()).collect(),
        }
    }
}

/// Panics: if the scale is not 1, or the ciphertext is not fresh.
impl From<Ciphertext> for EncryptedSecret {
    fn from(ct: Ciphertext) -> Self {
        assert_eq!((ct.level(), ct.scale()), (0, 1), "a fresh encryption");
        let pair = ct.into_pair();
        Self {
            body: pair.c0,
            masks: [pair.c1].into(),
        }
    }
}

/// A detector's key: switching keys and an encrypted secret. It contains no secret in the clear.
pub struct DetectionKey {
    /// Random name of the key, unrelated to the address's name.
    pub id: [u8; 16],
    /// The seed of the recipient's own masks.
    pub seed: [u8; 32],
    /// The seed of the masks of all stages up to the opened clues ([`Part::is_linear`]). A detector runs these stages
    /// together for recipients with one seed.
    pub masks: [u8; 32],
    /// Rotation by one slot.
    pub step: GaloisKey,
    /// Rotation by a giant step.
    pub giant: GaloisKey,
    /// The parts for packing and opening.
    pub opening: OpeningKey,
    /// Relinearisation.
    pub product: SwitchingKey,
    /// Ring switching.
    pub descent: SwitchingKey,
    /// Rotation by one slot of the small ring.
    pub turn: GaloisKey,
    /// Row swap of the small ring.
    pub swap: GaloisKey,
    /// Merging, by level (see [`merge_levels`]).
    pub merge: Vec<GaloisKey>,
    /// The secret that packed clues are opened from ([`omr_opening::secret_slots`]), at level 0.
    pub secret: EncryptedSecret,
    /// To the ring of digests.
    pub last: SharedKey,
}

/// The part of a detection key that turns sums into a digest.
pub struct FinalKey {
    /// Name of the key.
    pub id: [u8; 16],
    /// The switching key to the ring of digests.
    pub last: SharedKey,
}

impl DetectionKey {
    fn header(params: &Params, id: [u8; 16]) -> FrameHeader {
        FrameHeader::new(Kind::DetectionKey, params.name(), id)
    }

    /// Returns the length in bytes of the body of the file of a key for clues of a kind.
    pub fn body_bytes(params: &Params, clues: ClueKind) -> u64 {
        let parts = Part::all(params).into_iter();
        SEEDS_BYTES + parts.map(|part| part.bytes(params, clues)).sum::<u64>()
    }

    /// Returns the length in bytes of the whole file of a key for clues of a kind.
    pub fn file_bytes_of(params: &Params, clues: ClueKind) -> u64 {
        Self::header(params, [0; 16]).file_len(Self::body_bytes(params, clues))
    }

    /// Returns the kind of clues that a detector with this key accepts.
    pub fn clues(&self) -> ClueKind {
        if self.opening.packing.extra() > 0 {
            ClueKind::Bound
        } else {
            ClueKind::Plain
        }
    }

    /// Returns the keys that compression uses.
    pub fn compression(&self, params: &Params) -> Keys<'_> {
        Keys {
            turn: &self.turn,
            swap: &self.swap,
            merge: MergeKeys {
                keys: &self.merge,
                first_level: *merge_levels(params).start(),
            },
            last: &self.last,
        }
    }

    /// Returns the length in bytes of the whole file.
    pub fn file_bytes(&self, params: &Params) -> u64 {
        Self::file_bytes_of(params, self.clues())
    }

    fn part(&self, part: Part, params: &Params) -> Vec<&Poly<Eval>> {
        match part {
            Part::Step => self.step.switching_key().bodies().collect(),
            Part::Giant => self.giant.switching_key().bodies().collect(),
            Part::Product => self.product.bodies().collect(),
            Part::Descent => self.descent.bodies().collect(),
            Part::Turn => self.turn.switching_key().bodies().collect(),
            Part::Swap => self.swap.switching_key().bodies().collect(),
            Part::Merge(level) => {
                let key = &self.merge[(level - merge_levels(params).start()) as usize];
                key.switching_key().bodies().collect()
            }
            Part::Baby => self.opening.baby.switching_key().bodies().collect(),
            Part::Packing => self.opening.packing.bodies().collect(),
            Part::Narrow => self.opening.narrow.bodies().collect(),
            Part::Secret => vec![&self.secret.body],
            Part::Final => self.last.bodies().collect(),
        }
    }

    /// Writes the file: the seeds, then the bodies with their exact number of bits.
    ///
    /// Errors: those of the writer.
    pub fn write(&self, params: &Params, out: impl Write) -> Result<(), DetectionKeyError> {
        let (seeds, clues) = ([self.seed, self.masks], self.clues());
        Self::write_bodies(params, self.id, seeds, clues, out, |part, write| {
            self.part(part, params).into_iter().try_for_each(write)
        })
    }

    /// Writes the file of a key whose bodies are made while they are written: `each` passes the bodies of a part to the
    /// given function. The seeds are those of [`DetectionKey::from_bodies`].
    ///
    /// Errors: those of the writer; `BodyLength` if `each` passes too few or too many.
    pub fn write_bodies(
        params: &Params,
        id: [u8; 16],
        seeds: [[u8; 32]; 2],
        clues: ClueKind,
        out: impl Write,
        mut each: impl FnMut(Part, &mut WriteBody) -> Result<(), DetectionKeyError>,
    ) -> Result<(), DetectionKeyError> {
        let [seed, masks] = seeds;
        let bytes = Self::body_bytes(params, clues);
        let mut frame = FrameWriter::new(out, &Self::header(params, id), bytes)?;
        frame.write_all(&seed)?;
        frame.write_all(&masks)?;
        for part in Part::all(params) {
            let (ring, ..) = part.shape(params);
            each(part, &mut |body| Ok(write_poly(ring, body, &mut frame)?))?;
        }
        frame.finish()?;
        Ok(())
    }
}
