/* Residues modulo primes below 2^50 as integers. */
#ifndef OMR_RESIDUES_H
#define OMR_RESIDUES_H
#include "machine.h"

/* A prime; PRIME_WORDS words of the ring's table, in this order. */
struct prime {
  u64 q;
  u64 inverse; /* floor(2^64 / q) */
  u64 wide;    /* 2^64 mod q */
  u64 wide_quotient;
  double whole, reciprocal; /* q and 1 / q */
};
#define PRIME_WORDS 6

/* A constant factor and floor(2^64 w / q). */
struct factor { u64 w, quotient; };

DEVICE struct prime prime_at(u64 table, u64 number) {
  const u64 *at = WORDS(table) + PRIME_WORDS * number;
  struct prime m = {at[0], at[1], at[2], at[3], FLOAT_OF(at[4]), FLOAT_OF(at[5])};
  return m;
}

/* x < 2 bound to x modulo it */
DEVICE u64 fold(u64 x, u64 bound) { return x >= bound ? x - bound : x; }

/* w x in [0, 2 q), for any x (Shoup) */
DEVICE u64 times(struct prime m, u64 x, struct factor f) {
  u64 r = x * f.w - HIGH(x, f.quotient) * m.q;
  HOLDS(r < 2 * m.q, "a product");
  return r;
}

/* any x to [0, 2 q) */
DEVICE u64 lower(struct prime m, u64 x) {
  u64 r = x - HIGH(x, m.inverse) * m.q;
  HOLDS(r < 2 * m.q, "a reduced word");
  return r;
}

/* any x to [0, q) */
DEVICE u64 reduced(struct prime m, u64 x) { return fold(lower(m, x), m.q); }

/* A sum of products below 2^100, at most 2^14 of them. */
struct sum { u64 low, high; };

DEVICE void add_product(struct sum *s, u64 a, u64 b) {
  u64 low = a * b, before = s->low;
  s->low = before + low;
  s->high += HIGH(a, b) + (s->low < before);
}

/* to [0, q) */
DEVICE u64 reduced_sum(struct prime m, struct sum s) {
  struct factor wide = {m.wide, m.wide_quotient};
  return fold(fold(times(m, s.high, wide) + lower(m, s.low), 2 * m.q), m.q);
}

/* Word `at` of a transform's ending, where the transform has x. The ending: where the sum is written, the transform's
 * factor, a constant, number of terms; then for each term: factor, row. */
DEVICE u64 ended(struct prime m, const u64 *ending, u64 at, u64 x) {
  struct sum s = {ending[2], 0};
  add_product(&s, x, ending[1]);
  for (u64 i = 0; i < ending[3]; i++) add_product(&s, WORDS(ending[5 + 2 * i])[at], ending[4 + 2 * i]);
  return reduced_sum(m, s);
}

#endif
