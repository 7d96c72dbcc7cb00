//! The row operations and the choice of a back end.

use std::sync::OnceLock;

use crate::block::{BlockRows, Cut, Gadget};
use crate::{
    BlockPermutation, Modulus, Monomials, NttTable, WordRows, double, fourier, modulus::Factor,
    scalar,
};

/// [`Kernels::dot`] and [`Kernels::dot_words`] add at most this many products.
pub const MAX_DOT_TERMS: usize = 4096;
/// [`Kernels::convert`] takes at most this many sources.
pub const MAX_CONVERT_TERMS: usize = 256;

pub(crate) type Transform = unsafe fn(&NttTable, &mut [u64]);
pub(crate) type Encode = unsafe fn(&NttTable, &mut [u64], Encoding<'_>) -> bool;
pub(crate) type Inverse = unsafe fn(&NttTable, &mut [u64], [Factor; 2]);
pub(crate) type InverseFrom = unsafe fn(&NttTable, &mut [u64], &[u64], [Factor; 2]);
pub(crate) type Unary = unsafe fn(&Modulus, &mut [u64]);
pub(crate) type Binary = unsafe fn(&Modulus, &mut [u64], &[u64]);
pub(crate) type Ternary = unsafe fn(&Modulus, &mut [u64], &[u64], &[u64]);
pub(crate) type Scale = unsafe fn(&Modulus, &mut [u64], u64);
pub(crate) type BinaryScale = unsafe fn(&Modulus, &mut [u64], &[u64], u64);
pub(crate) type SubScaleAdd = unsafe fn(&Modulus, &mut [u64], &[u64], u64, &[u64], u64);
pub(crate) type Dot = unsafe fn(&Modulus, &mut [u64], &[&[u64]], &[&[u64]]);
pub(crate) type DotPair = unsafe fn(&Modulus, [&mut [u64]; 2], &[&[u64]], [&[&[u64]]; 2]);
pub(crate) type DotSquare = unsafe fn(&Modulus, [&mut [u64]; 4], [&[&[u64]]; 2], [&[&[u64]]; 2]);
pub(crate) type DotSquareWords =
    unsafe fn(&Modulus, [&mut [u64]; 4], [&[&[u32]]; 2], [&[&[u32]]; 2]);
pub(crate) type DotWords = unsafe fn(&Modulus, &mut [&mut [u64]], &WordRows<'_>);
pub(crate) type Convert = unsafe fn(&Modulus, &mut [u64], &[&[u64]], &[u64]);
pub(crate) type ConvertMany = unsafe fn(&[&Modulus], &mut [&mut [u64]], &[&[u64]], &[&[u64]]);
pub(crate) type SlidingDots = unsafe fn(&Modulus, &mut [&mut [u64]], &SlidingRows<'_>);
pub(crate) type Quotient = unsafe fn(&mut [u64], &[&[u64]], &[f64]);
pub(crate) type LiftCentered = unsafe fn(&Modulus, &mut [u64], &[u32], u32);
pub(crate) type Gather = unsafe fn(&mut [u64], &[u64], &[u32]);
pub(crate) type Spread = unsafe fn(&mut [u64], usize, &[u64], usize);
pub(crate) type Decompose = unsafe fn(&Modulus, Gadget, &Cut, &mut [&mut [u64]], &[u64]);
pub(crate) type BlockProduct = unsafe fn(&Monomials, [&mut [u64]; 2], &BlockRows<'_>);
pub(crate) type Permute = unsafe fn(&mut [u64], &[u64], &BlockPermutation);

/// The row operations of one instruction set.
///
/// Rows hold residues in `[0, q)` on the way in and out. All rows of one call have the same
/// length; every method panics on a length mismatch. Time: constant in the residues.
pub struct Kernels {
    pub(crate) name: &'static str,
    pub(crate) ntt_forward: Transform,
    pub(crate) ntt_factors: Transform,
    /// Optional: without it, or where it returns false, [`Kernels::encode`] runs the operations it unites one by one.
    pub(crate) encode: Option<Encode>,
    pub(crate) ntt_inverse: Inverse,
    /// Optional: without it, the row is copied and transformed in place.
    pub(crate) ntt_inverse_from: Option<InverseFrom>,
    pub(crate) add: Binary,
    pub(crate) sub: Binary,
    pub(crate) neg: Unary,
    pub(crate) mul: Binary,
    pub(crate) mul_add: Ternary,
    pub(crate) scale: Scale,
    pub(crate) scale_add: BinaryScale,
    pub(crate) sub_scale: BinaryScale,
    pub(crate) sub_scale_add: SubScaleAdd,
    pub(crate) dot: Dot,
    /// Optional: [`Kernels::dot`] takes its place.
    pub(crate) dot_pair: Option<DotPair>,
    /// Optional: [`Kernels::dot_pair`] takes its place.
    pub(crate) dot_square: Option<DotSquare>,
    /// Optional: [`Kernels::dot`] takes its place.
    pub(crate) sliding_dots: Option<SlidingDots>,
    pub(crate) dot_square_words: DotSquareWords,
    pub(crate) dot_words: DotWords,
    pub(crate) convert: Convert,
    /// Optional: [`Kernels::convert`] takes its place.
    pub(crate) convert_many: Option<ConvertMany>,
    pub(crate) quotient: Quotient,
    pub(crate) lift_centered: LiftCentered,
    pub(crate) gather: Gather,
    pub(crate) permute: Permute,
    pub(crate) spread: Spread,
    pub(crate) decompose: Decompose,
    pub(crate) block_product: BlockProduct,
    pub(crate) fourier_digits: fourier::Digits,
    pub(crate) fourier_add: fourier::Add,
    pub(crate) fourier_product: fourier::Product,
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Choice of a back end.
impl Kernels {
    /// The fastest back end of this CPU; decided once.
    ///
    /// The environment variable `OMR_KERNELS` (`double`, `scalar`, `avx2`, `avx512ifma`, `neon`) forces one. A name
    /// that is unknown or not available here is ignored: compare [`Kernels::name`] to find out.
    pub fn detect() -> &'static Kernels {
        static CHOSEN: OnceLock<&'static Kernels> = OnceLock::new();
        CHOSEN.get_or_init(|| {
            let forced = std::env::var("OMR_KERNELS")
                .ok()
                .and_then(|name| Self::by_name(&name));
            forced
                .or_else(|| Self::available().pop())
                .unwrap_or_else(Self::scalar)
        })
    }

    /// The portable back end, which defines what the others compute.
    pub fn scalar() -> &'static Kernels {
        &scalar::KERNELS
    }

    /// The back end of this name, if this CPU runs it.
    pub fn by_name(name: &str) -> Option<&'static Kernels> {
        Self::available().into_iter().find(|k| k.name == name)
    }

    /// Every back end this CPU runs, slowest first.
    pub fn available() -> Vec<&'static Kernels> {
        #[allow(unused_mut)] // other architectures add none
        let mut found = vec![&double::KERNELS, Self::scalar()];
        if cfg!(target_family = "wasm") {
            found.swap(0, 1);
        }
        #[cfg(target_arch = "x86_64")]
        {
            use crate::{avx2, avx512ifma};
            found.extend(avx2::is_available().then_some(&avx2::KERNELS));
            found.extend(avx512ifma::is_available().then_some(&avx512ifma::KERNELS));
        }
        #[cfg(target_arch = "aarch64")]
        found.extend(crate::neon::is_available().then_some(&crate::neon::KERNELS));
        found
    }

    /// Name of the instruction set.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

// Every call below rests on one fact: a `Kernels` is reachable only through `available`, which
// lists a back end after it has found the CPU features its functions are compiled for.
#[allow(unsafe_code)]
/// The row operations.
impl Kernels {
    /// Negacyclic transform in place: natural order in, bit-reversed out,
    /// `out[j] = a(psi^(2 brv(j) + 1))`.
    ///
    /// Panics: when `row.len() != t.n()`.
    pub fn ntt_forward(&self, t: &NttTable, row: &mut [u64]) {
        assert_eq!(row.len(), t.n(), "row length and transform size differ");
        crate::count::transform();
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.ntt_forward)(t, row) }
    }

    /// [`Kernels::ntt_forward`] to *factors*: words that stand for the same residues in a form of the
    /// back end's own. Only these operations take them: [`Kernels::dot`], [`Kernels::dot_pair`],
    /// [`Kernels::dot_square`] and [`Kernels::sliding_dots`] as `a`, [`Kernels::block_product`] as
    /// digits, [`Kernels::sub_scale_assign`] and [`Kernels::sub_scale_add_assign`] as `b`.
    ///
    /// Panics: when `row.len() != t.n()`.
    pub fn ntt_factors(&self, t: &NttTable, row: &mut [u64]) {
        assert_eq!(row.len(), t.n(), "row length and transform size differ");
        crate::count::transform();
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.ntt_factors)(t, row) }
    }

    /// [`Kernels::lift_centered`], [`Kernels::ntt_factors`] and [`Kernels::spread`] of one row.
    /// `row` is worked in: its content does not matter.
    ///
    /// Panics: when `row` or the coefficients are not as long as the transform; as `spread` does.
    pub fn encode(&self, t: &NttTable, row: &mut [u64], e: Encoding<'_>) {
        assert_eq!(row.len(), t.n(), "row length and transform size differ");
        assert_eq!(row.len(), e.coeffs.len(), "row lengths differ");
        check_spread(e.out, e.every, row.len(), e.piece);
        if let Some(encode) = self.encode {
            let again = Encoding {
                out: &mut *e.out,
                ..e
            };
            // SAFETY: the CPU has the features of this back end.
            if unsafe { encode(t, row, again) } {
                crate::count::transform();
                return;
            }
        }
        self.lift_centered(t.modulus(), row, e.coeffs, e.p);
        self.ntt_factors(t, row);
        self.spread(e.out, e.every, row, e.piece);
    }

    /// Exact inverse of [`Kernels::ntt_forward`], the factor `1 / n` included.
    ///
    /// Panics: when `row.len() != t.n()`.
    pub fn ntt_inverse(&self, t: &NttTable, row: &mut [u64]) {
        assert_eq!(row.len(), t.n(), "row length and transform size differ");
        crate::count::transform();
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.ntt_inverse)(t, row, t.last_factors()) }
    }

    /// [`Kernels::ntt_inverse`] times the constant `c`, at no cost.
    ///
    /// Panics: when `row.len() != t.n()`; when `c >= q`.
    pub fn ntt_inverse_scaled(&self, t: &NttTable, row: &mut [u64], c: u64) {
        assert_eq!(row.len(), t.n(), "row length and transform size differ");
        let last = scaled_last_factors(t, c);
        crate::count::transform();
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.ntt_inverse)(t, row, last) }
    }

    /// [`Kernels::ntt_inverse_scaled`] of `src`, out of place.
    ///
    /// Panics: as there.
    pub fn ntt_inverse_scaled_from(&self, t: &NttTable, out: &mut [u64], src: &[u64], c: u64) {
        let Some(inverse) = self.ntt_inverse_from else {
            out.copy_from_slice(src);
            return self.ntt_inverse_scaled(t, out, c);
        };
        assert_eq!(out.len(), t.n(), "row length and transform size differ");
        assert_eq!(src.len(), t.n(), "row length and transform size differ");
        let last = scaled_last_factors(t, c);
        crate::count::transform();
        // SAFETY: the CPU has the features of this back end.
        unsafe { inverse(t, out, src, last) }
    }

    /// `a += b`. Panics: on length mismatch.
    pub fn add_assign(&self, m: &Modulus, a: &mut [u64], b: &[u64]) {
        assert_eq!(a.len(), b.len(), "row lengths differ");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.add)(m, a, b) }
    }

    /// `a -= b`. Panics: on length mismatch.
    pub fn sub_assign(&self, m: &Modulus, a: &mut [u64], b: &[u64]) {
        assert_eq!(a.len(), b.len(), "row lengths differ");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.sub)(m, a, b) }
    }

    /// `a = -a`.
    pub fn neg_assign(&self, m: &Modulus, a: &mut [u64]) {
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.neg)(m, a) }
    }

    /// `a *= b`, pointwise. Panics: on length mismatch.
    pub fn mul_assign(&self, m: &Modulus, a: &mut [u64], b: &[u64]) {
        assert_eq!(a.len(), b.len(), "row lengths differ");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.mul)(m, a, b) }
    }

    /// `acc += a b`, pointwise. Panics: on length mismatch.
    pub fn mul_add_assign(&self, m: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
        assert_eq!(acc.len(), a.len(), "row lengths differ");
        assert_eq!(acc.len(), b.len(), "row lengths differ");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.mul_add)(m, acc, a, b) }
    }

    /// `a *= c` for a constant `c < q`. Panics: when `c >= q`.
    pub fn scale_assign(&self, m: &Modulus, a: &mut [u64], c: u64) {
        assert!(c < m.value(), "constant {c} is not below the modulus");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.scale)(m, a, c) }
    }

    /// `acc += a c` for a constant `c < q`. Panics: on length mismatch; when `c >= q`.
    pub fn scale_add_assign(&self, m: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
        assert_eq!(acc.len(), a.len(), "row lengths differ");
        assert!(c < m.value(), "constant {c} is not below the modulus");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.scale_add)(m, acc, a, c) }
    }

    /// `a = (a - b) c` for a constant `c < q`: the last step of a rescaling.
    ///
    /// Panics: on length mismatch; when `c >= q`.
    pub fn sub_scale_assign(&self, m: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
        assert_eq!(a.len(), b.len(), "row lengths differ");
        assert!(c < m.value(), "constant {c} is not below the modulus");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.sub_scale)(m, a, b, c) }
    }

    /// `a = (a - b) c + d e` for constants `c, e < q`: a rescaling and a scaled row that is added to it.
    ///
    /// Panics: on length mismatch; when `c >= q` or `e >= q`.
    pub fn sub_scale_add_assign(
        &self,
        m: &Modulus,
        a: &mut [u64],
        b: &[u64],
        c: u64,
        d: &[u64],
        e: u64,
    ) {
        assert_eq!(a.len(), b.len(), "row lengths differ");
        assert_eq!(a.len(), d.len(), "row lengths differ");
        assert!(
            c.max(e) < m.value(),
            "a constant of {c} and {e} is not below the modulus"
        );
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.sub_scale_add)(m, a, b, c, d, e) }
    }

    /// `out = sum_i a[i] b[i]`, pointwise, reduced once at the end; an empty sum is zero.
    ///
    /// Panics: on length mismatch; on more than [`MAX_DOT_TERMS`] products.
    pub fn dot(&self, m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        assert_eq!(a.len(), b.len(), "numbers of rows differ");
        assert!(
            a.len() <= MAX_DOT_TERMS,
            "more than {MAX_DOT_TERMS} products"
        );
        let n = out.len();
        assert!(
            a.iter().chain(b).all(|row| row.len() == n),
            "row lengths differ"
        );
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.dot)(m, out, a, b) }
    }

    /// [`Kernels::dot`] of the same rows with two lists of others: `out[k] = sum_i a[i] b[k][i]`.
    /// Every row of `a` is read once.
    ///
    /// Panics: as there.
    pub fn dot_pair(&self, m: &Modulus, out: [&mut [u64]; 2], a: &[&[u64]], b: [&[&[u64]]; 2]) {
        let Some(pair) = self.dot_pair else {
            for (out, b) in out.into_iter().zip(b) {
                self.dot(m, out, a, b);
            }
            return;
        };
        check_dots(&out, [a], b);
        // SAFETY: the CPU has the features of this back end.
        unsafe { pair(m, out, a, b) }
    }

    /// [`Kernels::dot`] of two lists of rows with two others: `out[2 k + l] = sum_i a[k][i] b[l][i]`.
    /// Every row is read once.
    ///
    /// Panics: as there.
    pub fn dot_square(
        &self,
        m: &Modulus,
        out: [&mut [u64]; 4],
        a: [&[&[u64]]; 2],
        b: [&[&[u64]]; 2],
    ) {
        let Some(square) = self.dot_square else {
            let [ac, ad, bc, bd] = out;
            self.dot_pair(m, [ac, ad], a[0], b);
            self.dot_pair(m, [bc, bd], a[1], b);
            return;
        };
        check_dots(&out, a, b);
        // SAFETY: the CPU has the features of this back end.
        unsafe { square(m, out, a, b) }
    }

    /// `out = sum_i src[i] coef[i]`: one output row of a basis conversion.
    ///
    /// Range: `src` holds residues of other primes, any value below `2^50`; `coef` is in `[0, q)`.
    /// Panics: on length mismatch; on more than [`MAX_CONVERT_TERMS`] sources; when a coefficient
    /// is not below `q`.
    /// Speed: bound by the caches. For many outputs from the same sources, call it on pieces of the
    /// rows that together fit the first-level cache.
    pub fn convert(&self, m: &Modulus, out: &mut [u64], src: &[&[u64]], coef: &[u64]) {
        assert_eq!(
            src.len(),
            coef.len(),
            "numbers of sources and coefficients differ"
        );
        assert!(
            src.len() <= MAX_CONVERT_TERMS,
            "more than {MAX_CONVERT_TERMS} sources"
        );
        let n = out.len();
        assert!(src.iter().all(|row| row.len() == n), "row lengths differ");
        assert!(
            coef.iter().all(|&c| c < m.value()),
            "a coefficient is not below the modulus"
        );
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.convert)(m, out, src, coef) }
    }

    /// Sums of products of groups of rows with one window of rows that slides: with G groups, S
    /// shifts and R parts,
    /// `out[(g S + s) R + r] = sum_(j < terms) a[g terms + j] b[(j + s) R + r]`, pointwise.
    ///
    /// Panics: when there are not G S R outputs of `len` residues, or the rows do not lie in `a`
    /// and `b`; on more than [`MAX_DOT_TERMS`] terms.
    pub fn sliding_dots(&self, m: &Modulus, out: &mut [&mut [u64]], rows: &SlidingRows<'_>) {
        rows.check(out);
        let fast = self
            .sliding_dots
            .filter(|_| rows.in_fours())
            .filter(|_| rows.stride.is_multiple_of(8) && rows.len.is_multiple_of(8));
        match fast {
            // SAFETY: the CPU has the features of this back end; `check` has checked the shape.
            Some(fast) => unsafe { fast(m, out, rows) },
            None => self.sliding_dots_by_one(m, out, rows),
        }
    }

    fn sliding_dots_by_one(&self, m: &Modulus, out: &mut [&mut [u64]], rows: &SlidingRows<'_>) {
        for (i, out) in out.iter_mut().enumerate() {
            let (part, shift) = (i % rows.parts, i / rows.parts % rows.shifts);
            let group = i / (rows.parts * rows.shifts);
            let terms = 0..rows.terms;
            let a: Vec<&[u64]> = terms
                .clone()
                .map(|j| rows.a(group * rows.terms + j))
                .collect();
            let b: Vec<&[u64]> = terms
                .map(|j| rows.b((j + shift) * rows.parts + part))
                .collect();
            self.dot(m, out, &a, &b);
        }
    }

    /// [`Kernels::convert`] to several primes: `out[t] = sum_i src[i] coef[t][i]` modulo
    /// `moduli[t]`, every source read once for several outputs.
    ///
    /// Range, panics: as there, and when the numbers of moduli, outputs and coefficient rows differ.
    pub fn convert_many(
        &self,
        moduli: &[&Modulus],
        out: &mut [&mut [u64]],
        src: &[&[u64]],
        coef: &[&[u64]],
    ) {
        assert!(
            moduli.len() == out.len() && moduli.len() == coef.len(),
            "numbers of moduli, outputs and coefficient rows differ"
        );
        let Some(many) = self.convert_many else {
            for ((m, out), coef) in moduli.iter().zip(out).zip(coef) {
                self.convert(m, out, src, coef);
            }
            return;
        };
        let Some(n) = out.first().map(|row| row.len()) else {
            return;
        };
        assert!(
            src.len() <= MAX_CONVERT_TERMS,
            "more than {MAX_CONVERT_TERMS} sources"
        );
        assert!(
            out.iter().all(|row| row.len() == n) && src.iter().all(|row| row.len() == n),
            "row lengths differ"
        );
        for (m, coef) in moduli.iter().zip(coef) {
            assert_eq!(
                src.len(),
                coef.len(),
                "numbers of sources and coefficients differ"
            );
            assert!(
                coef.iter().all(|&c| c < m.value()),
                "a coefficient is not below the modulus"
            );
        }
        // SAFETY: the CPU has the features of this back end.
        unsafe { many(moduli, out, src, coef) }
    }

    /// `out = floor(0.5 + sum_i y[i] inv[i])` in double precision: how often a basis conversion
    /// has wrapped around.
    ///
    /// Terms are added in the order of `i`, each product rounded before it is added (no fused
    /// multiply-add), so that every instruction set gives the same bits.
    /// Range: `y` below `2^52`; each `inv` and the whole sum in `[0, 2^51)`.
    /// Panics: on length mismatch.
    pub fn quotient(&self, out: &mut [u64], y: &[&[u64]], inv: &[f64]) {
        assert_eq!(y.len(), inv.len(), "numbers of sources and inverses differ");
        let n = out.len();
        assert!(y.iter().all(|row| row.len() == n), "row lengths differ");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.quotient)(out, y, inv) }
    }

    /// Lifts residues modulo `p` to `(-p/2, p/2]` and reduces them modulo `q`, which may be
    /// smaller or larger than `p`.
    ///
    /// Range: `src` in `[0, p)`. Panics: on length mismatch.
    pub fn lift_centered(&self, m: &Modulus, out: &mut [u64], src: &[u32], p: u32) {
        assert_eq!(out.len(), src.len(), "row lengths differ");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.lift_centered)(m, out, src, p) }
    }

    /// `out[i] = src[idx[i]]`. Time: variable in `idx`, which is public.
    ///
    /// Panics: when `out` and `idx` differ in length; when an index is out of range.
    pub fn gather(&self, out: &mut [u64], src: &[u64], idx: &[u32]) {
        assert_eq!(out.len(), idx.len(), "row lengths differ");
        let top = idx.iter().copied().max();
        assert!(
            top.is_none_or(|i| (i as usize) < src.len()),
            "an index is out of range"
        );
        // SAFETY: the CPU has the features of this back end; every index is in range.
        unsafe { (self.gather)(out, src, idx) }
    }

    /// Copies a row in pieces of `piece` words to places `every` words apart. It is to be read much
    /// later: where the CPU can, it goes to memory and pushes nothing out of the caches.
    ///
    /// Panics: when a piece is empty or does not fit.
    pub fn spread(&self, out: &mut [u64], every: usize, src: &[u64], piece: usize) {
        check_spread(out, every, src.len(), piece);
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.spread)(out, every, src, piece) }
    }

    /// The permuted row. Time: constant in the residues.
    ///
    /// Panics: when the lengths of rows and permutation differ.
    pub fn permute(&self, out: &mut [u64], src: &[u64], permutation: &BlockPermutation) {
        assert_eq!(out.len(), permutation.len(), "row lengths differ");
        assert_eq!(src.len(), permutation.len(), "row lengths differ");
        // SAFETY: the CPU has the features of this back end.
        unsafe { (self.permute)(out, src, permutation) }
    }
}

/// The source and the destination of [`Kernels::encode`].
#[derive(Debug)]
pub struct Encoding<'a> {
    /// Residues modulo `p`, in `[0, p)`.
    pub coeffs: &'a [u32],
    /// The modulus of the values.
    pub p: u32,
    /// The words that the pieces of the result are written to.
    pub out: &'a mut [u64],
    /// Words from one piece to the next.
    pub every: usize,
    /// Words of a piece.
    pub piece: usize,
}

/// The factors of [`Kernels::sliding_dots`]: rows of `len` residues, `stride` words apart.
#[derive(Clone, Copy, Debug)]
pub struct SlidingRows<'a> {
    /// `groups * terms` rows.
    pub a: &'a [u64],
    /// `(terms + shifts - 1) * parts` rows.
    pub b: &'a [u64],
    /// Words from one row to the next.
    pub stride: usize,
    /// Residues of a row.
    pub len: usize,
    /// Products in a sum.
    pub terms: usize,
    /// Groups of `a`.
    pub groups: usize,
    /// Positions of the window.
    pub shifts: usize,
    /// Rows of `b` at each position.
    pub parts: usize,
}

impl SlidingRows<'_> {
    fn a(&self, i: usize) -> &[u64] {
        &self.a[i * self.stride..][..self.len]
    }

    fn b(&self, i: usize) -> &[u64] {
        &self.b[i * self.stride..][..self.len]
    }

    /// Whether the sums of a group fall into fours that meet neighbouring rows of `b`.
    fn in_fours(&self) -> bool {
        let shifts = self.parts == 2 && self.shifts.is_multiple_of(2);
        shifts || self.shifts == 1 && self.parts.is_multiple_of(4)
    }

    fn check(&self, out: &[&mut [u64]]) {
        assert!(
            self.terms <= MAX_DOT_TERMS,
            "more than {MAX_DOT_TERMS} products"
        );
        assert_eq!(
            Some(out.len()),
            product([self.groups, self.shifts, self.parts]),
            "number of outputs"
        );
        assert!(
            out.iter().all(|row| row.len() == self.len),
            "row lengths differ"
        );
        assert!(self.stride >= self.len, "rows overlap");
        let holds = |words, rows| holds(words, rows, self.stride, self.len);
        let window = (self.terms + self.shifts).saturating_sub(1);
        assert!(
            product([self.groups, self.terms]).is_some_and(|rows| holds(self.a, rows)),
            "too few rows in a"
        );
        assert!(
            product([window, self.parts]).is_some_and(|rows| holds(self.b, rows)),
            "too few rows in b"
        );
    }
}

/// Returns the factors of the last level of an inverse transform whose results are multiplied by `c`.
///
/// Panics: when `c >= q`.
fn scaled_last_factors(t: &NttTable, c: u64) -> [Factor; 2] {
    assert!(
        c < t.modulus().value(),
        "constant {c} is not below the modulus"
    );
    t.scaled_last_factors(c)
}

/// Panics when lists of rows do not fit each other or the outputs.
pub(crate) fn check_dots<T, const A: usize>(out: &[&mut [u64]], a: [&[&[T]]; A], b: [&[&[T]]; 2]) {
    let (n, terms) = (out[0].len(), a[0].len());
    assert!(terms <= MAX_DOT_TERMS, "more than {MAX_DOT_TERMS} products");
    assert!(out.iter().all(|row| row.len() == n), "row lengths differ");
    for list in a.iter().chain(&b) {
        assert_eq!(list.len(), terms, "numbers of rows differ");
        assert!(list.iter().all(|row| row.len() == n), "row lengths differ");
    }
}

/// Panics when the pieces of a row of `len` words do not fit.
fn check_spread(out: &[u64], every: usize, len: usize, piece: usize) {
    assert!(
        0 < piece && piece <= every,
        "a piece does not fit its place"
    );
    let pieces = len.div_ceil(piece);
    let last = len - piece * pieces.saturating_sub(1);
    assert!(holds(out, pieces, every, last), "the pieces do not fit");
}

/// Whether `rows` rows, `stride` words apart and the last one `len` long, lie in `words`.
fn holds(words: &[u64], rows: usize, stride: usize, len: usize) -> bool {
    let Some(before) = rows.checked_sub(1) else {
        return true;
    };
    let start = before.checked_mul(stride);
    let end = start.and_then(|start| start.checked_add(len));
    end.is_some_and(|end| end <= words.len())
}

/// The product, unless it is too large: unsafe code relies on it.
pub(crate) fn product<const N: usize>(factors: [usize; N]) -> Option<usize> {
    let mut factors = factors.into_iter();
    factors.try_fold(1, usize::checked_mul)
}
