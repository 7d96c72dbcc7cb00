/* What takes InstantOMR's time on a message: blind rotations with one digit and with two, and traces. */
#include "residues.h"
#include "floating.h"
#include "tile.h"

/* Keys of a block at most. */
#define MOST_KEYS 10

/* A sum of at most ten products of two values of at most q/2 < 2^49 each. Where `high` lies its words are 2^49 or 2^50
 * apart, so what a product leaves to `low` is at most 2^49 and exact, and `low` stays below 2^53. */
struct wide { double high, low; };
#define TOP 0x1.6p102

DEVICE void clear_wide(struct wide *s) {
  s->high = TOP;
  s->low = 0.0;
}

DEVICE void add_wide(struct wide *s, double x, double y) {
  const double high = FMA(x, y, s->high);
  const double rest = FMA(x, y, ADD(s->high, -high));
  HOLDS(high >= TOP / 2 && high < 0x1p103, "the upper part of a sum");
  HOLDS(rest <= TWO52 / 8 && rest >= -TWO52 / 8, "what a product leaves");
  s->high = high;
  s->low = ADD(s->low, rest);
}

/* Below 7 q. */
DEVICE double narrowed(struct prime m, struct wide s) {
  const double high = ADD(s.high, -TOP);
  HOLDS(MUL(high, m.reciprocal) < TWO52 && MUL(high, m.reciprocal) > -TWO52, "a quotient of a sum");
  HOLDS(s.low < 2 * TWO52 && s.low > -2 * TWO52, "the lower part of a sum");
  const double c = ADD(FMA(high, m.reciprocal, EVENS), -EVENS);
  const double r = ADD(FMA(-c, m.whole, high), s.low);
  HOLDS(r < 2 * TWO52 && r > -2 * TWO52, "a sum");
  return r;
}

/* Place i of a window's value or its negative: where it lies within a turn that begins at `start`, else 0. */
DEVICE u64 windowed(struct prime m, const u64 *window, u32 n, u64 start, u32 i) {
  const u64 k = (i - start) & (n - 1);
  if (k > window[0]) return 0;
  return (start + k) & n && window[1] ? m.q - window[1] : window[1];
}

/* The inverse of an odd number modulo 2^32. */
DEVICE u32 inverse_odd(u32 g) {
  u32 x = g;
  UNROLL for (u32 i = 0; i < 4; i++) x *= 2 - g * x;
  return x;
}

/* Coefficient i of a(X^g), `back` the inverse of g. */
DEVICE u64 image(struct prime m, const u64 *a, u32 n, u32 back, u32 i) {
  const u32 k = (i * back) & (2 * n - 1);
  const u64 x = a[k & (n - 1)];
  return k & n && x ? m.q - x : x;
}

#define NAME(kernel) kernel##_one
#define DIGITS 1
#define TOGETHER 4
#include "rotation.h"
#undef NAME
#undef DIGITS
#undef TOGETHER

#define NAME(kernel) kernel##_two
#define DIGITS 2
#define TOGETHER 2
#include "rotation.h"

/* Traces of ciphertexts, a block each, in place.
 *
 * call: 0 primes, 1 factors, 2 log2 n; key: 3 where it lies, 4 digits; 5 to 8 gadget, 9 the factor 1 / n, 10 ciphertexts.
 *
 * For each automorphism, that of n + 1 first, the key has for each digit a row for the body and one for the mask, times
 * 1 / n, as for rotations. Threads: n / 4. Shared memory: 8 rows. */
KERNEL(trace, THREADS) {
  DYNAMIC(double, rows);
  const struct transform own = transform_at(call[0], call[1], call[2]), *f = &own;
  const struct gadget g = gadget_at(call + 5);
  const u32 n = 1u << f->log_n, digits = (u32)call[4];
  u64 *body = WORDS(call[10]) + 2 * (u64)n * BLOCK, *mask = body + n;
  double *turned = rows + digits * PADDED(n);
  PHASE
    ROLLED for (u32 i = thread; i < 2 * n; i += n / 4) body[i] = weighted(f->m, entered(f->m, body[i]), call + 9);
  END
  ROLLED for (u32 step = 0; step < f->log_n; step++) {
    PHASE
      /* The digits of the mask's image, and the body's image. */
      const u32 back = inverse_odd((n >> step) + 1);
      ROLLED for (u32 at = thread; at < n; at += n / 4) {
        const u64 x = fraction(g, image(f->m, mask, n, back, at));
        ROLLED for (u32 i = 0; i < digits; i++) rows[i * PADDED(n) + PADDED(at)] = digit(g, x, i);
        turned[PADDED(at)] = entered(f->m, image(f->m, body, n, back, at));
      }
    END
    PHASE
      TEAM
      ROLLED for (u32 row = team; row < digits; row += TEAMS) {
        double v[16];
        EACH v[j] = rows[row * PADDED(n) + FIRST(j)];
        down_first(f, v, rows + row * PADDED(n), t);
      }
    END
    PHASE
      TEAM
      ROLLED for (u32 row = team; row < digits; row += TEAMS) down_middle(f, rows + row * PADDED(n), t);
    END
    PHASE
      TEAM
      ROLLED for (u32 row = team; row < digits; row += TEAMS) down_last(f, rows + row * PADDED(n), t);
    END
    PHASE
      ROLLED for (u32 at = thread; at < n; at += n / 4) {
        const u64 *key = WORDS(call[3]) + 2 * (u64)n * digits * step + at;
        double column[2] = {0.0, 0.0};
        ROLLED for (u32 i = 0; i < digits; i++) {
          const double x = rows[i * PADDED(n) + PADDED(at)];
          UNROLL for (u32 c = 0; c < 2; c++)
            column[c] = ADD(column[c], product(f->m, x, FLOAT_OF(key[(u64)n * (2 * i + c)])));
        }
        UNROLL for (u32 c = 0; c < 2; c++) rows[c * PADDED(n) + PADDED(at)] = column[c];
      }
    END
    PHASE
      TEAM
      if (team < 2) up_first(f, rows + team * PADDED(n), t);
    END
    PHASE
      TEAM
      if (team < 2) up_middle(f, rows + team * PADDED(n), t);
    END
    PHASE
      TEAM
      if (team < 2) {
        double v[16], *row = rows + team * PADDED(n);
        up_last(f, v, row, t);
        EACH row[FIRST(j)] = v[j];
      }
    END
    PHASE
      ROLLED for (u32 at = thread; at < n; at += n / 4) {
        const double x = ADD(entered(f->m, body[at]), turned[PADDED(at)]);
        body[at] = residue(f->m, ADD(x, rows[PADDED(at)]));
        mask[at] = residue(f->m, ADD(entered(f->m, mask[at]), rows[PADDED(n) + PADDED(at)]));
      }
    END
  }
}
