/* Sums, products, conversions and permutations of rows. */
#include "residues.h"

#define THREADS 256
#define AT (THREADS * (u64)BLOCK + thread)

/* Places in a call are counted in words from its beginning.
 *
 * call: 0 primes, 1 place of the terms; then for each row: prime, to, constant, first term, terms. A term: factor, row. */
KERNEL(combine, THREADS) {
  const u64 *own = call + 2 + 5 * (u64)ROW;
  const struct prime m = prime_at(call[0], own[0]);
  const u64 *terms = call + call[1] + 2 * own[3];
  PHASE
    struct sum s = {own[2], 0};
    for (u64 i = 0; i < own[4]; i++) add_product(&s, WORDS(terms[2 * i + 1])[AT], terms[2 * i]);
    WORDS(own[1])[AT] = reduced_sum(m, s);
  END
}

/* call: 0 primes, 1 place of the pairs; then for each row: prime, to, whether it adds, first pair, pairs. A pair: two rows. */
KERNEL(multiply, THREADS) {
  const u64 *own = call + 2 + 5 * (u64)ROW;
  const struct prime m = prime_at(call[0], own[0]);
  const u64 *pairs = call + call[1] + 2 * own[3];
  PHASE
    struct sum s = {own[2] ? WORDS(own[1])[AT] : 0, 0};
    for (u64 i = 0; i < own[4]; i++) add_product(&s, WORDS(pairs[2 * i])[AT], WORDS(pairs[2 * i + 1])[AT]);
    WORDS(own[1])[AT] = reduced_sum(m, s);
  END
}

/* Sources of a conversion at most, and threads of a block: all sources of its words lie in shared memory. */
#define SOURCES 44
#define CONVERTING 128

/* call: 0 primes, 1 sources, 2 targets, places of 3 the inverses of the sources as doubles, 4 the numbers of the target
 * primes, 5 coefficients, target by target; then for each row of the grid: the rows of all sources, then those of all targets. */
KERNEL(convert, CONVERTING) {
  SHARED(u64, x, SOURCES * CONVERTING);
  const u64 sources = call[1], targets = call[2];
  const u64 *own = call + 6 + (sources + targets) * (u64)ROW;
  const u64 *inverses = call + call[3], *primes = call + call[4], *coefficients = call + call[5];
  PHASE
    const u64 at = CONVERTING * (u64)BLOCK + thread;
    double wraps = 0.5;
    for (u64 i = 0; i < sources; i++) {
      const u64 value = WORDS(own[i])[at];
      x[i * CONVERTING + thread] = value;
      wraps = ADD(wraps, MUL((double)value, FLOAT_OF(inverses[i])));
    }
    HOLDS(wraps >= 0.0 && wraps < 1125899906842624.0, "wraps of a conversion");
    const u64 quotient = (u64)wraps;
    for (u64 t = 0; t < targets; t++) {
      const u64 *c = coefficients + t * (sources + 1);
      const struct prime m = prime_at(call[0], primes[t]);
      struct sum s = {0, 0};
      for (u64 i = 0; i < sources; i++) add_product(&s, x[i * CONVERTING + thread], c[i]);
      add_product(&s, quotient, c[sources]);
      WORDS(own[sources + t])[at] = reduced_sum(m, s);
    }
  END
}

/* call: 0 indices as halves; then for each row: from, to. */
KERNEL(permute, THREADS) {
  const u64 *own = call + 1 + 2 * (u64)ROW;
  PHASE
    WORDS(own[1])[AT] = WORDS(own[0])[HALVES(call[0])[AT]];
  END
}

/* call: 0 primes, 1 p; then for each row: prime, coefficients as halves, to. */
KERNEL(lift, THREADS) {
  const u64 *own = call + 2 + 3 * (u64)ROW;
  const struct prime m = prime_at(call[0], own[0]);
  const u64 p = call[1];
  PHASE
    const u64 x = HALVES(own[1])[AT];
    /* Centred, then raised by a multiple of q above p. */
    const u64 raised = m.q * (p / m.q + 1);
    WORDS(own[2])[AT] = reduced(m, x > p / 2 ? x + (raised - p) : x);
  END
}
