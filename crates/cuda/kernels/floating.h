/* Values of transforms in double precision, exact: integers below 2^53 and products without error.
 *
 * A data-centre card has as many fused multiply-adds of doubles as of 32-bit integers; a product modulo q takes six
 * operations, and its factor is one word. Factors lie in [-q/2, q/2], q < 2^50.
 *
 * Ranges, in units of q, with e(B) = B q / 2^53 what the rounding of a quotient adds (x w / q <= B q / 2 < 2^51): a
 * product of |x| <= B is at most 1/2 + e(B).
 *   forward16: centred 0.5, then 1.07, 1.70, 2.42, 3.22: below 2^52, quotients below 2^51.
 *   inverse16, two levels at a time: centred 0.5; 1, then 2; differences multiplied are at most 2: quotients at most
 *   2^50. Sums reach 2 and are centred again. */
typedef double value;
#define FACTOR_WORDS 1
#define RESIDENT 4
#define ROUNDS 6755399441055744.0 /* 1.5 2^52: what is added to it is rounded to an integer */
#define EVENS (2 * ROUNDS) /* the same for an even integer */
#define TWO52 4503599627370496.0

/* To |x| <= q/2, but for rounding. */
DEVICE double centred(struct prime m, double x) {
  HOLDS(x < 2 * TWO52 && x > -2 * TWO52, "a value");
  const double c = ADD(FMA(x, m.reciprocal, ROUNDS), -ROUNDS);
  return FMA(-c, m.whole, x);
}

DEVICE double product(struct prime m, double x, double w) {
  const double h = MUL(x, w), l = FMA(x, w, -h);
  HOLDS(x < 2 * TWO52 && x > -2 * TWO52, "a factor");
  HOLDS(MUL(h, m.reciprocal) < TWO52 / 2 && MUL(h, m.reciprocal) > -TWO52 / 2, "a quotient");
  const double c = ADD(FMA(h, m.reciprocal, ROUNDS), -ROUNDS);
  const double r = ADD(FMA(-c, m.whole, h), l);
  HOLDS(r <= m.whole && r >= -m.whole, "a product");
  return r;
}

/* At most (1 + 2 c / 2^53) q for a quotient of at most c, which is below 2^52. */
DEVICE double rough_product(struct prime m, double x, double y) {
  const double h = MUL(x, y), l = FMA(x, y, -h);
  HOLDS(MUL(h, m.reciprocal) < TWO52 && MUL(h, m.reciprocal) > -TWO52, "a quotient of a rough product");
  const double c = ADD(FMA(h, m.reciprocal, EVENS), -EVENS);
  const double r = ADD(FMA(-c, m.whole, h), l);
  HOLDS(r < TWO52 / 2 && r > -TWO52 / 2, "a rough product");
  return r;
}

/* x below 2^52 */
DEVICE value entered(struct prime m, u64 x) {
  (void)m;
  return ADD(FLOAT_OF(x | 0x4330000000000000ull), -TWO52);
}
DEVICE value resumed(u64 x) { return FLOAT_OF(x); }
DEVICE u64 left(struct prime m, value x) { (void)m; return BITS_OF(x); }

DEVICE u64 residue(struct prime m, value x) {
  double r = centred(m, x);
  r = r < 0.0 ? ADD(r, m.whole) : r;
  return BITS_OF(ADD(r, TWO52)) & 0x000FFFFFFFFFFFFFull;
}
DEVICE u64 weighted(struct prime m, value x, const u64 *weight) {
  return residue(m, product(m, centred(m, x), FLOAT_OF(weight[0])));
}

#define FACTOR(slot) ((const double *)factors)[slot]
#define CENTRE UNROLL for (u32 i = 0; i < 16; i++) v[i] = centred(m, v[i]);

#define FORWARD(half)                                                                                       \
  UNROLL for (u32 block = 0; block < 8 / (half); block++) {                                                 \
    const double w = FACTOR(slot * (8 / (half)) + block);                                                   \
    UNROLL for (u32 i = 0; i < (half); i++) {                                                               \
      double *x = &v[2 * (half) * block + i], *y = x + (half);                                              \
      const double t = product(m, *y, w), s = *x;                                                           \
      *x = ADD(s, t);                                                                                       \
      *y = ADD(s, -t);                                                                                      \
    }                                                                                                       \
  }

/* Four levels, or fewer, of values at most q/2. */
DEVICE void levels16(struct prime m, value *v, const u64 *factors, u64 slot, u32 skipped) {
  if (skipped < 1) { FORWARD(8) }
  if (skipped < 2) { FORWARD(4) }
  if (skipped < 3) { FORWARD(2) }
  if (skipped < 4) { FORWARD(1) }
}

DEVICE void forward16(struct prime m, value *v, const u64 *factors, u64 slot, u32 skipped) {
  CENTRE
  levels16(m, v, factors, slot, skipped);
}

#define INVERSE(half)                                                                                       \
  UNROLL for (u32 block = 0; block < 8 / (half); block++) {                                                 \
    const double w = FACTOR(slot * (8 / (half)) + block);                                                   \
    UNROLL for (u32 i = 0; i < (half); i++) {                                                               \
      double *x = &v[2 * (half) * block + i], *y = x + (half);                                              \
      const double s = *x, t = *y;                                                                          \
      *x = ADD(s, t);                                                                                       \
      *y = product(m, ADD(s, -t), w);                                                                       \
    }                                                                                                       \
  }

DEVICE void inverse16(struct prime m, value *v, const u64 *factors, u64 slot, u32 skipped, u32 levels) {
  (void)levels;
  CENTRE
  if (skipped < 4) { INVERSE(1) }
  if (skipped < 3) { INVERSE(2) }
  CENTRE
  if (skipped < 2) { INVERSE(4) }
  if (skipped < 1) { INVERSE(8) }
}
