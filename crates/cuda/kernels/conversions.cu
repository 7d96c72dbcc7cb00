/* Conversions of residues between primes: sums of products of the residues of all sources, and of the number of times
 * that these have wrapped around, with coefficients modulo each target. */
#include "residues.h"
#include "floating.h"

/* Sources at most, and threads of a block: all sources of its words lie in shared memory. */
#define SOURCES 44
#define CONVERTING 128
#define AT (CONVERTING * (u64)BLOCK + thread)

/* call: 0 primes, 1 sources, 2 targets, places of 3 the inverses of the sources as doubles, 4 the numbers of the target
 * primes, 5 coefficients, target by target; then for each row of the grid: the rows of all sources, those of all
 * targets. */
#define CONVERSION                                                                                          \
  const u64 sources = call[1], targets = call[2];                                                           \
  const u64 *own = call + 6 + (sources + targets) * (u64)ROW;                                               \
  const u64 *inverses = call + call[3], *primes = call + call[4], *coefficients = call + call[5]

/* The number of wraps, of a sum that begins at one half. */
DEVICE u64 whole_wraps(double wraps) {
  HOLDS(wraps >= 0.0 && wraps < SOURCES + 1, "wraps of a conversion");
  return (u64)wraps;
}

/* Coefficients: one for each source, that of the wraps. */
KERNEL(convert, CONVERTING) {
  SHARED(u64, x, SOURCES * CONVERTING);
  CONVERSION;
  PHASE
    double wraps = 0.5;
    for (u64 i = 0; i < sources; i++) {
      const u64 source = WORDS(own[i])[AT];
      x[i * CONVERTING + thread] = source;
      wraps = ADD(wraps, MUL((double)source, FLOAT_OF(inverses[i])));
    }
    const u64 quotient = whole_wraps(wraps);
    for (u64 t = 0; t < targets; t++) {
      const u64 *c = coefficients + t * (sources + 1);
      const struct prime m = prime_at(call[0], primes[t]);
      struct sum s = {0, 0};
      for (u64 i = 0; i < sources; i++) add_product(&s, x[i * CONVERTING + thread], c[i]);
      add_product(&s, quotient, c[sources]);
      WORDS(own[sources + t])[AT] = reduced_sum(m, s);
    }
  END
}

/* Targets of the next kernel that share what is read of a source. */
#define TOGETHER 2

/* A sum in double precision of products, each at most 2^98: of a residue less 2^49, and a coefficient of at most q/2.
 *
 * Ranges: at most 44 products, and that of the wraps, are less than 45 2^98. `high` begins at TOP, 80 2^98, and stays
 * from 2^103 to 2^105, where its words are 2^51 or 2^52 apart: a product leaves an integer of at most 2^51, exact, and
 * so is its sum with ROUNDS, whose bits are those of ROUNDS and the integer. At last what `high` has grown by is a
 * multiple of 2^51, exact; times 2^51 modulo q its quotient is below 2^52, and it leaves at most 2 q < 2^51. So the
 * integers in `low` are 46 of at most 2^51: below 2^57. The first word is the same for all: what the 2^49 take away,
 * modulo q, and a multiple of q from 2^57 on, less the bits of ROUNDS for each integer. */
struct parts { double high; u64 low; };
#define TOP 0x1.4p104

DEVICE void add_part(struct parts *s, double x, double c) {
  const double high = FMA(x, c, s->high);
  const double rest = FMA(x, c, ADD(s->high, -high));
  HOLDS(high >= 0x1p103 && high < 0x1p105, "the upper part of a conversion");
  HOLDS(rest <= TWO52 / 2 && rest >= -TWO52 / 2, "what a product of a conversion leaves");
  s->high = high;
  s->low += BITS_OF(ADD(rest, ROUNDS));
}

/* The unit is 2^51 modulo q, over 2^51. */
DEVICE u64 reduced_parts(struct prime m, struct parts s, double unit) {
  const double rest = rough_product(m, ADD(s.high, -TOP), unit);
  const u64 low = s.low + BITS_OF(ADD(rest, ROUNDS));
  HOLDS(low >> 58 == 0, "the lower part of a conversion");
  return reduced(m, low);
}

/* Coefficients, centred, as doubles: one for each source, that of the wraps, the unit; then the first word. */
KERNEL(convert_floating, CONVERTING) {
  SHARED(double, x, SOURCES * CONVERTING);
  CONVERSION;
  PHASE
    double wraps = 0.5;
    for (u64 i = 0; i < sources; i++) {
      const u64 source = WORDS(own[i])[AT];
      HOLDS(source >> 50 == 0, "a source");
      const double whole = ADD(FLOAT_OF(source | 0x4330000000000000ull), -TWO52);
      x[i * CONVERTING + thread] = ADD(whole, -TWO52 / 8);
      wraps = ADD(wraps, MUL(whole, FLOAT_OF(inverses[i])));
    }
    const double quotient = (double)whole_wraps(wraps);
    for (u64 first = 0; first < targets; first += TOGETHER) {
      const u64 *c[TOGETHER];
      struct parts s[TOGETHER];
      UNROLL for (u32 k = 0; k < TOGETHER; k++) {
        /* The last target takes the place of one that is missing. */
        c[k] = coefficients + (first + k < targets ? first + k : targets - 1) * (sources + 3);
        s[k].high = TOP;
        s[k].low = c[k][sources + 2];
      }
      for (u64 i = 0; i < sources; i++)
        UNROLL for (u32 k = 0; k < TOGETHER; k++) add_part(&s[k], x[i * CONVERTING + thread], FLOAT_OF(c[k][i]));
      UNROLL for (u32 k = 0; k < TOGETHER; k++)
        if (first + k < targets) {
          add_part(&s[k], quotient, FLOAT_OF(c[k][sources]));
          const struct prime m = prime_at(call[0], primes[first + k]);
          WORDS(own[sources + first + k])[AT] = reduced_parts(m, s[k], FLOAT_OF(c[k][sources + 1]));
        }
    }
  END
}
