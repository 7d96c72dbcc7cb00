/* Values of transforms as integers: Shoup's products, Harvey's lazy butterflies without folds. */
typedef u64 value;
/* A constant factor and floor(2^64 w / q). */
#define FACTOR_WORDS 2
#define RESIDENT 3

/* A residue as a value, and the word that the first half of a transform leaves to the second. */
DEVICE value entered(struct prime m, u64 x) { (void)m; return x; }
DEVICE value resumed(u64 x) { return x; }
DEVICE u64 left(struct prime m, value x) { return lower(m, x); }

/* A residue again, or one times a weight. */
DEVICE u64 residue(struct prime m, value x) { return reduced(m, x); }
DEVICE u64 weighted(struct prime m, value x, const u64 *weight) {
  const struct factor f = {weight[0], weight[1]};
  return fold(times(m, x, f), m.q);
}

#define FACTOR(slot) ((const struct factor *)factors)[slot]

/* A level over pairs `half` apart of 16 values; `slot` is the root of their tree of factors. */
#define FORWARD(half)                                                                                       \
  UNROLL for (u32 block = 0; block < 8 / (half); block++) {                                                 \
    const struct factor f = FACTOR(slot * (8 / (half)) + block);                                            \
    UNROLL for (u32 i = 0; i < (half); i++) {                                                               \
      u64 *x = &v[2 * (half) * block + i], *y = x + (half);                                                 \
      const u64 t = times(m, *y, f), s = *x;                                                                \
      *x = s + t;                                                                                           \
      *y = s + (2 * m.q - t);                                                                               \
    }                                                                                                       \
  }

/* From below q or 2 q; grows by 2 q a level: below 18 q after eight. */
DEVICE void forward16(struct prime m, value *v, const u64 *factors, u64 slot, u32 skipped) {
  if (skipped < 1) { FORWARD(8) }
  if (skipped < 2) { FORWARD(4) }
  if (skipped < 3) { FORWARD(2) }
  if (skipped < 4) { FORWARD(1) }
}

#define INVERSE(half)                                                                                       \
  UNROLL for (u32 block = 0; block < 8 / (half); block++) {                                                 \
    const struct factor f = FACTOR(slot * (8 / (half)) + block);                                            \
    UNROLL for (u32 i = 0; i < (half); i++) {                                                               \
      u64 *x = &v[2 * (half) * block + i], *y = x + (half);                                                 \
      const u64 s = *x, t = *y;                                                                             \
      HOLDS(s < bound && t < bound, "values of an inverse transform");                                      \
      *x = s + t;                                                                                           \
      *y = times(m, s + (bound - t), f);                                                                    \
    }                                                                                                       \
  }                                                                                                         \
  bound *= 2;

/* After so many levels of this half of a transform; from below 2 q, doubles with each level: below 2^9 q < 2^59. */
DEVICE void inverse16(struct prime m, value *v, const u64 *factors, u64 slot, u32 skipped, u32 levels) {
  u64 bound = (2 * m.q) << levels;
  if (skipped < 4) { INVERSE(1) }
  if (skipped < 3) { INVERSE(2) }
  if (skipped < 2) { INVERSE(4) }
  if (skipped < 1) { INVERSE(8) }
  (void)bound;
}
